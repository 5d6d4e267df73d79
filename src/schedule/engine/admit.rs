//! Admission: which released CNs get space, what is evicted for them, what is prefetched behind them.
//!
//! Released CNs are tried in priority order; one that does not fit is skipped, and only a core's first
//! skipped CN evicts (Rule (no deadlock)). A core whose pools and released CNs did not change since is
//! not tried again: the outcome would be the same.

use super::queue::Standing;
use super::{Engine, Event, Purpose, Request};
use crate::ids::{CnId, FragmentId, PoolId};
use crate::schedule::memory::CopyState;
use crate::schedule::{Case, ScheduleError};
use crate::units::{Bits, Cycles};
use smallvec::SmallVec;

impl Engine<'_> {
    pub(super) fn admit_all(&mut self) {
        loop {
            for pool in std::mem::take(&mut self.memory.touched) {
                self.memory.pools[pool.index()].touched = false;
                self.dirty
                    .extend(self.case.accelerator.pool(pool).users.iter().map(|(core, _)| core.index()));
            }
            let dirty = std::mem::take(&mut self.dirty);
            if dirty.is_empty() {
                return;
            }
            for core in dirty {
                self.admit_on(core);
            }
        }
    }

    /// Tries the released CNs of a core in priority order.
    pub(super) fn admit_on(&mut self, core: usize) {
        self.cores[core].wants = None;
        for neighbour in self.cores[core].neighbours.clone() {
            self.cores[neighbour as usize].look_ahead = true;
        }
        self.admit_in_slots(core);
        self.admit_beyond_slots(core);
    }

    /// The first that does not fit evicts; behind it only those are tried that can fit.
    fn admit_in_slots(&mut self, core: usize) {
        let mut skipped: Option<(u64, CnId)> = None;
        while self.cores[core].slots_used < self.cores[core].slots {
            self.note_copies();
            let released = &self.cores[core].released;
            let next = match skipped {
                None => released.all.first().copied(),
                Some(last) => released.fresh_after(last),
            };
            let Some((key, cn)) = next else { return };
            let admitted = self.try_admit(key, cn, skipped.is_none());
            if !admitted && skipped.is_none() {
                self.recall(core);
            }
            if !admitted || skipped.is_some() {
                skipped = Some((key, cn));
            }
        }
    }

    /// If a core would idle, one CN with all inputs present is admitted beyond its slots.
    pub(super) fn admit_beyond_slots(&mut self, core: usize) {
        let state = &self.cores[core];
        if state.running.is_some() || !state.staged.is_empty() || state.slots_used < state.slots {
            return;
        }
        self.note_copies();
        let mut last = None;
        while let Some((key, cn)) = self.cores[core].released.complete_after(last) {
            last = Some((key, cn));
            if !self.memory.all_present(cn) {
                self.remove_complete(key, cn);
            } else if self.try_admit(key, cn, false) {
                return;
            }
        }
    }

    /// Bits that admission reserves for output and stream tiles, per pool.
    pub(super) fn reservation(&self, cn: CnId) -> SmallVec<[(PoolId, u64); 2]> {
        reservation(&self.case, cn)
    }

    /// Admits a CN if all pools have room; otherwise, if it may, evicts for it.
    pub(super) fn try_admit(&mut self, key: u64, cn: CnId, may_evict: bool) -> bool {
        let reserved = self.reservation(cn);
        let short = reserved.iter().find(|(pool, bits)| !self.fits(*pool, *bits)).copied();
        if let Some((pool, bits)) = short.filter(|_| !may_evict) {
            self.causes.block(cn, self.now, reserved[0].0);
            self.set_standing(key, cn, Standing::Short(pool, bits));
            return false;
        }
        // The first skipped CN of a core is tried at every change: its inputs are kept.
        let core = self.core_of(cn);
        let (mut of, mut inputs) = match may_evict {
            true => std::mem::take(&mut self.cores[core].first),
            false => (None, std::mem::take(&mut self.scratch)),
        };
        if of != Some(cn) {
            self.memory.inputs(cn, &mut inputs);
            of = Some(cn);
        }
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
            if !fits {
                self.hold_back_prefetch(cn, &needs);
            }
        }
        if fits {
            self.admit(key, cn, &reserved, &inputs);
        } else {
            let short = needs.iter().find(|(pool, bits)| !self.fits(*pool, *bits));
            let (pool, bits) = *short.expect("a CN that does not fit is short somewhere");
            self.causes.block(cn, self.now, pool);
            self.set_standing(key, cn, Standing::Short(pool, bits));
        }
        match may_evict {
            true => self.cores[core].first = (of, inputs),
            false => self.scratch = inputs,
        }
        fits
    }

    pub(super) fn fits(&self, pool: PoolId, bits: u64) -> bool {
        let state = &self.memory.pools[pool.index()];
        bits <= state.capacity.saturating_sub(state.used)
    }

    pub(super) fn admit(
        &mut self,
        key: u64,
        cn: CnId,
        reserved: &[(PoolId, u64)],
        inputs: &[(FragmentId, PoolId)],
    ) {
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
        self.remove_released(key, cn);
        let state = &mut self.cores[core];
        state.slots_used += 1;
        let last = state.last;
        if missing == 0 {
            state.staged.insert((key, cn));
        }
        self.causes.admit(cn, last);
    }

    pub(super) fn request(&mut self, fragment: FragmentId, to: PoolId, cn: CnId, purpose: Purpose) {
        let time = Cycles(self.now);
        self.record(|| Event::Request { time, fragment, to, cn, purpose });
        if matches!(purpose, Purpose::Store | Purpose::Spill) {
            self.memory.store(fragment);
        }
        self.requests.push(Request { fragment, to, cn, purpose });
    }

    /// An admission needs a copy that is on its way, or the copy it is waiting for: neither may
    /// stay behind admissions as a prefetch.
    pub(super) fn urge(&mut self, fragment: FragmentId, pool: PoolId) {
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

    /// Makes room in the pools that are short: spare copies leave at once, sole ones are written
    /// back and leave then.
    pub(super) fn evict_for(
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
            let short = (bits - free).saturating_sub(state.leaving);
            if short == 0 {
                continue;
            }
            let position = &self.order.position;
            for (fragment, sole) in self.memory.victims(*pool, short, inputs, after, position) {
                if sole {
                    self.memory.leave(fragment, *pool);
                    let dram = self.case.routes.serving_dram(self.case.accelerator.pool(*pool).core);
                    let owner = self.case.graph.producer(fragment).unwrap_or(cn);
                    self.request(fragment, dram, owner, Purpose::Spill);
                } else {
                    self.memory.drop_copy(fragment, *pool);
                }
            }
            self.log_drops();
        }
    }

    /// Nothing is prefetched into any pool in which a skipped CN needs space, not even into one that
    /// has room: the CN needs all at once.
    fn hold_back_prefetch(&mut self, cn: CnId, needs: &[(PoolId, u64)]) {
        let core = self.core_of(cn);
        self.cores[core].wants = Some((cn, needs.iter().map(|(pool, _)| *pool).collect()));
    }

    /// Nothing runs, is staged or flows: the globally first CN may take anything unpinned.
    pub(super) fn break_deadlock(&mut self) -> Result<(), ScheduleError> {
        let released = self.cores.iter().flat_map(|core| core.released.all.iter().copied());
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
        self.hold_back_prefetch(cn, &needs);
        if needs.iter().all(|(pool, bits)| self.fits(*pool, *bits)) {
            self.admit(key, cn, &reserved, &inputs);
            self.dirty.insert(self.core_of(cn));
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
    pub(super) fn log_drops(&mut self) {
        let time = Cycles(self.now);
        for (fragment, pool) in std::mem::take(&mut self.memory.dropped) {
            self.record(|| Event::Drop { time, fragment, pool });
            if !self.case.is_constant(fragment) {
                continue;
            }
            for (cn, operand) in self.case.graph.readers(fragment) {
                let node = self.case.placement.node(cn);
                if node.operands[operand].pool == Some(pool) && !self.memory.done[cn.index()] {
                    let core = &mut self.cores[node.core.index()];
                    core.cursor = core.cursor.min(self.order.index_on_core[cn.index()] as usize);
                    core.look_ahead = true;
                }
            }
        }
    }

    /// Requests constants of each core's next CNs in expected order into free space.
    pub(super) fn prefetch(&mut self) {
        for core in 0..self.cores.len() {
            if std::mem::take(&mut self.cores[core].look_ahead) && self.cores[core].prefetch {
                self.prefetch_on(core);
            }
        }
    }

    pub(super) fn prefetch_on(&mut self, core: usize) {
        while let Some(cn) = self.order.by_core[core].get(self.cores[core].cursor).copied() {
            if !self.memory.done[cn.index()] {
                let (of, mut constants) = std::mem::take(&mut self.cores[core].ahead);
                if of != Some(cn) {
                    self.memory.inputs(cn, &mut constants);
                    constants.retain(|(fragment, _)| self.case.is_constant(*fragment));
                }
                let all = constants.iter().all(|(fragment, pool)| self.prefetch_one(cn, *fragment, *pool));
                self.cores[core].ahead = (Some(cn), constants);
                if !all {
                    return;
                }
            }
            self.cores[core].cursor += 1;
        }
    }

    /// Requests a constant that is not there or on its way; no if there is no room.
    fn prefetch_one(&mut self, cn: CnId, fragment: FragmentId, pool: PoolId) -> bool {
        if self.memory.copy(fragment, pool).is_some() {
            return true;
        }
        let room = !self.is_wanted(pool, cn) && self.fits(pool, self.case.graph.bits(fragment));
        if room {
            self.memory.add_copy(fragment, pool, CopyState::Requested);
            self.request(fragment, pool, cn, Purpose::Prefetch);
        }
        room
    }

    /// Whether another CN waits for space and needs the pool.
    pub(super) fn is_wanted(&self, pool: PoolId, by: CnId) -> bool {
        let users = &self.case.accelerator.pool(pool).users;
        let wants = users.iter().filter_map(|(core, _)| self.cores[core.index()].wants.as_ref());
        wants.into_iter().any(|(cn, pools)| *cn != by && pools.contains(&pool))
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
    let mut reserved = SmallVec::new();
    for (operand, place) in node.operands.iter().enumerate() {
        let Some(pool) = place.pool else { continue };
        match (place.streamed, operand) {
            (true, _) => add_need(&mut reserved, pool, cost.stream_tiles[operand]),
            (false, 0) => add_need(&mut reserved, pool, cost.output_bits),
            (false, _) => {}
        }
    }
    reserved
}
