//! Types of the network's inputs, whose dynamic dimensions the user binds.

use super::node::Node;
use super::precision::Element;
use super::read::LiveNodes;
use super::{OnnxError, ReadOptions, proto};
use std::collections::{BTreeMap, BTreeSet};

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
/// input counts as one if all that reads it are products, as their right matrix or bias, or
/// convolutions, as their kernel or bias; at least one input stays. A right factor of three axes may
/// be another sequence, a matrix is taken for weights.
pub(super) fn weights<'a>(graph: &'a proto::Graph, live: &LiveNodes) -> BTreeSet<&'a str> {
    let given: BTreeSet<&str> = graph.initializer.iter().map(|tensor| tensor.name.as_str()).collect();
    let ranks: BTreeMap<&str, usize> = (graph.input.iter())
        .filter(|input| !given.contains(input.name.as_str()))
        .filter_map(|input| {
            let tensor_type = input.r#type.as_ref()?.tensor_type.as_ref()?;
            Some((input.name.as_str(), tensor_type.shape.as_ref()?.dim.len()))
        })
        .collect();
    let mut weights = BTreeSet::new();
    let mut data: BTreeSet<&str> = graph.output.iter().map(|output| output.name.as_str()).collect();
    for index in &live.order {
        let node = Node(&graph.node[*index]);
        for (position, name) in node.0.input.iter().enumerate() {
            let Some(rank) = ranks.get(name.as_str()) else { continue };
            let weight = match (node.operator(), position) {
                ("Conv", 1 | 2) | ("Gemm", 2) => true,
                ("Gemm" | "MatMul", 1) => *rank == 2,
                _ => false,
            };
            match weight && node.is_standard() {
                true => weights.insert(name.as_str()),
                false => data.insert(name.as_str()),
            };
        }
    }
    weights.retain(|name| !data.contains(name));
    if weights.len() == ranks.len() { BTreeSet::new() } else { weights }
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
