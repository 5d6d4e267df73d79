//! Element-wise operators, reductions and what is made of them (Softmax, normalisations).
//!
//! One-input operators, and two-input ones whose second input is a constant scalar or one number
//! per channel, fold into the layer that makes their input if nobody else reads it. What does not
//! fold is a layer over all elements: `O[b][g][oy][ox] = W[..] + I[..]` (rank 4) or `O[d0][d1]..`; an
//! axis along which an operand is broadcast has no terms. Softmax and layer normalisation are
//! exactly the reductions and element-wise layers they consist of, so that their dependencies are too.

use super::build::Builder;
use super::constant;
use super::loops::{Nest, along, digits, loop_dim, operand, optional, required};
use super::node::{Fault, Node, axis, invalid, unsupported};
use super::precision::Element;
use super::product::broadcast;
use crate::ids::TensorId;
use crate::workload::{Axis, LoopDim, MemoryOperand, Operand};

const ACTIVATIONS: &[&str] = &[
    "Celu",
    "Clip",
    "Elu",
    "Erf",
    "Exp",
    "FastGelu",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "LeakyRelu",
    "Log",
    "Mish",
    "PRelu",
    "QuickGelu",
    "Relu",
    "Relu6",
    "Selu",
    "Sigmoid",
    "Silu",
    "Softplus",
    "Softsign",
    "Swish",
    "Tanh",
    "ThresholdedRelu",
];
const UNARY: &[&str] = &[
    "Abs",
    "BatchNormalization",
    "Cast",
    "Ceil",
    "Cos",
    "Floor",
    "Neg",
    "QuantizeLinear",
    "Reciprocal",
    "Round",
    "Sign",
    "Sin",
    "Sqrt",
];
const BINARY: &[&str] = &["Add", "Div", "Max", "Mean", "Min", "Mul", "Pow", "Sub", "Sum"];
const REDUCTIONS: &[&str] =
    &["ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum", "ReduceSumSquare"];
const COMPOSED: &[&str] = &[
    "InstanceNormalization",
    "LayerNormalization",
    "LogSoftmax",
    "LpNormalization",
    "RMSNormalization",
    "Softmax",
];

/// Whether the operator is an activation function; these are accepted from any domain.
pub(super) fn is_activation(operator: &str) -> bool {
    ACTIVATIONS.contains(&operator)
}

/// Whether the operator makes each element from the element of one input at the same place.
pub(super) fn is_unary(operator: &str) -> bool {
    is_activation(operator)
        || (UNARY.contains(&operator)
            && !matches!(operator, "BatchNormalization" | "Cast" | "QuantizeLinear"))
}

/// Whether the operator does so from two inputs.
pub(super) fn is_binary(operator: &str) -> bool {
    BINARY.contains(&operator)
}

/// Whether [`add`] knows the operator.
pub(super) fn handles(operator: &str) -> bool {
    [ACTIVATIONS, UNARY, BINARY, REDUCTIONS, COMPOSED].iter().any(|names| names.contains(&operator))
}

/// Adds an operator for which [`handles`] holds.
pub(super) fn add<'a>(
    builder: &mut Builder<'a>,
    node: Node<'a>,
    inputs: &[Option<TensorId>],
) -> Result<(), Fault> {
    match node.operator() {
        "PRelu" => binary(builder, node, inputs),
        name if BINARY.contains(&name) => match inputs.len() {
            1 => unary(builder, node, inputs),
            2 => binary(builder, node, inputs),
            count => Err(unsupported(format!("{count} inputs"))),
        },
        name if REDUCTIONS.contains(&name) => reduction(builder, node, inputs),
        "Softmax" | "LogSoftmax" => softmax(builder, node, inputs),
        name if COMPOSED.contains(&name) => normalisation(builder, node, inputs),
        _ => unary(builder, node, inputs),
    }
}

fn unary<'a>(builder: &mut Builder<'a>, node: Node<'a>, inputs: &[Option<TensorId>]) -> Result<(), Fault> {
    let input = required(inputs, 0)?;
    if inputs[1..].iter().flatten().any(|parameter| !builder.is_constant(*parameter)) {
        return Err(unsupported("a parameter is computed at run time"));
    }
    let element = result_type(builder, node, input, inputs);
    if builder.is_constant(input) {
        let values = constant::elementwise(node.operator(), &[builder.values(input)]);
        let shape = builder.shape(input).to_vec();
        return builder.add_constant(node_output(node)?, shape, element, values);
    }
    if node.operator() == "BatchNormalization" {
        // Scale and shift are parameters; mean and variance merge into them.
        let channels = builder.shape(input).get(1).copied().unwrap_or(1);
        for index in 1..3 {
            let parameter = required(inputs, index)?;
            if builder.shape(parameter) != [channels] {
                return Err(invalid(format!("input {index} has not {channels} elements")));
            }
            builder.keep_folded(parameter);
        }
    }
    let stays = builder.separates_activations() && is_activation(node.operator());
    if !stays && builder.fold(node, input, element) {
        return Ok(());
    }
    let shape = builder.shape(input).to_vec();
    let dims = element_dims(&shape);
    let inputs = vec![operand("I", MemoryOperand::I1, Some(input), identity(&shape), false)];
    let nest = Nest { dims, output: identity(&shape), inputs };
    builder.add_layer(node, shape, element, nest)?;
    Ok(())
}

/// Adds an activation function that is written out, by the node that ends it.
pub(super) fn written_out<'a>(
    builder: &mut Builder<'a>,
    node: Node<'a>,
    operator: &str,
    input: TensorId,
) -> Result<(), Fault> {
    if !builder.separates_activations() && builder.fold_whole(node, operator, input) {
        return Ok(());
    }
    let shape = builder.shape(input).to_vec();
    let element = builder.element(input);
    let inputs = vec![operand("I", MemoryOperand::I1, Some(input), identity(&shape), false)];
    let nest = Nest { dims: element_dims(&shape), output: identity(&shape), inputs };
    builder.add_layer_as(node, operator, (shape, element), nest)?;
    Ok(())
}

/// Element type of the output.
fn result_type(
    builder: &Builder<'_>,
    node: Node<'_>,
    input: TensorId,
    inputs: &[Option<TensorId>],
) -> Element {
    let named = |attribute| node.int(attribute).and_then(|number| i32::try_from(number).ok());
    match node.operator() {
        "Cast" => named("to").map_or(builder.element(input), Element),
        "QuantizeLinear" => match (optional(inputs, 2), named("output_dtype")) {
            (Some(zero_point), _) => builder.element(zero_point),
            (None, Some(number)) if number != 0 => Element(number),
            _ => Element::UINT8,
        },
        _ => builder.element(input),
    }
}

fn binary<'a>(builder: &mut Builder<'a>, node: Node<'a>, inputs: &[Option<TensorId>]) -> Result<(), Fault> {
    let (first, second) = (required(inputs, 0)?, required(inputs, 1)?);
    let shape = broadcast(builder.shape(first), builder.shape(second))?;
    // The input that is not constant is I.
    let (data, other) = if builder.is_constant(first) { (second, first) } else { (first, second) };
    let element = builder.element(data);
    if builder.is_constant(data) {
        let values = constant::elementwise(node.operator(), &[builder.values(first), builder.values(second)]);
        return builder.add_constant(node_output(node)?, shape, element, values);
    }
    let scalar = builder.shape(other).iter().all(|extent| *extent == 1);
    let vector = builder.shape(other).iter().filter(|extent| **extent != 1).count() <= 1;
    if builder.is_constant(other) && vector && builder.shape(data) == shape {
        let stays = builder.separates_activations() && is_activation(node.operator());
        if !stays && builder.fold(node, data, element) {
            if !scalar {
                builder.keep_folded(other);
            }
            return Ok(());
        }
    }
    let mut operands = Vec::new();
    if !(builder.is_constant(other) && scalar) {
        operands.push(broadcast_operand(builder, "W", MemoryOperand::I2, other, &shape));
    }
    operands.push(broadcast_operand(builder, "I", MemoryOperand::I1, data, &shape));
    let nest = Nest { dims: element_dims(&shape), output: identity(&shape), inputs: operands };
    builder.add_layer(node, shape, element, nest)?;
    Ok(())
}

fn reduction<'a>(
    builder: &mut Builder<'a>,
    node: Node<'a>,
    inputs: &[Option<TensorId>],
) -> Result<(), Fault> {
    let input = required(inputs, 0)?;
    let shape = builder.shape(input).to_vec();
    let given = match (optional(inputs, 1), node.ints("axes")) {
        (Some(axes), _) => Some(builder.needed_values(axes)?.to_vec()),
        (None, axes) => axes.map(<[i64]>::to_vec),
    };
    let mut reduced = vec![given.as_ref().is_none_or(Vec::is_empty); shape.len()];
    if reduced.contains(&true) && node.int("noop_with_empty_axes").unwrap_or(0) != 0 {
        reduced.fill(false);
    }
    for position in given.into_iter().flatten() {
        reduced[axis(position, shape.len())?] = true;
    }
    let keeps = node.int("keepdims").unwrap_or(1) != 0;
    let (nest, result) = reduce(builder, input, &reduced, keeps);
    let element = builder.element(input);
    if builder.is_constant(input) {
        return builder.add_constant(node_output(node)?, result, element, None);
    }
    builder.add_layer(node, result, element, nest)?;
    Ok(())
}

/// Loop nest and output shape of a reduction along the marked axes.
fn reduce(builder: &Builder<'_>, input: TensorId, reduced: &[bool], keeps: bool) -> (Nest, Vec<u64>) {
    let shape = builder.shape(input);
    let dims = plain_dims(shape);
    let mut output = Vec::new();
    let mut result = Vec::new();
    for (position, extent) in shape.iter().enumerate() {
        match (reduced[position], keeps) {
            (false, _) => {
                output.push(along(position));
                result.push(*extent);
            }
            (true, true) => {
                output.push(digits(&[]));
                result.push(1);
            }
            (true, false) => {}
        }
    }
    let inputs = vec![operand("I", MemoryOperand::I1, Some(input), identity(shape), false)];
    (Nest { dims, output, inputs }, result)
}

/// `max`, `exp(x - max)`, `sum`, `div`; the logarithm: `max`, `x - max`, `log sum exp`, `sub`.
fn softmax<'a>(builder: &mut Builder<'a>, node: Node<'a>, inputs: &[Option<TensorId>]) -> Result<(), Fault> {
    let input = required(inputs, 0)?;
    let rank = builder.shape(input).len();
    // Up to opset 12 the tensor counts as a matrix whose columns start at `axis`, by default 1.
    let matrix = builder.opset() < 13;
    let first = axis(node.int("axis").unwrap_or(if matrix { 1 } else { -1 }), rank)?;
    let reduced: Vec<bool> =
        (0..rank).map(|position| if matrix { position >= first } else { position == first }).collect();
    let mut steps = Steps { builder, node, reduced };
    let largest = steps.reduce("ReduceMax", input)?;
    if node.operator() == "LogSoftmax" {
        let centred = steps.combine("Sub", largest, input)?;
        let sum = steps.reduce("ReduceLogSumExp", centred)?;
        return steps.last("Sub", sum, centred);
    }
    let powers = steps.combine("Exp", largest, input)?;
    let sum = steps.reduce("ReduceSum", powers)?;
    steps.last("Div", sum, powers)
}

/// `mean`, `x - mean`, mean of squares, `div`; scale and shift fold. RMS and Lp: without the mean.
fn normalisation<'a>(
    builder: &mut Builder<'a>,
    node: Node<'a>,
    inputs: &[Option<TensorId>],
) -> Result<(), Fault> {
    let input = required(inputs, 0)?;
    if node.output(1).is_some_and(|output| builder.is_read(output)) {
        return Err(unsupported("mean or variance are outputs"));
    }
    for parameter in inputs[1..].iter().flatten() {
        if !builder.is_constant(*parameter) {
            return Err(unsupported("a parameter is computed at run time"));
        }
        builder.keep_folded(*parameter);
    }
    let rank = builder.shape(input).len();
    let first = axis(node.int("axis").unwrap_or(-1), rank)?;
    let reduced = (0..rank).map(|position| match node.operator() {
        "InstanceNormalization" => position >= 2,
        "LpNormalization" => position == first,
        _ => position >= first,
    });
    let reduced = reduced.collect();
    let mut steps = Steps { builder, node, reduced };
    let (norm, data) = match node.operator() {
        "LpNormalization" if node.int("p") == Some(1) => ("ReduceL1", input),
        "LpNormalization" => ("ReduceL2", input),
        "RMSNormalization" => ("ReduceSumSquare", input),
        _ => {
            let mean = steps.reduce("ReduceMean", input)?;
            ("ReduceSumSquare", steps.combine("Sub", mean, input)?)
        }
    };
    let size = steps.reduce(norm, data)?;
    steps.last("Div", size, data)
}

/// The layers of which a composed operator consists.
struct Steps<'b, 'a> {
    builder: &'b mut Builder<'a>,
    node: Node<'a>,
    reduced: Vec<bool>,
}

impl Steps<'_, '_> {
    fn reduce(&mut self, operator: &str, input: TensorId) -> Result<TensorId, Fault> {
        let (nest, shape) = reduce(self.builder, input, &self.reduced, true);
        self.step(operator, input, shape, nest)
    }

    fn combine(&mut self, operator: &str, other: TensorId, data: TensorId) -> Result<TensorId, Fault> {
        let (nest, shape) = self.pair(other, data);
        self.step(operator, data, shape, nest)
    }

    /// The step that makes the node's output.
    fn last(&mut self, operator: &str, other: TensorId, data: TensorId) -> Result<(), Fault> {
        let id = self.combine(operator, other, data)?;
        self.builder.rename(id, node_output(self.node)?);
        Ok(())
    }

    fn pair(&self, other: TensorId, data: TensorId) -> (Nest, Vec<u64>) {
        let shape = self.builder.shape(data).to_vec();
        let inputs = vec![
            broadcast_operand(self.builder, "W", MemoryOperand::I2, other, &shape),
            broadcast_operand(self.builder, "I", MemoryOperand::I1, data, &shape),
        ];
        (Nest { dims: plain_dims(&shape), output: identity(&shape), inputs }, shape)
    }

    fn step(
        &mut self,
        operator: &str,
        data: TensorId,
        shape: Vec<u64>,
        nest: Nest,
    ) -> Result<TensorId, Fault> {
        let name = format!("{}/{operator}", self.node.name());
        let element = self.builder.element(data);
        let name = self.builder.unused_name(name);
        self.builder.add_named_layer(name.clone(), operator, name, (shape, element), nest)
    }
}

fn node_output(node: Node<'_>) -> Result<&str, Fault> {
    node.output(0).ok_or_else(|| invalid("it has no output"))
}

/// An operand that is broadcast to `shape`.
fn broadcast_operand(
    builder: &Builder<'_>,
    name: &str,
    memory: MemoryOperand,
    tensor: TensorId,
    shape: &[u64],
) -> Operand {
    let own = builder.shape(tensor);
    let missing = shape.len() - own.len();
    let axes = (own.iter().enumerate())
        .map(|(position, extent)| match *extent == shape[missing + position] {
            true => along(missing + position),
            false => digits(&[]),
        })
        .collect();
    operand(name, memory, Some(tensor), axes, builder.is_constant(tensor))
}

fn identity(shape: &[u64]) -> Vec<Axis> {
    (0..shape.len()).map(along).collect()
}

/// One loop dimension per axis: B, G, OY, OX for rank 4, else D0, D1, ...
fn element_dims(shape: &[u64]) -> Vec<LoopDim> {
    match shape.len() {
        4 => ["B", "G", "OY", "OX"].iter().zip(shape).map(|(name, size)| loop_dim(name, *size)).collect(),
        _ => plain_dims(shape),
    }
}

fn plain_dims(shape: &[u64]) -> Vec<LoopDim> {
    shape.iter().enumerate().map(|(position, size)| loop_dim(&format!("D{position}"), *size)).collect()
}
