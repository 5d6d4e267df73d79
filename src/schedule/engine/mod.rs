//! The event loop: ends, releases, admissions, prefetch, starts, in the order of Rule (instant).

mod admit;
mod execute;
mod queue;
mod transfer;

use super::expected::{ExpectedOrder, expected_order, pending_reads};
use super::flows::{Flows, SegmentEnd};
use super::log::{Event, Log, Purpose};
use super::memory::Memory;
use super::why::Causes;
use super::{Case, CnTimes, Record, Schedule, ScheduleError, Traffic, priority_key};
use crate::ids::{CnId, CoreId, FragmentId, PoolId};
use crate::units::{Bits, Cycles};
use queue::{Released, Standing};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// Something that ends at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Segment(SegmentEnd),
    Arrival(u32),
    Compute(CnId),
}

/// A copy asked for at this instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Request {
    pub fragment: FragmentId,
    pub to: PoolId,
    pub cn: CnId,
    pub purpose: Purpose,
}

/// State of a core.
#[derive(Clone, Debug, Default)]
struct CoreState {
    running: Option<CnId>,
    /// The CN that ended here last, with its time.
    last: Option<(CnId, u64)>,
    busy: u64,
    /// Admitted or running.
    slots_used: u32,
    slots: u32,
    prefetch: bool,
    released: Released,
    staged: BTreeSet<(u64, CnId)>,
    /// Cores that share a pool with this one, itself among them.
    neighbours: SmallVec<[u32; 2]>,
    /// Something changed since constants were last prefetched.
    look_ahead: bool,
    /// Its first skipped CN and the pools it needs: nothing is prefetched into them for others.
    wants: Option<(CnId, SmallVec<[PoolId; 2]>)>,
    /// The CN tried first at last, with its inputs on chip.
    first: (Option<CnId>, Vec<(FragmentId, PoolId)>),
    /// The CN at the cursor, with its constants.
    ahead: (Option<CnId>, Vec<(FragmentId, PoolId)>),
    /// Next CN in expected order whose constants may be missing.
    cursor: usize,
}

/// The simulation.
pub(super) struct Engine<'a> {
    pub(super) case: Case<'a>,
    record: Record,
    now: u64,
    sequence: u64,
    events: BinaryHeap<Reverse<(u64, u64, End)>>,
    order: ExpectedOrder,
    /// Unmade activation fragments per CN.
    pending: Vec<u32>,
    /// Missing inputs of admitted CNs.
    missing: Vec<u32>,
    /// Streams of running CNs that have not ended, plus one for the computation.
    unfinished: Vec<u32>,
    times: Vec<CnTimes>,
    cores: Vec<CoreState>,
    /// Cores whose released CNs may be tried again: something changed since they were skipped.
    dirty: BTreeSet<usize>,
    /// Per CN, whether a pass of admissions must try it.
    standing: Vec<Standing>,
    /// Number of CNs that stand short.
    short: usize,
    memory: Memory<'a>,
    flows: Flows<'a>,
    /// Flow that brings a requested copy.
    bringing: FxHashMap<(FragmentId, PoolId), u32>,
    /// Admitted CNs that wait for a copy.
    waiting: FxHashMap<(FragmentId, PoolId), SmallVec<[CnId; 2]>>,
    requests: Vec<Request>,
    /// Requests that wait for a copy in flight.
    deferred: BTreeMap<FragmentId, Vec<Request>>,
    in_flight: FxHashMap<FragmentId, u32>,
    causes: Causes,
    traffic: Traffic,
    ended: usize,
    /// The CN that ended last, on any core.
    last_ended: Option<(CnId, u64)>,
    latency: u64,
    log: Vec<Event>,
    scratch: Vec<(FragmentId, PoolId)>,
}

impl<'a> Engine<'a> {
    pub(super) fn new(case: Case<'a>, record: Record) -> Self {
        let pending = pending_reads(&case);
        let order = expected_order(&case, &pending);
        let cns = case.graph.cns();
        let pools = case.accelerator.pools.len();
        let cores = (0..case.accelerator.cores.len())
            .map(|core| {
                let kind = case.accelerator.kind(CoreId::from(core));
                let ahead = if kind.no_overlap { 0 } else { case.options.prefetch };
                let neighbours = neighbours(&case, CoreId::from(core));
                CoreState { slots: 1 + ahead, prefetch: ahead > 0, neighbours, ..CoreState::default() }
            })
            .collect();
        Self {
            record,
            now: 0,
            sequence: 0,
            events: BinaryHeap::new(),
            order,
            pending,
            missing: vec![0; cns],
            unfinished: vec![0; cns],
            times: vec![CnTimes::default(); cns],
            cores,
            dirty: BTreeSet::new(),
            standing: vec![Standing::Elsewhere; cns],
            short: 0,
            memory: Memory::new(case),
            flows: Flows::new(case),
            bringing: FxHashMap::default(),
            waiting: FxHashMap::default(),
            requests: Vec::new(),
            deferred: BTreeMap::new(),
            in_flight: FxHashMap::default(),
            causes: Causes::new(cns),
            traffic: Traffic {
                read_words: vec![0; pools],
                write_words: vec![0; pools],
                ..Traffic::default()
            },
            ended: 0,
            last_ended: None,
            latency: 0,
            log: Vec::new(),
            scratch: Vec::new(),
            case,
        }
    }

    pub(super) fn run(mut self) -> Result<Schedule, ScheduleError> {
        for cn in (0..self.pending.len()).map(CnId::from) {
            if self.pending[cn.index()] == 0 {
                self.release(cn);
            }
        }
        loop {
            self.settle()?;
            match self.events.peek() {
                Some(Reverse((time, _, _))) => self.now = *time,
                None if self.ended == self.times.len() => break,
                None => {
                    self.break_deadlock()?;
                    continue;
                }
            }
            while let Some(Reverse((time, _, end))) = self.events.peek().copied()
                && time == self.now
            {
                self.events.pop();
                match end {
                    End::Segment(segment) => self.end_segment(segment),
                    End::Arrival(flow) => self.arrive(flow),
                    End::Compute(cn) => self.finish_part(cn),
                }
            }
        }
        Ok(self.into_schedule())
    }

    fn push(&mut self, time: u64, end: End) {
        self.sequence += 1;
        self.events.push(Reverse((time, self.sequence, end)));
    }

    fn record(&mut self, event: impl FnOnce() -> Event) {
        if self.record == Record::Full {
            self.log.push(event());
        }
    }

    fn core_of(&self, cn: CnId) -> usize {
        self.case.placement.core(cn).index()
    }

    fn release(&mut self, cn: CnId) {
        let core = self.core_of(cn);
        self.times[cn.index()].released = Cycles(self.now);
        self.enter(self.key(cn), cn);
        self.dirty.insert(core);
    }

    /// The priority key of a released CN.
    fn key(&self, cn: CnId) -> u64 {
        priority_key(&self.case, cn, self.times[cn.index()].released.0)
    }

    /// Admissions to a fixpoint, prefetch, merging of requests, starts of flows, starts of CNs.
    fn settle(&mut self) -> Result<(), ScheduleError> {
        self.admit_all();
        self.prefetch();
        self.merge_requests()?;
        self.start_flows();
        for core in 0..self.cores.len() {
            self.start_best(core)?;
        }
        self.start_flows();
        Ok(())
    }

    fn start_flows(&mut self) {
        for end in self.flows.start(self.now) {
            self.push(end.time, End::Segment(end));
        }
    }

    fn into_schedule(mut self) -> Schedule {
        self.traffic.active = std::mem::take(&mut self.flows.active);
        self.traffic.bits = std::mem::take(&mut self.flows.moved);
        let trail = self.causes.trace(&self.case, &self.flows.uses, &self.times, self.latency);
        Schedule {
            latency: Cycles(self.latency),
            busy: self.cores.iter().map(|core| Cycles(core.busy)).collect(),
            peak: self.memory.pools.iter().map(|pool| Bits(pool.peak)).collect(),
            why: trail.why,
            critical: trail.steps,
            transfers: u64::from(self.flows.count),
            traffic: self.traffic,
            cns: self.times,
            log: (self.record == Record::Full).then_some(Log(self.log)),
        }
    }
}

/// Cores that use a pool which this one uses.
fn neighbours(case: &Case, core: CoreId) -> SmallVec<[u32; 2]> {
    let pools = case.accelerator.pools.iter().filter(|pool| pool.users.iter().any(|(user, _)| *user == core));
    let mut cores: SmallVec<[u32; 2]> =
        pools.flat_map(|pool| pool.users.iter().map(|(user, _)| user.0)).collect();
    cores.sort_unstable();
    cores.dedup();
    cores
}

impl Case<'_> {
    /// Whether a fragment belongs to a constant.
    fn is_constant(&self, fragment: FragmentId) -> bool {
        let tensor = self.graph.tensor_of[fragment.index()];
        self.workload.tensor(tensor).origin == crate::workload::Origin::Constant
    }
}
