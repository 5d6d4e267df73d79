//! The workload: layers with affine loop nests, the tensors between them, and layout operators.
//!
//! First word of the line. Readers ([`onnx`], [`yaml`]) build a [`Workload`]; nothing later reads a
//! file. A layer is a loop nest `for d in dims { O[..] += W[..] * I[..] }` whose operands address
//! their tensors by affine maps, `iy = stride*oy + dilation*fy - pad` (DESIGN.md 4.1; ZigZag's
//! layer, MODEL.md section 1). Layout operators (Reshape, Concat, Slice, ...) cost nothing and move
//! indices; [`layout`] sends index regions ([`region`]) through them exactly.
//!
//! Invariant: `layers` is in canonical topological order (depth-first from the outputs, activations
//! before weights or a second input, [`canonical`]), so ids depend on the graph's structure, not on
//! names or on the order of the file.

pub mod canonical;
pub mod layout;
pub mod nest;
pub mod onnx;
pub mod region;
mod repeat;
pub mod yaml;

mod radix;
mod show;

use crate::ids::{LayerId, TensorId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A network: layers, tensors, layout operators.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Name of the network (the file's stem).
    pub name: String,
    /// Layers in canonical topological order.
    pub layers: Vec<Layer>,
    /// All tensors that a layer or layout operator reads or writes.
    pub tensors: Vec<Tensor>,
    /// Layout operators; [`Origin::Layout`] is an index into this array.
    pub layouts: Vec<Layout>,
    /// Tensors that leave the network.
    pub outputs: Vec<TensorId>,
    /// What the reader decided and a user should know, one sentence each (precision, dead nodes).
    pub notes: Vec<String>,
}

/// A tensor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tensor {
    /// Name in the file.
    pub name: String,
    /// Extents, outermost first.
    pub shape: Vec<u64>,
    /// Bits of one element at rest (final precision for outputs of layers).
    pub element_bits: u64,
    /// Where its contents come from.
    pub origin: Origin,
}

/// Where the contents of a tensor come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    /// An input of the network: in DRAM at time zero.
    Input,
    /// A constant (weights): in DRAM at time zero.
    Constant,
    /// Computed by a layer.
    Layer(LayerId),
    /// Another tensor or tensors seen through `layouts[index]`.
    Layout(u32),
}

/// A layout operator: costs nothing, moves indices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Layout {
    /// Name of the node in the file.
    pub name: String,
    /// Operator in the file, e.g. `Flatten`.
    pub operator: String,
    /// Tensors read.
    pub inputs: Vec<TensorId>,
    /// Tensor made.
    pub output: TensorId,
    /// How output indices map to input indices.
    pub map: LayoutMap,
}

/// How the output index of a layout operator maps to an input index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum LayoutMap {
    /// Same elements in the same row-major order under another shape (Reshape, Flatten, Squeeze, Identity).
    Reshape,
    /// Output axis `i` is input axis `permutation[i]`.
    Transpose {
        /// Input axis of each output axis.
        permutation: Vec<usize>,
    },
    /// Inputs one after the other along `axis`.
    Concat {
        /// The axis.
        axis: usize,
    },
    /// `input[i] = starts[i] + steps[i] * output[i]` (Slice, Split; a step may be negative).
    Slice {
        /// First input index per axis.
        starts: Vec<u64>,
        /// Step per axis.
        steps: Vec<i64>,
    },
    /// `input[i] = output[i] - before[i]`; outside lies padding, which is no data.
    Pad {
        /// Elements added in front per axis.
        before: Vec<i64>,
    },
    /// Broadcast: an input axis of extent 1 is read at 0 (aligned at the last axis).
    Expand,
}

/// A loop dimension's name, in capitals (`K`, `OY`, `D0`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Dim(pub String);

impl Dim {
    /// A dimension by name.
    pub fn new(name: &str) -> Self {
        Self(name.to_owned())
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A layer: an operator with a loop nest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Layer {
    /// Name of the node in the file.
    pub name: String,
    /// Operator of the file (`Conv`, `MaxPool`, `Add`, ...), by which cores and mappings select.
    pub operator: String,
    /// Loop dimensions with sizes, in the operator's conventional order.
    pub dims: Vec<LoopDim>,
    /// Operands: the output first, then inputs in the order of the equation.
    pub operands: Vec<Operand>,
    /// Nodes folded into this layer (`BatchNormalization bn1`, `Relu relu1`).
    pub folded: Vec<String>,
    /// Which of several inferences it belongs to, from 0.
    #[serde(default)]
    pub inference: u32,
}

/// A loop dimension of a layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopDim {
    /// Name.
    pub dim: Dim,
    /// Extent.
    pub size: u64,
}

/// The memory operand a layer operand is linked to (ZigZag's I1, I2, O).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum MemoryOperand {
    /// Activations.
    I1,
    /// Weights, or the second input.
    I2,
    /// Outputs.
    O,
}

impl MemoryOperand {
    /// The operand of this name in files.
    pub fn named(name: &str) -> Option<Self> {
        [Self::I1, Self::I2, Self::O].into_iter().find(|operand| operand.to_string() == name)
    }
}

impl fmt::Display for MemoryOperand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// An operand of a layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Operand {
    /// Name in the equation (`O`, `W`, `I`).
    pub name: String,
    /// Memory operand it is linked to by default: O to O, W to I2, I to I1.
    pub memory: MemoryOperand,
    /// The tensor; none for an operand without data (a pooling window, precision 0).
    pub tensor: Option<TensorId>,
    /// Index of each tensor axis as an affine map of the loop dimensions.
    pub axes: Vec<Axis>,
    /// Bits of one element (final precision for the output).
    pub bits: u64,
    /// Bits of one partial sum (output only, else equal to `bits`).
    pub partial_bits: u64,
    /// Contents are known before the run (weights).
    pub constant: bool,
}

/// Index along one tensor axis: `sum(coefficient * dim) + offset`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// Terms, in the order of the equation.
    pub terms: Vec<Term>,
    /// Constant part, minus the padding in front.
    pub offset: i64,
    /// The terms slide over one another (`iy = stride*oy + dilation*fy`): ZigZag's partially
    /// relevant dimension. Otherwise the terms are digits (`channel = C*g + c`) that do not overlap.
    pub sliding: bool,
}

/// One term of an affine index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Term {
    /// Position in [`Layer::dims`].
    pub dim: usize,
    /// Factor, at least 1.
    pub coefficient: u64,
}

impl Workload {
    /// The layer with this id.
    pub fn layer(&self, id: LayerId) -> &Layer {
        &self.layers[id.index()]
    }

    /// The tensor with this id.
    pub fn tensor(&self, id: TensorId) -> &Tensor {
        &self.tensors[id.index()]
    }

    /// Ids of all layers.
    pub fn layer_ids(&self) -> impl Iterator<Item = LayerId> + use<> {
        (0..self.layers.len()).map(LayerId::from)
    }

    /// Multiply-accumulates of the whole network: sum of the loop products of its layers, the
    /// convention of ZigZag and Stream (window size times outputs for pooling, elements for Add).
    pub fn operations(&self) -> u64 {
        self.layers.iter().map(Layer::operations).sum()
    }

    /// Elements of all constant tensors.
    pub fn parameters(&self) -> u64 {
        (self.tensors.iter()).filter(|tensor| tensor.origin == Origin::Constant).map(Tensor::elements).sum()
    }
}

impl Tensor {
    /// Number of elements.
    pub fn elements(&self) -> u64 {
        self.shape.iter().product()
    }
}

impl Layer {
    /// Product of the loop sizes.
    pub fn operations(&self) -> u64 {
        self.dims.iter().map(|dim| dim.size).product()
    }

    /// The output operand.
    pub fn output(&self) -> &Operand {
        &self.operands[0]
    }

    /// The input operands.
    pub fn inputs(&self) -> &[Operand] {
        &self.operands[1..]
    }

    /// Position of a dimension.
    pub fn position(&self, dim: &Dim) -> Option<usize> {
        self.dims.iter().position(|candidate| candidate.dim == *dim)
    }
}
