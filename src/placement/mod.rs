//! Placement: for every operand of every CN, the pool in which it lives.
//!
//! `(Accelerator, Workload, CnGraph, Candidate) -> Placement`, a pure function. An operand lives in
//! the top memory of its core and memory operand. What does not fit jointly is streamed from DRAM:
//! operands of a pool are kept from the smallest to the largest, the output at partial-sum
//! precision, and the rest is streamed (Rule (pools), Stream MODEL.md section 2). Weights of a stack
//! that together exceed a pool are not streamed: they compete under Rule (eviction).
//!
//! Placement tests each CN alone, at the capacity of its pools; co-resident fragments of other CNs
//! are left to eviction.

mod show;

use crate::accelerator::Accelerator;
use crate::allocation::Candidate;
use crate::cn::{CnClass, CnGraph};
use crate::ids::{ClassId, CoreId, LayerId, PoolId};
use crate::units::Bits;
use crate::workload::{MemoryOperand, Workload};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Where the operands of all CNs live.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Placement {
    /// Distinct (layer, class, core) with their pools.
    pub nodes: Vec<PlacedNode>,
    /// Index into `nodes` per CN.
    pub node_of: Vec<u32>,
    /// Core per CN.
    pub core_of: Vec<CoreId>,
}

/// All CNs of one layer, class and core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlacedNode {
    /// Layer.
    pub layer: LayerId,
    /// Class.
    pub class: ClassId,
    /// Core.
    pub core: CoreId,
    /// Per operand, the output first.
    pub operands: Vec<OperandPlace>,
}

/// Where one operand lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperandPlace {
    /// Linked memory operand.
    pub memory: MemoryOperand,
    /// Its pool; none for an operand without data.
    pub pool: Option<PoolId>,
    /// Does not fit: moves between DRAM and the core while the CN runs. `pool` is then where its
    /// on-chip tile stays.
    pub streamed: bool,
}

/// Why a candidate has no placement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// No memory of the core holds the operand.
    #[error(
        "layer {layer} on core {core} ({kind}): operand {operand} is linked to {memory}, which no memory of the core holds"
    )]
    NoMemory {
        /// Layer name.
        layer: String,
        /// Core number.
        core: u32,
        /// Core kind.
        kind: String,
        /// Operand name.
        operand: String,
        /// Memory operand.
        memory: MemoryOperand,
    },
}

impl Placement {
    /// The placed node of a CN.
    pub fn node(&self, cn: crate::ids::CnId) -> &PlacedNode {
        &self.nodes[self.node_of[cn.index()] as usize]
    }

    /// Core of a CN.
    pub fn core(&self, cn: crate::ids::CnId) -> CoreId {
        self.core_of[cn.index()]
    }
}

impl PlacedNode {
    /// Memory operands that are streamed, ascending.
    pub fn streamed(&self) -> Vec<MemoryOperand> {
        let mut streamed: Vec<MemoryOperand> =
            self.operands.iter().filter(|place| place.streamed).map(|place| place.memory).collect();
        streamed.sort_unstable();
        streamed
    }
}

/// Places every CN of a candidate.
pub fn place(
    workload: &Workload,
    accelerator: &Accelerator,
    graph: &CnGraph,
    candidate: &Candidate,
) -> Result<Placement, PlacementError> {
    let mut known: FxHashMap<(LayerId, ClassId, CoreId), u32> = FxHashMap::default();
    let mut placement = Placement { nodes: Vec::new(), node_of: Vec::new(), core_of: Vec::new() };
    for layer in workload.layer_ids() {
        let cores = &candidate.cores[layer.index()];
        for cn in graph.cns_of(layer) {
            let core = cores[graph.part(cn)];
            let class = graph.class_of[cn.index()];
            let node = match known.get(&(layer, class, core)) {
                Some(node) => *node,
                None => {
                    let shape = &graph.classes[class.index()];
                    let operands = place_operands(workload, accelerator, layer, shape, core)?;
                    placement.nodes.push(PlacedNode { layer, class, core, operands });
                    let node = (placement.nodes.len() - 1) as u32;
                    known.insert((layer, class, core), node);
                    node
                }
            };
            placement.node_of.push(node);
            placement.core_of.push(core);
        }
    }
    Ok(placement)
}

/// Pools of the operands of one class on one core.
pub fn place_operands(
    workload: &Workload,
    accelerator: &Accelerator,
    layer: LayerId,
    class: &CnClass,
    core: CoreId,
) -> Result<Vec<OperandPlace>, PlacementError> {
    let mut operands = Vec::with_capacity(class.nest.operands.len());
    for operand in &class.nest.operands {
        let pool = accelerator.top_pool(core, operand.memory);
        if pool.is_none() && operand.bits > 0 {
            return Err(PlacementError::NoMemory {
                layer: workload.layer(layer).name.clone(),
                core: accelerator.core(core).number,
                kind: accelerator.kind(core).name.clone(),
                operand: operand.name.clone(),
                memory: operand.memory,
            });
        }
        operands.push(OperandPlace { memory: operand.memory, pool, streamed: false });
    }
    stream_what_does_not_fit(accelerator, class, &mut operands);
    Ok(operands)
}

/// Keeps the operands of each pool from the smallest to the largest while they fit.
fn stream_what_does_not_fit(accelerator: &Accelerator, class: &CnClass, operands: &mut [OperandPlace]) {
    let mut by_size: Vec<usize> = (0..operands.len()).collect();
    by_size.sort_by_key(|operand| (class.needed_bits(*operand), *operand));
    let mut used = vec![Bits::ZERO; accelerator.pools.len()];
    let mut full = vec![false; accelerator.pools.len()];
    for operand in by_size {
        let Some(pool) = operands[operand].pool else { continue };
        let needed = used[pool.index()] + Bits(class.needed_bits(operand));
        if full[pool.index()] || needed > accelerator.pool(pool).size {
            full[pool.index()] = true;
            operands[operand].streamed = true;
        } else {
            used[pool.index()] = needed;
        }
    }
}

impl CnClass {
    /// Bits an operand needs in its pool while the CN runs: the output at partial-sum precision.
    pub fn needed_bits(&self, operand: usize) -> u64 {
        if operand == 0 { self.partial_bits.max(self.operand_bits[0]) } else { self.operand_bits[operand] }
    }
}
