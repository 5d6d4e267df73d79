//! The schedule: an event-driven simulation of a placed and costed CN graph.
//!
//! `(Accelerator, CnGraph, Placement, Costs, Candidate) -> Schedule`. Time only moves forward; a
//! decision uses what is known at its time (DESIGN.md 4.5, whose Rules this folder implements).
//!
//! Life of a CN: *released* (predecessors done), *admitted* (missing inputs and output reserved in
//! all pools at once, inputs pinned, transfers requested), *staged* (inputs arrived), *running*,
//! *done*. Life of a copy of a fragment in a pool: requested (reserved), present, gone.

pub mod log;

mod engine;
mod expected;
mod fair;
mod flows;
mod memory;
pub mod show;
mod why;

use crate::accelerator::Accelerator;
use crate::accelerator::route::Routes;
use crate::allocation::Candidate;
use crate::cn::{CnGraph, TransferUnit};
use crate::ids::{CnId, PoolId};
use crate::ledger::Costs;
use crate::placement::Placement;
use crate::units::{Bits, Cycles};
use crate::workload::Workload;
use serde::{Deserialize, Serialize};

pub use fair::UNITS as RATE_UNITS;

/// Everything a simulation reads.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// Layers and tensors.
    pub workload: &'a Workload,
    /// Cores, pools, resources.
    pub accelerator: &'a Accelerator,
    /// Routes between pools.
    pub routes: &'a Routes,
    /// CNs and fragments.
    pub graph: &'a CnGraph,
    /// Cores and ranks.
    pub candidate: &'a Candidate,
    /// Pools of operands.
    pub placement: &'a Placement,
    /// Cost of each placed node.
    pub costs: &'a Costs,
    /// Options.
    pub options: &'a ScheduleOptions,
}

/// How much a simulation records; totals are identical.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// Totals only.
    Totals,
    /// Also the event log and the critical path.
    Full,
}

/// Why a placed candidate cannot be scheduled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// Two pools between which data must move are not connected.
    #[error("no route from {from} to {to}: connect their cores by a link or a bus")]
    NoRoute {
        /// Source pool.
        from: String,
        /// Destination pool.
        to: String,
    },
    /// A CN does not fit even with the pool to itself.
    #[error("layer {layer}: {cn} needs {needed} in {pool} of {capacity} (short by {short}), even with the pool to itself: cut the layer in smaller tiles or enlarge the memory", needed = needed.human(), capacity = capacity.human(), short = needed.saturating_sub(*capacity).human())]
    DoesNotFit {
        /// Layer name.
        layer: String,
        /// Which.
        cn: CnId,
        /// Pool name.
        pool: String,
        /// Demand.
        needed: Bits,
        /// Bound.
        capacity: Bits,
    },
}

/// Runs the simulation.
pub fn simulate(case: &Case, record: Record) -> Result<Schedule, ScheduleError> {
    engine::Engine::new(*case, record).run()
}

/// Order among admissible or staged CNs of a core; smaller goes first, ties by id.
fn priority_key(case: &Case, cn: CnId, released: u64) -> u64 {
    let layer = case.graph.layer(cn);
    match case.options.priority {
        Priority::Latency => released,
        // The same layers of several inferences are equally deep.
        Priority::Memory => u64::MAX - (layer.index() % case.workload.layers_per_inference()) as u64,
        Priority::Order => u64::from(case.candidate.order[layer.index()]),
    }
}

/// How concurrent flows share bandwidth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Contention {
    /// One flow at a time per resource, at the bandwidth of the narrowest, in packets.
    #[default]
    Exclusive,
    /// Max-min fair sharing of all resources, one flow at a time per source and destinations.
    Fair,
}

/// Which admissible or staged CN goes first on a core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// Earliest released.
    Latency,
    /// Deepest layer.
    #[default]
    Memory,
    /// The candidate's rank.
    Order,
}

/// Options of a simulation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleOptions {
    /// Sharing of bandwidth.
    pub contention: Contention,
    /// Which CN goes first.
    pub priority: Priority,
    /// Admission slots beyond the running CN; 0 switches prefetching of constants off.
    pub prefetch: u32,
    /// Bits after which an exclusive flow queues again.
    pub packet: Bits,
    /// What is kept and moved as one.
    #[serde(default)]
    pub transfer: TransferUnit,
}

impl Default for ScheduleOptions {
    fn default() -> Self {
        Self {
            contention: Contention::Exclusive,
            priority: Priority::default(),
            prefetch: 1,
            packet: Bits(65_536),
            transfer: TransferUnit::Fragment,
        }
    }
}

/// The outcome of a simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// End of the last output's write to DRAM.
    pub latency: Cycles,
    /// Start and end per CN.
    pub cns: Vec<CnTimes>,
    /// Busy cycles per core.
    pub busy: Vec<Cycles>,
    /// Word accesses and link use of all transfers.
    pub traffic: Traffic,
    /// Largest use of each pool.
    pub peak: Vec<Bits>,
    /// Where the cycles of the latency went; sums to `latency`.
    pub why: Why,
    /// The chain of causes behind `why`, from the end to time zero.
    pub critical: Vec<CriticalStep>,
    /// Transfers.
    pub transfers: u64,
    /// The event log, if recorded.
    pub log: Option<log::Log>,
}

/// Times of one CN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CnTimes {
    /// Predecessors done.
    pub released: Cycles,
    /// Space reserved, inputs requested.
    pub admitted: Cycles,
    /// Computation begins.
    pub start: Cycles,
    /// Computation and streams end.
    pub end: Cycles,
}

/// What transfers cost, as integer counts. A flow of b bits makes `ceil(b / bandwidth_min)` narrow
/// words at each end (Rule (on-load)); DRAM accesses of streams are in the CNs' costs, not here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// `bandwidth_min` words read, per pool.
    pub read_words: Vec<u64>,
    /// `bandwidth_min` words written, per pool.
    pub write_words: Vec<u64>,
    /// Active cycles, per resource.
    pub active: Vec<Cycles>,
    /// Bits moved, per resource.
    pub bits: Vec<Bits>,
}

/// Where the cycles of the latency went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    /// Temporal loops of CNs.
    pub compute: u64,
    /// Stalls, on- and off-loading inside cores.
    pub stall: u64,
    /// Transfers between cores.
    pub transfer: u64,
    /// Transfers from and to DRAM, streams.
    pub dram: u64,
    /// Waiting for space.
    pub memory: u64,
}

/// One stretch of the critical path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriticalStep {
    /// From.
    pub start: Cycles,
    /// To.
    pub end: Cycles,
    /// What it was.
    pub kind: CriticalKind,
}

/// What a stretch of the critical path was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CriticalKind {
    /// A CN ran.
    Cn(CnId),
    /// A CN waited for a transfer between cores.
    Transfer(CnId),
    /// A CN waited for DRAM, or the end for the last write.
    Dram(CnId),
    /// A CN waited for space in a pool.
    Memory(CnId, PoolId),
}
