//! The abstract machine: replays the log, event by event.

use super::demand::Demand;
use super::flows::{Flow, Flows};
use super::life::ANY_DRAM;
use super::requests::{Request, Requests};
use super::space::Space;
use super::streams::Streams;
use super::{Case, Report, State, Violation};
use crate::ids::{CnId, FragmentId, PoolId};
use crate::schedule::log::{Event, Log};
use crate::schedule::{CnTimes, Traffic};
use crate::units::{Bits, Cycles};

/// What follows from the log.
pub(super) struct Outcome {
    /// Times per CN; `released` is the end of the last maker of its inputs.
    pub times: Vec<CnTimes>,
    /// Busy cycles per core.
    pub busy: Vec<Cycles>,
    /// Largest use per pool that is no DRAM.
    pub peak: Vec<u64>,
    /// Words and use of resources.
    pub traffic: Traffic,
    /// Number of transfers.
    pub transfers: u64,
    /// Arrival of the last output in DRAM.
    pub latency: Cycles,
}

/// The state of the machine.
pub(super) struct Machine<'a, 'r> {
    pub(super) case: &'a Case<'a>,
    pub(super) demand: &'a Demand,
    pub(super) report: &'r mut Report,
    pub(super) states: Vec<State>,
    pub(super) times: Vec<CnTimes>,
    /// First admission each CN claims, from the whole log: requests may be logged before it.
    pub(super) admissions: Vec<Option<Cycles>>,
    /// Per core: the CN that runs, admitted CNs that have not ended.
    pub(super) running: Vec<Option<CnId>>,
    pub(super) admitted: Vec<u32>,
    pub(super) busy: Vec<Cycles>,
    pub(super) space: Space<'a>,
    pub(super) requests: Requests,
    pub(super) streams: Streams,
    pub(super) flows: Flows,
    /// Reads to come, per fragment.
    pub(super) reads: Vec<u32>,
    /// Whether the fragment leaves the network.
    pub(super) leaves: Vec<bool>,
}

/// Replays a log.
pub(super) fn replay(case: &Case<'_>, demand: &Demand, log: &Log, report: &mut Report) -> Outcome {
    let mut machine = Machine::new(case, demand, log, report);
    let mut clock = Cycles::ZERO;
    for (position, event) in log.0.iter().enumerate() {
        let time = event_time(event);
        if time < clock {
            machine.report.add(Violation::TimeBackwards { event: position, time, before: clock });
        }
        clock = clock.max(time);
        match machine.missing_thing(event) {
            Some(what) => machine.report.add(Violation::Unknown { event: position, what }),
            None => machine.step(event),
        }
    }
    machine.report.checked.events = log.0.len() as u64;
    machine.finish()
}

fn event_time(event: &Event) -> Cycles {
    match event {
        Event::Admit { time, .. }
        | Event::Request { time, .. }
        | Event::Transfer { time, .. }
        | Event::Drop { time, .. }
        | Event::Start { time, .. }
        | Event::End { time, .. } => *time,
    }
}

impl<'a, 'r> Machine<'a, 'r> {
    fn new(case: &'a Case<'a>, demand: &'a Demand, log: &Log, report: &'r mut Report) -> Self {
        let (cns, cores) = (demand.cns(), case.accelerator.cores.len());
        let mut admissions = vec![None; cns];
        for event in &log.0 {
            if let Event::Admit { time, cn, .. } = event
                && let Some(admission) = admissions.get_mut(cn.index())
            {
                admission.get_or_insert(*time);
            }
        }
        let mut leaves = vec![false; demand.reads.len()];
        for (fragment, _) in &demand.outputs {
            leaves[fragment.index()] = true;
        }
        Self {
            case,
            demand,
            report,
            states: vec![State::Waiting; cns],
            times: vec![CnTimes::default(); cns],
            admissions,
            running: vec![None; cores],
            admitted: vec![0; cores],
            busy: vec![Cycles::ZERO; cores],
            space: Space::new(case),
            requests: Requests::default(),
            streams: Streams::default(),
            flows: Flows::new(case),
            reads: demand.reads.clone(),
            leaves,
        }
    }

    /// Something an event names that does not exist.
    fn missing_thing(&self, event: &Event) -> Option<String> {
        let cn = |cn: &CnId| (cn.index() >= self.states.len()).then(|| cn.to_string());
        let pools = self.case.accelerator.pools.len();
        let pool = |pool: &PoolId| (pool.index() >= pools).then(|| pool.to_string());
        let fragment =
            |fragment: &FragmentId| (fragment.index() >= self.reads.len()).then(|| fragment.to_string());
        match event {
            Event::Admit { cn: id, reserved, .. } => {
                cn(id).or_else(|| reserved.iter().find_map(|(id, _)| pool(id)))
            }
            Event::Request { fragment: f, to, cn: id, .. } => {
                fragment(f).or_else(|| pool(to)).or_else(|| cn(id))
            }
            Event::Transfer { fragment: f, cn: id, from, to, .. } => (f.as_ref().and_then(fragment))
                .or_else(|| cn(id))
                .or_else(|| pool(from))
                .or_else(|| to.iter().find_map(pool)),
            Event::Drop { fragment: f, pool: from, .. } => fragment(f).or_else(|| pool(from)),
            Event::Start { cn: id, .. } | Event::End { cn: id, .. } => cn(id),
        }
    }

    fn step(&mut self, event: &Event) {
        match event {
            Event::Admit { time, cn, reserved } => self.admit(*cn, *time, reserved),
            Event::Request { time, fragment, to, cn, purpose } => {
                let (time, fragment, to, cn, purpose) = (*time, *fragment, *to, *cn, *purpose);
                let request = Request { time, fragment, to, cn, purpose };
                let admitted = self.admissions[cn.index()].is_some_and(|admission| admission <= time)
                    && self.states[cn.index()] != State::Done;
                let (case, demand) = (self.case, self.demand);
                self.requests.open(case, demand, &mut self.space, request, admitted, self.report);
            }
            Event::Transfer {
                time,
                transfer,
                fragment,
                cn,
                from,
                to,
                bits,
                issued,
                segments,
                rates,
                purpose,
            } => self.transfer(&Flow {
                time: *time,
                transfer: *transfer,
                fragment: *fragment,
                cn: *cn,
                from: *from,
                to,
                bits: *bits,
                issued: *issued,
                segments,
                rates,
                purpose: *purpose,
            }),
            Event::Drop { time, fragment, pool } => self.drop_copy(*fragment, *pool, *time),
            Event::Start { time, cn } => self.start(*cn, *time),
            Event::End { time, cn } => self.end(*cn, *time),
        }
    }

    fn transfer(&mut self, flow: &Flow<'_>) {
        self.flows.check(self.case, flow, self.report);
        let (transfer, time) = (flow.transfer, flow.time);
        let repeated = (1..flow.to.len()).any(|at| flow.to[..at].contains(&flow.to[at]));
        if flow.to.is_empty() || repeated || flow.bits == Bits::ZERO {
            self.report.add(Violation::TransferForm { transfer, time });
        }
        match (flow.fragment, flow.is_stream()) {
            (Some(fragment), false) => self.bring(flow, fragment),
            (None, true) => self.streams.transfer(self.case, flow, self.report),
            _ => self.report.add(Violation::TransferForm { transfer, time }),
        }
    }

    fn bring(&mut self, flow: &Flow<'_>, fragment: FragmentId) {
        let transfer = flow.transfer;
        let derived = Bits(self.case.graph.bits(fragment));
        if flow.bits != derived {
            self.report.add(Violation::Amount { transfer, claimed: flow.bits, derived });
        }
        if let Some((start, end)) = flow.span()
            && !self.space.held(fragment, flow.from, start.0, end.0)
        {
            let pool = flow.from;
            self.report.add(Violation::SourceAbsent { transfer, fragment, pool, start, end });
        }
        self.requests.answer(self.case, &mut self.space, flow, fragment, self.report);
    }

    fn drop_copy(&mut self, fragment: FragmentId, pool: PoolId, time: Cycles) {
        if !self.space.leave(fragment, pool, time.0) {
            self.report.add(Violation::DropAbsent { fragment, pool, time });
            return;
        }
        let in_dram = self.space.in_dram(fragment);
        let streamed = self.space.pinned(fragment, ANY_DRAM) && !in_dram;
        if self.space.pinned(fragment, pool) || streamed {
            self.report.add(Violation::DropPinned { fragment, pool, time });
        }
        let reads = self.reads[fragment.index()];
        if reads > 0 && !self.space.anywhere(fragment) {
            self.report.add(Violation::DropNeeded { fragment, pool, time, reads });
        }
        let last = self.space.is_dram(pool) || !self.space.anywhere(fragment);
        if self.leaves[fragment.index()] && last && !in_dram {
            self.report.add(Violation::DropOutput { fragment, pool, time });
        }
    }

    fn finish(mut self) -> Outcome {
        for (index, state) in self.states.iter().enumerate() {
            if *state != State::Done {
                self.report.add(Violation::Unfinished { cn: CnId::from(index), state: *state });
            }
        }
        self.requests.check_answered(self.report);
        self.flows.check_contention(self.case, self.report);
        let mut latency = 0;
        for (fragment, tensor) in &self.demand.outputs {
            match self.space.stored[fragment.index()].filter(|_| self.space.in_dram(*fragment)) {
                Some(time) => latency = latency.max(time),
                None if self.case.graph.bits(*fragment) == 0 => {}
                None => {
                    let (fragment, tensor) = (*fragment, *tensor);
                    self.report.add(Violation::OutputMissing { fragment, tensor });
                }
            }
        }
        self.report.checked.transfers = self.flows.count;
        Outcome {
            times: self.times,
            busy: self.busy,
            peak: self.space.peak,
            traffic: self.flows.traffic,
            transfers: self.flows.count,
            latency: Cycles(latency),
        }
    }
}
