//! Requests: who may ask for a copy where, and which transfer answers.

use super::demand::Demand;
use super::flows::Flow;
use super::space::Space;
use super::{Case, Report, Violation};
use crate::ids::{CnId, FragmentId, PoolId};
use crate::schedule::log::Purpose;
use crate::units::Cycles;
use crate::workload::Origin;
use std::collections::BTreeMap;

/// A request as the log claims it.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub time: Cycles,
    pub fragment: FragmentId,
    pub to: PoolId,
    pub cn: CnId,
    pub purpose: Purpose,
}

/// Requests that no transfer has answered yet.
#[derive(Default)]
pub(super) struct Requests {
    open: BTreeMap<(FragmentId, PoolId), Request>,
}

impl Requests {
    /// A copy is asked for: its bits are taken from now on. `admitted` tells whether the CN asked for
    /// is admitted by then and not done.
    pub fn open(
        &mut self,
        case: &Case<'_>,
        demand: &Demand,
        space: &mut Space<'_>,
        request: Request,
        admitted: bool,
        report: &mut Report,
    ) {
        let Request { time, fragment, to, cn, purpose } = request;
        let pool = to;
        if space.holds(fragment, pool) || self.open.contains_key(&(fragment, pool)) {
            report.add(Violation::AlreadyThere { fragment, pool, time });
            return;
        }
        match purpose {
            Purpose::Fetch | Purpose::Prefetch if !reads(case, demand, &request) => {
                report.add(Violation::NotAReader { fragment, pool, cn, time });
            }
            Purpose::Fetch if !admitted => {
                report.add(Violation::FetchUnadmitted { fragment, cn, time });
            }
            Purpose::Prefetch => check_prefetch(case, &request, report),
            Purpose::Spill | Purpose::Store if !space.is_dram(pool) => {
                report.add(Violation::WriteBackOnChip { fragment, pool, time });
            }
            Purpose::StreamIn | Purpose::StreamOut => {
                report.add(Violation::StreamRequest { fragment, cn, time });
            }
            _ => {}
        }
        space.charge(pool, case.graph.bits(fragment), time, report);
        self.open.insert((fragment, pool), request);
    }

    /// A transfer brings a fragment to all its destinations. It is issued when they ask for it; only a
    /// copy in flight is worth waiting for, and then it is issued when that arrives (Rule (multicast)).
    pub fn answer(
        &mut self,
        case: &Case<'_>,
        space: &mut Space<'_>,
        flow: &Flow<'_>,
        fragment: FragmentId,
        report: &mut Report,
    ) {
        let (transfer, issued) = (flow.transfer, flow.issued);
        for pool in flow.to.iter().copied() {
            let request = self.open.remove(&(fragment, pool));
            if request.is_none() {
                space.charge(pool, case.graph.bits(fragment), flow.time, report);
            }
            space.arrive(fragment, pool, flow.time.0);
            let Some(request) = request.filter(|request| request.time <= issued) else {
                report.add(Violation::Unrequested { transfer, fragment, pool, issued });
                continue;
            };
            if is_write_back(request.purpose) != is_write_back(flow.purpose) {
                report.add(Violation::TransferForm { transfer, time: flow.time });
            }
            let requested = request.time;
            if requested != issued && !space.arrived_at(fragment, issued.0) {
                report.add(Violation::Waited { transfer, fragment, pool, requested, issued });
            }
        }
    }

    /// The log is over: nothing may be open.
    pub fn check_answered(&self, report: &mut Report) {
        for Request { time, fragment, to, .. } in self.open.values().copied() {
            report.add(Violation::Unanswered { fragment, pool: to, time });
        }
    }
}

fn is_write_back(purpose: Purpose) -> bool {
    matches!(purpose, Purpose::Spill | Purpose::Store)
}

/// Whether the CN reads the fragment in the pool asked for.
fn reads(case: &Case<'_>, demand: &Demand, request: &Request) -> bool {
    let node = case.placement.node(request.cn);
    (node.operands.iter().enumerate().skip(1)).any(|(operand, place)| {
        place.pool == Some(request.to)
            && !place.streamed
            && demand.fragments(request.cn, operand).binary_search(&request.fragment).is_ok()
    })
}

/// Only constants are asked for ahead, and only for cores that overlap transfers with computation.
fn check_prefetch(case: &Case<'_>, request: &Request, report: &mut Report) {
    let Request { time, fragment, cn, .. } = *request;
    let tensor = case.graph.tensor_of[fragment.index()];
    if case.workload.tensor(tensor).origin != Origin::Constant {
        report.add(Violation::PrefetchOfActivation { fragment, time });
    }
    let core = case.placement.core_of[cn.index()];
    if slots_ahead(case, cn) == 0 {
        report.add(Violation::PrefetchOff { fragment, core, time });
    }
}

/// Admission slots of a CN's core beyond the running CN.
pub(super) fn slots_ahead(case: &Case<'_>, cn: CnId) -> u32 {
    match case.accelerator.kind(case.placement.core_of[cn.index()]).no_overlap {
        true => 0,
        false => case.options.prefetch,
    }
}
