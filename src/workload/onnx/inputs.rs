//! Types of the network's inputs, whose dynamic dimensions the user binds.

use super::node::Node;
use super::precision::Element;
use super::read::LiveNodes;
use super::{OnnxError, ReadOptions, proto};
use std::collections::BTreeSet;

/// Element type and shape of an input, with its dynamic dimensions bound.
pub(super) fn input_type(
    input: &proto::ValueInfo,
    options: &ReadOptions,
) -> Result<(Element, Vec<u64>), OnnxError> {
    let untyped = |reason: &str| OnnxError::Tensor { tensor: input.name.clone(), reason: reason.to_owned() };
    let tensor_type = input.r#type.as_ref().and_then(|of| of.tensor_type.as_ref());
    let tensor_type = tensor_type.ok_or_else(|| untyped("the input is no dense tensor"))?;
    let dims = tensor_type.shape.as_ref().ok_or_else(|| untyped("the input has no shape"))?;
    let mut shape = Vec::new();
    for (axis, dim) in dims.dim.iter().enumerate() {
        let extent =
            match binding(&input.name, axis, dim) {
                Binding::Fixed(extent) => extent,
                Binding::Free { bind, label } => *options
                    .dims
                    .get(&bind)
                    .ok_or(OnnxError::UnboundDimension { tensor: input.name.clone(), axis, label, bind })?,
            };
        shape.push(extent);
    }
    Ok((Element(tensor_type.elem_type), shape))
}

/// Inputs of the network that are weights: some writers list these as inputs without a value. An
/// input counts as one if all that reads it are products, as their right matrix, or convolutions, as
/// their kernel; at least one input stays.
pub(super) fn weights<'a>(graph: &'a proto::Graph, live: &LiveNodes) -> BTreeSet<&'a str> {
    let given: BTreeSet<&str> = graph.initializer.iter().map(|tensor| tensor.name.as_str()).collect();
    let mut weights: BTreeSet<&str> = (graph.input.iter())
        .filter(|input| !given.contains(input.name.as_str()))
        .filter(|input| {
            let tensor_type = input.r#type.as_ref().and_then(|of| of.tensor_type.as_ref());
            tensor_type.and_then(|of| of.shape.as_ref()).is_some_and(|shape| shape.dim.len() >= 2)
        })
        .map(|input| input.name.as_str())
        .collect();
    let all = weights.len();
    let mut read = BTreeSet::new();
    for index in &live.order {
        let node = Node(&graph.node[*index]);
        let right = match (node.operator(), node.is_standard()) {
            ("Conv" | "Gemm" | "MatMul", true) => node.input(1),
            _ => None,
        };
        // A tensor of three axes may be another sequence; a matrix is not.
        let matrix = |name: &str| {
            let input = graph.input.iter().find(|input| input.name == name);
            let tensor_type = input.and_then(|of| of.r#type.as_ref()).and_then(|of| of.tensor_type.as_ref());
            let rank = tensor_type.and_then(|of| of.shape.as_ref()).map_or(0, |shape| shape.dim.len());
            rank == 2 || node.operator() == "Conv"
        };
        for (position, input) in node.0.input.iter().enumerate() {
            if position == 1 && right == Some(input.as_str()) && matrix(input) {
                read.insert(input.as_str());
            } else {
                weights.remove(input.as_str());
            }
        }
    }
    for output in &graph.output {
        weights.remove(output.name.as_str());
    }
    weights.retain(|name| read.contains(name));
    if weights.len() == all { BTreeSet::new() } else { weights }
}

enum Binding {
    Fixed(u64),
    Free { bind: String, label: Option<String> },
}

/// A dimension's extent, or the name by which the user binds it: its own, else `tensor.axis`.
fn binding(tensor: &str, axis: usize, dim: &proto::Dimension) -> Binding {
    match &dim.value {
        Some(proto::Extent::Value(value)) if *value > 0 => Binding::Fixed(*value as u64),
        Some(proto::Extent::Param(name)) if !name.is_empty() => {
            Binding::Free { bind: name.clone(), label: Some(name.clone()) }
        }
        _ => Binding::Free { bind: format!("{tensor}.{axis}"), label: None },
    }
}

/// Refuses a `--dim` that binds nothing: a misspelt name would silently change nothing.
pub(super) fn check_dims(graph: &proto::Graph, options: &ReadOptions) -> Result<(), OnnxError> {
    let mut known = BTreeSet::new();
    for input in &graph.input {
        let tensor_type = input.r#type.as_ref().and_then(|of| of.tensor_type.as_ref());
        let dims = tensor_type.and_then(|of| of.shape.as_ref());
        for (axis, dim) in dims.iter().flat_map(|shape| shape.dim.iter().enumerate()) {
            if let Binding::Free { bind, .. } = binding(&input.name, axis, dim) {
                known.insert(bind);
            }
        }
    }
    match options.dims.keys().find(|name| !known.contains(*name)) {
        None => Ok(()),
        Some(name) => {
            let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Err(OnnxError::UnknownDimension { name: name.clone(), known })
        }
    }
}
