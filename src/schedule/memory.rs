//! Copies of fragments in pools: reservation, pins, users, death, eviction.
//!
//! `used = bits of all copies (requested, present, leaving) + reservations of admitted CNs`, never
//! above the capacity. What may leave a pool is kept in the order in which it would leave; a fragment of
//! which anything changes is looked at again before the next eviction. A copy is dead, and leaves at once, when no unexecuted CN of its pool needs
//! it and another copy exists, or when nobody needs it (Rule (eviction)).

use super::Case;
use crate::ids::{CnId, FragmentId, PoolId};
use crate::workload::Origin;
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// State of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyState {
    /// Reserved; a transfer will bring it.
    Requested,
    /// There.
    Present,
    /// There; leaves when its write-back ends.
    Leaving,
}

/// One copy of a fragment in a pool on chip.
#[derive(Clone, Copy, Debug)]
pub(super) struct PoolCopy {
    pub pool: PoolId,
    pub state: CopyState,
    /// Admitted CNs that will read it.
    pub pins: u32,
    /// Flows that read it.
    pub flows: u32,
    /// Its place among what may leave the pool, if it may.
    place: Option<Place>,
}

/// Order of leaving: non-sole copies first, then the farthest next use (kept as `u32::MAX - position`).
type Place = (bool, u32);

/// Unexecuted readers of a fragment in one pool.
#[derive(Clone, Copy, Debug)]
struct Users {
    pool: PoolId,
    count: u32,
    /// The one of them that comes first in expected order, as long as it has not run.
    next: Option<CnId>,
}

/// Where a fragment is in DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InDram {
    /// Nowhere.
    No,
    /// In every DRAM: an input or a constant.
    Everywhere,
    /// In this one.
    At(PoolId),
}

/// State of one pool.
#[derive(Clone, Debug)]
pub(super) struct PoolState {
    pub capacity: u64,
    pub used: u64,
    /// Bits of copies that leave when their write-back ends.
    pub leaving: u64,
    pub peak: u64,
    /// Something changed here that may let a skipped CN in.
    pub touched: bool,
    /// Copies that may leave, as far as nothing changed of their fragments.
    evictable: BTreeSet<(Place, FragmentId)>,
}

/// All copies, users and pools.
pub(super) struct Memory<'a> {
    case: Case<'a>,
    pub pools: Vec<PoolState>,
    copies: Vec<SmallVec<[PoolCopy; 2]>>,
    users: Vec<SmallVec<[Users; 2]>>,
    pub in_dram: Vec<InDram>,
    /// Fragments that must reach DRAM once made: network outputs, and what streaming readers take.
    pub needs_store: Vec<bool>,
    /// A write to DRAM has been asked for and has not ended: one write is enough.
    pub storing: Vec<bool>,
    /// Input reads on chip whose fragment is not there, per CN.
    absent: Vec<u32>,
    /// Executed CNs.
    pub done: Vec<bool>,
    /// Fragments whose places are to be looked at again, each once.
    changed: Vec<FragmentId>,
    is_changed: Vec<bool>,
    /// Copies that left since last asked; the log and the prefetcher want to know.
    pub dropped: Vec<(FragmentId, PoolId)>,
    /// Copies that were asked for or made since last looked at: CNs that miss them need less space.
    pub appeared: Vec<(FragmentId, PoolId)>,
    /// CNs all of whose inputs are there, since last looked at.
    pub complete: Vec<CnId>,
    /// Pools that were touched since last looked at, each once.
    pub touched: Vec<PoolId>,
}

impl<'a> Memory<'a> {
    pub fn new(case: Case<'a>) -> Self {
        let graph = case.graph;
        let count = graph.fragments();
        let pools = (case.accelerator.pools.iter())
            .map(|pool| PoolState {
                capacity: if pool.dram { u64::MAX } else { pool.size.0 },
                used: 0,
                leaving: 0,
                peak: 0,
                touched: true,
                evictable: BTreeSet::new(),
            })
            .collect();
        let mut memory = Self {
            case,
            pools,
            copies: vec![SmallVec::new(); count],
            users: vec![SmallVec::new(); count],
            in_dram: vec![InDram::No; count],
            needs_store: vec![false; count],
            storing: vec![false; count],
            absent: vec![0; graph.cns()],
            done: vec![false; graph.cns()],
            changed: Vec::new(),
            is_changed: vec![false; count],
            dropped: Vec::new(),
            appeared: Vec::new(),
            complete: Vec::new(),
            touched: (0..case.accelerator.pools.len()).map(PoolId::from).collect(),
        };
        memory.mark_dram();
        let mut inputs = Vec::new();
        for cn in (0..graph.cns()).map(CnId::from) {
            memory.inputs(cn, &mut inputs);
            for (fragment, pool) in &inputs {
                memory.add_user(*fragment, *pool);
            }
            let node = case.placement.node(cn);
            for (operand, fragment) in graph.inputs(cn) {
                if node.operands[operand].streamed {
                    memory.needs_store[fragment.index()] |= graph.producer(fragment).is_some();
                } else if node.operands[operand].pool.is_some() {
                    memory.absent[cn.index()] += 1;
                }
            }
        }
        memory
    }

    /// Inputs and constants are everywhere in DRAM; outputs of the network must get there.
    fn mark_dram(&mut self) {
        let workload = self.case.workload;
        for fragment in 0..self.in_dram.len() {
            let tensor = self.case.graph.tensor_of[fragment];
            if !matches!(workload.tensor(tensor).origin, Origin::Layer(_)) {
                self.in_dram[fragment] = InDram::Everywhere;
            }
        }
        for fragment in self.case.graph.output_fragments(workload) {
            self.needs_store[fragment.index()] = self.in_dram[fragment.index()] == InDram::No;
        }
    }

    /// Distinct (fragment, pool) a CN reads on chip, ascending.
    pub fn inputs(&self, cn: CnId, into: &mut Vec<(FragmentId, PoolId)>) {
        into.clear();
        let node = self.case.placement.node(cn);
        for (operand, fragment) in self.case.graph.inputs(cn) {
            let place = node.operands[operand];
            if let (Some(pool), false) = (place.pool, place.streamed) {
                into.push((fragment, pool));
            }
        }
        into.sort_unstable();
        into.dedup();
    }

    fn add_user(&mut self, fragment: FragmentId, pool: PoolId) {
        let users = &mut self.users[fragment.index()];
        match users.iter_mut().find(|users| users.pool == pool) {
            Some(users) => users.count += 1,
            None => users.push(Users { pool, count: 1, next: None }),
        }
    }

    pub fn remove_user(&mut self, fragment: FragmentId, pool: PoolId) {
        let users = &mut self.users[fragment.index()];
        let users = users.iter_mut().find(|users| users.pool == pool);
        users.expect("every reader was added as a user").count -= 1;
    }

    fn users_in(&self, fragment: FragmentId, pool: PoolId) -> u32 {
        let users = self.users[fragment.index()].iter().find(|users| users.pool == pool);
        users.map_or(0, |users| users.count)
    }

    /// Whether nobody will ever need the fragment again.
    fn is_dead(&self, fragment: FragmentId) -> bool {
        let f = fragment.index();
        self.users[f].iter().all(|users| users.count == 0)
            && (!self.needs_store[f] || self.in_dram[f] != InDram::No)
    }

    /// Something changed that may decide whether, or after what, copies of the fragment may leave.
    fn change(&mut self, fragment: FragmentId) {
        if !std::mem::replace(&mut self.is_changed[fragment.index()], true) {
            self.changed.push(fragment);
        }
    }

    /// A CN has run: it needs its inputs no more.
    pub fn finish(&mut self, cn: CnId) {
        self.done[cn.index()] = true;
        for (_, fragment) in self.case.graph.inputs(cn) {
            self.change(fragment);
        }
    }

    /// A write of the fragment to DRAM is asked for.
    pub fn store(&mut self, fragment: FragmentId) {
        self.storing[fragment.index()] = true;
        self.change(fragment);
    }

    /// The fragment is in DRAM now; whether it is for the first time.
    pub fn stored(&mut self, fragment: FragmentId, dram: PoolId) -> bool {
        let before = std::mem::replace(&mut self.in_dram[fragment.index()], InDram::At(dram));
        self.storing[fragment.index()] = false;
        self.change(fragment);
        before == InDram::No
    }

    pub fn copies(&self, fragment: FragmentId) -> &[PoolCopy] {
        &self.copies[fragment.index()]
    }

    pub fn copy(&self, fragment: FragmentId, pool: PoolId) -> Option<&PoolCopy> {
        self.copies[fragment.index()].iter().find(|copy| copy.pool == pool)
    }

    pub fn copy_mut(&mut self, fragment: FragmentId, pool: PoolId) -> Option<&mut PoolCopy> {
        self.change(fragment);
        self.copies[fragment.index()].iter_mut().find(|copy| copy.pool == pool)
    }

    /// Whether all inputs a CN reads on chip are there.
    pub fn all_present(&self, cn: CnId) -> bool {
        self.absent[cn.index()] == 0
    }

    /// Counts a copy that appears (or goes) for the CNs that read it in its pool.
    fn count(&mut self, fragment: FragmentId, pool: PoolId, appears: bool) {
        for (cn, operand) in self.case.graph.readers(fragment) {
            let place = self.case.placement.node(cn).operands[operand];
            if place.pool == Some(pool) && !place.streamed {
                let absent = &mut self.absent[cn.index()];
                *absent = if appears { *absent - 1 } else { *absent + 1 };
                if *absent == 0 {
                    self.complete.push(cn);
                }
            }
        }
    }

    /// Adds to the use of a pool.
    pub fn reserve(&mut self, pool: PoolId, bits: u64) {
        let state = &mut self.pools[pool.index()];
        state.used += bits;
        state.peak = state.peak.max(state.used);
        debug_assert!(state.used <= state.capacity, "{pool} holds more than its capacity");
    }

    pub fn release(&mut self, pool: PoolId, bits: u64) {
        self.pools[pool.index()].used -= bits;
        self.touch_pool(pool);
    }

    fn touch_pool(&mut self, pool: PoolId) {
        if !std::mem::replace(&mut self.pools[pool.index()].touched, true) {
            self.touched.push(pool);
        }
    }

    /// Readers of a fragment changed, or a copy arrived: CNs that were skipped may now fit or evict.
    pub fn touch(&mut self, fragment: FragmentId) {
        for at in 0..self.copies[fragment.index()].len() {
            self.touch_pool(self.copies[fragment.index()][at].pool);
        }
    }

    /// Adds a copy, reserving its bits.
    pub fn add_copy(&mut self, fragment: FragmentId, pool: PoolId, state: CopyState) {
        self.reserve(pool, self.case.graph.bits(fragment));
        self.copies[fragment.index()].push(PoolCopy { pool, state, pins: 0, flows: 0, place: None });
        self.change(fragment);
        self.appeared.push((fragment, pool));
        if state == CopyState::Present {
            self.count(fragment, pool, true);
        }
    }

    /// A requested copy has arrived.
    pub fn arrive(&mut self, fragment: FragmentId, pool: PoolId) {
        self.copy_mut(fragment, pool).expect("a requested copy awaits its flow").state = CopyState::Present;
        self.count(fragment, pool, true);
    }

    /// Removes a copy and frees its bits.
    pub fn drop_copy(&mut self, fragment: FragmentId, pool: PoolId) {
        let bits = self.case.graph.bits(fragment);
        let copies = &mut self.copies[fragment.index()];
        let at = copies.iter().position(|copy| copy.pool == pool).expect("a dropped copy exists");
        let copy = copies.remove(at);
        if copy.state == CopyState::Leaving {
            self.pools[pool.index()].leaving -= bits;
        }
        self.count(fragment, pool, false);
        if let Some(place) = copy.place {
            self.pools[pool.index()].evictable.remove(&(place, fragment));
        }
        self.change(fragment);
        self.release(pool, bits);
        self.dropped.push((fragment, pool));
    }

    /// Drops what is dead of a fragment: every copy if nobody needs it, else copies of pools whose
    /// CNs are done with it while another copy exists.
    pub fn sweep(&mut self, fragment: FragmentId) {
        let dead = self.is_dead(fragment);
        let mut at = 0;
        while at < self.copies[fragment.index()].len() {
            let copy = self.copies[fragment.index()][at];
            let idle = copy.state == CopyState::Present && copy.pins == 0 && copy.flows == 0;
            let spare = self.users_in(fragment, copy.pool) == 0 && !self.is_sole(fragment, copy.pool);
            if idle && (dead || spare) {
                self.drop_copy(fragment, copy.pool);
            } else {
                at += 1;
            }
        }
    }

    /// Whether no other copy is there, neither in DRAM nor in another pool.
    pub fn is_sole(&self, fragment: FragmentId, pool: PoolId) -> bool {
        self.in_dram[fragment.index()] == InDram::No
            && !(self.copies[fragment.index()].iter())
                .any(|copy| copy.pool != pool && copy.state == CopyState::Present)
    }

    /// Marks a sole copy as leaving with its write-back.
    pub fn leave(&mut self, fragment: FragmentId, pool: PoolId) {
        let bits = self.case.graph.bits(fragment);
        self.copy_mut(fragment, pool).expect("a leaving copy exists").state = CopyState::Leaving;
        self.pools[pool.index()].leaving += bits;
    }

    /// A leaving copy is needed again: it stays, its write-back becomes a plain store.
    pub fn stay(&mut self, fragment: FragmentId, pool: PoolId) {
        let bits = self.case.graph.bits(fragment);
        let copy = self.copy_mut(fragment, pool).expect("a copy that stays exists");
        if copy.state == CopyState::Leaving {
            copy.state = CopyState::Present;
            self.pools[pool.index()].leaving -= bits;
        }
    }

    /// Position of the next unexecuted reader of a fragment, among those of `pool` if given.
    fn next_use(&mut self, fragment: FragmentId, pool: Option<PoolId>, position: &[u32]) -> u32 {
        let Some(pool) = pool else {
            return self.next_reader(fragment, None, position).map_or(u32::MAX, |cn| position[cn.index()]);
        };
        let at = self.users[fragment.index()].iter().position(|users| users.pool == pool);
        let Some(at) = at.filter(|at| self.users[fragment.index()][*at].count > 0) else { return u32::MAX };
        // Positions do not change, so that the first of the unexecuted stays the first until it runs.
        let known = self.users[fragment.index()][at].next.filter(|cn| !self.done[cn.index()]);
        let next = known.or_else(|| self.next_reader(fragment, Some(pool), position));
        self.users[fragment.index()][at].next = next;
        next.map_or(u32::MAX, |cn| position[cn.index()])
    }

    fn next_reader(&self, fragment: FragmentId, pool: Option<PoolId>, position: &[u32]) -> Option<CnId> {
        (self.case.graph.readers(fragment))
            .filter(|(cn, operand)| {
                !self.done[cn.index()]
                    && pool.is_none_or(|pool| {
                        self.case.placement.node(*cn).operands[*operand].pool == Some(pool)
                    })
            })
            .map(|(cn, _)| cn)
            .min_by_key(|cn| position[cn.index()])
    }

    /// What leaves `pool` so that `short` bits get free (as far as there is so much) for a CN at position
    /// `after`, which takes only what is used later (anything unpinned if none): non-sole copies first,
    /// then the farthest next use, ties by id. Returns (fragment, sole).
    pub fn victims(
        &mut self,
        pool: PoolId,
        short: u64,
        keep: &[(FragmentId, PoolId)],
        after: Option<u32>,
        position: &[u32],
    ) -> SmallVec<[(FragmentId, bool); 8]> {
        self.look_again(position);
        let mut victims = SmallVec::new();
        let mut freed = 0;
        for sole in [false, true] {
            let places = self.pools[pool.index()].evictable.range(((sole, 0), FragmentId(0))..);
            for ((of, farness), fragment) in places {
                let next = u32::MAX - farness;
                if *of != sole || freed >= short || after.is_some_and(|after| next <= after) {
                    break;
                }
                if keep.binary_search(&(*fragment, pool)).is_err() {
                    freed += self.case.graph.bits(*fragment);
                    victims.push((*fragment, sole));
                }
            }
        }
        victims
    }

    /// Puts the copies of all changed fragments in their places.
    fn look_again(&mut self, position: &[u32]) {
        for fragment in std::mem::take(&mut self.changed) {
            self.is_changed[fragment.index()] = false;
            for at in 0..self.copies[fragment.index()].len() {
                let copy = self.copies[fragment.index()][at];
                let place = self.place(fragment, copy, position);
                if place == copy.place {
                    continue;
                }
                let evictable = &mut self.pools[copy.pool.index()].evictable;
                copy.place.map(|place| evictable.remove(&(place, fragment)));
                place.map(|place| evictable.insert((place, fragment)));
                self.copies[fragment.index()][at].place = place;
            }
        }
    }

    /// The place of a copy, if it may leave. One that is being stored leaves when its write has ended.
    fn place(&mut self, fragment: FragmentId, copy: PoolCopy, position: &[u32]) -> Option<Place> {
        let sole = self.is_sole(fragment, copy.pool);
        let held = copy.state != CopyState::Present || copy.pins > 0 || copy.flows > 0;
        if held || (sole && self.storing[fragment.index()]) {
            return None;
        }
        let next = self.next_use(fragment, (!sole).then_some(copy.pool), position);
        Some((sole, u32::MAX - next))
    }
}
