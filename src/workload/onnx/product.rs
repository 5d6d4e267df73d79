//! Matrix products: Gemm and MatMul.
//!
//! `O[b][h][d][k] += I[b][h][d][c] * W[b][h][c][k]` with loop dimensions in the order C, D, K, B, H
//! and the input before the weights, as in ZigZag (MODEL.md section 11). Transposition only
//! exchanges the axes of a tensor. If the left factor alone is constant, it is the weights: K then
//! counts its rows.

use super::build::Builder;
use super::loops::{Nest, along, digits, loop_dim, operand, optional, required};
use super::node::{Fault, Node, invalid, unsupported, written};
use super::window::keep_bias;
use crate::ids::TensorId;
use crate::workload::{Axis, MemoryOperand};

const C: usize = 0;
const D: usize = 1;
const K: usize = 2;
const BATCH: [(usize, &str); 2] = [(3, "B"), (4, "H")];

/// One factor.
#[derive(Clone, Debug)]
struct Factor {
    tensor: TensorId,
    /// Extents of the axes in front of the matrix.
    batch: Vec<u64>,
    /// Rows of the left factor, columns of the right one; none for a vector.
    outer: Option<u64>,
    /// Extent summed over.
    inner: u64,
    /// The inner axis comes first of the two.
    inner_first: bool,
}

/// Adds a Gemm.
pub(super) fn gemm<'a>(
    builder: &mut Builder<'a>,
    node: Node<'a>,
    inputs: &[Option<TensorId>],
) -> Result<(), Fault> {
    let flag = |name| node.int(name).unwrap_or(0) != 0;
    let left = factor(builder, required(inputs, 0)?, flag("transA"))?;
    let right = factor(builder, required(inputs, 1)?, !flag("transB"))?;
    let (Some(_), Some(outputs), true) =
        (left.outer, right.outer, left.batch.is_empty() && right.batch.is_empty())
    else {
        return Err(invalid("its factors are no matrices"));
    };
    product(builder, node, &left, &right)?;
    keep_bias(builder, optional(inputs, 2), outputs)
}

/// Adds a MatMul.
pub(super) fn matmul<'a>(
    builder: &mut Builder<'a>,
    node: Node<'a>,
    inputs: &[Option<TensorId>],
) -> Result<(), Fault> {
    let left = factor(builder, required(inputs, 0)?, false)?;
    let right = factor(builder, required(inputs, 1)?, true)?;
    product(builder, node, &left, &right)
}

fn factor(builder: &Builder<'_>, tensor: TensorId, inner_first: bool) -> Result<Factor, Fault> {
    let shape = builder.shape(tensor);
    let (batch, outer, inner) = match *shape {
        [] => return Err(invalid("a factor is a scalar")),
        [inner] => (Vec::new(), None, inner),
        [ref batch @ .., first, second] => {
            let (inner, outer) = if inner_first { (first, second) } else { (second, first) };
            (batch.to_vec(), Some(outer), inner)
        }
    };
    Ok(Factor { tensor, batch, outer, inner, inner_first })
}

fn product<'a>(
    builder: &mut Builder<'a>,
    node: Node<'a>,
    left: &Factor,
    right: &Factor,
) -> Result<(), Fault> {
    if left.inner != right.inner {
        let shapes = [left, right].map(|factor| written(builder.shape(factor.tensor)));
        return Err(invalid(format!("a product of {} and {}", shapes[0], shapes[1])));
    }
    let batch = broadcast(&left.batch, &right.batch)?;
    if batch.len() > BATCH.len() {
        return Err(unsupported(format!("a product over {} batch axes", batch.len())));
    }
    let swapped = builder.is_constant(left.tensor) && !builder.is_constant(right.tensor);
    let (rows, columns) = if swapped { (K, D) } else { (D, K) };
    let mut sizes = [left.inner, 1, 1];
    sizes[rows] = left.outer.unwrap_or(1);
    sizes[columns] = right.outer.unwrap_or(1);
    let mut dims = vec![loop_dim("C", sizes[C]), loop_dim("D", sizes[D]), loop_dim("K", sizes[K])];
    dims.extend(batch.iter().zip(BATCH).map(|(size, (_, name))| loop_dim(name, *size)));

    let mut shape = batch.clone();
    shape.extend(left.outer);
    shape.extend(right.outer);
    let mut output: Vec<Axis> = BATCH[..batch.len()].iter().map(|(dim, _)| along(*dim)).collect();
    output.extend(left.outer.map(|_| along(rows)));
    output.extend(right.outer.map(|_| along(columns)));
    let (data, weight) = if swapped { (right, left) } else { (left, right) };
    let inputs = vec![
        operand(
            "I",
            MemoryOperand::I1,
            Some(data.tensor),
            data.axes(&batch, D),
            builder.is_constant(data.tensor),
        ),
        operand(
            "W",
            MemoryOperand::I2,
            Some(weight.tensor),
            weight.axes(&batch, K),
            builder.is_constant(weight.tensor),
        ),
    ];
    let element = builder.element(data.tensor);
    builder.add_layer(node, shape, element, Nest { dims, output, inputs })?;
    Ok(())
}

impl Factor {
    /// Index of each axis of the tensor; `outer` is the dimension of its rows or columns.
    fn axes(&self, batch: &[u64], outer: usize) -> Vec<Axis> {
        let missing = batch.len() - self.batch.len();
        let mut axes: Vec<Axis> = (self.batch.iter().enumerate())
            .map(|(axis, extent)| match *extent == batch[missing + axis] {
                true => along(BATCH[missing + axis].0),
                false => digits(&[]),
            })
            .collect();
        match (self.outer, self.inner_first) {
            (None, _) => axes.push(along(C)),
            (Some(_), true) => axes.extend([along(C), along(outer)]),
            (Some(_), false) => axes.extend([along(outer), along(C)]),
        }
        axes
    }
}

/// The common shape of two shapes, aligned at their last axes.
pub(super) fn broadcast(left: &[u64], right: &[u64]) -> Result<Vec<u64>, Fault> {
    let rank = left.len().max(right.len());
    let at = |shape: &[u64], axis: usize| match (axis + shape.len()).checked_sub(rank) {
        Some(position) => shape[position],
        None => 1,
    };
    (0..rank)
        .map(|axis| match (at(left, axis), at(right, axis)) {
            (a, b) if a == b || b == 1 => Ok(a),
            (1, b) => Ok(b),
            _ => Err(invalid(format!("shapes {} and {} do not match", written(left), written(right)))),
        })
        .collect()
}
