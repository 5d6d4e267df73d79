//! Stalls from double buffering and port sharing (MODEL.md 8).
//!
//! A level is double-buffered where the effective utilisation (bits without the run of relevant
//! loops at its outer end, over the capacity) of all operands sharing it is at most one half, or
//! where the operand's own copy still fits beside them. With the integer spatial factors
//!
//! ```text
//! real    = ceil(amount * precision / bw_max)
//! allowed = period if the receiving lower level is double-buffered, else the window
//! SS      = (real - allowed) * (count - 1)          MUW = allowed * (count - 1)
//! SS_port = SS                                                                  (one activity)
//!         = sum(SS > 0) + max(0, sum(SS <= 0) + sum(MUW) - MUW_union)           (several)
//! stall   = max(0, SS_port of all ports)
//! ```
//!
//! [`Model::Millstream`] takes the union over the same periods as MUW, all but the first of each activity
//! (MODEL.md 14.5), and counts the transfers that move something (14.1).
//!
//! Where an operation takes several cycles, periods and windows are that many times longer.
//!
//! `MUW_union` is the time covered by windows of length `allowed` at the start of every period.
//! Periods are nested (each divides the next), which gives a closed form: activities by period,
//!
//! ```text
//! cov_k(x) = (x div P_k) * U_k + c_k(x mod P_k)        U_k = c_k(P_k)
//! c_k(y)   = y if y <= A_k, else A_k + cov_{k-1}(y) - cov_{k-1}(A_k)
//! ```

use super::access::{Nesting, PerLevel, Traffic};
use super::problem::{PortUse, Problem};
use super::{Model, PortStall};
use crate::accelerator::Direction;
use smallvec::{SmallVec, smallvec};

/// Double-buffering flag per operand and arch level (never the array).
pub(super) type Buffering = SmallVec<[PerLevel<bool>; 3]>;

/// What a port does for one interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Activity {
    /// Cycles the port needs per transfer.
    real: u64,
    /// Cycles it may take without stalling.
    allowed: u64,
    period: u64,
    count: u64,
    /// Transfers that must keep pace: all but the first.
    paced: u64,
}

/// Activities of one port.
type PortActivities = SmallVec<[Activity; 8]>;

/// Flags from the effective contents with fractional factors.
pub(super) fn double_buffering(problem: &Problem, traffic: &Traffic, nestings: &[Nesting]) -> Buffering {
    let mut buffering: Buffering =
        problem.operands.iter().map(|operand| smallvec![false; operand.levels.len() + 1]).collect();
    let capacity = |memory: usize| problem.hierarchy.memories[memory].size.0 as f64;
    let individual = |operand: usize, level: usize| {
        let bits = traffic.contents[operand].bits(level + 1) / nestings[operand].top_relevant[level + 1];
        bits as f64 / capacity(problem.operands[operand].levels[level])
    };
    let mut shared: SmallVec<[f64; 12]> = smallvec![0.0; problem.hierarchy.memories.len()];
    for visit in &problem.visits {
        shared[visit.memory] =
            visit.operands.iter().map(|(operand, level)| individual(*operand, *level)).sum();
    }
    for (operand, description) in problem.operands.iter().enumerate() {
        for (level, memory) in description.levels.iter().enumerate() {
            let own = individual(operand, level);
            if shared[*memory] <= 0.5 {
                buffering[operand][level + 1] = true;
            } else if own <= 1.0 - shared[*memory] {
                buffering[operand][level + 1] = true;
                shared[*memory] += own;
            }
        }
    }
    buffering
}

/// Stall cycles of the worst port, from the traffic with integer factors.
pub(super) fn stall(problem: &Problem, traffic: &Traffic, buffering: &Buffering) -> u64 {
    (problem.ports.iter())
        .map(|port| port_stall(problem.model, &activities(problem, port, traffic, buffering)))
        .fold(0, i64::max) as u64
}

/// Stall or slack of every port that moves anything.
pub(super) fn port_stalls(problem: &Problem, traffic: &Traffic, buffering: &Buffering) -> Vec<PortStall> {
    let used = problem.ports.iter().map(|port| (port, activities(problem, port, traffic, buffering)));
    used.filter(|(_, activities)| !activities.is_empty())
        .map(|(port, activities)| PortStall {
            memory: port.memory,
            port: port.port,
            stall: port_stall(problem.model, &activities),
        })
        .collect()
}

fn activities(problem: &Problem, port: &PortUse, traffic: &Traffic, buffering: &Buffering) -> PortActivities {
    (port.interfaces.iter())
        .filter(|at| traffic.transfers[**at].count > 0)
        .map(|at| {
            let transfer = &traffic.transfers[*at];
            let interface = &problem.interfaces[*at];
            let receiver = match interface.direction {
                Direction::ToLow | Direction::FromLow => interface.level,
                Direction::ToHigh | Direction::FromHigh => interface.level + 1,
            };
            let buffered = buffering[interface.operand][receiver];
            let cycles = problem.hierarchy.array.cycles_per_operation();
            Activity {
                real: transfer.bits().div_ceil(port.bandwidth_max),
                allowed: cycles * if buffered { transfer.period } else { transfer.window },
                period: cycles * transfer.period,
                count: transfer.count,
                paced: transfer.moves.min(transfer.count - 1),
            }
        })
        .collect()
}

/// Stall (positive) or slack of one port.
fn port_stall(model: Model, port: &[Activity]) -> i64 {
    let alone =
        |activity: &Activity| (activity.real as i64 - activity.allowed as i64) * activity.paced as i64;
    match port {
        [] => 0,
        [activity] => alone(activity),
        several => {
            let stalls = several.iter().map(alone).filter(|slack| *slack > 0).sum::<i64>();
            let slack = several.iter().map(alone).filter(|slack| *slack <= 0).sum::<i64>();
            let windows = several.iter().map(|one| one.allowed as i64 * one.paced as i64).sum::<i64>();
            let union = match model {
                Model::Zigzag => window_union(several),
                Model::Millstream => later_windows(several),
            };
            stalls + (slack + windows - union as i64).max(0)
        }
    }
}

/// `MUW_union`: cycles of the run covered by at least one window.
fn window_union(port: &[Activity]) -> u64 {
    if let Some(always) = port.iter().find(|activity| activity.allowed == activity.period) {
        return always.period * always.count;
    }
    let (by_period, per_period) = nested(port);
    match (per_period.last(), by_period.last()) {
        (Some(union), Some(longest)) => union * longest.count,
        _ => 0,
    }
}

/// Cycles of the run covered by a window that is not the first of its activity: up to the second period
/// of activity k + 1 only activities 0..=k have such windows.
fn later_windows(port: &[Activity]) -> u64 {
    let (by_period, per_period) = nested(port);
    (by_period.iter().enumerate())
        .map(|(k, activity)| {
            let inner = &by_period[..=k];
            let until = by_period.get(k + 1).map_or(activity.period * activity.count, |next| next.period);
            covered(inner, &per_period, until) - covered(inner, &per_period, activity.period)
        })
        .sum()
}

/// Activities by period, with `U_k`.
fn nested(port: &[Activity]) -> (PortActivities, SmallVec<[u64; 8]>) {
    let mut by_period: PortActivities = port.iter().copied().collect();
    by_period.sort_by_key(|activity| activity.period);
    let mut per_period: SmallVec<[u64; 8]> = SmallVec::new();
    for (k, activity) in by_period.iter().enumerate() {
        let union = head(&by_period[..=k], &per_period, activity.period);
        per_period.push(union);
    }
    (by_period, per_period)
}

/// c_k(y) for the last activity k: covered cycles in the first `y` of one of its periods.
fn head(by_period: &[Activity], per_period: &[u64], y: u64) -> u64 {
    match by_period {
        [] => 0,
        [.., last] if y <= last.allowed => y,
        [inner @ .., last] => {
            last.allowed + covered(inner, per_period, y) - covered(inner, per_period, last.allowed)
        }
    }
}

/// cov_k(x) for the last activity k: covered cycles in the first `x` of the run.
fn covered(by_period: &[Activity], per_period: &[u64], x: u64) -> u64 {
    match by_period {
        [] => 0,
        [.., last] => {
            let k = by_period.len() - 1;
            x / last.period * per_period[k] + head(by_period, per_period, x % last.period)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn activity(real: u64, allowed: u64, period: u64, total: u64) -> Activity {
        Activity { real, allowed, period, count: total / period, paced: total / period - 1 }
    }

    #[test]
    fn windows_that_overlap_count_once() {
        // Windows 0..2 of every 4 and 0..3 of every 8, over 16 cycles: 0,1,2,4,5 twice.
        let port = [activity(1, 2, 4, 16), activity(1, 3, 8, 16)];
        assert_eq!(window_union(&port), 10);
        // A third one over 0..7 of 16 adds cycles 3 and 6 of the first period.
        let port = [activity(1, 7, 16, 16), activity(1, 2, 4, 16), activity(1, 3, 8, 16)];
        assert_eq!(window_union(&port), 12);
        // A window as long as its period covers everything.
        assert_eq!(window_union(&[activity(1, 4, 4, 16), activity(1, 3, 8, 16)]), 16);
    }

    #[test]
    fn the_closed_form_equals_a_timeline() {
        for (a, b, c) in [(1, 2, 5), (2, 7, 9), (3, 5, 23), (2, 11, 13), (1, 1, 1)] {
            let port = [activity(1, a, 4, 48), activity(1, b, 12, 48), activity(1, c, 24, 48)];
            let timeline =
                (0..48_u64).filter(|t| port.iter().any(|one| t % one.period < one.allowed)).count();
            assert_eq!(window_union(&port), timeline as u64);
        }
    }

    #[test]
    fn a_port_alone_stalls_between_transfers_only() {
        // 5 cycles of work in 4 allowed, 3 times after the first.
        assert_eq!(port_stall(Model::Zigzag, &[activity(5, 4, 4, 16)]), 3);
    }

    #[test]
    fn all_periods_but_the_first_are_offered_and_used() {
        // MODEL.md 14.5: two that each need every cycle of the last three periods of four, 24 in 12.
        // The reference offers all four periods, 16 cycles.
        let busy = activity(4, 4, 4, 16);
        assert_eq!(port_stall(Model::Zigzag, &[busy, busy]), 8);
        assert_eq!(port_stall(Model::Millstream, &[busy, busy]), 12);
    }

    #[test]
    fn later_windows_equal_a_timeline() {
        for (a, b, c) in [(1, 2, 5), (2, 7, 9), (3, 12, 23), (4, 11, 13), (1, 1, 24)] {
            let port = [activity(1, c, 24, 48), activity(1, a, 4, 48), activity(1, b, 12, 48)];
            let later = |t: u64| port.iter().any(|one| t >= one.period && t % one.period < one.allowed);
            assert_eq!(later_windows(&port), (0..48).filter(|t| later(*t)).count() as u64);
        }
    }
}
