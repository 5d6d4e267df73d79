//! Fair sharing, checked: rates of all flows at every instant.
//!
//! Flows of one source and the same destinations form a bundle, of which one flow moves at a time. A
//! bundle has demand from the issue of a flow to the flow's end. Between two changes of any flow the
//! rates of the bundles with demand, in units of 2^-20 bits per cycle, follow from nothing but the
//! bandwidths of the resources they use:
//!
//! ```text
//! capacity   sum of rates over a resource <= its bandwidth
//! max-min    the level rises equally for all bundles; where floor(left / rising) is smallest,
//!            all rising bundles stop at it (and the others rise on)
//! amount     sum of rate x cycles >= bits, and one cycle less would not do
//! ```

use super::flows::Flow;
use super::{Case, Report, Violation};
use crate::ids::{PoolId, ResourceId, TransferId};
use crate::schedule::RATE_UNITS;
use crate::units::Cycles;
use std::collections::BTreeMap;

type Way = (PoolId, Vec<PoolId>);

/// A flow with its claimed rates.
struct Shared {
    transfer: TransferId,
    bundle: usize,
    issued: u64,
    /// Start, end, rate.
    segments: Vec<(u64, u64, u64)>,
    /// The first segment that has not ended.
    next: usize,
}

/// All flows under fair contention.
#[derive(Default)]
pub(super) struct Fair {
    bundles: BTreeMap<Way, usize>,
    routes: Vec<Vec<ResourceId>>,
    flows: Vec<Shared>,
}

impl Fair {
    /// Checks a flow's rates against its bits, and keeps them.
    pub fn add(&mut self, flow: &Flow<'_>, resources: &[ResourceId], report: &mut Report) {
        let transfer = flow.transfer;
        if flow.rates.len() != flow.segments.len() {
            report.add(Violation::Segments { transfer });
            return;
        }
        let segments: Vec<(u64, u64, u64)> = flow
            .segments
            .iter()
            .zip(flow.rates)
            .map(|((start, end), rate)| (start.0, end.0, *rate))
            .collect();
        let moved: u128 = (segments.iter())
            .map(|(start, end, rate)| u128::from(end.saturating_sub(*start)) * u128::from(*rate))
            .sum();
        let wanted = u128::from(flow.bits.0) * u128::from(RATE_UNITS);
        let last = segments.last().map_or(0, |(.., rate)| u128::from(*rate));
        if moved < wanted || moved.saturating_sub(last) >= wanted {
            report.add(Violation::RatesAmount { transfer, moved, wanted });
        }
        let sound = segments.iter().all(|(start, end, _)| start < end)
            && segments.windows(2).all(|pair| pair[0].1 <= pair[1].0)
            && segments.first().is_some_and(|(start, ..)| *start >= flow.issued.0);
        if !sound {
            return; // reported with the segments
        }
        let mut to = flow.to.to_vec();
        to.sort_unstable();
        let next = self.routes.len();
        let bundle = *self.bundles.entry((flow.from, to)).or_insert(next);
        if bundle == next {
            self.routes.push(resources.to_vec());
        }
        self.flows.push(Shared { transfer, bundle, issued: flow.issued.0, segments, next: 0 });
    }

    /// Sweeps over all changes.
    pub fn check(mut self, case: &Case<'_>, report: &mut Report) {
        let mut instants: Vec<u64> = Vec::new();
        for flow in &self.flows {
            instants.push(flow.issued);
            instants.extend(flow.segments.iter().flat_map(|(start, end, _)| [*start, *end]));
        }
        instants.sort_unstable();
        instants.dedup();
        self.flows.sort_by_key(|flow| flow.issued);
        let (mut issued, mut active) = (0, Vec::new());
        let mut shares = Shares { case, routes: &self.routes, bundles: Vec::new(), rates: Vec::new() };
        for now in instants {
            while self.flows.get(issued).is_some_and(|flow| flow.issued <= now) {
                active.push(issued);
                issued += 1;
            }
            active.retain(|at| {
                let flow = &mut self.flows[*at];
                while flow.segments.get(flow.next).is_some_and(|(_, end, _)| *end <= now) {
                    flow.next += 1;
                }
                flow.next < flow.segments.len()
            });
            let flows: Vec<&Shared> = active.iter().map(|at| &self.flows[*at]).collect();
            shares.compare(&flows, now, report);
        }
    }
}

/// The rates that bundles with demand should have.
struct Shares<'a> {
    case: &'a Case<'a>,
    routes: &'a [Vec<ResourceId>],
    /// Bundles with demand, ascending, and their rates.
    bundles: Vec<usize>,
    rates: Vec<u64>,
}

impl Shares<'_> {
    /// Compares the rates that flows claim from `now` on with what they should be.
    fn compare(&mut self, flows: &[&Shared], now: u64, report: &mut Report) {
        let mut claimed: BTreeMap<usize, Option<(TransferId, u64)>> = BTreeMap::new();
        for flow in flows {
            let (start, _, rate) = flow.segments[flow.next];
            let moving = claimed.entry(flow.bundle).or_insert(None);
            if start > now {
                continue;
            }
            if let Some((first, _)) = moving.replace((flow.transfer, rate)) {
                report.add(Violation::BundleTwice { first, second: flow.transfer, time: Cycles(now) });
            }
        }
        self.check_capacity(&claimed, now, report);
        if !claimed.keys().eq(&self.bundles) {
            self.bundles = claimed.keys().copied().collect();
            self.rates = self.level();
        }
        for ((bundle, moving), derived) in claimed.iter().zip(&self.rates) {
            let waiting = flows.iter().find(|flow| flow.bundle == *bundle).map(|flow| flow.transfer);
            let (transfer, claimed) = match (moving, waiting) {
                (Some((transfer, rate)), _) => (*transfer, *rate),
                (None, Some(transfer)) => (transfer, 0),
                (None, None) => continue,
            };
            if claimed != *derived {
                report.add(Violation::Share { transfer, time: Cycles(now), claimed, derived: *derived });
            }
        }
    }

    fn check_capacity(
        &self,
        claimed: &BTreeMap<usize, Option<(TransferId, u64)>>,
        now: u64,
        report: &mut Report,
    ) {
        let mut used: BTreeMap<ResourceId, u128> = BTreeMap::new();
        for (bundle, moving) in claimed {
            for resource in &self.routes[*bundle] {
                *used.entry(*resource).or_insert(0) += moving.map_or(0, |(_, rate)| u128::from(rate));
            }
        }
        for (resource, rate) in used {
            let bandwidth = self.case.accelerator.resources[resource.index()].bandwidth;
            if rate > u128::from(bandwidth.0) * u128::from(RATE_UNITS) {
                report.add(Violation::Bandwidth {
                    resource,
                    time: Cycles(now),
                    rate,
                    bandwidth: bandwidth.0,
                });
            }
        }
    }

    /// The level at which each bundle with demand stops rising.
    fn level(&self) -> Vec<u64> {
        let mut stopped: BTreeMap<usize, u64> = BTreeMap::new();
        let mut on: BTreeMap<ResourceId, Vec<usize>> = BTreeMap::new();
        for bundle in &self.bundles {
            for resource in &self.routes[*bundle] {
                on.entry(*resource).or_default().push(*bundle);
            }
        }
        while stopped.len() < self.bundles.len() {
            let levels: Vec<(u64, &Vec<usize>)> = (on.iter())
                .filter_map(|(resource, bundles)| {
                    let rising = bundles.iter().filter(|bundle| !stopped.contains_key(bundle)).count() as u64;
                    let taken: u64 = bundles.iter().filter_map(|bundle| stopped.get(bundle)).sum();
                    let bandwidth = self.case.accelerator.resources[resource.index()].bandwidth.0;
                    let left = bandwidth.saturating_mul(RATE_UNITS).saturating_sub(taken);
                    (rising > 0).then(|| (left / rising, bundles))
                })
                .collect();
            let Some(lowest) = levels.iter().map(|(level, _)| *level).min() else { break };
            let stopping: Vec<usize> = (levels.into_iter())
                .filter(|(level, _)| *level == lowest)
                .flat_map(|(_, bundles)| bundles.iter().copied())
                .collect();
            for bundle in stopping {
                stopped.entry(bundle).or_insert(lowest);
            }
        }
        stopped.into_values().collect()
    }
}
