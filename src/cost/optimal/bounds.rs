//! Bounds of what boundaries add to the latency of a chain, over multisets as for energy.
//!
//! A chain is bounded from below as if every transfer had its whole period and everything that may
//! hide did:
//!
//! ```text
//! E >= base + E(placed) + h_E
//! L >= temporal + drain + max(0, over ports(max(S, S + W - temporal))) + onload + offload
//!
//! S = sum over the port's movements of max(0, ceil(bits / width) - period) * paced periods
//! W = sum over the port's movements of min(ceil(bits / width), period) * paced periods
//!     S + W - temporal: the union of windows is within the run (MODEL.md 8)
//! onload, offload: MODEL.md 9 with endless surplus
//! ```
//!
//! h is the least sum over the boundaries still to place, per figure on its own, as if memories were
//! not shared.

use super::super::Model;
use super::super::evaluate::Score;
use super::chain::{Chain, MOST_STATES, levels};
use super::{Failure, Space};
use crate::accelerator::Direction;
use smallvec::{SmallVec, smallvec};

/// Loading cycles of an operand by how the ports of a boundary serve the inputs (MODEL.md 9).
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    shared: f64,
    half: f64,
    own: f64,
}

impl Load {
    fn plus(self, other: Self) -> Self {
        Self { shared: self.shared + other.shared, half: self.half + other.half, own: self.own + other.own }
    }

    fn least(self, other: Self) -> Self {
        Self {
            shared: self.shared.min(other.shared),
            half: self.half.min(other.half),
            own: self.own.min(other.own),
        }
    }

    fn total(self) -> f64 {
        self.shared + self.half + self.own
    }
}

/// Cycles of a port.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    /// S.
    stalls: f64,
    /// S + W.
    all: f64,
}

impl Work {
    fn plus(self, other: Self) -> Self {
        Self { stalls: self.stalls + other.stalls, all: self.all + other.all }
    }
}

/// What a boundary adds, per set below it.
#[derive(Default)]
struct Timing {
    /// Position in [`Bounds::ports`] and work.
    works: Vec<(usize, Vec<Work>)>,
    load: Vec<Load>,
}

/// What the boundaries of a chain have added up to.
#[derive(Clone, Debug)]
pub(super) struct Figures {
    pub energy: f64,
    /// Per port of [`Bounds::ports`].
    works: SmallVec<[Work; 4]>,
    /// Per operand.
    loads: SmallVec<[Load; 3]>,
}

/// What boundaries add and the least that those still to place will add.
pub(super) struct Bounds<'a> {
    chain: &'a Chain<'a>,
    /// `h` of the energy.
    energy: &'a [f64],
    /// Ports that can stall, as positions in
    /// [`Problem::ports`](super::super::problem::Problem::ports).
    ports: Vec<usize>,
    timings: Vec<Vec<Timing>>,
    /// h of the works: per entry of `energy` as many as there are `ports`.
    works: Vec<Work>,
    /// h of the loads: per operand, number of its placed boundaries and set.
    loads: Vec<Vec<Vec<Load>>>,
    /// Cycles of the temporal loops.
    temporal: f64,
}

impl<'a> Bounds<'a> {
    /// With the figures of no boundary placed.
    pub fn new(space: &'a Space<'a>) -> Result<(Self, Figures), Failure> {
        let chain = &space.chain;
        let problem = chain.mapped.problem;
        if space.rest.len().saturating_mul(2 * problem.ports.len() + 1) > MOST_STATES {
            return Err(Failure::TooLarge);
        }
        let cycles = problem.hierarchy.array.cycles_per_operation();
        let mut bounds = Self {
            chain,
            energy: &space.rest,
            ports: (0..problem.ports.len()).collect(),
            timings: Vec::new(),
            works: Vec::new(),
            loads: Vec::new(),
            temporal: (chain.lattice.total * cycles) as f64,
        };
        bounds.timings = (0..problem.operands.len())
            .map(|operand| levels(&problem.operands[operand]).map(|v| bounds.timing(operand, v)).collect())
            .collect();
        // What the array exchanges with the output's lowest memory.
        let output = problem.operands.iter().position(|operand| operand.output);
        let mut array = output.map_or_else(Timing::default, |output| bounds.timing(output, 0));
        bounds.keep_what_can_stall(&mut array);
        bounds.works = bounds.rest_of_works();
        bounds.loads = (0..chain.boundaries.len()).map(|operand| bounds.rest_of_loads(operand)).collect();
        let mut figures = Figures {
            energy: chain.base(),
            works: smallvec![Work::default(); bounds.ports.len()],
            loads: smallvec![Load::default(); chain.boundaries.len()],
        };
        array.works.iter().for_each(|(port, work)| figures.works[*port] = work[0]);
        Ok((bounds, figures))
    }

    fn timing(&self, operand: usize, v: usize) -> Timing {
        let (chain, problem) = (self.chain, self.chain.mapped.problem);
        let cycles = problem.hierarchy.array.cycles_per_operation();
        let mut timing = Timing::default();
        for set in 0..chain.lattice.size {
            let mut slowest = 0_f64;
            let mut all_shared = None;
            let mut mixed = false;
            for (at, transfer) in chain.transfers(chain.mapped.integer(), operand, v, set) {
                let interface = &problem.interfaces[at];
                let Some(port) = problem.ports.iter().position(|port| port.interfaces.contains(&at)) else {
                    continue;
                };
                let width = problem.ports[port].bandwidth_max;
                let real = transfer.bits().div_ceil(width);
                let paced = transfer.moves.min(transfer.count - 1);
                let work = Work {
                    stalls: (real.saturating_sub(cycles * transfer.period) * paced) as f64,
                    all: (real * paced) as f64,
                };
                let known = timing.works.iter().position(|(other, _)| *other == port);
                let known = known.unwrap_or_else(|| {
                    timing.works.push((port, vec![Work::default(); chain.lattice.size]));
                    timing.works.len() - 1
                });
                let works = &mut timing.works[known].1;
                works[set] = works[set].plus(work);
                let back = problem.operands[operand].output
                    && matches!(interface.direction, Direction::ToLow | Direction::FromHigh);
                if v > 0 && !back {
                    let exposed =
                        if transfer.count > 1 { real as f64 } else { self.exposed(operand, real, width) };
                    slowest = slowest.max(exposed);
                    let shared = problem.ports[port].shared_inputs;
                    mixed |= all_shared.is_some_and(|all| all != shared);
                    all_shared = Some(shared);
                }
            }
            timing.load.push(match (mixed, all_shared, problem.model) {
                // Assigned, not added (MODEL.md 14.6): no bound per boundary.
                (true, _, Model::Zigzag) => Load::default(),
                (true, _, Model::Millstream) => Load { half: slowest, ..Load::default() },
                (false, Some(true), _) => Load { shared: slowest, ..Load::default() },
                (false, _, _) => Load { own: slowest, ..Load::default() },
            });
        }
        timing
    }

    /// Cycles of a tile moved once that cannot hide, at least.
    fn exposed(&self, operand: usize, real: u64, width: u64) -> f64 {
        match self.chain.mapped.problem.model {
            Model::Zigzag => {
                let description = &self.chain.mapped.problem.operands[operand];
                let lowest = self.chain.tile(self.chain.mapped.integer(), operand, 1, 0).round_ties_even();
                (lowest as u64 * description.bits.min(description.partial_bits)).div_ceil(width).min(real)
                    as f64
            }
            Model::Millstream => 0.0,
        }
    }

    /// Drops the works of ports that stall on no chain, even if each boundary stood at its worst.
    fn keep_what_can_stall(&mut self, array: &mut Timing) {
        let mut most: Vec<Work> = vec![Work::default(); self.chain.mapped.problem.ports.len()];
        array.works.iter().for_each(|(port, works)| most[*port] = works[0]);
        let boundaries = self.chain.boundaries.iter().flatten();
        for (boundary, timing) in boundaries.zip(self.timings.iter().flatten()) {
            for (port, works) in &timing.works {
                let stands = works.iter().zip(&boundary.energy).filter(|(_, energy)| energy.is_finite());
                let worst = stands.fold(Work::default(), |worst, (work, _)| Work {
                    stalls: worst.stalls.max(work.stalls),
                    all: worst.all.max(work.all),
                });
                most[*port] = most[*port].plus(worst);
            }
        }
        let ports = (0..most.len()).filter(|port| self.least_stall(&most[*port]) > 0.0);
        self.ports = ports.collect();
        for timing in self.timings.iter_mut().flatten().chain([array]) {
            timing.works.retain_mut(|(port, _)| match self.ports.iter().position(|other| other == port) {
                Some(position) => {
                    *port = position;
                    true
                }
                None => false,
            });
        }
    }

    /// Stall of a port, at least; negative where there is slack.
    fn least_stall(&self, work: &Work) -> f64 {
        work.stalls.max(work.all - self.temporal)
    }

    fn rest_of_works(&self) -> Vec<Work> {
        let boundaries = &self.chain.boundaries;
        let ports = self.ports.len();
        let mut works = vec![Work::default(); self.energy.len() * ports];
        for port in 0..ports {
            let least = |figure: fn(&Work) -> f64| {
                self.chain.least(|operand, b, set| {
                    if boundaries[operand][b].energy[set].is_infinite() {
                        return f64::INFINITY;
                    }
                    let works = self.timings[operand][b].works.iter().find(|(other, _)| *other == port);
                    works.map_or(0.0, |(_, works)| figure(&works[set]))
                })
            };
            let (stalls, all) = (least(|work| work.stalls), least(|work| work.all));
            for (at, (stalls, all)) in stalls.into_iter().zip(all).enumerate() {
                works[at * ports + port] = Work { stalls, all };
            }
        }
        works
    }

    fn rest_of_loads(&self, operand: usize) -> Vec<Vec<Load>> {
        let lattice = &self.chain.lattice;
        let never = Load { shared: f64::INFINITY, half: f64::INFINITY, own: f64::INFINITY };
        let boundaries = &self.chain.boundaries[operand];
        let mut ahead = vec![vec![Load::default(); lattice.size]];
        for b in (0..boundaries.len()).rev() {
            let mut here = vec![never; lattice.size];
            for set in (0..lattice.size).rev() {
                if boundaries[b].energy[set].is_finite() {
                    here[set] = self.timings[operand][b].load[set].plus(ahead[0][set]);
                }
                for kind in &lattice.kinds {
                    if lattice.count(set, kind) < kind.count {
                        here[set] = here[set].least(here[set + kind.weight]);
                    }
                }
            }
            ahead.insert(0, here);
        }
        ahead
    }

    /// The figures with the operand's next boundary at `set`.
    pub fn with(&self, figures: &Figures, set: usize, placed: usize, operand: usize) -> Figures {
        let at = self.chain.placed(placed, operand);
        let timing = &self.timings[operand][at];
        let mut figures = figures.clone();
        figures.energy += self.chain.boundaries[operand][at].energy[set];
        for (port, works) in &timing.works {
            figures.works[*port] = figures.works[*port].plus(works[set]);
        }
        figures.loads[operand] = figures.loads[operand].plus(timing.load[set]);
        figures
    }

    /// No mapping through a chain that has come this far has less; infinite where there is none.
    pub fn of(&self, figures: &Figures, set: usize, placed: usize) -> Score {
        let at = set * self.chain.placements + placed;
        let rest = &self.works[at * self.ports.len()..];
        let stalls = figures.works.iter().zip(rest).map(|(work, rest)| self.least_stall(&work.plus(*rest)));
        let stall = stalls.fold(0.0, f64::max);
        let latency = self.temporal + self.chain.mapped.drain() + stall + self.loading(figures, set, placed);
        Score { energy: figures.energy + self.energy[at], latency }
    }

    /// On- and off-loading, at least.
    fn loading(&self, figures: &Figures, set: usize, placed: usize) -> f64 {
        let problem = self.chain.mapped.problem;
        let (mut offload, mut inputs) = (0.0, SmallVec::<[Load; 2]>::new());
        for (operand, description) in problem.operands.iter().enumerate() {
            let placed = self.chain.placed(placed, operand);
            let load = figures.loads[operand].plus(self.loads[operand][placed][set]);
            match description.output {
                true => offload += load.total(),
                false => inputs.push(load),
            }
        }
        let onload = match inputs.as_slice() {
            [] => 0.0,
            [one] if problem.model == Model::Zigzag => one.own,
            [one] => one.total(),
            [a, b, ..] => {
                let first = a.shared + b.total().max(a.half + a.own);
                let second = b.shared + a.total().max(b.half + b.own);
                first.min(second)
            }
        };
        onload + offload
    }
}
