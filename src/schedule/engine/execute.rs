//! Running: starts, streams beside the computation, ends, and the outputs they make.

use super::{End, Engine, Event, Purpose};
use crate::ids::{CnId, FragmentId};
use crate::schedule::ScheduleError;
use crate::schedule::flows::NewFlow;
use crate::schedule::memory::CopyState;
use crate::schedule::why::FlowTrace;
use crate::units::Cycles;
use smallvec::SmallVec;

impl Engine<'_> {
    pub(super) fn start_best(&mut self, core: usize) -> Result<(), ScheduleError> {
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

    pub(super) fn start_streams(&mut self, cn: CnId) -> Result<(), ScheduleError> {
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
    pub(super) fn finish_part(&mut self, cn: CnId) {
        self.unfinished[cn.index()] -= 1;
        if self.unfinished[cn.index()] == 0 {
            self.finish(cn);
        }
    }

    pub(super) fn finish(&mut self, cn: CnId) {
        let core = self.core_of(cn);
        let time = Cycles(self.now);
        self.times[cn.index()].end = time;
        self.record(|| Event::End { time, cn });
        let state = &mut self.cores[core];
        state.running = None;
        state.last = Some((cn, self.now));
        state.slots_used -= 1;
        state.busy += self.now - self.times[cn.index()].start.0;
        self.memory.finish(cn);
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
        self.dirty.insert(core);
        self.log_drops();
    }

    /// The output fragments appear at final precision, are stored where they must be, and release
    /// their readers.
    pub(super) fn make_outputs(&mut self, cn: CnId) {
        let place = self.case.placement.node(cn).operands[0];
        let pool = place.pool.expect("an output has a pool");
        let dram = self.case.routes.serving_dram(self.case.placement.core(cn));
        let outputs: SmallVec<[FragmentId; 8]> = self.case.graph.outputs(cn).collect();
        for fragment in outputs {
            if place.streamed {
                let trace = FlowTrace {
                    issued: self.now,
                    cn,
                    purpose: Purpose::StreamOut,
                    dram: true,
                    after: None,
                    last_use: None,
                };
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
}
