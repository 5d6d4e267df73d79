//! Allocation: policies that propose Candidates.
//!
//! A [`Candidate`] is a tiling, one core per (layer, part), and a rank per layer. Policies only
//! propose; `pipeline::evaluate` judges.
//!
//! `space` has the choices of every layer, `genome` the whole space as genes; `surrogate` and `policy`
//! propose, `judge` simulates, `improve`, `vary` and `oracle` search on simulations, `search` is the order
//! of all this for each policy.

pub mod genome;
pub mod improve;
pub mod judge;
mod oracle;
pub mod policy;
pub mod search;
pub mod space;
pub mod surrogate;
pub mod vary;

mod show;

use crate::fusion::{Stack, Tiling};
use crate::ids::{CoreId, LayerId};
use serde::{Deserialize, Serialize};

/// A point of the space that policies search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// Stacks and cuts.
    pub tiling: Tiling,
    /// Core of each part of each layer; cores may repeat.
    pub cores: Vec<Vec<CoreId>>,
    /// Rank per layer for `--priority order` and ties: lower runs first.
    pub order: Vec<u32>,
}

impl Candidate {
    /// The same tiling, cores and ranks for every one of several inferences.
    pub fn repeated(&self, inferences: u32) -> Self {
        fn cycle<T: Clone>(values: &[T], times: u32) -> Vec<T> {
            (0..times).flat_map(|_| values.iter().cloned()).collect()
        }
        let layers = self.cores.len() as u32;
        let stacks = (0..inferences).flat_map(|inference| {
            let shifted = move |layer: &LayerId| LayerId(inference * layers + layer.0);
            let stack = move |stack: &Stack| Stack { layers: stack.layers.iter().map(shifted).collect() };
            self.tiling.stacks.iter().map(stack)
        });
        Self {
            tiling: Tiling { stacks: stacks.collect(), layers: cycle(&self.tiling.layers, inferences) },
            cores: cycle(&self.cores, inferences),
            order: cycle(&self.order, inferences),
        }
    }
}
