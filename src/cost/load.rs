//! Loading the first tiles and sending the last ones (MODEL.md 9), as 3.9.1 does it.
//!
//! A port that moves something once (count 1) needs `real` cycles for it, of which all but the
//! lowest-level tile may hide under computation: with B the average bandwidth of what the port moves
//! repeatedly, the hidden cycles of a port are at most
//!
//! ```text
//! surplus = max(0, (bw_max - B) / bw_max * (total cycles + stall))
//! ```
//!
//! spent on the largest requirement first, down to `ceil(bits of the lowest tile / bw_max)`. Partial
//! sums (output tl, fh) do not count. Per boundary of an input the slower of the two ports decides;
//! boundaries whose ports serve both inputs add up between the inputs (`shared`), others run in
//! parallel. Offloading is the sum over the output's boundaries. Cycles may be fractional.
//!
//! [`Model::Millstream`] adds up all boundaries shared by one port, and does not forget those of a lone
//! input (MODEL.md 14.6). What cannot hide (14.7) is, at the boundary of arch level v, the share of the
//! tile that the level below needs first or gives last,
//!
//! ```text
//! fed[v-1] / elements[v]               the array's own operands: everything
//! 1 / (relevant loops at the outer end of the level)       results that an irrelevant loop completes
//! ```

use super::Model;
use super::access::{Nesting, Traffic};
use super::problem::{Interface, Operand, PortUse, Problem};
use crate::accelerator::Direction;
use smallvec::SmallVec;

/// Loading cycles of one interface.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Load {
    cycles: f64,
    /// The port serves both inputs.
    shared: bool,
}

/// On- and off-loading cycles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Loading {
    pub onload: f64,
    pub offload: f64,
}

/// Loading cycles of an input, by how its ports are shared with the other input.
#[derive(Clone, Copy, Debug, Default)]
struct InputLoad {
    shared: f64,
    half: f64,
    own: f64,
}

/// On- and off-loading from the traffic with integer factors. `busy` = total cycles + stall.
pub(super) fn loading(problem: &Problem, traffic: &Traffic, nestings: &[Nesting], busy: u64) -> Loading {
    let mut loads: SmallVec<[Load; 64]> = smallvec::smallvec![Load::default(); problem.interfaces.len()];
    for port in &problem.ports {
        load_port(problem, traffic, nestings, port, busy, &mut loads);
    }
    let at = |operand: &Operand, level: usize, direction: Direction| {
        loads[operand.first + 4 * level + direction as usize]
    };
    let inputs: SmallVec<[InputLoad; 2]> = (problem.operands.iter().filter(|operand| !operand.output))
        .map(|operand| {
            let mut load = InputLoad::default();
            for level in 0..operand.top() {
                let fill = at(operand, level, Direction::FromHigh);
                let read = at(operand, level + 1, Direction::ToLow);
                let cycles = fill.cycles.max(read.cycles);
                match (fill.shared, read.shared) {
                    (true, true) => load.shared += cycles,
                    (false, false) => load.own += cycles,
                    // Assigned, not added (MODEL.md 14.6).
                    _ if problem.model == Model::Zigzag => load.half = cycles,
                    _ => load.half += cycles,
                }
            }
            load
        })
        .collect();
    let onload = match inputs.as_slice() {
        [] => 0.0,
        [one] if problem.model == Model::Zigzag => one.own,
        [one] => one.shared + one.half + one.own,
        [a, b, ..] => {
            let first = a.shared + (b.shared + b.half + b.own).max(a.half + a.own);
            let second = b.shared + (a.shared + a.half + a.own).max(b.half + b.own);
            first.min(second)
        }
    };
    let output = &problem.operands[0];
    let offload: f64 = (0..output.top())
        .map(|level| {
            let leaving = at(output, level, Direction::ToHigh);
            leaving.cycles.max(at(output, level + 1, Direction::FromLow).cycles)
        })
        .sum();
    // An empty sum is -0.0.
    Loading { onload, offload: offload + 0.0 }
}

/// Loading cycles of the interfaces of one port.
fn load_port(
    problem: &Problem,
    traffic: &Traffic,
    nestings: &[Nesting],
    port: &PortUse,
    busy: u64,
    loads: &mut [Load],
) {
    let mut once: SmallVec<[(usize, f64); 8]> = SmallVec::new();
    let mut repeated = 0_u64;
    for at in &port.interfaces {
        let transfer = &traffic.transfers[*at];
        if transfer.count == 0 || is_partial_sum(problem, &problem.interfaces[*at]) {
            continue;
        }
        let cycles = transfer.bits().div_ceil(port.bandwidth_max) as f64;
        loads[*at] = Load { cycles, shared: port.shared_inputs };
        if transfer.count > 1 {
            repeated += transfer.bandwidth.div_ceil(problem.hierarchy.array.cycles_per_operation());
        } else {
            once.push((*at, cycles));
        }
    }
    let width = port.bandwidth_max as f64;
    let mut surplus = ((width - repeated as f64) / width * busy as f64).max(0.0);
    once.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    for (at, required) in once {
        let interface = &problem.interfaces[at];
        let least = match problem.model {
            Model::Zigzag => traffic.contents[interface.operand].bits(1).div_ceil(port.bandwidth_max) as f64,
            Model::Millstream => (required * exposed(problem, traffic, nestings, interface)).ceil(),
        };
        let hidden = (required - least).max(0.0).min(surplus);
        surplus -= hidden;
        loads[at].cycles = required - hidden;
    }
}

/// Share of a tile moved once that the array waits for: all of it may not hide.
fn exposed(problem: &Problem, traffic: &Traffic, nestings: &[Nesting], interface: &Interface) -> f64 {
    let low = matches!(interface.direction, Direction::ToLow | Direction::FromLow);
    let v = if low { interface.level } else { interface.level + 1 };
    if v == 0 {
        return 1.0;
    }
    let contents = &traffic.contents[interface.operand];
    let completes = problem.operands[interface.operand].output && contents.passes[v - 1] > contents.passes[v];
    match completes {
        true => 1.0 / nestings[interface.operand].top_relevant[v] as f64,
        false => contents.fed[v - 1].most() as f64 / contents.elements[v].most() as f64,
    }
}

fn is_partial_sum(problem: &Problem, interface: &Interface) -> bool {
    problem.operands[interface.operand].output
        && matches!(interface.direction, Direction::ToLow | Direction::FromHigh)
}

/// Drain of systolic array dimensions: `sum of max(ceil(product of factors) - 1, 0)`.
pub(super) fn drain(problem: &Problem, mapping: &super::unroll::Mapping) -> f64 {
    let drains = (problem.hierarchy.array.systolic.iter())
        .filter_map(|array_dim| mapping.get(*array_dim))
        .map(|factors| (factors.iter().map(|(_, factor)| factor).product::<f64>().ceil() - 1.0).max(0.0));
    // An empty sum is -0.0.
    drains.sum::<f64>() + 0.0
}
