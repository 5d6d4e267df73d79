//! The lives of CNs in the replay: admission, start, end, and the space they reserve meanwhile.

use super::replay::Machine;
use super::requests::slots_ahead;
use super::{State, Step, Violation};
use crate::ids::{CnId, PoolId};
use crate::schedule::CnTimes;
use crate::units::{Bits, Cycles};
use std::collections::BTreeMap;

/// Pins of streamed inputs: any DRAM may serve them, so they hold the last copy there.
pub(super) const ANY_DRAM: PoolId = PoolId(u32::MAX);

/// Where the fragments of an operand are while its CN runs.
enum Home {
    /// In this pool.
    Pool(PoolId),
    /// In DRAM, moving beside the computation.
    Streamed,
    /// An operand without data.
    Nowhere,
}

impl Machine<'_, '_> {
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

    pub(super) fn admit(&mut self, cn: CnId, time: Cycles, reserved: &[(PoolId, Bits)]) {
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
        let cost = &self.case.costs.nodes[self.case.placement.node_of[cn.index()] as usize];
        let mut sums = BTreeMap::new();
        for (operand, place) in node.operands.iter().enumerate() {
            let bits = match (place.streamed, operand) {
                (true, _) => cost.stream_tiles[operand],
                (false, 0) => cost.output_bits,
                (false, _) => 0,
            };
            if let Some(pool) = place.pool.filter(|_| bits > 0) {
                *sums.entry(pool).or_insert(0) += bits;
            }
        }
        sums
    }

    pub(super) fn start(&mut self, cn: CnId, time: Cycles) {
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

    pub(super) fn end(&mut self, cn: CnId, time: Cycles) {
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

    /// Where an operand of a CN lives.
    fn home(&self, cn: CnId, operand: usize) -> Home {
        let place = &self.case.placement.node(cn).operands[operand];
        match (place.streamed, place.pool) {
            (true, _) => Home::Streamed,
            (false, Some(pool)) => Home::Pool(pool),
            (false, None) => Home::Nowhere,
        }
    }
}
