//! The shared table of costs: equal keys are costed once (Rule (cost key)).
//!
//! Keys hold contents, never names or ids of layers, so that equal tiles of different layers share
//! an entry. Entries are filled on demand or in parallel; the result of a key depends on the key
//! alone, so neither the order nor the number of threads matters.

use super::{Cost, CostError, MappingConstraint, SearchOptions};
use crate::ids::CoreKindId;
use crate::units::BitsPerCycle;
use crate::workload::MemoryOperand;
use crate::workload::nest::LoopNest;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, PoisonError, RwLock};

/// What a cost depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CostKey {
    /// Dimensions, relations with real extents, operands with precisions, constness, links.
    pub nest: LoopNest,
    /// Core description.
    pub kind: CoreKindId,
    /// What the mapping fixes of the spatial unrolling.
    pub spatial: MappingConstraint,
    /// Operands that no pool holds, in ascending order, with the bandwidth of their DRAM level.
    pub streamed: Vec<(MemoryOperand, BitsPerCycle)>,
    /// Objective, limits, model.
    pub options: SearchOptions,
}

/// A cost or the reason why there is none, shared.
pub type SharedCost = Result<Arc<Cost>, Arc<CostError>>;

/// Costs by key.
#[derive(Debug)]
pub struct CostTable<K = CostKey> {
    entries: RwLock<FxHashMap<K, SharedCost>>,
}

impl<K> Default for CostTable<K> {
    fn default() -> Self {
        Self { entries: RwLock::default() }
    }
}

impl<K: Clone + Eq + Hash + Send + Sync> CostTable<K> {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// The cost of `key`, computed if absent. Two threads may compute one key at once; the first to
    /// end wins, and both get its result.
    pub fn get(&self, key: &K, compute: impl FnOnce() -> Result<Cost, CostError>) -> SharedCost {
        if let Some(cost) = self.lookup(key) {
            return cost;
        }
        let cost = compute().map(Arc::new).map_err(Arc::new);
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        entries.entry(key.clone()).or_insert(cost).clone()
    }

    /// The cost of `key`, if it is known.
    pub fn lookup(&self, key: &K) -> Option<SharedCost> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// Computes all absent keys in parallel.
    pub fn fill(&self, keys: &[K], compute: impl Fn(&K) -> Result<Cost, CostError> + Sync) {
        keys.par_iter().for_each(|key| drop(self.get(key, || compute(key))));
    }

    /// Number of distinct keys costed.
    pub fn distinct(&self) -> usize {
        self.entries.read().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// Invariant: factors are finite and positive (the readers refuse others), so equality is reflexive
/// and equal factors have equal bits.
impl Eq for MappingConstraint {}

impl Hash for MappingConstraint {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for entry in &self.fixed {
            entry.array_dim.hash(state);
            for (dim, factor) in &entry.unrolled {
                dim.hash(state);
                factor.to_bits().hash(state);
            }
        }
        self.hints.hash(state);
        self.mix.hash(state);
        self.order.hash(state);
    }
}
