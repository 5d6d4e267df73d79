//! Requests and flows: merging, sources, arrivals, what they release, what they cost.

use super::{End, Engine, Event, Purpose, Request};
use crate::accelerator::Port;
use crate::ids::{CnId, FragmentId, PoolId, ResourceId};
use crate::schedule::ScheduleError;
use crate::schedule::flows::{Flow, NewFlow, SegmentEnd};
use crate::schedule::memory::{CopyState, InDram};
use crate::schedule::priority_key;
use crate::schedule::why::FlowTrace;
use crate::units::{Bits, Cycles};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Requests merged into one flow.
struct Multicast {
    cn: CnId,
    to: SmallVec<[PoolId; 2]>,
}

impl Engine<'_> {
    /// Merges the requests of this instant by fragment and source, and issues their flows.
    pub(super) fn merge_requests(&mut self) -> Result<(), ScheduleError> {
        let mut requests = std::mem::take(&mut self.requests);
        requests.sort_unstable();
        let mut merged: BTreeMap<(FragmentId, PoolId, Purpose), Multicast> = BTreeMap::new();
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
            let multicast = entry.or_insert(Multicast { cn: request.cn, to: SmallVec::new() });
            multicast.cn = multicast.cn.min(request.cn);
            multicast.to.push(request.to);
        }
        let issued: Vec<_> = merged.into_iter().collect();
        for ((fragment, from, purpose), Multicast { cn, to }) in issued {
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
    pub(super) fn nearest_holder(&self, request: &Request) -> Option<PoolId> {
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

    pub(super) fn end_segment(&mut self, segment: SegmentEnd) {
        if self.flows.end_segment(segment) == Some(true) {
            let latency = self.flows.flow(segment.flow).latency;
            match latency {
                0 => self.arrive(segment.flow),
                _ => self.push(self.now + latency, End::Arrival(segment.flow)),
            }
        }
    }

    pub(super) fn arrive(&mut self, index: u32) {
        let flow = self.flows.take(index);
        self.count_traffic(&flow);
        let trace = FlowTrace {
            issued: flow.issued,
            cn: flow.cn,
            purpose: flow.purpose,
            dram: self.flows.touches_dram(&flow),
            after: flow.after,
            last_use: flow.last_use,
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
            rates: flow.rates.to_vec(),
            purpose: flow.purpose,
        });
        match flow.fragment {
            None => self.finish_part(flow.cn),
            Some(fragment) => self.deliver(fragment, &flow, index, trace),
        }
    }

    pub(super) fn deliver(&mut self, fragment: FragmentId, flow: &Flow, index: u32, trace: FlowTrace) {
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
        // The write-back may end before other flows that read the copy: the last of them frees it.
        let written = self.memory.in_dram[fragment.index()] != InDram::No;
        let leaving = (self.memory.copy(fragment, flow.from))
            .is_some_and(|copy| written && copy.state == CopyState::Leaving && copy.flows == 0);
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
    pub(super) fn stored(&mut self, fragment: FragmentId, dram: PoolId, trace: FlowTrace) {
        let first = self.memory.stored(fragment, dram);
        if trace.purpose == Purpose::Store {
            self.latency = self.latency.max(self.now);
            self.causes.store(self.now, trace);
        }
        if first {
            self.release_readers(fragment, true, trace.cn);
        }
    }

    /// Counts a made (or stored) fragment for the readers that wait for just that.
    pub(super) fn release_readers(&mut self, fragment: FragmentId, streaming: bool, by: CnId) {
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

    /// One read at the source, one write at each destination; the ends of streams are in the costs
    /// of their CNs.
    pub(super) fn count_traffic(&mut self, flow: &Flow) {
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
}
