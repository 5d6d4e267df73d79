//! Streams: operands that no pool holds move beside the computation of their CN.

use super::flows::Flow;
use super::{Case, Report, Violation};
use crate::ids::{CnId, PoolId};
use crate::ledger::NodeCost;
use crate::placement::PlacedNode;
use crate::schedule::log::Purpose;
use crate::units::{Bits, Cycles};
use rustc_hash::FxHashMap;

/// Streams of the CNs that run.
#[derive(Default)]
pub(super) struct Streams {
    running: FxHashMap<CnId, Running>,
}

struct Running {
    start: Cycles,
    /// Not streamed yet: purpose, pool on chip, bits.
    left: Vec<(Purpose, PoolId, Bits)>,
    /// End of the last stream.
    end: Cycles,
}

impl Streams {
    /// A CN starts, and its streams are issued.
    pub fn start(&mut self, cn: CnId, node: &PlacedNode, cost: &NodeCost, start: Cycles) {
        let left = expected(node, cost);
        if !left.is_empty() {
            self.running.insert(cn, Running { start, left, end: start });
        }
    }

    /// A stream ended.
    pub fn transfer(&mut self, case: &Case<'_>, flow: &Flow<'_>, report: &mut Report) {
        let (transfer, cn) = (flow.transfer, flow.cn);
        let unexpected = Violation::StreamUnexpected { transfer, cn, time: flow.time };
        let Some(running) = self.running.get_mut(&cn) else {
            report.add(unexpected);
            return;
        };
        let same = |(purpose, pool, _): &(Purpose, PoolId, Bits)| {
            *purpose == flow.purpose
                && match purpose {
                    Purpose::StreamIn => flow.to == [*pool] && case.accelerator.pool(flow.from).dram,
                    _ => {
                        let core = case.placement.core_of[cn.index()];
                        flow.from == *pool && flow.to == [case.routes.serving_dram(core)]
                    }
                }
        };
        // Two operands may stream into one pool, and the shorter stream ends first.
        let exact = running.left.iter().position(|left| same(left) && left.2 == flow.bits);
        let Some(position) = exact.or_else(|| running.left.iter().position(same)) else {
            report.add(unexpected);
            return;
        };
        let (.., derived) = running.left.remove(position);
        running.end = running.end.max(flow.time);
        if flow.bits != derived {
            report.add(Violation::Amount { transfer, claimed: flow.bits, derived });
        }
        if flow.issued != running.start {
            let (issued, start) = (flow.issued, running.start);
            report.add(Violation::StreamIssue { transfer, cn, issued, start });
        }
    }

    /// A CN ends: its streams must have. Returns the end of the last one.
    pub fn end(&mut self, cn: CnId, time: Cycles, report: &mut Report) -> Cycles {
        let Some(running) = self.running.remove(&cn) else {
            return Cycles::ZERO;
        };
        let missing: Bits = running.left.iter().map(|(.., bits)| *bits).sum();
        if missing > Bits::ZERO {
            report.add(Violation::StreamMissing { cn, time, missing });
        }
        running.end
    }
}

/// The streams of a placed node.
fn expected(node: &PlacedNode, cost: &NodeCost) -> Vec<(Purpose, PoolId, Bits)> {
    let mut streams = Vec::new();
    for streamed in &cost.cost.streamed {
        let place = node.operands.iter().find(|place| place.streamed && place.memory == streamed.operand);
        let Some(pool) = place.and_then(|place| place.pool) else {
            continue;
        };
        for (purpose, bits) in [(Purpose::StreamIn, streamed.read), (Purpose::StreamOut, streamed.write)] {
            if bits > 0 {
                streams.push((purpose, pool, Bits(bits)));
            }
        }
    }
    streams
}
