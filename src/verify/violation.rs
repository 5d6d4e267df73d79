//! What can be wrong with a schedule, in hardware terms: what, where, when, demand against bound.

use super::figure::Figure;
use crate::ids::{ClassId, CnId, CoreId, FragmentId, LayerId, PoolId, ResourceId, TensorId, TransferId};
use crate::ledger::{Action, Component};
use crate::units::{Bits, Cycles, Picojoules};
use std::fmt;

/// One broken law, the law of [`crate::verify`]'s documentation that it breaks in front.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "fields are named as in the event log, each message tells their meaning")]
pub enum Violation {
    // Case.
    #[error("{what}: {found}, expected {expected}")]
    Shape { what: &'static str, found: u64, expected: u64 },
    #[error("{layer}: tiles of dimension {dim} do not partition its range")]
    Tiles { layer: LayerId, dim: usize },
    #[error("{layer}: CN numbers do not enumerate the product of its tiles")]
    Numbering { layer: LayerId },
    #[error("{cn} of {layer} part {part}: placed on {core}, the candidate says {expected}")]
    WrongCore { cn: CnId, layer: LayerId, part: usize, core: CoreId, expected: CoreId },
    #[error("{cn}: its placed node is of another layer, class or core")]
    WrongNode { cn: CnId },
    #[error("operand {operand} of {layer} on {core}: {pool} does not serve it")]
    WrongPool { layer: LayerId, operand: usize, core: CoreId, pool: PoolId },
    #[error("{core}: executes CNs, but no DRAM serves it")]
    NoDram { core: CoreId },
    #[error("{cn}: {class} has another {what}")]
    WrongClass { cn: CnId, class: ClassId, what: &'static str },

    // Partition.
    #[error("{tensor} axis {axis}: index {index} lies in two atoms or outside the tensor")]
    AtomOverlap { tensor: TensorId, axis: usize, index: u64 },
    #[error("{tensor} axis {axis}: index {index} lies in no atom")]
    AtomHole { tensor: TensorId, axis: usize, index: u64 },
    #[error("{tensor}: its fragments are not numbered as the product of its atoms")]
    FragmentNumbering { tensor: TensorId },
    #[error("{fragment}: {claimed}, its elements make {derived}")]
    FragmentBits { fragment: FragmentId, claimed: Bits, derived: Bits },
    #[error("operand {operand} of {layer}: a CN touches {touched} of {elements} elements of {fragment}")]
    PartlyTouched { layer: LayerId, operand: usize, fragment: FragmentId, touched: u64, elements: u64 },
    #[error("operand {operand} of {layer} touches {tensor}, which has no fragments")]
    NoFragments { layer: LayerId, operand: usize, tensor: TensorId },
    #[error("{fragment} is made by {first} and by {second}")]
    TwoMakers { fragment: FragmentId, first: CnId, second: CnId },
    #[error("{fragment} of {tensor} is made by no CN")]
    NoMaker { fragment: FragmentId, tensor: TensorId },
    #[error("{fragment} of {tensor} is made by {cn}, but enters the network from outside")]
    MadeInput { fragment: FragmentId, tensor: TensorId, cn: CnId },

    // Life.
    #[error("event {event}: {what} does not exist")]
    Unknown { event: usize, what: String },
    #[error("event {event}: at {time}, after an event at {before}")]
    TimeBackwards { event: usize, time: Cycles, before: Cycles },
    #[error("{cn}: {step} at {time} of a CN that is {state}")]
    Life { cn: CnId, step: Step, time: Cycles, state: State },
    #[error("{cn}: {state} at the end of the log")]
    Unfinished { cn: CnId, state: State },
    #[error("{core}: {cn} starts at {time} while {running} runs")]
    CoreBusy { core: CoreId, cn: CnId, time: Cycles, running: CnId },
    #[error("{core}: {cn} is admitted at {time} without all inputs as number {admitted} of {slots} slots")]
    Slots { core: CoreId, cn: CnId, time: Cycles, admitted: u32, slots: u32 },
    #[error("{cn}: ends at {end}, computation and streams from {start} end at {expected}")]
    Duration { cn: CnId, start: Cycles, end: Cycles, expected: Cycles },
    #[error("{cn}: admitted at {time} before {producer}, which makes its input {fragment}, ends")]
    Precedence { cn: CnId, producer: CnId, fragment: FragmentId, time: Cycles },
    #[error("{cn}: starts at {time} without {fragment} of operand {operand} in {pool}")]
    InputMissing { cn: CnId, operand: usize, fragment: FragmentId, pool: PoolId, time: Cycles },
    #[error("{cn}: starts at {time} without {fragment} of streamed operand {operand} in any DRAM")]
    StreamedInputMissing { cn: CnId, operand: usize, fragment: FragmentId, time: Cycles },

    // Space.
    #[error("{cn}: reserves {claimed} in {pool}, output and stream tiles need {derived}")]
    Reservation { cn: CnId, pool: PoolId, claimed: Bits, derived: Bits },
    #[error("{pool}: holds {used} at {time}, {size} fit")]
    Capacity { pool: PoolId, time: Cycles, used: Bits, size: Bits },
    #[error("{fragment}: asked for at {time} in {pool}, which has it or waits for it")]
    AlreadyThere { fragment: FragmentId, pool: PoolId, time: Cycles },
    #[error("{fragment}: fetched at {time} to {pool}, where {cn} does not read it")]
    NotAReader { fragment: FragmentId, pool: PoolId, cn: CnId, time: Cycles },
    #[error("{fragment}: fetched at {time} for {cn}, which is not admitted then")]
    FetchUnadmitted { fragment: FragmentId, cn: CnId, time: Cycles },
    #[error("{fragment}: prefetched at {time}, but it is no constant")]
    PrefetchOfActivation { fragment: FragmentId, time: Cycles },
    #[error("{fragment}: prefetched at {time} for {core}, which does not prefetch")]
    PrefetchOff { fragment: FragmentId, core: CoreId, time: Cycles },
    #[error("{fragment}: written back at {time} to {pool}, which is no DRAM")]
    WriteBackOnChip { fragment: FragmentId, pool: PoolId, time: Cycles },
    #[error("{fragment}: asked for at {time} as a stream of {cn}; streams have no requests")]
    StreamRequest { fragment: FragmentId, cn: CnId, time: Cycles },
    #[error("{fragment}: asked for at {time} in {pool}, never answered")]
    Unanswered { fragment: FragmentId, pool: PoolId, time: Cycles },
    #[error("{fragment}: dropped at {time} from {pool}, which does not hold it")]
    DropAbsent { fragment: FragmentId, pool: PoolId, time: Cycles },
    #[error("{fragment}: dropped at {time} from {pool}, where an admitted CN reads it")]
    DropPinned { fragment: FragmentId, pool: PoolId, time: Cycles },
    #[error("{fragment}: last copy dropped at {time} from {pool}, {reads} reads to come")]
    DropNeeded { fragment: FragmentId, pool: PoolId, time: Cycles, reads: u32 },
    #[error(
        "{fragment}: last copy in DRAM or nowhere stored, dropped at {time} from {pool}, but it leaves the network"
    )]
    DropOutput { fragment: FragmentId, pool: PoolId, time: Cycles },

    // Transfers.
    #[error("{transfer}: number used twice")]
    TransferTwice { transfer: TransferId },
    #[error("{transfer}: purpose, fragment and destinations at {time} do not go together")]
    TransferForm { transfer: TransferId, time: Cycles },
    #[error("{transfer}: brings {fragment} to {pool}, which did not ask for it by {issued}")]
    Unrequested { transfer: TransferId, fragment: FragmentId, pool: PoolId, issued: Cycles },
    #[error(
        "{transfer}: {fragment} asked for at {requested} in {pool}, issued at {issued}, when no copy arrived anywhere"
    )]
    Waited { transfer: TransferId, fragment: FragmentId, pool: PoolId, requested: Cycles, issued: Cycles },
    #[error(
        "{transfer}: reads {fragment} from {pool} during {start}..{end}, which does not hold it all the time"
    )]
    SourceAbsent { transfer: TransferId, fragment: FragmentId, pool: PoolId, start: Cycles, end: Cycles },
    #[error("{transfer}: moves {claimed}, should move {derived}")]
    Amount { transfer: TransferId, claimed: Bits, derived: Bits },
    #[error("{transfer}: no route from {from} to {to}")]
    NoRoute { transfer: TransferId, from: PoolId, to: PoolId },
    #[error("{transfer}: segments are empty or out of order")]
    Segments { transfer: TransferId },
    #[error("{transfer}: issued at {issued}, uses its route from {start}")]
    BeforeIssue { transfer: TransferId, issued: Cycles, start: Cycles },
    #[error(
        "{transfer}: uses its route for {claimed}, {bits} in packets of {packet} at {rate} bits/cycle take {derived}"
    )]
    Rate { transfer: TransferId, claimed: Cycles, derived: Cycles, bits: Bits, packet: Bits, rate: u64 },
    #[error("{transfer}: leaves its route at {time} within a packet of {packet}")]
    WithinPacket { transfer: TransferId, time: Cycles, packet: Cycles },
    #[error("{transfer}: arrives at {claimed}, its last packet and the route's latency end at {derived}")]
    Arrival { transfer: TransferId, claimed: Cycles, derived: Cycles },
    #[error("{resource}: used by {first} and {second} at {time}")]
    Contention { resource: ResourceId, first: TransferId, second: TransferId, time: Cycles },
    #[error("{transfer}: {first} of its source and destinations moves too at {time}", transfer = second)]
    BundleTwice { first: TransferId, second: TransferId, time: Cycles },
    #[error("{transfer}: segments move {moved} of {wanted} (2^-20 bits), or a cycle too many")]
    RatesAmount { transfer: TransferId, moved: u128, wanted: u128 },
    #[error(
        "{transfer}: moves at {claimed} from {time} on, its max-min share is {derived} (2^-20 bits/cycle)"
    )]
    Share { transfer: TransferId, time: Cycles, claimed: u64, derived: u64 },
    #[error("{resource}: {rate} (2^-20 bits/cycle) at {time} exceed its {bandwidth} bits/cycle")]
    Bandwidth { resource: ResourceId, time: Cycles, rate: u128, bandwidth: u64 },
    #[error("{transfer}: stream of {cn} at {time} that its cost does not have, or a second time")]
    StreamUnexpected { transfer: TransferId, cn: CnId, time: Cycles },
    #[error("{transfer}: stream of {cn}, issued at {issued}; the CN starts at {start}")]
    StreamIssue { transfer: TransferId, cn: CnId, issued: Cycles, start: Cycles },
    #[error("{cn}: ends at {time} with {missing} not streamed")]
    StreamMissing { cn: CnId, time: Cycles, missing: Bits },

    // Ends.
    #[error("{fragment} of {tensor} leaves the network, but is in no DRAM at the end")]
    OutputMissing { fragment: FragmentId, tensor: TensorId },
    #[error("no event log was recorded")]
    NoLog,
    #[error("{figure}: {claimed}, the log says {derived}")]
    Total { figure: Figure, claimed: u64, derived: u64 },
    #[error("{cn}: released at {claimed}, its inputs were made by {made} and it was admitted at {admitted}")]
    Released { cn: CnId, claimed: Cycles, made: Cycles, admitted: Cycles },
    #[error("ledger, {component:?} {action:?} at {unit}: count {claimed}, the log says {derived}")]
    Energy { component: Component, action: Action, unit: Picojoules, claimed: u64, derived: u64 },
    #[error("latency {latency} is below its bound {bound}")]
    LatencyBound { latency: Cycles, bound: Cycles },
    #[error("energy {energy} is below its bound {bound}")]
    EnergyBound { energy: Picojoules, bound: Picojoules },
}

/// A step in the life of a CN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Space reserved, inputs pinned.
    Admission,
    /// Computation begins.
    Start,
    /// Computation and streams are over.
    End,
}

/// Where a CN is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Not admitted yet.
    #[default]
    Waiting,
    /// Admitted, not started.
    Admitted,
    /// Started, not ended.
    Running,
    /// Ended.
    Done,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Admission => "admission",
            Self::Start => "start",
            Self::End => "end",
        })
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Waiting => "not admitted",
            Self::Admitted => "admitted",
            Self::Running => "running",
            Self::Done => "done",
        })
    }
}
