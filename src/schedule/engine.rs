//! The event loop: ends, releases, admissions, prefetch, starts, in the order of Rule (instant).

use super::expected::{ExpectedOrder, expected_order, pending_reads};
use super::flows::{Flow, Flows, NewFlow, SegmentEnd};
use super::log::{Event, Log, Purpose};
use super::memory::{CopyState, InDram, Memory};
use super::why::{Causes, FlowTrace};
use super::{Case, CnTimes, Record, Schedule, ScheduleError, Traffic, priority_key};
use crate::accelerator::Port;
use crate::ids::{CnId, CoreId, FragmentId, PoolId, ResourceId};
use crate::units::{Bits, Cycles};
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
    released: BTreeSet<(u64, CnId)>,
    staged: BTreeSet<(u64, CnId)>,
    /// Released CNs may be tried again: something changed since they were skipped.
    dirty: bool,
    /// Pools in which its first skipped CN waits for space: nothing is prefetched into them.
    wants: SmallVec<[PoolId; 2]>,
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
                CoreState { slots: 1 + ahead, prefetch: ahead > 0, ..CoreState::default() }
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
        let key = priority_key(&self.case, cn, self.now);
        self.cores[core].released.insert((key, cn));
        self.cores[core].dirty = true;
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

    // ---- admission ----

    fn admit_all(&mut self) {
        loop {
            for pool in 0..self.memory.pools.len() {
                if std::mem::take(&mut self.memory.pools[pool].touched) {
                    for (core, _) in &self.case.accelerator.pools[pool].users {
                        self.cores[core.index()].dirty = true;
                    }
                }
            }
            let mut any = false;
            for core in 0..self.cores.len() {
                if std::mem::take(&mut self.cores[core].dirty) {
                    any = true;
                    self.admit_on(core);
                }
            }
            if !any {
                return;
            }
        }
    }

    /// Tries the released CNs of a core in priority order.
    fn admit_on(&mut self, core: usize) {
        self.cores[core].wants.clear();
        if self.cores[core].slots_used < self.cores[core].slots {
            let released: Vec<(u64, CnId)> = self.cores[core].released.iter().copied().collect();
            let mut first_skipped = true;
            for (key, cn) in released {
                if self.cores[core].slots_used >= self.cores[core].slots {
                    break;
                }
                if !self.try_admit(key, cn, first_skipped) {
                    first_skipped = false;
                }
            }
        }
        self.admit_beyond_slots(core);
    }

    /// If a core would idle, one CN with all inputs present is admitted beyond its slots.
    fn admit_beyond_slots(&mut self, core: usize) {
        let state = &self.cores[core];
        if state.running.is_some() || !state.staged.is_empty() || state.slots_used < state.slots {
            return;
        }
        let present: Vec<(u64, CnId)> =
            state.released.iter().filter(|(_, cn)| self.memory.all_present(*cn)).copied().collect();
        for (key, cn) in present {
            if self.try_admit(key, cn, false) {
                return;
            }
        }
    }

    /// Bits that admission reserves for output and stream tiles, per pool.
    fn reservation(&self, cn: CnId) -> SmallVec<[(PoolId, u64); 2]> {
        reservation(&self.case, cn)
    }

    /// Admits a CN if all pools have room; otherwise, if it may, evicts for it.
    fn try_admit(&mut self, key: u64, cn: CnId, may_evict: bool) -> bool {
        let reserved = self.reservation(cn);
        if !may_evict && reserved.iter().any(|(pool, bits)| !self.fits(*pool, *bits)) {
            self.causes.block(cn, self.now, reserved[0].0);
            return false;
        }
        let mut inputs = std::mem::take(&mut self.scratch);
        self.memory.inputs(cn, &mut inputs);
        let mut needs = reserved.clone();
        for (fragment, pool) in &inputs {
            if self.memory.copy(*fragment, *pool).is_none() {
                add_need(&mut needs, *pool, self.case.graph.bits(*fragment));
            }
        }
        let position = self.order.position[cn.index()];
        let mut fits = needs.iter().all(|(pool, bits)| self.fits(*pool, *bits));
        if !fits && may_evict {
            self.evict_for(cn, &needs, &inputs, Some(position));
            fits = needs.iter().all(|(pool, bits)| self.fits(*pool, *bits));
        }
        if fits {
            self.admit(key, cn, &reserved, &inputs);
        } else {
            let short = needs.iter().find(|(pool, bits)| !self.fits(*pool, *bits));
            let (pool, _) = short.expect("a CN that does not fit is short somewhere");
            self.causes.block(cn, self.now, *pool);
        }
        self.scratch = inputs;
        fits
    }

    fn fits(&self, pool: PoolId, bits: u64) -> bool {
        let state = &self.memory.pools[pool.index()];
        bits <= state.capacity.saturating_sub(state.used)
    }

    fn admit(&mut self, key: u64, cn: CnId, reserved: &[(PoolId, u64)], inputs: &[(FragmentId, PoolId)]) {
        let core = self.core_of(cn);
        let time = Cycles(self.now);
        self.record(|| Event::Admit {
            time,
            cn,
            reserved: reserved.iter().map(|(pool, bits)| (*pool, Bits(*bits))).collect(),
        });
        for (pool, bits) in reserved {
            self.memory.reserve(*pool, *bits);
        }
        let mut missing = 0;
        for (fragment, pool) in inputs {
            match self.memory.copy(*fragment, *pool).map(|copy| copy.state) {
                None => {
                    self.memory.add_copy(*fragment, *pool, CopyState::Requested);
                    self.request(*fragment, *pool, cn, Purpose::Fetch);
                }
                Some(CopyState::Requested) => self.urge(*fragment, *pool),
                Some(CopyState::Leaving) => self.memory.stay(*fragment, *pool),
                Some(CopyState::Present) => {}
            }
            let copy = self.memory.copy_mut(*fragment, *pool).expect("an input has a copy by now");
            copy.pins += 1;
            if copy.state == CopyState::Requested {
                missing += 1;
                self.waiting.entry((*fragment, *pool)).or_default().push(cn);
            }
        }
        self.missing[cn.index()] = missing;
        self.times[cn.index()].admitted = time;
        let state = &mut self.cores[core];
        state.released.remove(&(key, cn));
        state.slots_used += 1;
        let last = state.last.filter(|(_, end)| *end == self.now).map(|(cn, _)| cn);
        if missing == 0 {
            state.staged.insert((key, cn));
        }
        self.causes.admit(cn, last);
    }

    fn request(&mut self, fragment: FragmentId, to: PoolId, cn: CnId, purpose: Purpose) {
        let time = Cycles(self.now);
        self.record(|| Event::Request { time, fragment, to, cn, purpose });
        self.requests.push(Request { fragment, to, cn, purpose });
    }

    /// An admission needs a copy that is on its way, or the copy it is waiting for: neither may
    /// stay behind admissions as a prefetch.
    fn urge(&mut self, fragment: FragmentId, pool: PoolId) {
        if let Some(flow) = self.bringing.get(&(fragment, pool)) {
            self.flows.urge(*flow);
        } else if let Some(flow) = self.in_flight.get(&fragment) {
            self.flows.urge(*flow);
        }
        for request in self.requests.iter_mut().chain(self.deferred.values_mut().flatten()) {
            if request.fragment == fragment && request.to == pool && request.purpose == Purpose::Prefetch {
                request.purpose = Purpose::Fetch;
            }
        }
    }

    // ---- eviction ----

    /// Makes room in the pools that are short: spare copies leave at once, sole ones are written
    /// back and leave then.
    fn evict_for(
        &mut self,
        cn: CnId,
        needs: &[(PoolId, u64)],
        inputs: &[(FragmentId, PoolId)],
        after: Option<u32>,
    ) {
        for (pool, bits) in needs {
            let state = &self.memory.pools[pool.index()];
            let free = state.capacity.saturating_sub(state.used);
            if *bits <= free {
                continue;
            }
            let core = self.core_of(cn);
            self.cores[core].wants.push(*pool);
            let mut short = (bits - free).saturating_sub(state.leaving);
            if short == 0 {
                continue;
            }
            for (fragment, sole) in self.memory.victims(*pool, inputs, after, &self.order.position) {
                let size = self.case.graph.bits(fragment);
                if sole {
                    self.memory.leave(fragment, *pool);
                    let dram = self.case.routes.serving_dram(self.case.accelerator.pool(*pool).core);
                    let owner = self.case.graph.producer(fragment).unwrap_or(cn);
                    self.request(fragment, dram, owner, Purpose::Spill);
                } else {
                    self.memory.drop_copy(fragment, *pool);
                }
                short = short.saturating_sub(size);
                if short == 0 {
                    break;
                }
            }
            self.log_drops();
        }
    }

    /// Nothing runs, is staged or flows: the globally first CN may take anything unpinned.
    fn break_deadlock(&mut self) -> Result<(), ScheduleError> {
        let released = self.cores.iter().flat_map(|core| core.released.iter().copied());
        let first = released.min_by_key(|(_, cn)| self.order.position[cn.index()]);
        let (key, cn) = first.expect("some CN is released while not all are done");
        let reserved = self.reservation(cn);
        let mut inputs = Vec::new();
        self.memory.inputs(cn, &mut inputs);
        let mut needs = reserved.clone();
        for (fragment, pool) in &inputs {
            if self.memory.copy(*fragment, *pool).is_none() {
                add_need(&mut needs, *pool, self.case.graph.bits(*fragment));
            }
        }
        self.evict_for(cn, &needs, &inputs, None);
        if needs.iter().all(|(pool, bits)| self.fits(*pool, *bits)) {
            self.admit(key, cn, &reserved, &inputs);
            return Ok(());
        }
        if !self.requests.is_empty() {
            return Ok(()); // write-backs are on their way; admission is retried when they end
        }
        let (pool, _) = *needs
            .iter()
            .find(|(pool, bits)| !self.fits(*pool, *bits))
            .expect("a CN that does not fit is short somewhere");
        let mut whole = reserved.clone();
        for (fragment, pool) in &inputs {
            add_need(&mut whole, *pool, self.case.graph.bits(*fragment));
        }
        let needed = whole.iter().filter(|(id, _)| *id == pool).map(|(_, bits)| *bits).sum();
        Err(ScheduleError::DoesNotFit {
            layer: self.case.workload.layer(self.case.graph.layer(cn)).name.clone(),
            cn,
            pool: self.case.accelerator.pool(pool).name.clone(),
            needed: Bits(needed),
            capacity: self.case.accelerator.pool(pool).size,
        })
    }

    /// Logs copies that left, and lets the prefetcher look again at constants among them.
    fn log_drops(&mut self) {
        let time = Cycles(self.now);
        for (fragment, pool) in std::mem::take(&mut self.memory.dropped) {
            self.record(|| Event::Drop { time, fragment, pool });
            if !self.case.is_constant(fragment) {
                continue;
            }
            for (cn, operand) in self.case.graph.readers(fragment) {
                let node = self.case.placement.node(cn);
                if node.operands[operand].pool == Some(pool) && !self.memory.done[cn.index()] {
                    let cursor = &mut self.cores[node.core.index()].cursor;
                    *cursor = (*cursor).min(self.order.index_on_core[cn.index()] as usize);
                }
            }
        }
    }

    // ---- prefetch ----

    /// Requests constants of each core's next CNs in expected order into free space.
    fn prefetch(&mut self) {
        for core in 0..self.cores.len() {
            if self.cores[core].prefetch {
                self.prefetch_on(core);
            }
        }
    }

    fn prefetch_on(&mut self, core: usize) {
        let mut inputs = Vec::new();
        while let Some(cn) = self.order.by_core[core].get(self.cores[core].cursor).copied() {
            if !self.memory.done[cn.index()] {
                self.memory.inputs(cn, &mut inputs);
                for (fragment, pool) in &inputs {
                    let constant = self.case.is_constant(*fragment);
                    if !constant || self.memory.copy(*fragment, *pool).is_some() {
                        continue;
                    }
                    if self.is_wanted(*pool) || !self.fits(*pool, self.case.graph.bits(*fragment)) {
                        return;
                    }
                    self.memory.add_copy(*fragment, *pool, CopyState::Requested);
                    self.request(*fragment, *pool, cn, Purpose::Prefetch);
                }
            }
            self.cores[core].cursor += 1;
        }
    }

    /// Whether a CN waits for space in the pool.
    fn is_wanted(&self, pool: PoolId) -> bool {
        let users = &self.case.accelerator.pool(pool).users;
        users.iter().any(|(core, _)| self.cores[core.index()].wants.contains(&pool))
    }

    // ---- requests and flows ----

    /// Merges the requests of this instant by fragment and source, and issues their flows.
    fn merge_requests(&mut self) -> Result<(), ScheduleError> {
        let mut requests = std::mem::take(&mut self.requests);
        requests.sort_unstable();
        let mut merged: BTreeMap<(FragmentId, PoolId, Purpose), (CnId, SmallVec<[PoolId; 2]>)> =
            BTreeMap::new();
        for request in requests {
            let Some(source) = self.nearest_holder(&request) else {
                if let Some(flow) = self.in_flight.get(&request.fragment)
                    && request.purpose == Purpose::Fetch
                {
                    self.flows.urge(*flow);
                }
                self.deferred.entry(request.fragment).or_default().push(request);
                continue;
            };
            let entry = merged.entry((request.fragment, source, request.purpose));
            let (cn, to) = entry.or_insert((request.cn, SmallVec::new()));
            *cn = (*cn).min(request.cn);
            to.push(request.to);
        }
        let issued: Vec<_> = merged.into_iter().collect();
        for ((fragment, from, purpose), (cn, to)) in issued {
            if let Some(copy) = self.memory.copy_mut(fragment, from) {
                copy.flows += 1;
            }
            let bits = self.case.graph.bits(fragment);
            let on_chip = !matches!(purpose, Purpose::Store | Purpose::Spill);
            let after = self.last_ended.filter(|(_, end)| *end == self.now).map(|(cn, _)| cn);
            let fragment_flow =
                NewFlow { fragment: Some(fragment), cn, from, to: to.clone(), bits, purpose, after };
            let index = self.flows.issue(fragment_flow, self.now)?;
            if on_chip {
                self.in_flight.insert(fragment, index);
                for pool in to {
                    self.bringing.insert((fragment, pool), index);
                }
            }
        }
        Ok(())
    }

    /// The nearest holder of a fragment; none when only DRAM holds it and a copy is in flight.
    fn nearest_holder(&self, request: &Request) -> Option<PoolId> {
        let distance = |from: PoolId| {
            let route = self.case.routes.route(from, request.to);
            route.map_or((u64::MAX, u32::MAX, from), |route| (route.latency, route.hops, from))
        };
        let holders = self.memory.copies(request.fragment).iter();
        let on_chip = holders
            .filter(|copy| copy.state != CopyState::Requested && copy.pool != request.to)
            .map(|copy| copy.pool)
            .min_by_key(|pool| distance(*pool));
        if on_chip.is_some() {
            return on_chip;
        }
        let store = matches!(request.purpose, Purpose::Store | Purpose::Spill);
        if !store && self.in_flight.contains_key(&request.fragment) {
            return None;
        }
        match self.memory.in_dram[request.fragment.index()] {
            InDram::At(pool) => Some(pool),
            _ => Some(self.case.routes.serving_dram(self.case.accelerator.pool(request.to).core)),
        }
    }

    fn end_segment(&mut self, segment: SegmentEnd) {
        if self.flows.end_segment(segment) == Some(true) {
            let latency = self.flows.flow(segment.flow).latency;
            match latency {
                0 => self.arrive(segment.flow),
                _ => self.push(self.now + latency, End::Arrival(segment.flow)),
            }
        }
    }

    fn arrive(&mut self, index: u32) {
        let flow = self.flows.take(index);
        self.count_traffic(&flow);
        let trace = FlowTrace {
            issued: flow.issued,
            cn: flow.cn,
            purpose: flow.purpose,
            dram: self.touches_dram(&flow),
            after: flow.after,
        };
        let time = Cycles(self.now);
        self.record(|| Event::Transfer {
            time,
            transfer: flow.id,
            fragment: flow.fragment,
            cn: flow.cn,
            from: flow.from,
            to: flow.to.to_vec(),
            bits: Bits(flow.bits),
            issued: Cycles(flow.issued),
            segments: flow.segments.to_vec(),
            purpose: flow.purpose,
        });
        match flow.fragment {
            None => self.finish_part(flow.cn),
            Some(fragment) => self.deliver(fragment, &flow, index, trace),
        }
    }

    fn deliver(&mut self, fragment: FragmentId, flow: &Flow, index: u32, trace: FlowTrace) {
        if self.in_flight.get(&fragment) == Some(&index) {
            self.in_flight.remove(&fragment);
        }
        if let Some(copy) = self.memory.copy_mut(fragment, flow.from) {
            copy.flows -= 1;
        }
        self.memory.touch(fragment);
        for pool in &flow.to {
            if self.case.accelerator.pool(*pool).dram {
                self.stored(fragment, *pool, trace);
                continue;
            }
            self.bringing.remove(&(fragment, *pool));
            self.memory.arrive(fragment, *pool);
            for cn in self.waiting.remove(&(fragment, *pool)).unwrap_or_default() {
                self.missing[cn.index()] -= 1;
                self.causes.input(cn, self.now, trace);
                if self.missing[cn.index()] == 0 {
                    let core = self.core_of(cn);
                    let released = self.times[cn.index()].released.0;
                    let key = priority_key(&self.case, cn, released);
                    self.cores[core].staged.insert((key, cn));
                }
            }
        }
        let leaving = self.memory.copy(fragment, flow.from).is_some_and(|copy| {
            flow.purpose == Purpose::Spill && copy.state == CopyState::Leaving && copy.flows == 0
        });
        if leaving {
            self.memory.drop_copy(fragment, flow.from);
        }
        if let Some(deferred) = self.deferred.remove(&fragment) {
            self.requests.extend(deferred);
        }
        self.memory.sweep(fragment);
        self.log_drops();
    }

    /// A fragment is now in DRAM: streaming readers may be released.
    fn stored(&mut self, fragment: FragmentId, dram: PoolId, trace: FlowTrace) {
        let first = self.memory.in_dram[fragment.index()] == InDram::No;
        self.memory.in_dram[fragment.index()] = InDram::At(dram);
        if trace.purpose == Purpose::Store {
            self.latency = self.latency.max(self.now);
            self.causes.store(self.now, trace);
        }
        if first {
            self.release_readers(fragment, true, trace.cn);
        }
    }

    /// Counts a made (or stored) fragment for the readers that wait for just that.
    fn release_readers(&mut self, fragment: FragmentId, streaming: bool, by: CnId) {
        let readers: SmallVec<[(CnId, usize); 8]> = self.case.graph.readers(fragment).collect();
        for (cn, operand) in readers {
            if self.case.placement.node(cn).operands[operand].streamed != streaming {
                continue;
            }
            let pending = &mut self.pending[cn.index()];
            *pending -= 1;
            if *pending == 0 {
                self.causes.release(cn, by);
                self.release(cn);
            }
        }
    }

    fn touches_dram(&self, flow: &Flow) -> bool {
        let dram = |pool: &PoolId| self.case.accelerator.pool(*pool).dram;
        dram(&flow.from) || flow.to.iter().any(dram)
    }

    /// One read at the source, one write at each destination; the ends of streams are in the costs
    /// of their CNs.
    fn count_traffic(&mut self, flow: &Flow) {
        if flow.fragment.is_none() {
            return;
        }
        let accelerator = self.case.accelerator;
        let words = |pool: PoolId, port: ResourceId| {
            let narrow = accelerator.port(pool, port).map_or(1, |port: &Port| port.bandwidth_min.0);
            flow.bits.div_ceil(narrow)
        };
        self.traffic.read_words[flow.from.index()] += words(flow.from, accelerator.pool(flow.from).read_port);
        for to in &flow.to {
            self.traffic.write_words[to.index()] += words(*to, accelerator.pool(*to).write_port);
        }
    }

    // ---- running ----

    fn start_best(&mut self, core: usize) -> Result<(), ScheduleError> {
        if self.cores[core].running.is_some() {
            return Ok(());
        }
        let Some((_, cn)) = self.cores[core].staged.pop_first() else { return Ok(()) };
        let last = self.cores[core].last;
        self.cores[core].running = Some(cn);
        let time = Cycles(self.now);
        self.times[cn.index()].start = time;
        self.record(|| Event::Start { time, cn });
        let previous = last.filter(|(_, end)| *end == self.now).map(|(cn, _)| cn);
        self.causes.start(cn, previous);
        let node = self.case.placement.node_of[cn.index()] as usize;
        self.push(self.now + self.case.costs.nodes[node].cycles.0.max(1), End::Compute(cn));
        self.unfinished[cn.index()] = 1;
        self.start_streams(cn)
    }

    fn start_streams(&mut self, cn: CnId) -> Result<(), ScheduleError> {
        let node = self.case.placement.node(cn);
        let index = self.case.placement.node_of[cn.index()] as usize;
        let dram = self.case.routes.serving_dram(node.core);
        for streamed in &self.case.costs.nodes[index].cost.streamed {
            let place = node.operands.iter().find(|place| place.memory == streamed.operand);
            let pool = place.and_then(|place| place.pool).expect("a streamed operand has a pool");
            for (bits, from, to, purpose) in [
                (streamed.read, dram, pool, Purpose::StreamIn),
                (streamed.write, pool, dram, Purpose::StreamOut),
            ] {
                if bits > 0 {
                    let to = SmallVec::from_slice(&[to]);
                    let stream = NewFlow { fragment: None, cn, from, to, bits, purpose, after: None };
                    self.flows.issue(stream, self.now)?;
                    self.unfinished[cn.index()] += 1;
                }
            }
        }
        Ok(())
    }

    /// The computation or a stream of a CN ended; the CN ends when all have.
    fn finish_part(&mut self, cn: CnId) {
        self.unfinished[cn.index()] -= 1;
        if self.unfinished[cn.index()] == 0 {
            self.finish(cn);
        }
    }

    fn finish(&mut self, cn: CnId) {
        let core = self.core_of(cn);
        let time = Cycles(self.now);
        self.times[cn.index()].end = time;
        self.record(|| Event::End { time, cn });
        let state = &mut self.cores[core];
        state.running = None;
        state.last = Some((cn, self.now));
        state.slots_used -= 1;
        state.busy += self.now - self.times[cn.index()].start.0;
        self.memory.done[cn.index()] = true;
        self.ended += 1;
        self.last_ended = Some((cn, self.now));
        for (pool, bits) in self.reservation(cn) {
            self.memory.release(pool, bits);
        }
        self.make_outputs(cn);
        let mut inputs = Vec::new();
        self.memory.inputs(cn, &mut inputs);
        for (fragment, pool) in &inputs {
            self.memory.copy_mut(*fragment, *pool).expect("an input stays while it is pinned").pins -= 1;
            self.memory.remove_user(*fragment, *pool);
        }
        for (fragment, _) in inputs {
            self.memory.touch(fragment);
            self.memory.sweep(fragment);
        }
        self.cores[core].dirty = true;
        self.log_drops();
    }

    /// The output fragments appear at final precision, are stored where they must be, and release
    /// their readers.
    fn make_outputs(&mut self, cn: CnId) {
        let place = self.case.placement.node(cn).operands[0];
        let pool = place.pool.expect("an output has a pool");
        let dram = self.case.routes.serving_dram(self.case.placement.core(cn));
        let outputs: SmallVec<[FragmentId; 8]> = self.case.graph.outputs(cn).collect();
        for fragment in outputs {
            if place.streamed {
                let trace =
                    FlowTrace { issued: self.now, cn, purpose: Purpose::StreamOut, dram: true, after: None };
                self.stored(fragment, dram, trace);
                if self.memory.needs_store[fragment.index()] {
                    self.latency = self.latency.max(self.now);
                    self.causes.store(self.now, trace);
                }
            } else {
                self.memory.add_copy(fragment, pool, CopyState::Present);
                if self.memory.needs_store[fragment.index()] {
                    self.request(fragment, dram, cn, Purpose::Store);
                }
                self.memory.sweep(fragment);
            }
            self.release_readers(fragment, false, cn);
        }
        self.log_drops();
    }

    fn into_schedule(mut self) -> Schedule {
        self.traffic.active = std::mem::take(&mut self.flows.active);
        self.traffic.bits = std::mem::take(&mut self.flows.moved);
        let trail = self.causes.trace(&self.case, &self.times, self.latency);
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

fn add_need(needs: &mut SmallVec<[(PoolId, u64); 2]>, pool: PoolId, bits: u64) {
    match needs.iter_mut().find(|(id, _)| *id == pool) {
        Some((_, needed)) => *needed += bits,
        None => needs.push((pool, bits)),
    }
}

/// Bits a CN reserves while admitted: its output at partial-sum precision, and stream tiles.
fn reservation(case: &Case, cn: CnId) -> SmallVec<[(PoolId, u64); 2]> {
    let node = case.placement.node(cn);
    let cost = &case.costs.nodes[case.placement.node_of[cn.index()] as usize];
    let class = case.graph.class(cn);
    let mut reserved = SmallVec::new();
    for (operand, place) in node.operands.iter().enumerate() {
        let Some(pool) = place.pool else { continue };
        match (place.streamed, operand) {
            (true, _) => add_need(&mut reserved, pool, cost.stream_tiles[operand]),
            (false, 0) => add_need(&mut reserved, pool, class.needed_bits(0)),
            (false, _) => {}
        }
    }
    reserved
}

impl Case<'_> {
    /// Whether a fragment belongs to a constant.
    fn is_constant(&self, fragment: FragmentId) -> bool {
        let tensor = self.graph.tensor_of[fragment.index()];
        self.workload.tensor(tensor).origin == crate::workload::Origin::Constant
    }
}
