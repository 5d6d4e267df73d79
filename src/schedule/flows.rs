//! Flows: requests merged into multicasts, routed, and served exclusively in packets (or fairly, see
//! [`super::fair`]).
//!
//! A flow uses all resources of its route at once, at the bandwidth of the narrowest. It starts when
//! it is first in the queue of every resource of its route, ordered by (urgency, issue time, CN,
//! fragment), and queues again after each packet (Rule (contention)). A running flow is simulated
//! to its end and cut at a packet boundary only when a more urgent flow queues at one of its
//! resources, which gives the same times as stopping after every packet.

use super::fair::{Fair, UNITS};
use super::{Case, Contention, ScheduleError};
use crate::ids::{CnId, FragmentId, PoolId, ResourceId, TransferId};
use crate::schedule::log::Purpose;
use crate::units::{Bits, Cycles};
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// Order of flows at a resource: smaller goes first.
pub(super) type Key = (u8, u64, CnId, FragmentId, u32);

/// A transfer under way.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub id: TransferId,
    /// None for a stream.
    pub fragment: Option<FragmentId>,
    pub cn: CnId,
    pub from: PoolId,
    pub to: SmallVec<[PoolId; 2]>,
    pub bits: u64,
    pub purpose: Purpose,
    /// The CN that ended last when the flow was issued at that very time.
    pub after: Option<CnId>,
    pub issued: u64,
    urgency: u8,
    pub(super) resources: SmallVec<[ResourceId; 6]>,
    rate: u64,
    pub latency: u64,
    remaining: u64,
    /// What is left under `fair` contention, in [`UNITS`]ths of a bit.
    pub(super) units: u128,
    /// Its bundle under `fair` contention.
    pub(super) bundle: u32,
    pub(super) running_since: Option<u64>,
    /// Number of the pending end event; older ones are stale.
    pub(super) generation: u32,
    pub segments: SmallVec<[(Cycles, Cycles); 1]>,
    /// Under `fair` contention the rate of each segment, in [`UNITS`]ths of a bit per cycle.
    pub rates: SmallVec<[u64; 1]>,
    /// The use that left one of its resources last before the running segment.
    pub(super) follows: Option<u32>,
    /// The last use it made of its route.
    pub last_use: Option<u32>,
}

/// One use of a route by one flow, kept to tell what queued flows waited for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    pub start: u64,
    pub end: u64,
    /// Whether DRAM is one of the flow's ends.
    pub dram: bool,
    /// The use that left one of the route's resources last before this one.
    pub follows: Option<u32>,
}

/// What a flow is made of.
pub(super) struct NewFlow {
    pub fragment: Option<FragmentId>,
    pub cn: CnId,
    pub from: PoolId,
    pub to: SmallVec<[PoolId; 2]>,
    pub bits: u64,
    pub purpose: Purpose,
    pub after: Option<CnId>,
}

/// The end of a flow's running segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SegmentEnd {
    pub time: u64,
    pub flow: u32,
    pub generation: u32,
}

/// Flows, queues and use of all resources.
pub(super) struct Flows<'a> {
    pub(super) case: Case<'a>,
    pub(super) fair: Fair,
    flows: Vec<Option<Flow>>,
    free: Vec<u32>,
    queues: Vec<BTreeSet<Key>>,
    current: Vec<Option<u32>>,
    /// Every use of a route, by end.
    pub uses: Vec<Use>,
    /// The last use of each resource.
    pub(super) last_use: Vec<Option<u32>>,
    /// Resources whose queue or holder changed since the last start of flows.
    changed: BTreeSet<ResourceId>,
    pub active: Vec<Cycles>,
    pub moved: Vec<Bits>,
    pub count: u32,
    /// Segment ends carry the number of their start, unique over all flows.
    starts: u32,
}

impl<'a> Flows<'a> {
    pub fn new(case: Case<'a>) -> Self {
        let resources = case.accelerator.resources.len();
        Self {
            case,
            fair: Fair::new(resources),
            flows: Vec::new(),
            free: Vec::new(),
            queues: vec![BTreeSet::new(); resources],
            current: vec![None; resources],
            uses: Vec::new(),
            last_use: vec![None; resources],
            changed: BTreeSet::new(),
            active: vec![Cycles::ZERO; resources],
            moved: vec![Bits::ZERO; resources],
            count: 0,
            starts: 0,
        }
    }

    pub fn flow(&self, index: u32) -> &Flow {
        self.flows[index as usize].as_ref().expect("an indexed flow is under way")
    }

    pub(super) fn flow_mut(&mut self, index: u32) -> &mut Flow {
        self.flows[index as usize].as_mut().expect("an indexed flow is under way")
    }

    pub(super) fn key(&self, index: u32) -> Key {
        let flow = self.flow(index);
        let fragment = flow.fragment.unwrap_or(FragmentId(u32::MAX));
        (flow.urgency, flow.issued, flow.cn, fragment, index)
    }

    /// Queues a new flow at every resource of its route. Returns its index.
    pub fn issue(&mut self, new: NewFlow, now: u64) -> Result<u32, ScheduleError> {
        let mut resources: SmallVec<[ResourceId; 6]> = SmallVec::new();
        let (mut rate, mut latency) = (u64::MAX, 0);
        for to in &new.to {
            let pool = |id: PoolId| self.case.accelerator.pool(id).name.clone();
            let Some(route) = self.case.routes.route(new.from, *to) else {
                return Err(ScheduleError::NoRoute { from: pool(new.from), to: pool(*to) });
            };
            for resource in &route.resources {
                if !resources.contains(resource) {
                    resources.push(*resource);
                }
            }
            rate = rate.min(route.bandwidth.0);
            latency = latency.max(route.latency);
        }
        let flow = Flow {
            id: TransferId(self.count),
            fragment: new.fragment,
            cn: new.cn,
            from: new.from,
            to: new.to,
            bits: new.bits,
            purpose: new.purpose,
            after: new.after,
            issued: now,
            urgency: u8::from(new.purpose == Purpose::Prefetch),
            resources,
            rate,
            latency,
            remaining: new.bits,
            units: u128::from(new.bits) * u128::from(UNITS),
            bundle: 0,
            running_since: None,
            generation: 0,
            segments: SmallVec::new(),
            rates: SmallVec::new(),
            follows: None,
            last_use: None,
        };
        self.count += 1;
        let index = match self.free.pop() {
            Some(index) => {
                self.flows[index as usize] = Some(flow);
                index
            }
            None => {
                self.flows.push(Some(flow));
                (self.flows.len() - 1) as u32
            }
        };
        self.enqueue(index);
        Ok(index)
    }

    fn is_fair(&self) -> bool {
        self.case.options.contention == Contention::Fair
    }

    fn enqueue(&mut self, index: u32) {
        if self.is_fair() {
            return self.join(index);
        }
        let key = self.key(index);
        for resource in self.flow(index).resources.clone() {
            self.queues[resource.index()].insert(key);
            self.changed.insert(resource);
        }
    }

    fn dequeue(&mut self, index: u32) {
        if self.is_fair() {
            return self.part(index);
        }
        let key = self.key(index);
        for resource in self.flow(index).resources.clone() {
            self.queues[resource.index()].remove(&key);
            self.changed.insert(resource);
        }
    }

    /// A prefetched fragment is now needed by an admission: its flow counts as one.
    pub fn urge(&mut self, index: u32) {
        let flow = self.flow(index);
        // What has left already, and only the latency of its route is to pass, waits for nothing.
        let left = if self.is_fair() { flow.units == 0 } else { flow.remaining == 0 };
        if flow.urgency == 0 || left {
            return;
        }
        let queued = self.is_fair() || self.flow(index).running_since.is_none();
        if queued {
            self.dequeue(index);
        }
        self.flow_mut(index).urgency = 0;
        if queued {
            self.enqueue(index);
        }
    }

    /// Starts every flow that is first everywhere on an idle route, and cuts running flows for
    /// more urgent ones. Returns the new segment ends.
    pub fn start(&mut self, now: u64) -> Vec<SegmentEnd> {
        if self.is_fair() {
            return self.share(now);
        }
        let mut ends = Vec::new();
        while let Some(resource) = self.changed.pop_first() {
            let Some(first) = self.queues[resource.index()].first().copied() else { continue };
            match self.current[resource.index()] {
                Some(running) if first < self.key(running) => ends.extend(self.cut(running, now)),
                Some(_) => {}
                None => ends.extend(self.try_start(first.4, now)),
            }
        }
        ends
    }

    fn try_start(&mut self, index: u32, now: u64) -> Option<SegmentEnd> {
        let key = self.key(index);
        let flow = self.flow(index);
        let free = flow.resources.iter().all(|resource| {
            self.current[resource.index()].is_none() && self.queues[resource.index()].first() == Some(&key)
        });
        if !free {
            return None;
        }
        let resources = flow.resources.clone();
        let duration = self.duration(flow, flow.remaining);
        for resource in &resources {
            self.queues[resource.index()].remove(&key);
            self.current[resource.index()] = Some(index);
        }
        // Uses are numbered by their end.
        let follows = resources.iter().filter_map(|resource| self.last_use[resource.index()]).max();
        let flow = self.flow_mut(index);
        flow.follows = follows;
        flow.running_since = Some(now);
        Some(self.segment_end(index, now + duration))
    }

    /// Cycles for `bits` in packets, each rounded up on its own.
    fn duration(&self, flow: &Flow, bits: u64) -> u64 {
        let packet = self.case.options.packet.0;
        (bits / packet) * packet.div_ceil(flow.rate) + (bits % packet).div_ceil(flow.rate)
    }

    /// Ends the running segment at the next packet boundary instead of at the flow's end.
    fn cut(&mut self, index: u32, now: u64) -> Option<SegmentEnd> {
        let flow = self.flow(index);
        let since = flow.running_since.expect("a current flow is running");
        let packet = self.case.options.packet.0.div_ceil(flow.rate);
        let boundary = since + (now - since).div_ceil(packet).max(1) * packet;
        if boundary >= since + self.duration(flow, flow.remaining) {
            return None;
        }
        Some(self.segment_end(index, boundary))
    }

    /// The event that ends the running segment; earlier ones of the flow become stale.
    pub(super) fn segment_end(&mut self, index: u32, time: u64) -> SegmentEnd {
        self.starts += 1;
        let generation = self.starts;
        self.flow_mut(index).generation = generation;
        SegmentEnd { time, flow: index, generation }
    }

    /// Handles the end of a segment; returns true when all bits have moved.
    pub fn end_segment(&mut self, end: SegmentEnd) -> Option<bool> {
        let known = self.flows.get(end.flow as usize).and_then(Option::as_ref);
        if known.is_none_or(|flow| flow.generation != end.generation) {
            return None;
        }
        if self.is_fair() {
            return Some(self.end_fair(end));
        }
        let packet = self.case.options.packet.0;
        let flow = self.flow(end.flow);
        let since = flow.running_since.expect("a segment that ends was running");
        let length = Cycles(end.time - since);
        let moved = match end.time == since + self.duration(flow, flow.remaining) {
            true => flow.remaining,
            false => length.0 / packet.div_ceil(flow.rate) * packet,
        };
        let (flow, number) = (self.flow(end.flow), self.uses.len() as u32);
        let dram = self.touches_dram(flow);
        self.uses.push(Use { start: since, end: end.time, dram, follows: flow.follows });
        for resource in self.flow(end.flow).resources.clone() {
            self.current[resource.index()] = None;
            self.last_use[resource.index()] = Some(number);
            self.changed.insert(resource);
            self.active[resource.index()] += length;
            self.moved[resource.index()] += Bits(moved);
        }
        let flow = self.flow_mut(end.flow);
        flow.running_since = None;
        flow.last_use = Some(number);
        flow.remaining -= moved;
        match flow.segments.last_mut() {
            Some(last) if last.1.0 == since => last.1 = Cycles(end.time),
            _ => flow.segments.push((Cycles(since), Cycles(end.time))),
        }
        let done = flow.remaining == 0;
        if !done {
            self.enqueue(end.flow);
        }
        Some(done)
    }

    /// Whether DRAM is one of its ends.
    pub fn touches_dram(&self, flow: &Flow) -> bool {
        let dram = |pool: &PoolId| self.case.accelerator.pool(*pool).dram;
        dram(&flow.from) || flow.to.iter().any(dram)
    }

    /// Removes a flow that has arrived.
    pub fn take(&mut self, index: u32) -> Flow {
        self.free.push(index);
        self.flows[index as usize].take().expect("an arriving flow is under way")
    }
}
