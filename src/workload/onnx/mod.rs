//! ONNX file -> [`Workload`].
//!
//! [`read`] decodes the file and orders its live nodes, [`build`] walks them once: shapes are
//! inferred, small integer tensors are evaluated, and every node becomes a layer
//! ([`window`], [`product`], [`elementwise`]), a layout operator ([`rearrange`]), part of its
//! producer (folding), a constant, or an error that names it. [`precision`] then gives every tensor its
//! bits. Values of weights are never needed, external data is never opened.
//!
//! Source: the ONNX operator documentation; loop nests as in ZigZag's importer (MODEL.md section
//! 11), except that height is y and width is x.

mod build;
mod constant;
mod elementwise;
mod inputs;
mod loops;
mod node;
mod notes;
mod precision;
mod product;
mod proto;
mod read;
mod rearrange;
mod window;
mod written;

#[cfg(test)]
mod tests;

pub use precision::Precision;

use super::Workload;
use prost::bytes::Bytes;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Choices of the user when a network is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Sizes of dynamic dimensions by name (`--dim NAME=VALUE`).
    pub dims: BTreeMap<String, u64>,
    /// What becomes of activation functions.
    pub activations: Activations,
    /// Bits of activations, weights and partial sums.
    pub precision: Precision,
}

/// What becomes of activation functions. Normalisations and biases fold in both cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activations {
    /// They are part of the layer whose output only they read, and cost nothing.
    #[default]
    Fold,
    /// They are layers, as in Stream.
    Separate,
}

/// Why an ONNX file is no workload.
#[derive(Debug, thiserror::Error)]
pub enum OnnxError {
    /// The file cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The bytes are something else.
    #[error("`{name}` is not an ONNX model: {reason}")]
    NotOnnx {
        /// Name of the network.
        name: String,
        /// What the bytes are.
        reason: String,
    },
    /// The file starts as an ONNX model and cannot be decoded.
    #[error("`{name}` is a truncated or damaged ONNX model: {reason}")]
    Damaged {
        /// Name of the network.
        name: String,
        /// What the decoder says.
        reason: String,
    },
    /// A dimension of an input has no size.
    #[error(
        "dimension {axis} of tensor `{tensor}` is dynamic{}: bind it with `--dim {bind}=VALUE`",
        label.as_ref().map(|label| format!(" (`{label}`)")).unwrap_or_default()
    )]
    UnboundDimension {
        /// The tensor.
        tensor: String,
        /// Position of the dimension.
        axis: usize,
        /// Its name in the file.
        label: Option<String>,
        /// The name by which it is bound.
        bind: String,
    },
    /// A name given by the user is no dimension of the file.
    #[error("no dimension of this network is called `{name}`; its dynamic dimensions: {known}")]
    UnknownDimension {
        /// The name given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A tensor of the file has no usable type.
    #[error("tensor `{tensor}`: {reason}")]
    Tensor {
        /// The tensor.
        tensor: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Two nodes, inputs or initialisers make one tensor.
    #[error("tensor `{tensor}` is made twice, the second time by {maker}")]
    MadeTwice {
        /// The tensor.
        tensor: String,
        /// The second maker.
        maker: String,
    },
    /// Nodes depend on one another in a circle.
    #[error("the graph has a cycle through node `{node}`")]
    Cycle {
        /// A node of the cycle.
        node: String,
    },
    /// Nothing makes a tensor that a node reads or that leaves the network.
    #[error("{reader} reads tensor `{tensor}`, which no node, input or initialiser makes")]
    MissingTensor {
        /// Who reads it.
        reader: String,
        /// The tensor.
        tensor: String,
    },
    /// An operator outside the supported set.
    #[error("node `{node}`: operator `{operator}`, which makes tensor `{tensor}`, is not supported")]
    UnsupportedOperator {
        /// The node.
        node: String,
        /// Its operator, with its domain unless that is the standard one.
        operator: String,
        /// Its first output.
        tensor: String,
    },
    /// A use of an operator outside the supported set.
    #[error("node `{node}` ({operator}, makes tensor `{tensor}`): {reason}, which is not supported")]
    Unsupported {
        /// The node.
        node: String,
        /// Its operator.
        operator: String,
        /// Its first output.
        tensor: String,
        /// What it does.
        reason: String,
    },
    /// A node contradicts its operator's definition or its inputs.
    #[error("node `{node}` ({operator}, makes tensor `{tensor}`): {reason}")]
    Invalid {
        /// The node.
        node: String,
        /// Its operator.
        operator: String,
        /// Its first output.
        tensor: String,
        /// What is wrong.
        reason: String,
    },
    /// Totals that no 64-bit counter holds.
    #[error("the network has more than 2^63 {what}")]
    TooLarge {
        /// What is counted.
        what: &'static str,
    },
}

/// Reads a network from a file; its name is the file's stem.
///
/// # Errors
/// The file cannot be read, is no ONNX model, or holds what [`parse`] refuses.
pub fn load(path: &Path, options: &ReadOptions) -> Result<Workload, OnnxError> {
    let bytes = std::fs::read(path).map_err(|source| OnnxError::Open { path: path.to_owned(), source })?;
    let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    from_bytes(&name, Bytes::from(bytes), options)
}

/// Reads a network from the bytes of an ONNX file.
///
/// # Errors
/// The bytes are no ONNX model, a dynamic dimension is unbound, or a node that reaches an output
/// is malformed or not supported.
pub fn parse(name: &str, bytes: &[u8], options: &ReadOptions) -> Result<Workload, OnnxError> {
    from_bytes(name, Bytes::copy_from_slice(bytes), options)
}

fn from_bytes(name: &str, bytes: Bytes, options: &ReadOptions) -> Result<Workload, OnnxError> {
    let (graph, opset) = read::decode(name, bytes)?;
    let live = read::live_nodes(&graph, opset)?;
    let workload = build::build(name, &graph, &live, options)?;
    Ok(super::canonical::canonical(workload))
}
