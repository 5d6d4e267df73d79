//! Least latency, or least product of energy and latency, over all loop orders and divisions.
//!
//! Chains of multisets as in the search for energy, depth first, each chain once: between two groups
//! of boundaries loops join in the order of their kinds, within a group boundaries in the order of
//! their operands. Unlike energy, latency depends on the order of the loops between boundaries, by the
//! runs of equal relevance at the outer end of a level (windows, double buffering, MODEL.md 8). A
//! chain is bounded from below as if every transfer had its whole period and everything that may hide
//! did:
//!
//! ```text
//! E >= base + E(placed) + h_E
//! L >= temporal + drain + max(0, alone, max over ports(W(placed) + h_W) - temporal) + onload + offload
//!
//! W     = sum over the port's movements of ceil(bits / width) * paced periods        (MODEL.md 8: the
//!         stall of a port is no less than its work beyond the union of windows, which is within the run)
//! alone = max over movements of (ceil(bits / width) - period) * paced periods
//! onload, offload: MODEL.md 9 with endless surplus
//! ```
//!
//! h is the least sum over the boundaries still to place, per figure on its own, as if memories were
//! not shared. What cannot beat the best mapping known is cut. The orders of a chain that is left are
//! evaluated one by one until one reaches its bound: of each segment those that differ in the runs of
//! any operand at its outer and inner end; what is between them decides nothing.
//!
//! Invariant: a result is better than the incumbent by more than rounding; equals go to the incumbent.

use super::super::access::nestings;
use super::super::allocate::{Ends, settle};
use super::super::evaluate::{Mapped, Score};
use super::super::problem::Relevance;
use super::super::temporal::Loop;
use super::super::{CostError, Model, Objective, SearchOptions};
use super::chain::{Chain, Lattice, MOST_STATES, Shares, levels};
use super::{Failure, Found};
use crate::accelerator::Direction;
use smallvec::{SmallVec, smallvec};

/// Chains cut or extended before the search gives up.
const MOST_STEPS: u64 = 1 << 24;

/// Relative error that sums of a hundred doubles stay below.
const ROUNDING: f64 = 1e-12;

/// The best mapping by the objective, if it is better than `best`.
pub fn least_latency(
    mapped: &Mapped,
    loops: &[Loop],
    options: &SearchOptions,
    best: Score,
) -> Result<Option<Found>, TimedFailure> {
    let chain = Chain::new(mapped, Lattice::new(loops)).ok_or(Failure::TooLarge)?;
    let shares = Shares::new(&chain).ok_or(Failure::DoesNotFit)?;
    let timings = Timings::new(&chain)?;
    let start = timings.start(&shares);
    let mut search = Search {
        bounds: Bounds::new(&chain, &timings)?,
        chain: &chain,
        shares: &shares,
        timings: &timings,
        options,
        best,
        found: None,
        path: Vec::new(),
        steps: 0,
    };
    search.extend(&start)?;
    let steps = search.steps;
    Ok(search.found.map(|found| Found { extended: steps, ..found }))
}

/// Why the search has no result.
#[derive(Debug)]
pub enum TimedFailure {
    /// As for energy.
    Chain(Failure),
    /// The problem itself.
    Cost(CostError),
}

impl From<Failure> for TimedFailure {
    fn from(failure: Failure) -> Self {
        Self::Chain(failure)
    }
}

impl From<CostError> for TimedFailure {
    fn from(error: CostError) -> Self {
        Self::Cost(error)
    }
}

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
}

/// What a boundary adds to the latency, per set below it.
#[derive(Default)]
struct Timing {
    /// Position in [`Timings::ports`] and cycles of work.
    works: Vec<(usize, Vec<f64>)>,
    alone: Vec<f64>,
    load: Vec<Load>,
}

/// The timings of all boundaries of all operands.
struct Timings<'a> {
    chain: &'a Chain<'a>,
    /// Ports that can stall by what several movements need together, as positions in
    /// [`Problem::ports`](super::super::problem::Problem::ports). A port with one is bounded by `alone`.
    ports: Vec<usize>,
    boundaries: Vec<Vec<Timing>>,
    /// What the array exchanges with the output's lowest memory.
    array: Timing,
    /// Cycles of the temporal loops.
    temporal: f64,
}

impl<'a> Timings<'a> {
    fn new(chain: &'a Chain<'a>) -> Result<Self, Failure> {
        let problem = chain.mapped.problem;
        if (chain.lattice.size * chain.placements).saturating_mul(problem.ports.len() + 1) > MOST_STATES {
            return Err(Failure::TooLarge);
        }
        let cycles = problem.hierarchy.array.cycles_per_operation();
        let mut timings = Self {
            chain,
            ports: Vec::new(),
            boundaries: Vec::new(),
            array: Timing::default(),
            temporal: (chain.lattice.total * cycles) as f64,
        };
        timings.boundaries = (0..problem.operands.len())
            .map(|operand| levels(&problem.operands[operand]).map(|v| timings.timing(operand, v)).collect())
            .collect();
        if let Some(output) = problem.operands.iter().position(|operand| operand.output) {
            timings.array = timings.timing(output, 0);
        }
        timings.keep_what_can_stall();
        Ok(timings)
    }

    /// Drops the works of ports that no chain loads for longer than the loops run.
    fn keep_what_can_stall(&mut self) {
        let mut most: Vec<f64> = vec![0.0; self.chain.mapped.problem.ports.len()];
        self.array.works.iter().for_each(|(port, work)| most[*port] += work[0]);
        for (boundaries, timings) in self.chain.boundaries.iter().zip(&self.boundaries) {
            for (boundary, timing) in boundaries.iter().zip(timings) {
                for (port, works) in &timing.works {
                    let stands = works.iter().zip(&boundary.energy).filter(|(_, energy)| energy.is_finite());
                    most[*port] += stands.map(|(work, _)| *work).fold(0.0, f64::max);
                }
            }
        }
        let several = |port: &usize| self.chain.mapped.problem.ports[*port].interfaces.len() > 1;
        let ports = (0..most.len()).filter(|port| most[*port] > self.temporal);
        let ports: Vec<usize> = ports.filter(several).collect();
        for timing in self.boundaries.iter_mut().flatten().chain([&mut self.array]) {
            timing.works.retain_mut(|(port, _)| match ports.iter().position(|other| other == port) {
                Some(position) => {
                    *port = position;
                    true
                }
                None => false,
            });
        }
        self.ports = ports;
    }

    fn timing(&self, operand: usize, v: usize) -> Timing {
        let (chain, problem) = (self.chain, self.chain.mapped.problem);
        let cycles = problem.hierarchy.array.cycles_per_operation();
        let mut timing = Timing::default();
        for set in 0..chain.lattice.size {
            let (mut alone, mut slowest) = (0_f64, 0_f64);
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
                let work = (real * paced) as f64;
                alone = alone.max((real as f64 - (cycles * transfer.period) as f64) * paced as f64);
                match timing.works.iter_mut().find(|(other, _)| *other == port) {
                    Some((_, works)) => {
                        works.resize(set + 1, 0.0);
                        works[set] += work;
                    }
                    None => {
                        let mut works = vec![0.0; set + 1];
                        works[set] = work;
                        timing.works.push((port, works));
                    }
                }
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
            timing.alone.push(alone);
            timing.load.push(match (mixed, all_shared, problem.model) {
                // Assigned, not added (MODEL.md 14.6): no bound per boundary.
                (true, _, Model::Zigzag) => Load::default(),
                (true, _, Model::Millstream) => Load { half: slowest, ..Load::default() },
                (false, Some(true), _) => Load { shared: slowest, ..Load::default() },
                (false, _, _) => Load { own: slowest, ..Load::default() },
            });
        }
        timing.works.iter_mut().for_each(|(_, works)| works.resize(chain.lattice.size, 0.0));
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

    /// Nothing placed.
    fn start(&self, shares: &Shares) -> Node {
        let mut works: Works = smallvec![0.0; self.ports.len()];
        self.array.works.iter().for_each(|(port, work)| works[*port] += work[0]);
        Node {
            set: 0,
            placed: 0,
            last: Step::Loop(0),
            energy: self.base(),
            used: shares.memories.iter().map(|(_, _, bits)| *bits).collect(),
            works,
            alone: self.array.alone.first().copied().unwrap_or(0.0),
            loads: smallvec![Load::default(); self.boundaries.len()],
        }
    }

    /// Energy that no order changes.
    fn base(&self) -> f64 {
        let chain = self.chain;
        let outputs = (0..self.boundaries.len()).filter(|at| chain.mapped.problem.operands[*at].output);
        chain.mapped.operation_energy() + outputs.map(|operand| chain.energy(operand, 0, 0)).sum::<f64>()
    }
}

/// Least figures of the boundaries still to place.
struct Bounds {
    /// By `set * placements + placed`.
    energy: Vec<f64>,
    /// As many per entry of `energy` as there are [`Timings::ports`].
    works: Vec<f64>,
    /// Per operand, number of its placed boundaries and set.
    loads: Vec<Vec<Vec<Load>>>,
}

impl Bounds {
    fn new(chain: &Chain, timings: &Timings) -> Result<Self, Failure> {
        let energy = chain.rest();
        if energy[0].is_infinite() {
            return Err(Failure::DoesNotFit);
        }
        let stands = |operand: usize, b: usize, set: usize| {
            let energy = chain.boundaries[operand][b].energy[set];
            if energy.is_infinite() { energy } else { 0.0 }
        };
        let ports = timings.ports.len();
        let mut works = vec![0.0; energy.len() * ports];
        for port in 0..ports {
            let least = chain.least(|operand, b, set| {
                let works = &timings.boundaries[operand][b].works;
                let work = works.iter().find(|(other, _)| *other == port);
                work.map_or(0.0, |(_, work)| work[set]) + stands(operand, b, set)
            });
            works.iter_mut().skip(port).step_by(ports).zip(least).for_each(|(work, least)| *work = least);
        }
        let loads = (0..chain.boundaries.len()).map(|operand| Self::loads(chain, timings, operand)).collect();
        Ok(Self { energy, works, loads })
    }

    fn loads(chain: &Chain, timings: &Timings, operand: usize) -> Vec<Vec<Load>> {
        let never = Load { shared: f64::INFINITY, half: f64::INFINITY, own: f64::INFINITY };
        let boundaries = &chain.boundaries[operand];
        let mut ahead = vec![vec![Load::default(); chain.lattice.size]];
        for b in (0..boundaries.len()).rev() {
            let mut here = vec![never; chain.lattice.size];
            for set in (0..chain.lattice.size).rev() {
                if boundaries[b].energy[set].is_finite() {
                    here[set] = timings.boundaries[operand][b].load[set].plus(ahead[0][set]);
                }
                for kind in &chain.lattice.kinds {
                    if chain.lattice.count(set, kind) < kind.count {
                        here[set] = here[set].least(here[set + kind.weight]);
                    }
                }
            }
            ahead.insert(0, here);
        }
        ahead
    }
}

/// Cycles of work per port of [`Timings::ports`].
type Works = SmallVec<[f64; 8]>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// A loop of this kind joins.
    Loop(usize),
    /// The operand's next boundary.
    Boundary(usize),
}

/// A partial mapping.
#[derive(Clone, Debug)]
struct Node {
    set: usize,
    placed: usize,
    last: Step,
    energy: f64,
    used: super::Used,
    works: Works,
    alone: f64,
    loads: SmallVec<[Load; 3]>,
}

struct Search<'a> {
    chain: &'a Chain<'a>,
    shares: &'a Shares,
    timings: &'a Timings<'a>,
    bounds: Bounds,
    options: &'a SearchOptions,
    best: Score,
    found: Option<Found>,
    path: Vec<Step>,
    steps: u64,
}

impl Search<'_> {
    fn extend(&mut self, node: &Node) -> Result<(), TimedFailure> {
        let chain = self.chain;
        if node.set == chain.lattice.whole() && node.placed + 1 == chain.placements {
            return self.complete(node);
        }
        let mut children: SmallVec<[(Score, Node); 8]> = SmallVec::new();
        let first = if let Step::Boundary(operand) = node.last { operand } else { 0 };
        for operand in first..chain.boundaries.len() {
            children.extend(self.place(node, operand));
        }
        let first = if let Step::Loop(kind) = node.last { kind } else { 0 };
        for (at, kind) in chain.lattice.kinds.iter().enumerate().skip(first) {
            if chain.lattice.count(node.set, kind) < kind.count {
                let child = Node { set: node.set + kind.weight, last: Step::Loop(at), ..node.clone() };
                children.push((self.bound(&child), child));
            }
        }
        children.retain(|(bound, _)| bound.energy.is_finite() && bound.latency.is_finite());
        children
            .sort_by(|(a, _), (b, _)| self.figure(a).partial_cmp(&self.figure(b)).expect("no bound is NaN"));
        for (bound, child) in children {
            self.steps += 1;
            if self.steps > MOST_STEPS {
                return Err(Failure::TooLarge.into());
            }
            if self.may_beat(&bound) {
                self.path.push(child.last);
                self.extend(&child)?;
                self.path.pop();
            }
        }
        Ok(())
    }

    fn place(&self, node: &Node, operand: usize) -> Option<(Score, Node)> {
        let boundary = self.chain.next(node.placed, operand)?;
        if boundary.energy[node.set].is_infinite() {
            return None;
        }
        let timing = &self.timings.boundaries[operand][self.chain.placed(node.placed, operand)];
        let mut child = node.clone();
        let shared = self.shares.memories.iter().position(|(memory, _, _)| boundary.memory == Some(*memory));
        if let Some(shared) = shared {
            child.used[shared] += boundary.bits[node.set];
            if child.used[shared] > self.shares.memories[shared].1 {
                return None;
            }
        }
        child.placed += self.chain.weights[operand];
        child.last = Step::Boundary(operand);
        child.energy += boundary.energy[node.set];
        timing.works.iter().for_each(|(port, work)| child.works[*port] += work[node.set]);
        child.alone = child.alone.max(timing.alone[node.set]);
        child.loads[operand] = child.loads[operand].plus(timing.load[node.set]);
        Some((self.bound(&child), child))
    }

    /// No mapping through the node has less.
    fn bound(&self, node: &Node) -> Score {
        let at = node.set * self.chain.placements + node.placed;
        let temporal = self.timings.temporal;
        let work = node.works.iter().zip(&self.bounds.works[at * node.works.len()..]);
        let work = work.map(|(work, rest)| work + rest);
        let stall = work.fold(0.0, f64::max) - temporal;
        let load = |operand: usize| {
            let placed = self.chain.placed(node.placed, operand);
            node.loads[operand].plus(self.bounds.loads[operand][placed][node.set])
        };
        let operands = &self.chain.mapped.problem.operands;
        let (mut offload, mut inputs) = (0.0, SmallVec::<[Load; 2]>::new());
        for (operand, description) in operands.iter().enumerate() {
            let load = load(operand);
            match description.output {
                true => offload += load.shared + load.half + load.own,
                false => inputs.push(load),
            }
        }
        let onload = match inputs.as_slice() {
            [] => 0.0,
            [one] if self.options.model == Model::Zigzag => one.own,
            [one] => one.shared + one.half + one.own,
            [a, b, ..] => {
                let first = a.shared + (b.shared + b.half + b.own).max(a.half + a.own);
                let second = b.shared + (a.shared + a.half + a.own).max(b.half + b.own);
                first.min(second)
            }
        };
        let latency =
            temporal + self.chain.mapped.drain() + stall.max(node.alone).max(0.0) + onload + offload;
        Score { energy: node.energy + self.bounds.energy[at], latency }
    }

    /// What is compared, most important first.
    fn figure(&self, score: &Score) -> (f64, f64) {
        match self.options.objective {
            Objective::Latency => (score.latency, score.energy),
            Objective::Energy => (score.energy, score.latency),
            Objective::Edp => (score.energy * score.latency, score.energy),
        }
    }

    /// Better than the best by more than rounding.
    fn may_beat(&self, bound: &Score) -> bool {
        let (bound, best) = (self.figure(bound), self.figure(&self.best));
        let less = |a: f64, b: f64| a < b * (1.0 - ROUNDING);
        less(bound.0, best.0) || (bound.0 <= best.0 && less(bound.1, best.1))
    }

    /// Evaluates the orders of a complete chain.
    fn complete(&mut self, node: &Node) -> Result<(), TimedFailure> {
        let bound = self.bound(node);
        let Layout { segments, ends } = self.layout();
        let choices: Vec<Vec<Vec<Loop>>> = segments.iter().map(|segment| self.distinct(segment)).collect();
        let mut chosen = vec![0; choices.len()];
        loop {
            if !self.may_beat(&bound) {
                return Ok(());
            }
            let order: Vec<Loop> =
                choices.iter().zip(&chosen).flat_map(|(choices, at)| choices[*at].iter().copied()).collect();
            self.evaluate(&order, &ends)?;
            self.steps += 1;
            if self.steps > MOST_STEPS {
                return Err(Failure::TooLarge.into());
            }
            let Some(next) = (0..chosen.len()).find(|at| chosen[*at] + 1 < choices[*at].len()) else {
                return Ok(());
            };
            chosen[next] += 1;
            chosen[..next].fill(0);
        }
    }

    fn evaluate(&mut self, order: &[Loop], ends: &Ends) -> Result<(), CostError> {
        let mapped = self.chain.mapped;
        let mut settled = ends.clone();
        settle(mapped.problem, order, &mut settled);
        let priced = mapped.price(order, &settled, nestings(mapped.problem, order, &settled))?;
        let score = Score { energy: priced.energy, latency: priced.latency().total() };
        if self.may_beat(&score) {
            self.best = score;
            self.found = Some(Found { order: order.to_vec(), ends: ends.clone(), extended: 0 });
        }
        Ok(())
    }

    /// The chain that the path describes.
    fn layout(&self) -> Layout {
        let chain = self.chain;
        let mut segments = vec![Vec::new()];
        let mut ends: Ends = chain.boundaries.iter().map(|_| smallvec![]).collect();
        let (mut placed, mut loops, mut open) = (0, 0, true);
        for step in &self.path {
            match *step {
                Step::Loop(kind) => {
                    if !open {
                        segments.push(Vec::new());
                    }
                    segments.last_mut().expect("there is one").push(chain.lattice.kinds[kind].one);
                    (open, loops) = (true, loops + 1);
                }
                Step::Boundary(operand) => {
                    let boundary = &chain.boundaries[operand][chain.placed(placed, operand)];
                    if boundary.memory.is_some() {
                        ends[operand].push(loops);
                    }
                    placed += chain.weights[operand];
                    open = false;
                }
            }
        }
        ends.iter_mut().for_each(|ends| ends.push(loops));
        Layout { segments, ends }
    }

    /// Orders of a segment that differ in the runs at its ends.
    fn distinct(&self, segment: &[Loop]) -> Vec<Vec<Loop>> {
        let operands = &self.chain.mapped.problem.operands;
        // A run of equal relevance goes on at the outer end.
        let outer = |fixed: &[Loop]| {
            operands.iter().any(|operand| {
                let mut kinds = fixed.iter().map(|(dim, _)| operand.relevance[*dim]);
                let outermost = kinds.next();
                outermost != Some(Relevance::Partial) && kinds.all(|kind| Some(kind) == outermost)
            })
        };
        // Stationary loops at the inner end belong to the level below.
        let inner = |fixed: &[Loop]| {
            operands.iter().any(|operand| fixed.iter().all(|(dim, _)| operand.is_irrelevant(*dim)))
        };
        let mut all = Vec::new();
        for (rest, outermost) in ends(segment, &outer) {
            for (rest, innermost) in ends(&rest, &inner) {
                let inside = innermost.into_iter().chain(rest);
                all.push(inside.chain(outermost.iter().rev().copied()).collect());
            }
        }
        all
    }
}

/// All choices of loops from `loops`, one after the other while `open`, with what is left.
fn ends(loops: &[Loop], open: &impl Fn(&[Loop]) -> bool) -> Vec<(Vec<Loop>, Vec<Loop>)> {
    let mut all = Vec::new();
    let mut stack = vec![(loops.to_vec(), Vec::new())];
    while let Some((rest, fixed)) = stack.pop() {
        if rest.is_empty() || !open(&fixed) {
            all.push((rest, fixed));
            continue;
        }
        for at in (0..rest.len()).filter(|at| !rest[..*at].contains(&rest[*at])) {
            let (mut rest, mut fixed) = (rest.clone(), fixed.clone());
            fixed.push(rest.remove(at));
            stack.push((rest, fixed));
        }
    }
    all
}

/// A chain as loops and ends.
struct Layout {
    /// Loops between groups of boundaries, innermost segment first, each in the order of kinds.
    segments: Vec<Vec<Loop>>,
    /// Ends of the levels of each operand.
    ends: Ends,
}
