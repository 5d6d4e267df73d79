//! The totals of a schedule against what follows from its log.

use super::replay::Outcome;
use super::{Case, Claims, Figure, Report, Violation};
use crate::ids::{CnId, CoreId, PoolId, ResourceId};

/// Compares all totals, and the bound.
pub(super) fn check(case: &Case<'_>, claims: &Claims<'_>, outcome: &Outcome, report: &mut Report) {
    let schedule = claims.schedule;
    report.total(Figure::Latency, schedule.latency.0, outcome.latency.0);
    let why = &schedule.why;
    let parts = [why.compute, why.stall, why.transfer, why.dram, why.memory];
    report.total(Figure::Why, parts.iter().fold(0, |sum, part| sum.saturating_add(*part)), outcome.latency.0);
    report.total(Figure::Transfers, schedule.transfers, outcome.transfers);
    for (index, (claimed, derived)) in schedule.cns.iter().zip(&outcome.times).enumerate() {
        let cn = CnId::from(index);
        report.total(Figure::Admitted(cn), claimed.admitted.0, derived.admitted.0);
        report.total(Figure::Start(cn), claimed.start.0, derived.start.0);
        report.total(Figure::End(cn), claimed.end.0, derived.end.0);
        if claimed.released < derived.released || claimed.released > derived.admitted {
            let (claimed, made, admitted) = (claimed.released, derived.released, derived.admitted);
            report.add(Violation::Released { cn, claimed, made, admitted });
        }
    }
    for (index, (claimed, derived)) in schedule.busy.iter().zip(&outcome.busy).enumerate() {
        report.total(Figure::Busy(CoreId::from(index)), claimed.0, derived.0);
    }
    for (index, _) in case.accelerator.pools.iter().enumerate().filter(|(_, pool)| !pool.dram) {
        report.total(Figure::Peak(PoolId::from(index)), schedule.peak[index].0, outcome.peak[index]);
    }
    traffic(claims, outcome, report);
    bound(claims, report);
}

fn traffic(claims: &Claims<'_>, outcome: &Outcome, report: &mut Report) {
    let (claimed, derived) = (&claims.schedule.traffic, &outcome.traffic);
    for index in 0..derived.read_words.len() {
        let pool = PoolId::from(index);
        report.total(Figure::ReadWords(pool), claimed.read_words[index], derived.read_words[index]);
        report.total(Figure::WriteWords(pool), claimed.write_words[index], derived.write_words[index]);
    }
    for index in 0..derived.active.len() {
        let resource = ResourceId::from(index);
        report.total(Figure::Active(resource), claimed.active[index].0, derived.active[index].0);
        report.total(Figure::Moved(resource), claimed.bits[index].0, derived.bits[index].0);
    }
}

/// Lower bounds hold; energies are sums in floating point, so a billionth is forgiven.
fn bound(claims: &Claims<'_>, report: &mut Report) {
    let Some((cycles, picojoules)) = claims.bound else {
        return;
    };
    let latency = claims.schedule.latency;
    if latency < cycles {
        report.add(Violation::LatencyBound { latency, bound: cycles });
    }
    let energy = claims.ledger.total();
    if energy.0 < picojoules.0 * (1.0 - 1e-9) {
        report.add(Violation::EnergyBound { energy, bound: picojoules });
    }
}
