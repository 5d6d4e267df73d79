//! Flows over links, buses and ports: route, rate, packets, exclusive use, and what they cost.
//!
//! A flow uses all resources of the union of its routes at once, at the rate `r` of the narrowest.
//! With packets of `p` bits, `b` bits take
//!
//! ```text
//! floor(b / p) * ceil(p / r) + ceil((b mod p) / r)   cycles
//! ```
//!
//! in segments that only end with a packet. It arrives when the last segment and the latency of the
//! longest route are over. Rates under `fair` contention: [`super::fair`].

use super::fair::Fair;
use super::{Case, Report, Violation};
use crate::ids::{CnId, FragmentId, PoolId, ResourceId, TransferId};
use crate::schedule::log::Purpose;
use crate::schedule::{Contention, Traffic};
use crate::units::{Bits, Cycles};
use std::collections::BTreeSet;

/// A transfer as the log claims it.
#[derive(Clone, Copy)]
pub(super) struct Flow<'a> {
    pub time: Cycles,
    pub transfer: TransferId,
    pub fragment: Option<FragmentId>,
    pub cn: CnId,
    pub from: PoolId,
    pub to: &'a [PoolId],
    pub bits: Bits,
    pub issued: Cycles,
    pub segments: &'a [(Cycles, Cycles)],
    pub rates: &'a [u64],
    pub purpose: Purpose,
}

impl Flow<'_> {
    /// First and last cycle of use of the route.
    pub fn span(&self) -> Option<(Cycles, Cycles)> {
        Some((self.segments.first()?.0, self.segments.last()?.1))
    }

    /// Whether it is a stream beside a computation.
    pub fn is_stream(&self) -> bool {
        matches!(self.purpose, Purpose::StreamIn | Purpose::StreamOut)
    }
}

/// All flows so far.
pub(super) struct Flows {
    seen: BTreeSet<TransferId>,
    /// Uses per resource: start, end, transfer.
    uses: Vec<Vec<(Cycles, Cycles, TransferId)>>,
    fair: Fair,
    /// Words and use of resources.
    pub traffic: Traffic,
    /// Number of transfers.
    pub count: u64,
}

impl Flows {
    /// None yet.
    pub fn new(case: &Case<'_>) -> Self {
        let (pools, resources) = (case.accelerator.pools.len(), case.accelerator.resources.len());
        let traffic = Traffic {
            read_words: vec![0; pools],
            write_words: vec![0; pools],
            active: vec![Cycles::ZERO; resources],
            bits: vec![Bits::ZERO; resources],
        };
        Self {
            seen: BTreeSet::new(),
            uses: vec![Vec::new(); resources],
            fair: Fair::default(),
            traffic,
            count: 0,
        }
    }

    /// Checks one flow on its own and records what it uses.
    pub fn check(&mut self, case: &Case<'_>, flow: &Flow<'_>, report: &mut Report) {
        self.count += 1;
        if !self.seen.insert(flow.transfer) {
            report.add(Violation::TransferTwice { transfer: flow.transfer });
        }
        self.count_words(case, flow);
        let mut resources: Vec<ResourceId> = Vec::new();
        let mut latency = 0;
        for to in flow.to {
            match case.routes.route(flow.from, *to) {
                Some(route) => {
                    resources.extend(&route.resources);
                    latency = latency.max(route.latency);
                }
                None => {
                    let (transfer, from) = (flow.transfer, flow.from);
                    report.add(Violation::NoRoute { transfer, from, to: *to });
                }
            }
        }
        resources.sort_unstable();
        resources.dedup();
        let used = check_segments(flow, report);
        for resource in &resources {
            let uses = &mut self.uses[resource.index()];
            uses.extend(flow.segments.iter().map(|(start, end)| (*start, *end, flow.transfer)));
            if case.options.contention == Contention::Exclusive {
                self.traffic.active[resource.index()] += used;
            }
            self.traffic.bits[resource.index()] += flow.bits;
        }
        let exclusive = case.options.contention == Contention::Exclusive;
        if !exclusive {
            self.fair.add(flow, &resources, report);
        } else if !flow.rates.is_empty() {
            report.add(Violation::Segments { transfer: flow.transfer });
        }
        let rates = resources.iter().map(|id| case.accelerator.resources[id.index()].bandwidth.0);
        if let Some(rate) = rates.min().filter(|rate| *rate > 0 && exclusive) {
            check_rate(case, flow, rate, used, report);
        }
        if let Some((_, end)) = flow.span() {
            let derived = Cycles(end.0.saturating_add(latency));
            if flow.time != derived {
                report.add(Violation::Arrival { transfer: flow.transfer, claimed: flow.time, derived });
            }
        }
    }

    /// A flow reads narrow words at its source and writes them at every destination. Streams do
    /// neither: their accesses are in the costs of the CNs.
    fn count_words(&mut self, case: &Case<'_>, flow: &Flow<'_>) {
        if flow.is_stream() {
            return;
        }
        let words = |pool: PoolId, port: ResourceId| {
            let narrow = case.accelerator.port(pool, port).map_or(1, |port| port.bandwidth_min.0);
            flow.bits.0.div_ceil(narrow.max(1))
        };
        let source = case.accelerator.pool(flow.from);
        self.traffic.read_words[flow.from.index()] += words(flow.from, source.read_port);
        for to in flow.to {
            self.traffic.write_words[to.index()] += words(*to, case.accelerator.pool(*to).write_port);
        }
    }

    /// Under exclusive contention no two flows use a resource at the same time; under fair contention
    /// it is active while any flow uses it, and their rates are max-min shares.
    pub fn check_contention(&mut self, case: &Case<'_>, report: &mut Report) {
        for (index, uses) in self.uses.iter_mut().enumerate() {
            report.checked.segments += uses.len() as u64;
            uses.sort_unstable();
            if case.options.contention == Contention::Fair {
                self.traffic.active[index] = covered(uses);
                continue;
            }
            let mut last: Option<(Cycles, TransferId)> = None;
            for (start, end, second) in uses.iter().copied() {
                match last {
                    Some((until, first)) if start < until => {
                        let resource = ResourceId::from(index);
                        report.add(Violation::Contention { resource, first, second, time: start });
                    }
                    _ => {}
                }
                if last.is_none_or(|(until, _)| end > until) {
                    last = Some((end, second));
                }
            }
        }
        std::mem::take(&mut self.fair).check(case, report);
    }
}

/// Cycles in at least one of the uses, which are sorted by start.
fn covered(uses: &[(Cycles, Cycles, TransferId)]) -> Cycles {
    let (mut sum, mut until) = (Cycles::ZERO, Cycles::ZERO);
    for (start, end, _) in uses {
        sum += end.saturating_sub(until.max(*start));
        until = until.max(*end);
    }
    sum
}

/// Segments are in order, not empty and not before the issue. Returns their cycles.
fn check_segments(flow: &Flow<'_>, report: &mut Report) -> Cycles {
    let transfer = flow.transfer;
    let mut used = Cycles::ZERO;
    let mut before = Cycles::ZERO;
    let mut sound = !flow.segments.is_empty();
    for (start, end) in flow.segments {
        sound &= before <= *start && start < end;
        used += end.saturating_sub(*start);
        before = *end;
    }
    if !sound {
        report.add(Violation::Segments { transfer });
    }
    if let Some((start, _)) = flow.span().filter(|(start, _)| *start < flow.issued) {
        report.add(Violation::BeforeIssue { transfer, issued: flow.issued, start });
    }
    used
}

/// Packets at the rate of the narrowest resource.
fn check_rate(case: &Case<'_>, flow: &Flow<'_>, rate: u64, used: Cycles, report: &mut Report) {
    let transfer = flow.transfer;
    let packet = match case.options.packet {
        Bits::ZERO => Bits(u64::MAX),
        packet => packet,
    };
    let full = Cycles(packet.0.div_ceil(rate));
    let derived = Cycles((flow.bits.0 / packet.0) * full.0 + (flow.bits.0 % packet.0).div_ceil(rate));
    if used != derived {
        let (claimed, bits) = (used, flow.bits);
        report.add(Violation::Rate { transfer, claimed, derived, bits, packet, rate });
    }
    for (start, end) in flow.segments.iter().take(flow.segments.len().saturating_sub(1)) {
        if end.saturating_sub(*start).0 % full.0 != 0 {
            report.add(Violation::WithinPacket { transfer, time: *end, packet: full });
        }
    }
}
