//! Intra-core cost: one loop nest on one core, ZigZag's analytical model (MODEL.md).
//!
//! `(LoopNest, Hierarchy, MappingConstraint) -> Cost`. Spatial unrolling (`spatial`, `generate`,
//! `unroll`), loop order and uneven allocation of loops to memories (`temporal`, `allocate`), word
//! accesses per memory, operand and direction with their energy (`access`), stalls from double
//! buffering and port sharing (`latency`), on- and off-loading (`load`), all of one loop order
//! (`evaluate`), search over loop orders ([`mod@search`]), and the shared content-keyed table of results
//! ([`mod@table`]). `problem` is the nest on the hierarchy in flat indices, which all of these read.
//!
//! Invariant: this module knows neither allocation nor schedule.

pub mod search;
pub mod table;

mod access;
mod allocate;
mod evaluate;
mod generate;
pub mod imc;
mod latency;
mod load;
mod optimal;
mod problem;
mod show;
mod spatial;
mod temporal;
mod unroll;

pub use allocate::Allocation;
pub use evaluate::{Evaluation, evaluate, evaluate_divided};
pub use search::search;
pub use spatial::spatial_mappings;
pub use table::{CostKey, CostTable, SharedCost};

use crate::accelerator::{Array, ArrayMapping, CoreKind, Direction, Memory};
use crate::units::{FractionalCycles, Picojoules};
use crate::workload::{Dim, MemoryOperand};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Relative error that sums of a hundred doubles stay below.
const ROUNDING: f64 = 1e-12;

/// The memory hierarchy one CN sees: the array and the levels of each operand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hierarchy {
    /// The operational array.
    pub array: Array,
    /// Memories in definition order (part of the model, MODEL.md 2), a DRAM level for streamed
    /// operands last.
    pub memories: Vec<Memory>,
    /// Position in `memories` of the DRAM level, if any operand is streamed.
    pub dram: Option<usize>,
}

impl Hierarchy {
    /// The hierarchy of a core. `streamed` operands get `dram` as an extra level above their top
    /// (Rule (streaming)); its `operands` and port allocations are cut to the streamed ones.
    pub fn of(kind: &CoreKind, streamed: &[MemoryOperand], dram: Option<&Memory>) -> Self {
        let mut memories = kind.memories.clone();
        let mut level = None;
        if let (Some(dram), false) = (dram, streamed.is_empty()) {
            let mut dram = dram.clone();
            dram.operands.retain(|operand| streamed.contains(operand));
            for port in &mut dram.ports {
                port.allocation.retain(|(operand, _)| streamed.contains(operand));
            }
            dram.served = (0..kind.array.dims.len()).collect();
            level = Some(memories.len());
            memories.push(dram);
        }
        Self { array: kind.array.clone(), memories, dram: level }
    }
}

/// What the mapping fixes inside a core: of the spatial unrolling (MODEL.md 3.1) and of the loop order
/// (MODEL.md 4).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MappingConstraint {
    /// Fixed unrolling per array dimension; array dimensions absent here are generated.
    pub fixed: Vec<ArrayMapping>,
    /// Loop dimensions the generator may use per array dimension; absent: all.
    pub hints: Vec<(String, Vec<Dim>)>,
    /// The generator may put several loop dimensions on one array dimension.
    pub mix: bool,
    /// Loops from the innermost; empty: any order.
    pub order: Vec<OrderEntry>,
}

/// An entry of an imposed loop order (ZigZag's `temporal_ordering`).
///
/// Sizes that multiply to the temporal size of every dimension are the order itself. Otherwise each
/// entry fixes a position, from the inside up to [`OrderEntry::Rest`] and from the outside behind it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum OrderEntry {
    /// A loop over this dimension; without a size, of any size.
    Loop(Dim, Option<u64>),
    /// Any number of loops.
    Rest,
}

impl fmt::Display for OrderEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loop(dim, Some(size)) => write!(f, "{dim} {size}"),
            Self::Loop(dim, None) => write!(f, "{dim} *"),
            Self::Rest => f.write_str("*"),
        }
    }
}

/// What a search minimises.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// Latency (ties: energy).
    Latency,
    /// Energy (ties: latency).
    Energy,
    /// Energy times latency.
    #[default]
    Edp,
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Latency => "latency",
            Self::Energy => "energy",
            Self::Edp => "edp",
        })
    }
}

/// Which rules the model follows.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub enum Model {
    /// ZigZag 3.9.1 exactly, its faults included.
    #[default]
    Zigzag,
    /// The same analysis with its faults repaired (docs/cost-models.md; MODEL.md 14).
    Millstream,
}

/// How loops are divided among memories.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub enum Division {
    /// ZigZag's greedy allocator, bottom up.
    #[default]
    Zigzag,
    /// The division that is best by the objective, over all orders at once.
    Optimal,
}

/// Options of the search over mappings.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SearchOptions {
    /// What to minimise.
    pub objective: Objective,
    /// Most loops an ordering may have (ZigZag's `lpf_limit`; raised to the number of dimensions).
    pub lpf_limit: usize,
    /// How loops are divided among memories.
    pub allocator: Division,
    /// Generated spatial mappings tried per nest.
    pub spatial_mappings: usize,
    /// The generator may unroll several loop dimensions over one array dimension.
    pub mix: bool,
    /// Rules.
    pub model: Model,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self {
            objective: Objective::Latency,
            lpf_limit: 6,
            allocator: Division::Zigzag,
            spatial_mappings: 3,
            mix: false,
            model: Model::Zigzag,
        }
    }
}

/// The cost of one loop nest on one core, with the best mapping found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// `latency_total2`: computation with stalls, on-loading, off-loading, drain.
    pub latency: FractionalCycles,
    /// Operations over the array's units, rounded up: no spatial loss, no stall.
    pub ideal: FractionalCycles,
    /// Product of the temporal loops: spatial loss, no stall.
    pub temporal: FractionalCycles,
    /// Stall cycles.
    pub stall: FractionalCycles,
    /// Loading the first tiles from the top memory to the array.
    pub onload: FractionalCycles,
    /// Sending the last tiles from the array to the top memory, systolic drain not included.
    pub offload: FractionalCycles,
    /// Drain of systolic dimensions.
    pub drain: FractionalCycles,
    /// Operations of the array.
    pub operations: u64,
    /// Energy of one operation.
    pub operation_energy: Picojoules,
    /// Word accesses, in the order memory, operand, direction; entries of zero words left out.
    pub accesses: Vec<WordAccess>,
    /// `operations * operation_energy + sum(words * cost)`.
    pub energy: Picojoules,
    /// Stall or slack of every port that moves anything.
    pub ports: Vec<PortStall>,
    /// Bits that streamed operands move between DRAM and the core.
    pub streamed: Vec<StreamedBits>,
    /// Spatial unrolling per array dimension.
    pub spatial: Vec<ArrayMapping>,
    /// Temporal loops of each operand per memory level, innermost first.
    pub temporal_mapping: Vec<OperandLoops>,
    /// Orderings evaluated.
    pub evaluated: u64,
    /// Orderings rejected or pruned without evaluation.
    pub pruned: u64,
}

/// How much a port falls behind the array, or how long it rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortStall {
    /// Position in [`Hierarchy::memories`].
    pub memory: usize,
    /// Position in the memory's ports.
    pub port: usize,
    /// Cycles for which the array waits for the port; negative: slack. The worst port stalls the nest.
    pub stall: i64,
}

/// Words moved at one interface. A word is the memory's `bandwidth_max` of that port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WordAccess {
    /// Position in [`Hierarchy::memories`].
    pub memory: usize,
    /// Operand.
    pub operand: MemoryOperand,
    /// Direction.
    pub direction: Direction,
    /// Words of all instances together.
    pub words: u64,
}

/// Traffic of a streamed operand.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamedBits {
    /// Operand.
    pub operand: MemoryOperand,
    /// Bits read from DRAM.
    pub read: u64,
    /// Bits written to DRAM.
    pub write: u64,
    /// Bits of the tile that stays in the memory below DRAM.
    pub tile: u64,
}

/// Loops of one operand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperandLoops {
    /// Operand name in the equation.
    pub operand: String,
    /// Memory operand it is linked to.
    pub memory: MemoryOperand,
    /// Per memory level, lowest first: loops, innermost first.
    pub levels: Vec<Vec<(Dim, u64)>>,
}

/// Why a nest has no cost on a core.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CostError {
    /// An operand no memory of the core holds.
    #[error("operand {operand} ({memory}) is held by no memory of core {core}")]
    NoMemory {
        /// Operand name.
        operand: String,
        /// Its memory operand.
        memory: MemoryOperand,
        /// Core name.
        core: String,
    },
    /// Two operands linked to one memory operand.
    #[error(
        "operands {first} and {second} are both linked to {memory}: link them to different memory operands"
    )]
    OperandTwice {
        /// Operand name.
        first: String,
        /// The other's name.
        second: String,
        /// The memory operand.
        memory: MemoryOperand,
    },
    /// No loop order fits.
    #[error(
        "no loop order fits the memories: even the smallest tile of {operand} needs {needed} bits in {memory} of {available} bits; enlarge the memory or keep the layer off the core (`core_allocation`)"
    )]
    DoesNotFit {
        /// Operand that does not fit.
        operand: String,
        /// Memory name.
        memory: String,
        /// Bits needed.
        needed: u64,
        /// Bits there.
        available: u64,
    },
    /// The top memory of an operand cannot hold its tensor.
    #[error(
        "{memory} is the highest memory of {operand}: its part of the tensor has {needed} bits, one instance holds {available}"
    )]
    TopTooSmall {
        /// Operand.
        operand: String,
        /// Memory name.
        memory: String,
        /// Bits of the tensor per instance.
        needed: u64,
        /// Bits of one instance.
        available: u64,
    },
    /// The mapping's order is none of the nest's.
    #[error(
        "`temporal_ordering` {given} (innermost first) fits no order of the loops {loops}: sizes must multiply to those of the loops that are left in time; `[K, \"*\"]` fixes a position without a size"
    )]
    NoSuchOrder {
        /// The mapping's entries.
        given: String,
        /// The loops of the nest in time.
        loops: String,
    },
    /// The optimal allocator chooses the order itself.
    #[error("`temporal_ordering` is for --allocator zigzag: the optimal allocator chooses the order itself")]
    OrderForZigzagOnly,
    /// The generator found no spatial mapping.
    #[error("no spatial mapping of the layer fits the array of core {core}")]
    NoSpatialMapping {
        /// Core name.
        core: String,
    },
    /// A fixed spatial mapping names an array dimension the core lacks.
    #[error("the mapping unrolls over {array_dim}, but core {core} has array dimensions {available}")]
    NoSuchArrayDim {
        /// Array dimension asked for.
        array_dim: String,
        /// Core name.
        core: String,
        /// What there is.
        available: String,
    },
    /// A port the movement needs is missing.
    #[error("memory {memory} has no port for {operand} {direction}: add it to the allocation of a port")]
    NoPort {
        /// Memory name.
        memory: String,
        /// Operand.
        operand: MemoryOperand,
        /// Direction abbreviation.
        direction: &'static str,
    },
    /// Every order of every prime factor under the greedy allocator.
    #[error("--lpf-limit none needs --allocator optimal; with --allocator zigzag give a limit up to 9")]
    UnlimitedGreedy,
    /// The optimal allocator would keep too many states.
    #[error("the nest has too many tiles for --allocator optimal at this factor limit: lower --lpf-limit")]
    TooManyTiles,
}
