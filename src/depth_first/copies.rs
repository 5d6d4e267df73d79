//! What copies between memories cost (MODEL.md 7).
//!
//! A copy climbs the levels of its operand, and descends those of the operand it becomes, from the
//! lowest memory they share at or above its goal. Each hop reads once and writes once, in parts of the
//! ports' least width, and takes as long as the slower port; hops follow one another. Copies run side by
//! side: a port with one interval of work ends with it, another no sooner than its first start plus
//! all its work.

use super::Machine;
use crate::accelerator::{Direction, Port};
use crate::workload::MemoryOperand;

/// A tile or part of one to be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Copy {
    pub bits: u64,
    /// Operand and memory.
    pub from: (MemoryOperand, usize),
    pub to: (MemoryOperand, usize),
}

/// What copies cost together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Copied {
    pub energy: f64,
    pub cycles: u64,
}

/// One level up or down.
struct Hop {
    operand: MemoryOperand,
    from: usize,
    to: usize,
}

/// Intervals of work of one port.
#[derive(Default)]
struct Work {
    intervals: u64,
    first: u64,
    last: u64,
    busy: u64,
}

pub(super) fn copied(machine: &Machine, copies: &[Copy]) -> Copied {
    let mut total = Copied::default();
    let mut ports: Vec<((usize, usize), Work)> = Vec::new();
    for copy in copies {
        let mut time = 0;
        for hop in hops(machine, copy) {
            let up = machine.level(hop.operand, hop.to) > machine.level(hop.operand, hop.from);
            let (leaves, enters) = match up {
                true => (Direction::ToHigh, Direction::FromLow),
                false => (Direction::ToLow, Direction::FromHigh),
            };
            // Inputs have no ports for the way up: they share those of the way down.
            let sender = machine
                .port(hop.from, hop.operand, leaves)
                .or_else(|| machine.port(hop.from, hop.operand, Direction::ToLow));
            let receiver = machine
                .port(hop.to, hop.operand, enters)
                .or_else(|| machine.port(hop.to, hop.operand, Direction::FromHigh));
            let cycles = |port: Option<(usize, &Port)>| {
                port.map_or(0, |(_, port)| copy.bits.div_ceil(port.bandwidth_max.0))
            };
            let taken = cycles(sender).max(cycles(receiver));
            total.energy += words(copy.bits, sender) * machine.memory(hop.from).read_cost.0
                + words(copy.bits, receiver) * machine.memory(hop.to).write_cost.0;
            let used = [(hop.from, sender), (hop.to, receiver)];
            for (memory, at) in used.iter().filter_map(|(memory, port)| Some((*memory, port.as_ref()?.0))) {
                let known = ports.iter().position(|(port, _)| *port == (memory, at));
                let known = known.unwrap_or_else(|| {
                    ports.push(((memory, at), Work { first: time, ..Work::default() }));
                    ports.len() - 1
                });
                let work = &mut ports[known].1;
                work.intervals += 1;
                work.first = work.first.min(time);
                work.last = work.last.max(time + taken);
                work.busy += taken;
            }
            time += taken;
        }
    }
    let end =
        |work: &Work| if work.intervals > 1 { work.last.max(work.first + work.busy) } else { work.last };
    total.cycles = ports.iter().map(|(_, work)| end(work)).max().unwrap_or(0);
    total
}

/// Words of full width, in parts of the least width.
fn words(bits: u64, port: Option<(usize, &Port)>) -> f64 {
    port.map_or(0.0, |(_, port)| {
        let (least, most) = (port.bandwidth_min.0, port.bandwidth_max.0);
        bits.div_ceil(least) as f64 * (least as f64 / most as f64)
    })
}

fn hops(machine: &Machine, copy: &Copy) -> Vec<Hop> {
    let ((from_operand, from), (to_operand, to)) = (copy.from, copy.to);
    if from_operand == to_operand {
        return straight(machine, from_operand, from, to);
    }
    let goal = machine.level(to_operand, to);
    let mut climb = machine.levels(from_operand).iter().skip_while(|memory| **memory != from);
    let shared = climb.find(|memory| {
        let level = machine.level(to_operand, **memory);
        level.is_some() && level >= goal
    });
    let shared = shared.copied().unwrap_or(machine.dram());
    let mut hops = straight(machine, from_operand, from, shared);
    hops.extend(straight(machine, to_operand, shared, to));
    hops
}

/// The levels of one operand from one memory to another.
fn straight(machine: &Machine, operand: MemoryOperand, from: usize, to: usize) -> Vec<Hop> {
    let levels = machine.levels(operand);
    let (Some(start), Some(end)) = (machine.level(operand, from), machine.level(operand, to)) else {
        return Vec::new();
    };
    let path: Vec<usize> = match start <= end {
        true => levels[start..=end].to_vec(),
        false => levels[end..=start].iter().rev().copied().collect(),
    };
    path.windows(2).map(|pair| Hop { operand, from: pair[0], to: pair[1] }).collect()
}
