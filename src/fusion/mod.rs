//! Tilings: which layers are fused, how finely layers are cut in time, how they are split over cores.
//!
//! A [`Tiling`] determines the CN graph. Cuts in time (`intra_core_tiling`) give the granularity of
//! fusion, cuts over cores (`inter_core_tiling`) the parts that may sit on different cores (Stream
//! MODEL.md section 1.1). A factor that does not divide leaves one smaller last tile.

pub mod cuts;
pub mod stacks;

use crate::ids::LayerId;
use crate::workload::{Dim, Layer};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// How every layer is cut, and which layers are fused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tiling {
    /// Stacks in order; every layer is in exactly one.
    pub stacks: Vec<Stack>,
    /// Cuts per layer.
    pub layers: Vec<LayerTiling>,
}

/// Layers fused with one another: CNs of one feed CNs of the next as soon as they are done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// Layers, ascending.
    pub layers: Vec<LayerId>,
}

/// Cuts of one layer.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LayerTiling {
    /// Cuts in time; the first is the fastest (Stream MODEL.md 1.2).
    pub intra: Vec<Cut>,
    /// Cuts over cores; parts are numbered row-major.
    pub inter: Vec<Cut>,
}

/// A loop dimension cut in tiles of equal size, the last one smaller where it does not divide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cut {
    /// Position in the layer's dimensions.
    pub dim: usize,
    /// Iterations per tile.
    pub tile: u64,
}

impl Cut {
    /// Cut into `pieces` pieces (fewer where the rounded-up tile needs fewer).
    pub fn into_pieces(dim: usize, size: u64, pieces: u64) -> Self {
        Self { dim, tile: size.div_ceil(pieces.max(1)).max(1) }
    }

    /// The tiles of a range.
    pub fn tiles(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
        let tile = self.tile;
        (range.start..range.end)
            .step_by(usize::try_from(tile).unwrap_or(usize::MAX))
            .map(move |start| start..(start + tile).min(range.end))
    }
}

impl LayerTiling {
    /// Number of parts over cores.
    pub fn parts(&self, layer: &Layer) -> u64 {
        (self.inter.iter()).map(|cut| layer.dims[cut.dim].size.div_ceil(cut.tile)).product()
    }
}

impl Layer {
    /// Whether cutting this dimension splits a reduction: the output does not depend on it.
    pub fn is_reduction(&self, dim: usize) -> bool {
        !(self.output().axes.iter()).any(|axis| axis.terms.iter().any(|term| term.dim == dim))
    }

    /// Position of the dimension that carries output channels: `K`, or `G` for depthwise layers.
    pub fn channel_dim(&self) -> Option<usize> {
        let size =
            |name: &str| self.position(&Dim::new(name)).filter(|position| self.dims[*position].size > 1);
        size("K").or_else(|| size("G"))
    }
}
