//! What the readers of operators share: inputs, loop dimensions, operands and axes.

use super::node::{Fault, invalid};
use crate::ids::TensorId;
use crate::workload::{Axis, Dim, LoopDim, MemoryOperand, Operand, Term};

/// A layer's loop nest while its output has no id yet.
pub(super) struct Nest {
    /// Loop dimensions.
    pub dims: Vec<LoopDim>,
    /// Index of each output axis.
    pub output: Vec<Axis>,
    /// Input operands in the order of the equation.
    pub inputs: Vec<Operand>,
}

/// An input that the operator cannot do without.
pub(super) fn required(inputs: &[Option<TensorId>], index: usize) -> Result<TensorId, Fault> {
    inputs.get(index).copied().flatten().ok_or_else(|| invalid(format!("input {index} is missing")))
}

/// An input that may be left out.
pub(super) fn optional(inputs: &[Option<TensorId>], index: usize) -> Option<TensorId> {
    inputs.get(index).copied().flatten()
}

/// A loop dimension.
pub(super) fn loop_dim(name: &str, size: u64) -> LoopDim {
    LoopDim { dim: Dim::new(name), size }
}

/// An operand whose bits are given later.
pub(super) fn operand(
    name: &str,
    memory: MemoryOperand,
    tensor: Option<TensorId>,
    axes: Vec<Axis>,
    constant: bool,
) -> Operand {
    Operand { name: name.to_owned(), memory, tensor, axes, bits: 0, partial_bits: 0, constant }
}

/// The index along an axis is a sum of `coefficient * dim`; no term: the axis is read at 0.
pub(super) fn digits(terms: &[(usize, u64)]) -> Axis {
    let terms = terms.iter().map(|(dim, coefficient)| Term { dim: *dim, coefficient: *coefficient });
    Axis { terms: terms.collect(), offset: 0, sliding: false }
}

/// The index along an axis is one loop dimension.
pub(super) fn along(dim: usize) -> Axis {
    digits(&[(dim, 1)])
}
