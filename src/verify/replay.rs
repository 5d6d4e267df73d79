//! The abstract machine: replays the log, event by event.

use super::demand::Demand;
use super::flows::{Flow, Flows};
use super::requests::{Request, Requests, slots_ahead};
use super::space::Space;
use super::streams::Streams;
use super::{Case, Report, State, Step, Violation};
use crate::ids::{CnId, FragmentId, PoolId};
use crate::schedule::log::{Event, Log};
use crate::schedule::{CnTimes, Traffic};
use crate::units::{Bits, Cycles};
use std::collections::BTreeMap;

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

/// Pins of streamed inputs: any DRAM may serve them, so they hold the last copy there.
const ANY_DRAM: PoolId = PoolId(u32::MAX);

/// Where the fragments of an operand are while its CN runs.
enum Home {
    /// In this pool.
    Pool(PoolId),
    /// In DRAM, moving beside the computation.
    Streamed,
    /// An operand without data.
    Nowhere,
}

/// The state of the machine.
struct Machine<'a, 'r> {
    case: &'a Case<'a>,
    demand: &'a Demand,
    report: &'r mut Report,
    states: Vec<State>,
    times: Vec<CnTimes>,
    /// First admission each CN claims, from the whole log: requests may be logged before it.
    admissions: Vec<Option<Cycles>>,
    /// Per core: the CN that runs, admitted CNs that have not ended.
    running: Vec<Option<CnId>>,
    admitted: Vec<u32>,
    busy: Vec<Cycles>,
    space: Space<'a>,
    requests: Requests,
    streams: Streams,
    flows: Flows,
    /// Reads to come, per fragment.
    reads: Vec<u32>,
    /// Whether the fragment leaves the network.
    leaves: Vec<bool>,
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
        let fragment = |fragment: &FragmentId| {
            (fragment.index() >= self.reads.len()).then(|| fragment.to_string())
        };
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
                time, transfer, fragment, cn, from, to, bits, issued, segments, purpose,
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
                purpose: *purpose,
            }),
            Event::Drop { time, fragment, pool } => self.drop_copy(*fragment, *pool, *time),
            Event::Start { time, cn } => self.start(*cn, *time),
            Event::End { time, cn } => self.end(*cn, *time),
        }
    }

    /// Takes a CN from one state to the next, or reports why not.
    fn advance(&mut self, cn: CnId, step: Step, time: Cycles) -> bool {
        let (from, to) = match step {
            Step::Admission => (State::Waiting, State::Admitted),
            Step::Start => (State::Admitted, State::Running),
            Step::End => (State::Running, State::Done),
        };
        let state = self.states[cn.index()];
        if state != from {
            self.report.add(Violation::Life { cn, step, time, state });
            return false;
        }
        self.states[cn.index()] = to;
        true
    }

    fn admit(&mut self, cn: CnId, time: Cycles, reserved: &[(PoolId, Bits)]) {
        if !self.advance(cn, Step::Admission, time) {
            return;
        }
        let mut released = Cycles::ZERO;
        let mut all_present = true;
        for (operand, fragment) in self.demand.inputs(cn) {
            if let Some(producer) = self.demand.maker[fragment.index()] {
                released = released.max(self.times[producer.index()].end);
                if self.states[producer.index()] != State::Done {
                    self.report.add(Violation::Precedence { cn, producer, fragment, time });
                }
            }
            match self.home(cn, operand) {
                Home::Pool(pool) => {
                    all_present &= self.space.holds(fragment, pool);
                    self.space.pin(fragment, pool);
                }
                Home::Streamed => self.space.pin(fragment, ANY_DRAM),
                Home::Nowhere => {}
            }
        }
        self.times[cn.index()] = CnTimes { released, admitted: time, ..CnTimes::default() };
        let core = self.case.placement.core_of[cn.index()];
        let admitted = &mut self.admitted[core.index()];
        *admitted += 1;
        let slots = 1 + slots_ahead(self.case, cn);
        if *admitted > slots && !all_present {
            self.report.add(Violation::Slots { core, cn, time, admitted: *admitted, slots });
        }
        self.reserve(cn, time, reserved);
    }

    /// Compares the claimed reservation with the derived one, and takes the derived one.
    fn reserve(&mut self, cn: CnId, time: Cycles, reserved: &[(PoolId, Bits)]) {
        let mut claimed: BTreeMap<PoolId, u64> = BTreeMap::new();
        for (pool, bits) in reserved {
            let sum = claimed.entry(*pool).or_insert(0);
            *sum = sum.saturating_add(bits.0);
        }
        let derived = self.reservation(cn);
        for pool in claimed.keys().chain(derived.keys().filter(|pool| !claimed.contains_key(pool))) {
            let bits = |sums: &BTreeMap<PoolId, u64>| Bits(sums.get(pool).copied().unwrap_or(0));
            let (claimed, derived) = (bits(&claimed), bits(&derived));
            if claimed != derived {
                self.report.add(Violation::Reservation { cn, pool: *pool, claimed, derived });
            }
        }
        for (pool, bits) in derived {
            self.space.charge(pool, bits, time, self.report);
        }
    }

    /// Bits that a CN needs beside its inputs: the output, at partial-sum precision if that is more,
    /// and the tiles of streamed operands.
    fn reservation(&self, cn: CnId) -> BTreeMap<PoolId, u64> {
        let node = self.case.placement.node(cn);
        let class = self.case.graph.class(cn);
        let tiles = &self.case.costs.nodes[self.case.placement.node_of[cn.index()] as usize].stream_tiles;
        let mut sums = BTreeMap::new();
        for (operand, place) in node.operands.iter().enumerate() {
            let bits = match (place.streamed, operand) {
                (true, _) => tiles[operand],
                (false, 0) => class.partial_bits.max(class.operand_bits[0]),
                (false, _) => 0,
            };
            if let Some(pool) = place.pool.filter(|_| bits > 0) {
                *sums.entry(pool).or_insert(0) += bits;
            }
        }
        sums
    }

    fn start(&mut self, cn: CnId, time: Cycles) {
        if !self.advance(cn, Step::Start, time) {
            return;
        }
        self.times[cn.index()].start = time;
        let core = self.case.placement.core_of[cn.index()];
        if let Some(running) = self.running[core.index()].replace(cn) {
            self.report.add(Violation::CoreBusy { core, cn, time, running });
        }
        for (operand, fragment) in self.demand.inputs(cn) {
            match self.home(cn, operand) {
                Home::Pool(pool) if !self.space.holds(fragment, pool) => {
                    self.report.add(Violation::InputMissing { cn, operand, fragment, pool, time });
                }
                Home::Streamed if !self.space.in_dram(fragment) => {
                    self.report.add(Violation::StreamedInputMissing { cn, operand, fragment, time });
                }
                _ => {}
            }
        }
        let cost = &self.case.costs.nodes[self.case.placement.node_of[cn.index()] as usize];
        self.streams.start(cn, self.case.placement.node(cn), cost, time);
    }

    fn end(&mut self, cn: CnId, time: Cycles) {
        if !self.advance(cn, Step::End, time) {
            return;
        }
        let streamed = self.streams.end(cn, time, self.report);
        let start = self.times[cn.index()].start;
        self.times[cn.index()].end = time;
        let cost = &self.case.costs.nodes[self.case.placement.node_of[cn.index()] as usize];
        let computed = Cycles(start.0.saturating_add(cost.cycles.0));
        let expected = computed.max(streamed);
        if time != expected {
            self.report.add(Violation::Duration { cn, start, end: time, expected });
        }
        let core = self.case.placement.core_of[cn.index()];
        self.busy[core.index()] += time.saturating_sub(start);
        if self.running[core.index()] == Some(cn) {
            self.running[core.index()] = None;
        }
        self.admitted[core.index()] = self.admitted[core.index()].saturating_sub(1);
        for (operand, fragment) in self.demand.inputs(cn) {
            let reads = &mut self.reads[fragment.index()];
            *reads = reads.saturating_sub(1);
            match self.home(cn, operand) {
                Home::Pool(pool) => self.space.unpin(fragment, pool),
                Home::Streamed => self.space.unpin(fragment, ANY_DRAM),
                Home::Nowhere => {}
            }
        }
        self.replace_reservation(cn, time);
    }

    /// The output at final precision takes the place of what was reserved.
    fn replace_reservation(&mut self, cn: CnId, time: Cycles) {
        for (pool, bits) in self.reservation(cn) {
            self.space.free(pool, bits);
        }
        let pool = match self.home(cn, 0) {
            Home::Pool(pool) => pool,
            Home::Streamed => self.case.routes.serving_dram(self.case.placement.core_of[cn.index()]),
            Home::Nowhere => return,
        };
        for fragment in self.demand.fragments(cn, 0) {
            self.space.arrive(*fragment, pool, time.0);
            self.space.charge(pool, self.case.graph.bits(*fragment), time, self.report);
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

    /// Where an operand of a CN lives.
    fn home(&self, cn: CnId, operand: usize) -> Home {
        let place = &self.case.placement.node(cn).operands[operand];
        match (place.streamed, place.pool) {
            (true, _) => Home::Streamed,
            (false, Some(pool)) => Home::Pool(pool),
            (false, None) => Home::Nowhere,
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
