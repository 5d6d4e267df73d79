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

use crate::fusion::Tiling;
use crate::ids::CoreId;
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
