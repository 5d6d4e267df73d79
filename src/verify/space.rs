//! Which copies of which fragments each pool holds, since when, and how full it is.

use super::{Case, Report, Violation};
use crate::accelerator::Accelerator;
use crate::ids::{FragmentId, PoolId};
use crate::units::{Bits, Cycles};
use crate::workload::Origin;
use smallvec::SmallVec;

/// The contents of all pools at the time of the replay, and in the past.
pub(super) struct Space<'a> {
    accelerator: &'a Accelerator,
    bits: &'a [u64],
    copies: Vec<SmallVec<[Resident; 2]>>,
    /// Copies that left: pool, first cycle, end.
    past: Vec<Vec<(PoolId, u64, u64)>>,
    used: Vec<u64>,
    /// Largest use of each pool that is no DRAM.
    pub peak: Vec<u64>,
    /// First arrival of each fragment in a DRAM.
    pub stored: Vec<Option<u64>>,
}

/// A copy, or the place where pins wait for it.
struct Resident {
    pool: PoolId,
    since: Option<u64>,
    pins: u32,
}

impl<'a> Space<'a> {
    /// Inputs and constants of the network in every DRAM, nothing elsewhere.
    pub fn new(case: &Case<'a>) -> Self {
        let fragments = case.graph.bits.len();
        let pools = case.accelerator.pools.len();
        let mut space = Self {
            accelerator: case.accelerator,
            bits: &case.graph.bits,
            copies: (0..fragments).map(|_| SmallVec::new()).collect(),
            past: vec![Vec::new(); fragments],
            used: vec![0; pools],
            peak: vec![0; pools],
            stored: vec![None; fragments],
        };
        let drams: Vec<PoolId> =
            (0..pools).map(PoolId::from).filter(|pool| case.accelerator.pool(*pool).dram).collect();
        for (index, tensor) in case.graph.tensor_of.iter().enumerate() {
            if matches!(case.workload.tensor(*tensor).origin, Origin::Input | Origin::Constant) {
                for dram in &drams {
                    space.arrive(FragmentId::from(index), *dram, 0);
                }
            }
        }
        space
    }

    /// Whether a pool is external memory.
    pub fn is_dram(&self, pool: PoolId) -> bool {
        self.accelerator.pool(pool).dram
    }

    /// Whether a pool holds a fragment now. Fragments without bits are everywhere.
    pub fn holds(&self, fragment: FragmentId, pool: PoolId) -> bool {
        self.bits[fragment.index()] == 0
            || self.copies[fragment.index()].iter().any(|copy| copy.pool == pool && copy.since.is_some())
    }

    /// Whether a DRAM holds a fragment now.
    pub fn in_dram(&self, fragment: FragmentId) -> bool {
        self.bits[fragment.index()] == 0
            || (self.copies[fragment.index()].iter())
                .any(|copy| copy.since.is_some() && self.is_dram(copy.pool))
    }

    /// Whether any pool holds a fragment now.
    pub fn anywhere(&self, fragment: FragmentId) -> bool {
        self.copies[fragment.index()].iter().any(|copy| copy.since.is_some())
    }

    /// Whether a pool held a fragment from `start` to `end`.
    pub fn held(&self, fragment: FragmentId, pool: PoolId, start: u64, end: u64) -> bool {
        let now = (self.copies[fragment.index()].iter())
            .any(|copy| copy.pool == pool && copy.since.is_some_and(|since| since <= start));
        now || (self.past[fragment.index()].iter())
            .any(|(past, since, until)| *past == pool && *since <= start && end <= *until)
    }

    /// Whether a copy of the fragment arrived anywhere at this time.
    pub fn arrived_at(&self, fragment: FragmentId, time: u64) -> bool {
        self.copies[fragment.index()].iter().any(|copy| copy.since == Some(time))
            || self.past[fragment.index()].iter().any(|(_, since, _)| *since == time)
    }

    /// A copy is present from now on. Does not charge its bits.
    pub fn arrive(&mut self, fragment: FragmentId, pool: PoolId, time: u64) {
        if self.is_dram(pool) {
            self.stored[fragment.index()].get_or_insert(time);
        }
        self.copy(fragment, pool).since.get_or_insert(time);
    }

    /// A copy leaves; false if there is none.
    pub fn leave(&mut self, fragment: FragmentId, pool: PoolId, time: u64) -> bool {
        let Some(since) = self.copy(fragment, pool).since.take() else {
            return false;
        };
        self.past[fragment.index()].push((pool, since, time));
        self.copies[fragment.index()].retain(|copy| copy.since.is_some() || copy.pins > 0);
        let freed = self.bits[fragment.index()];
        self.free(pool, freed);
        true
    }

    /// A reader holds the copy, present or to come.
    pub fn pin(&mut self, fragment: FragmentId, pool: PoolId) {
        self.copy(fragment, pool).pins += 1;
    }

    /// A reader is done with the copy.
    pub fn unpin(&mut self, fragment: FragmentId, pool: PoolId) {
        let copy = self.copy(fragment, pool);
        copy.pins = copy.pins.saturating_sub(1);
    }

    /// Whether an admitted CN reads the copy.
    pub fn pinned(&self, fragment: FragmentId, pool: PoolId) -> bool {
        self.copies[fragment.index()].iter().any(|copy| copy.pool == pool && copy.pins > 0)
    }

    fn copy(&mut self, fragment: FragmentId, pool: PoolId) -> &mut Resident {
        let copies = &mut self.copies[fragment.index()];
        let at = copies.iter().position(|copy| copy.pool == pool).unwrap_or_else(|| {
            copies.push(Resident { pool, since: None, pins: 0 });
            copies.len() - 1
        });
        &mut copies[at]
    }

    /// Bits become taken; DRAM takes any number.
    pub fn charge(&mut self, pool: PoolId, bits: u64, time: Cycles, report: &mut Report) {
        if bits == 0 || self.is_dram(pool) {
            return;
        }
        let size = self.accelerator.pool(pool).size;
        let used = &mut self.used[pool.index()];
        *used = used.saturating_add(bits);
        let peak = &mut self.peak[pool.index()];
        *peak = (*peak).max(*used);
        if *used > size.0 {
            report.add(Violation::Capacity { pool, time, used: Bits(*used), size });
        }
    }

    /// Bits become free.
    pub fn free(&mut self, pool: PoolId, bits: u64) {
        let used = &mut self.used[pool.index()];
        *used = used.saturating_sub(bits);
    }
}
