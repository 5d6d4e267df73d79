//! Causes: why each CN started when it did, and where the cycles of the latency went.
//!
//! Every start stores the constraint satisfied last (Rule (why)): the core's previous CN, an input's
//! arrival, or its admission, in this order on ties. Walking back from the end through the causes
//! gives every cycle of the latency to exactly one of compute, stall, transfer, dram, memory.
//!
//! A flow that queues waits for the use that left its route last, and that one for the use before
//! it, back to the time of the request: each stretch is what then moved. An activation queued behind
//! a row of weights waits for DRAM, whoever's bits moved directly before its own.

use super::flows::Use;
use super::log::Purpose;
use super::{Case, CnTimes, CriticalKind, CriticalStep, Why};
use crate::ids::{CnId, PoolId};
use crate::units::Cycles;

/// What is remembered of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowTrace {
    pub issued: u64,
    pub cn: CnId,
    pub purpose: Purpose,
    pub dram: bool,
    /// The CN that ended last when the flow was issued at that very time.
    pub after: Option<CnId>,
    /// Its last use of its route; none for streams.
    pub last_use: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct CnCauses {
    /// Who made the last input.
    released_by: Option<CnId>,
    /// First refused admission: since when, and which pool was short.
    blocked: Option<(u64, PoolId)>,
    /// The CN that had ended last on its core when it was admitted, and when.
    slot: Option<(CnId, u64)>,
    last_input: Option<(u64, FlowTrace)>,
    /// The core's previous CN, where it ended at the start.
    previous: Option<CnId>,
}

/// Causes of all CNs and of the end.
pub(super) struct Causes {
    cns: Vec<CnCauses>,
    last_store: Option<(u64, FlowTrace)>,
}

/// The path of causes.
pub(super) struct Trail {
    pub why: Why,
    pub steps: Vec<CriticalStep>,
}

impl Causes {
    pub fn new(cns: usize) -> Self {
        Self { cns: vec![CnCauses::default(); cns], last_store: None }
    }

    pub fn release(&mut self, cn: CnId, by: CnId) {
        self.cns[cn.index()].released_by = Some(by);
    }

    pub fn block(&mut self, cn: CnId, now: u64, pool: PoolId) {
        self.cns[cn.index()].blocked.get_or_insert((now, pool));
    }

    pub fn admit(&mut self, cn: CnId, slot: Option<(CnId, u64)>) {
        self.cns[cn.index()].slot = slot;
    }

    pub fn input(&mut self, cn: CnId, now: u64, flow: FlowTrace) {
        self.cns[cn.index()].last_input = Some((now, flow));
    }

    pub fn start(&mut self, cn: CnId, previous: Option<CnId>) {
        self.cns[cn.index()].previous = previous;
    }

    pub fn store(&mut self, now: u64, flow: FlowTrace) {
        if self.last_store.is_none_or(|(time, _)| now >= time) {
            self.last_store = Some((now, flow));
        }
    }

    /// Walks back from the last output's write.
    pub fn trace(&self, case: &Case, uses: &[Use], times: &[CnTimes], latency: u64) -> Trail {
        let mut walk = Walk { at: latency, why: Why::default(), steps: Vec::new() };
        let Some((_, store)) = self.last_store else {
            return Trail { why: walk.why, steps: walk.steps };
        };
        let mut next = Some(store.cn);
        let mut last = store.cn;
        while let Some(cn) = next {
            // What lies between a CN's end and its effect is a store that a streaming reader awaits.
            walk.back_to(times[cn.index()].end.0, CriticalKind::Dram(cn));
            walk.through(case, cn, &times[cn.index()]);
            last = cn;
            next = self.before(case, uses, cn, &times[cn.index()], &mut walk);
        }
        walk.back_to(0, CriticalKind::Dram(last));
        walk.steps.reverse();
        Trail { why: walk.why, steps: walk.steps }
    }

    /// Accounts for the time between the cause of a start and the start; returns the CN whose end
    /// the cause was.
    fn before(&self, case: &Case, uses: &[Use], cn: CnId, times: &CnTimes, walk: &mut Walk) -> Option<CnId> {
        let causes = &self.cns[cn.index()];
        if causes.previous.is_some() {
            return causes.previous;
        }
        if let Some((arrived, flow)) = causes.last_input
            && arrived == times.start.0
        {
            let kind = if flow.dram { CriticalKind::Dram(cn) } else { CriticalKind::Transfer(cn) };
            walk.along(uses, flow, cn, kind);
            if flow.issued < times.admitted.0 {
                return flow.after; // prefetched, or fetched for another CN of the pool
            }
        }
        // A request is deferred only behind a copy in flight of what DRAM alone holds.
        walk.back_to(times.admitted.0, CriticalKind::Dram(cn));
        // Until the core's last CN ended, its slots and its space were why; then space alone.
        let pool = causes.blocked.map(|(_, pool)| pool).or(case.placement.node(cn).operands[0].pool)?;
        if let Some((previous, end)) = causes.slot.filter(|(_, end)| *end > times.released.0) {
            walk.back_to(end, CriticalKind::Memory(cn, pool));
            return Some(previous);
        }
        walk.back_to(times.released.0, CriticalKind::Memory(cn, pool));
        causes.released_by
    }
}

/// The walk back in time.
struct Walk {
    at: u64,
    why: Why,
    steps: Vec<CriticalStep>,
}

impl Walk {
    /// Gives `[time, at)` to a kind.
    fn back_to(&mut self, time: u64, kind: CriticalKind) {
        if time >= self.at {
            return;
        }
        let length = self.at - time;
        match kind {
            CriticalKind::Cn(_) => self.why.compute += length,
            CriticalKind::Transfer(_) => self.why.transfer += length,
            CriticalKind::Dram(_) => self.why.dram += length,
            CriticalKind::Memory(..) => self.why.memory += length,
        }
        self.steps.push(CriticalStep { start: Cycles(time), end: Cycles(self.at), kind });
        self.at = time;
    }

    /// From a flow's arrival back to its request: its own bits, and what it queued behind.
    fn along(&mut self, uses: &[Use], flow: FlowTrace, cn: CnId, own: CriticalKind) {
        let (mut kind, mut behind) = (own, flow.last_use);
        while let Some(number) = behind.filter(|_| self.at > flow.issued) {
            let used = uses[number as usize];
            // Nothing moved on its route: the head of a queue waited elsewhere, to move next.
            self.back_to(used.end.max(flow.issued), kind);
            kind = if used.dram { CriticalKind::Dram(cn) } else { CriticalKind::Transfer(cn) };
            self.back_to(used.start.max(flow.issued), kind);
            behind = used.follows;
        }
        self.back_to(flow.issued, kind);
    }

    /// A CN's own time: temporal loops are compute, stalls and loading are stall, what its streams
    /// add is dram.
    fn through(&mut self, case: &Case, cn: CnId, times: &CnTimes) {
        let node = &case.costs.nodes[case.placement.node_of[cn.index()] as usize];
        let cycles = node.cycles.0.max(1);
        self.back_to(times.start.0 + cycles, CriticalKind::Dram(cn));
        let stall = cycles.saturating_sub(node.cost.temporal.ceil().0.max(1));
        self.back_to(times.start.0, CriticalKind::Cn(cn));
        self.why.compute -= stall;
        self.why.stall += stall;
    }
}
