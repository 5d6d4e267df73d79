//! Released CNs of a core: which of them a pass of admissions must try, and which would fail again.
//!
//! A CN that does not fit is *short*: of `need` bits in a pool. As long as fewer are free there, and no
//! copy that it misses appears in a pool of its own, trying it again would fail again. So a pass
//! tries the others only: CNs that are *fresh*, and short ones of which the need is free now. A pass costs
//! what it tries, not what is released.

use super::Engine;
use crate::ids::{CnId, PoolId};
use std::collections::{BTreeMap, BTreeSet};

/// Where a CN is among the released ones of its core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Standing {
    /// Not released, or admitted.
    #[default]
    Elsewhere,
    /// To be tried.
    Fresh,
    /// Did not fit: pool and bits it needs there.
    Short(PoolId, u64),
}

/// Released, not admitted CNs of a core by (priority key, id).
#[derive(Clone, Debug, Default)]
pub(super) struct Released {
    /// All of them.
    pub all: BTreeSet<(u64, CnId)>,
    fresh: BTreeSet<(u64, CnId)>,
    short: BTreeMap<PoolId, BTreeSet<(u64, u64, CnId)>>,
    /// All inputs were there when last looked at.
    complete: BTreeSet<(u64, CnId)>,
}

impl Released {
    /// The first fresh CN behind another.
    pub fn fresh_after(&self, last: (u64, CnId)) -> Option<(u64, CnId)> {
        self.fresh.range((std::ops::Bound::Excluded(last), std::ops::Bound::Unbounded)).next().copied()
    }

    /// The first CN behind another that had all inputs.
    pub fn complete_after(&self, last: Option<(u64, CnId)>) -> Option<(u64, CnId)> {
        let from = last.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
        self.complete.range((from, std::ops::Bound::Unbounded)).next().copied()
    }
}

impl Engine<'_> {
    /// Enters a CN that is released now.
    pub(super) fn enter(&mut self, key: u64, cn: CnId) {
        let complete = self.memory.all_present(cn);
        let released = &mut self.cores[self.case.placement.core(cn).index()].released;
        released.all.insert((key, cn));
        released.fresh.insert((key, cn));
        if complete {
            released.complete.insert((key, cn));
        }
        self.standing[cn.index()] = Standing::Fresh;
    }

    /// Removes a CN that is admitted now.
    pub(super) fn remove_released(&mut self, key: u64, cn: CnId) {
        self.set_standing(key, cn, Standing::Elsewhere);
        let released = &mut self.cores[self.case.placement.core(cn).index()].released;
        released.all.remove(&(key, cn));
        released.complete.remove(&(key, cn));
    }

    /// A released CN with absent inputs is looked at again when they are all there.
    pub(super) fn remove_complete(&mut self, key: u64, cn: CnId) {
        self.cores[self.case.placement.core(cn).index()].released.complete.remove(&(key, cn));
    }

    /// Moves a CN from where it stands.
    pub(super) fn set_standing(&mut self, key: u64, cn: CnId, standing: Standing) {
        let before = std::mem::replace(&mut self.standing[cn.index()], standing);
        if before == standing {
            return;
        }
        let released = &mut self.cores[self.case.placement.core(cn).index()].released;
        match before {
            Standing::Elsewhere => {}
            Standing::Fresh => {
                released.fresh.remove(&(key, cn));
            }
            Standing::Short(pool, need) => {
                self.short -= 1;
                let short = released.short.get_mut(&pool);
                short.expect("a short CN stands with its pool").remove(&(need, key, cn));
            }
        }
        match standing {
            Standing::Elsewhere => {}
            Standing::Fresh => {
                released.fresh.insert((key, cn));
            }
            Standing::Short(pool, need) => {
                self.short += 1;
                released.short.entry(pool).or_default().insert((need, key, cn));
            }
        }
    }

    /// Short CNs of a core whose need is free now are to be tried again.
    pub(super) fn recall(&mut self, core: usize) {
        let mut recalled: Vec<(u64, CnId)> = Vec::new();
        for (pool, short) in &self.cores[core].released.short {
            let state = &self.memory.pools[pool.index()];
            let free = state.capacity.saturating_sub(state.used);
            recalled
                .extend(short.iter().take_while(|(need, ..)| *need <= free).map(|(_, key, cn)| (*key, *cn)));
        }
        for (key, cn) in recalled {
            self.set_standing(key, cn, Standing::Fresh);
        }
    }

    /// Copies that appeared lessen the needs of short CNs and complete the inputs of others.
    pub(super) fn note_copies(&mut self) {
        for (fragment, pool) in std::mem::take(&mut self.memory.appeared) {
            if self.short == 0 {
                continue;
            }
            for (cn, operand) in self.case.graph.readers(fragment) {
                let place = self.case.placement.node(cn).operands[operand];
                if matches!(self.standing[cn.index()], Standing::Short(..)) && place.pool == Some(pool) {
                    self.set_standing(self.key(cn), cn, Standing::Fresh);
                }
            }
        }
        for cn in std::mem::take(&mut self.memory.complete) {
            if self.standing[cn.index()] != Standing::Elsewhere {
                let key = self.key(cn);
                self.cores[self.case.placement.core(cn).index()].released.complete.insert((key, cn));
            }
        }
    }
}
