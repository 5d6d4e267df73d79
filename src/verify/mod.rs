//! The checker: re-derives the legality of a schedule from the inputs and the event log.
//!
//! `(Case, Claims) -> Report`. In the spirit of regalloc2's checker: the log's entries are *claims*
//! about an execution, and an abstract machine replays them. The machine's state is what the real
//! hardware would hold (which copies of which fragments sit in which pool since when, which CN each
//! core runs, how much of each pool is reserved), every event is a transition with preconditions, and
//! a precondition that does not hold is a [`Violation`]. A log that replays without violation *is* a
//! legal execution, whatever the scheduler thought when it wrote it: nothing about queues,
//! priorities or policies is believed or re-done, and no code is shared with [`crate::schedule`] but
//! the plain types of the claims.
//!
//! What data a CN needs is not believed either. With `S(cn, operand)` the set of elements that the
//! loop ranges of the CN touch through the operand's affine map (padding left out), and `E(f)` the
//! elements of a fragment:
//!
//! ```text
//! partition   the E(f) of a tensor are disjoint and cover it           (partition)
//! Rule (fragment)   every S(cn, operand) is a union of E(f)             (regions)
//! maker       every f of a layer's output is in S(cn, 0) of exactly one CN
//! ```
//!
//! The laws of the replay, at every event `e` at time `t` (log order refines time):
//!
//! ```text
//! life         each CN: admit <= start <= end, once; a core runs one CN at a time
//! slots        admitted, not ended CNs of a core <= 1 + prefetch, unless all inputs are present
//! precedence   maker(f) ended before admit(cn), for every f the CN reads
//! presence     every f of an operand that is not streamed is in the operand's pool at start(cn)
//! duration     end(cn) = max(start + cycles, ends of its streams)
//! capacity     sum of bits requested or present + reservations <= size, per pool that is no DRAM
//! provenance   a transfer's source holds f from the first to the last cycle it is read; a last copy
//!              leaves only if nobody needs it; outputs of the network stay in DRAM
//! bandwidth    cycles of a flow = sum over packets of ceil(packet / narrowest of its route); on one
//!              resource no two flows overlap (`exclusive`), or rates are max-min shares at every
//!              instant (`fair`); arrival = last cycle + longest latency
//! energy       ledger = executions x costs + words at the ends of transfers + use of links
//! ```
//!
//! Reservations of a CN last from its admission to its end, when the output at final precision takes
//! their place. A spill's transfer frees nothing; the drop that follows it does. A transfer is issued
//! when its destinations ask for the fragment, or, if they wait for a copy in flight, when that
//! arrives; its purpose may be promoted from prefetch to fetch meanwhile.
//!
//! Not checked: the costs themselves, the routes themselves, the order of queues (Rules (expected
//! order), (eviction), (prefetch) decide among legal schedules), the kinds and causes of `why` beyond
//! their sum, the peak of DRAM pools.

mod demand;
mod energy;
mod fair;
mod figure;
mod flows;
mod layouts;
mod life;
mod partition;
mod placed;
mod regions;
mod replay;
mod requests;
mod space;
mod streams;
mod totals;
mod violation;

pub use figure::Figure;
pub use violation::{State, Step, Violation};

use crate::accelerator::Accelerator;
use crate::accelerator::route::Routes;
use crate::allocation::Candidate;
use crate::cn::CnGraph;
use crate::ledger::{Costs, Ledger};
use crate::placement::Placement;
use crate::schedule::{Schedule, ScheduleOptions};
use crate::units::{Cycles, Picojoules};
use crate::workload::Workload;
use std::fmt;

/// Everything that determined the schedule.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The network.
    pub workload: &'a Workload,
    /// The hardware.
    pub accelerator: &'a Accelerator,
    /// Routes between its pools.
    pub routes: &'a Routes,
    /// CNs and fragments.
    pub graph: &'a CnGraph,
    /// Cores of the layers' parts.
    pub candidate: &'a Candidate,
    /// Pools of the CNs' operands.
    pub placement: &'a Placement,
    /// Costs of the placed nodes.
    pub costs: &'a Costs,
    /// Options of the simulation.
    pub options: &'a ScheduleOptions,
}

/// What is claimed about its execution.
#[derive(Clone, Copy)]
pub struct Claims<'a> {
    /// The schedule, with its log.
    pub schedule: &'a Schedule,
    /// The energy.
    pub ledger: &'a Ledger,
    /// Lower bounds on latency and energy.
    pub bound: Option<(Cycles, Picojoules)>,
}

/// Violations kept; a broken log may have one per event.
const KEPT: usize = 1000;

/// Violations a report prints.
const SHOWN: usize = 20;

/// The outcome of a check.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// What is wrong, in the order found; the first 1000.
    pub violations: Vec<Violation>,
    /// Violations found beyond those.
    pub omitted: u64,
    /// What was checked.
    pub checked: Checked,
}

/// How much was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// CNs.
    pub cns: u64,
    /// Fragments.
    pub fragments: u64,
    /// Reads of fragments by CNs.
    pub reads: u64,
    /// Events of the log.
    pub events: u64,
    /// Transfers among them.
    pub transfers: u64,
    /// Segments of the transfers, per resource of their routes.
    pub segments: u64,
    /// Rows of the ledger.
    pub rows: u64,
}

impl Report {
    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.violations.is_empty()
    }

    fn add(&mut self, violation: Violation) {
        match self.violations.len() < KEPT {
            true => self.violations.push(violation),
            false => self.omitted += 1,
        }
    }

    /// Compares a claimed total with the derived one.
    fn total(&mut self, figure: Figure, claimed: u64, derived: u64) {
        if claimed != derived {
            self.add(Violation::Total { figure, claimed, derived });
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = self.violations.len() as u64 + self.omitted;
        let checked = &self.checked;
        writeln!(
            f,
            "{found} violations; checked {} CNs, {} fragments, {} reads, {} events, {} transfers in {} \
             segments, {} ledger rows",
            checked.cns,
            checked.fragments,
            checked.reads,
            checked.events,
            checked.transfers,
            checked.segments,
            checked.rows
        )?;
        for violation in self.violations.iter().take(SHOWN) {
            writeln!(f, "  {violation}")?;
        }
        let hidden = found - self.violations.len().min(SHOWN) as u64;
        if hidden > 0 {
            writeln!(f, "  ... {hidden} more")?;
        }
        Ok(())
    }
}

/// Checks a schedule. Where the inputs contradict each other the log is not replayed: the report has
/// these contradictions only.
pub fn verify(case: &Case<'_>, claims: &Claims<'_>) -> Report {
    let mut report = Report::default();
    let Some(log) = &claims.schedule.log else {
        report.add(Violation::NoLog);
        return report;
    };
    placed::check(case, claims, &mut report);
    if !report.is_clean() {
        return report;
    }
    let partition = partition::Partition::derive(case, &mut report);
    if !report.is_clean() {
        return report;
    }
    let demand = demand::Demand::derive(case, &partition, &mut report);
    if !report.is_clean() {
        return report;
    }
    let outcome = replay::replay(case, &demand, log, &mut report);
    totals::check(case, claims, &outcome, &mut report);
    energy::check(case, claims, &outcome.traffic, &mut report);
    report
}
