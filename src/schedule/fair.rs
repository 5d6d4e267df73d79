//! Fair sharing: max-min rates by progressive filling.
//!
//! Flows with the same source and destinations form a bundle and go one after the other, the more
//! urgent first, then by (issue time, CN, fragment). Only the head of a bundle moves. Let `C(r)` be the bandwidth of a
//! resource and `B(r)` the bundles that use it, in units of [`UNITS`]ths of a bit per cycle:
//!
//! ```text
//! share(r) = floor((C(r) - rates of the filled bundles of B(r)) / unfilled bundles of B(r))
//! ```
//!
//! All unfilled bundles of the resources with the smallest share get it and are filled; this repeats
//! until all are filled. Bundles that share no resource, not even through others, do not influence
//! each other, so that only the component of the bundles and resources that changed is filled anew.
//! What is left of a flow is an integer number of units; it ends after `ceil(left / rate)` cycles.
//!
//! Assumption: fluid sharing, packets play no part, and a switch of rates costs nothing.

use super::flows::{Flows, Key, SegmentEnd, Use};
use crate::ids::{PoolId, ResourceId};
use crate::units::{BitsPerCycle, Cycles};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// Units per bit: rates are multiples of 2^-20 bits per cycle.
pub const UNITS: u64 = 1 << 20;

/// Flows from one source to the same destinations.
#[derive(Clone, Debug)]
struct Bundle {
    queue: BTreeSet<Key>,
    resources: SmallVec<[ResourceId; 6]>,
    /// Units per cycle of the head.
    rate: u64,
    /// The flow that moves, with the cycle since which it has this rate.
    head: Option<(u32, u64)>,
    /// It is in the lists of its resources.
    listed: bool,
}

/// Bundles and the resources they share.
#[derive(Clone, Debug, Default)]
pub(super) struct Fair {
    known: FxHashMap<(PoolId, SmallVec<[PoolId; 2]>), u32>,
    bundles: Vec<Bundle>,
    /// Bundles with flows, per resource.
    users: Vec<Vec<u32>>,
    /// Since when each resource is used.
    busy_since: Vec<Option<u64>>,
    /// Bundles whose queue changed since rates were last set.
    changed: BTreeSet<u32>,
    /// Resources that a bundle left since then.
    freed: BTreeSet<ResourceId>,
}

impl Fair {
    pub fn new(resources: usize) -> Self {
        Self { users: vec![Vec::new(); resources], busy_since: vec![None; resources], ..Self::default() }
    }

    /// The bundle of a source and destinations.
    fn bundle(&mut self, from: PoolId, to: &SmallVec<[PoolId; 2]>, resources: &[ResourceId]) -> u32 {
        let next = self.bundles.len() as u32;
        let index = *self.known.entry((from, to.clone())).or_insert(next);
        if index == next {
            self.bundles.push(Bundle {
                queue: BTreeSet::new(),
                resources: SmallVec::from_slice(resources),
                rate: 0,
                head: None,
                listed: false,
            });
        }
        index
    }

    /// Bundles that share a resource, directly or through others, with what changed.
    fn component(&mut self) -> Vec<u32> {
        let mut found: BTreeSet<u32> = std::mem::take(&mut self.changed);
        let mut open: Vec<u32> = found.iter().copied().collect();
        let mut seen: BTreeSet<ResourceId> = BTreeSet::new();
        let freed = std::mem::take(&mut self.freed);
        for resource in freed {
            seen.insert(resource);
            open.extend(self.users[resource.index()].iter().filter(|bundle| found.insert(**bundle)));
        }
        while let Some(bundle) = open.pop() {
            for resource in &self.bundles[bundle as usize].resources {
                if seen.insert(*resource) {
                    open.extend(self.users[resource.index()].iter().filter(|bundle| found.insert(**bundle)));
                }
            }
        }
        found.into_iter().collect()
    }

    /// New rates of a component, in its order.
    fn fill(&self, component: &[u32], capacity: impl Fn(ResourceId) -> BitsPerCycle) -> Vec<u64> {
        let mut rates: Vec<Option<u64>> = vec![None; component.len()];
        // Per resource: units left and unfilled bundles.
        let mut left: Vec<(ResourceId, u64, u64)> = Vec::new();
        let mut at: FxHashMap<ResourceId, usize> = FxHashMap::default();
        for bundle in component {
            for resource in &self.bundles[*bundle as usize].resources {
                let slot = *at.entry(*resource).or_insert(left.len());
                if slot == left.len() {
                    left.push((*resource, capacity(*resource).0.saturating_mul(UNITS), 0));
                }
                left[slot].2 += 1;
            }
        }
        while let Some(share) = left.iter().filter(|(_, _, n)| *n > 0).map(|(_, units, n)| units / n).min() {
            let tight: BTreeSet<ResourceId> = (left.iter())
                .filter(|(_, units, n)| *n > 0 && units / n == share)
                .map(|(resource, ..)| *resource)
                .collect();
            for (position, bundle) in component.iter().enumerate() {
                let resources = &self.bundles[*bundle as usize].resources;
                if rates[position].is_none() && resources.iter().any(|resource| tight.contains(resource)) {
                    rates[position] = Some(share);
                    for resource in resources {
                        let (_, units, unfilled) = &mut left[at[resource]];
                        *units -= share;
                        *unfilled -= 1;
                    }
                }
            }
        }
        rates.into_iter().map(|rate| rate.expect("filling ends when all bundles are filled")).collect()
    }
}

impl Flows<'_> {
    /// Puts a flow into its bundle.
    pub(super) fn join(&mut self, index: u32) {
        let key = self.key(index);
        let flow = self.flow(index);
        let (from, to, resources) = (flow.from, flow.to.clone(), flow.resources.clone());
        let bundle = self.fair.bundle(from, &to, &resources);
        self.fair.bundles[bundle as usize].queue.insert(key);
        self.fair.changed.insert(bundle);
        self.flow_mut(index).bundle = bundle;
    }

    /// Takes a flow out of its bundle.
    pub(super) fn part(&mut self, index: u32) {
        let (key, bundle) = (self.key(index), self.flow(index).bundle);
        self.fair.bundles[bundle as usize].queue.remove(&key);
        self.fair.changed.insert(bundle);
    }

    /// Sets the rates of all bundles that what changed can influence.
    pub(super) fn share(&mut self, now: u64) -> Vec<SegmentEnd> {
        if self.fair.changed.is_empty() && self.fair.freed.is_empty() {
            return Vec::new();
        }
        for bundle in self.fair.changed.clone() {
            self.list(bundle, now);
        }
        let mut component = self.fair.component();
        component.retain(|bundle| self.fair.bundles[*bundle as usize].listed);
        let resources = &self.case.accelerator.resources;
        let rates = self.fair.fill(&component, |resource| resources[resource.index()].bandwidth);
        let mut ends = Vec::new();
        for (bundle, rate) in component.into_iter().zip(rates) {
            ends.extend(self.set_rate(bundle, rate, now));
        }
        ends
    }

    /// Enters or removes a bundle in the lists of its resources as it has flows or none.
    fn list(&mut self, bundle: u32, now: u64) {
        let state = &mut self.fair.bundles[bundle as usize];
        let wanted = !state.queue.is_empty();
        if wanted == state.listed {
            return;
        }
        state.listed = wanted;
        for resource in state.resources.clone() {
            let users = &mut self.fair.users[resource.index()];
            match wanted {
                true => users.push(bundle),
                false => users.retain(|user| *user != bundle),
            }
            let since = &mut self.fair.busy_since[resource.index()];
            match since {
                None => *since = Some(now),
                Some(start) if users.is_empty() => {
                    self.active[resource.index()] += Cycles(now - *start);
                    *since = None;
                }
                Some(_) => {}
            }
            self.fair.freed.insert(resource);
        }
    }

    /// The head of a bundle moves at `rate` from now on.
    fn set_rate(&mut self, bundle: u32, rate: u64, now: u64) -> Option<SegmentEnd> {
        let state = &self.fair.bundles[bundle as usize];
        let first = state.queue.first().expect("a listed bundle has flows").4;
        if state.rate == rate && state.head.is_some_and(|(head, _)| head == first) {
            return None;
        }
        if let Some((head, _)) = state.head {
            self.advance(head, now);
        }
        let state = &mut self.fair.bundles[bundle as usize];
        state.rate = rate;
        state.head = Some((first, now));
        let resources = state.resources.clone();
        let follows = resources.iter().filter_map(|resource| self.last_use[resource.index()]).max();
        let flow = self.flow_mut(first);
        if flow.segments.is_empty() {
            flow.follows = follows;
        }
        flow.running_since = Some(now);
        let cycles = flow.units.div_ceil(u128::from(rate.max(1)));
        Some(self.segment_end(first, now + cycles as u64))
    }

    /// Books what the head of a bundle has moved at its rate.
    fn advance(&mut self, index: u32, now: u64) {
        let state = &self.fair.bundles[self.flow(index).bundle as usize];
        let rate = state.rate;
        let flow = self.flow_mut(index);
        flow.generation = 0; // no start has this number: the pending end is stale
        let Some(since) = flow.running_since.take().filter(|since| *since < now) else { return };
        flow.units = flow.units.saturating_sub(u128::from(rate) * u128::from(now - since));
        match (flow.segments.last_mut(), flow.rates.last()) {
            (Some(last), Some(before)) if last.1.0 == since && *before == rate => last.1 = Cycles(now),
            _ => {
                flow.segments.push((Cycles(since), Cycles(now)));
                flow.rates.push(rate);
            }
        }
    }

    /// The head of a bundle has moved all its bits.
    pub(super) fn end_fair(&mut self, end: SegmentEnd) -> bool {
        self.advance(end.flow, end.time);
        self.part(end.flow);
        let (flow, number) = (self.flow(end.flow), self.uses.len() as u32);
        let bundle = flow.bundle;
        let start = flow.segments.first().map_or(end.time, |(start, _)| start.0);
        let (bits, resources) = (flow.bits, flow.resources.clone());
        self.uses.push(Use { start, end: end.time, dram: self.touches_dram(flow), follows: flow.follows });
        for resource in resources {
            self.last_use[resource.index()] = Some(number);
            self.moved[resource.index()].0 += bits;
        }
        self.flow_mut(end.flow).last_use = Some(number);
        self.fair.bundles[bundle as usize].head = None;
        if self.fair.bundles[bundle as usize].queue.is_empty() {
            self.list(bundle, end.time);
        }
        true
    }
}
