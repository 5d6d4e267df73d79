//! The mapping: what a user fixes of cores, tilings, spatial and temporal mapping.
//!
//! Read by [`yaml`] from Stream's and ZigZag's mapping files. An entry applies to the layer of its
//! name, else to its operator, else as `default`. What a mapping leaves open, policies choose.

pub mod yaml;

pub(crate) mod keys;
mod resolve;
mod show;
mod write;

pub use resolve::{StackSplit, link, resolve};
pub use write::write;

use crate::accelerator::ArrayMapping;
use crate::cost::OrderEntry;
use crate::diagnostic::nearest;
use crate::workload::{Dim, Layer, MemoryOperand, Workload};
use serde::{Deserialize, Serialize};

/// A mapping file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mapping {
    /// Entries in the order of the file.
    pub entries: Vec<MappingEntry>,
    /// Fused stacks given by hand (layer names), in order; empty: chosen by `--stacks`.
    pub stacks: Vec<Vec<String>>,
    /// Cuts by which stacks are tiled, per stack; [`resolve`] turns them into cuts of layers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack_splits: Vec<Vec<StackSplit>>,
    /// What the reader ignored, one sentence each.
    pub notes: Vec<String>,
}

/// One entry of a mapping.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MappingEntry {
    /// Layer name, operator, or `default`.
    pub name: String,
    /// Cores the layer may run on (numbers of the accelerator file); none: all that execute it.
    pub cores: Option<Vec<u32>>,
    /// Tiling in time, first listed loop fastest; none: the mode's default.
    pub intra_core_tiling: Option<Vec<Split>>,
    /// Tiling over cores; none: chosen by the policy.
    pub inter_core_tiling: Option<Vec<Split>>,
    /// Core of each part (row-major over the splits), as `mapping.yaml` of a result has it; fixes the allocation.
    pub allocation: Option<Vec<u32>>,
    /// Spatial unrolling per array dimension.
    pub spatial: Vec<ArrayMapping>,
    /// Hints for the spatial generator per array dimension.
    pub spatial_hints: Vec<(String, Vec<Dim>)>,
    /// Loop order inside a core, from the innermost; empty: searched.
    pub order: Vec<OrderEntry>,
    /// Memory operand of each layer operand, where not the default.
    pub links: Vec<(String, MemoryOperand)>,
    /// Rank of the layer in the order, as `mapping.yaml` of a result has it.
    pub rank: Option<u32>,
}

/// A loop dimension cut in pieces.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Split {
    /// The dimension.
    pub dim: Dim,
    /// How many pieces.
    pub pieces: Pieces,
}

/// Number of pieces of a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Pieces {
    /// Pieces of size 1.
    All,
    /// This many pieces, the last ones smaller where it does not divide.
    Count(u64),
    /// Pieces of this size, the last one smaller where it does not divide.
    Tile(u64),
    /// The policy chooses (`*`).
    Auto,
}

impl Mapping {
    /// The entry that applies to a layer: by its name, else its operator, else the operator's family
    /// (ZigZag's workloads call every pooling `Pooling`, Stream's mappings also `Pool`), else `default`.
    pub fn entry(&self, layer: &Layer) -> Option<&MappingEntry> {
        let find = |name: &str| self.entries.iter().find(|entry| entry.name == name);
        let pooling = is_pooling(&layer.operator);
        let family = || self.entries.iter().find(|entry| pooling && is_pooling(&entry.name));
        find(&layer.name).or_else(|| find(&layer.operator)).or_else(family).or_else(|| find("default"))
    }
}

impl MappingEntry {
    /// Whether the entry names neither a layer nor what may be an operator: entries for operators are
    /// shared between networks and may go unused.
    pub fn is_unknown(&self, workload: &Workload) -> bool {
        let operator_like = self.name.chars().all(|c| c.is_ascii_alphanumeric())
            && self.name.starts_with(|c: char| c.is_ascii_uppercase());
        !operator_like
            && self.name != "default"
            && workload.layers.iter().all(|layer| layer.name != self.name)
    }

    /// The layer whose name is so near that the entry must mean it.
    pub fn near<'a>(&self, workload: &'a Workload) -> Option<&'a str> {
        nearest(&self.name, workload.layers.iter().map(|layer| layer.name.as_str()))
    }
}

/// Whether the operator reduces windows without weights, whatever a file calls it.
fn is_pooling(operator: &str) -> bool {
    matches!(operator, "Pool" | "Pooling" | "MaxPool" | "AveragePool" | "GlobalAveragePool" | "GlobalMaxPool")
}
