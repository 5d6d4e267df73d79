//! Least energy over all loop orders and all divisions of them among memories.
//!
//! Energy is a sum over boundaries (MODEL.md 15): what arch level v of operand o exchanges with the
//! memory above costs `g(o, v, P)`, where P is the multiset of loops below the boundary, whatever
//! their order. A mapping is thus a chain of multisets, one loop more at each step, along which each
//! operand places its boundaries from the lowest up; an input also places the end of the irrelevant
//! run at the very bottom (v = 0), within which it is read once.
//!
//! ```text
//! h(P, placed) = min( g(o, v, P) + h(P, placed + o's next boundary v),  h(P + loop, placed) )
//! ```
//!
//! solved backwards from the whole nest, is exact where every boundary fits its memory alone, hence
//! never above the energy of a mapping in which operands share memories: an admissible and
//! consistent bound. Best-first search by `energy so far + h` over (P, placed, bits used in shared
//! memories) then finds the optimum; a state with no less energy and no less use than another at
//! the same (P, placed) is not extended.
//!
//! A boundary fits where the bits of the tile, at the precision it has there (doubled under
//! `force_double_buffering` unless the tensor is whole), do not exceed the capacity together with
//! the other operands'. Every allocation of the greedy allocator satisfies that, so the result is
//! never worse than its. Ties in energy go to the first state in the order of (bound, loops placed,
//! insertion), which depends on nothing but the nest and the hierarchy.

use super::Model;
use super::access::{Amount, Transfer, word_energy};
use super::allocate::Ends;
use super::evaluate::Mapped;
use super::problem::{Extents, Operand};
use super::temporal::Loop;
use super::unroll::Unrolling;
use crate::accelerator::Direction;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Most entries of `h`: 8 bytes each.
const MOST_STATES: usize = 1 << 24;

/// The best mapping of a nest.
pub(super) struct Found {
    /// Loops, innermost first.
    pub order: Vec<Loop>,
    /// Where each level of each operand ends.
    pub ends: Ends,
    /// States extended.
    pub extended: u64,
}

/// Why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// No division of the loops fits.
    DoesNotFit,
    /// More states than are kept.
    TooLarge,
}

/// The mapping of least energy.
pub(super) fn optimal(mapped: &Mapped, loops: &[Loop]) -> Result<Found, Failure> {
    let lattice = Lattice::new(loops);
    let chain = Chain::new(mapped, lattice).ok_or(Failure::TooLarge)?;
    let shares = Shares::new(&chain).ok_or(Failure::DoesNotFit)?;
    let rest = chain.rest();
    search(&chain, &shares, &rest).ok_or(Failure::DoesNotFit)
}

/// All multisets of the loops, as mixed-radix numbers.
struct Lattice {
    /// Distinct loops with how often they occur and the weight of one in the number.
    kinds: Vec<Kind>,
    size: usize,
    total: u64,
}

struct Kind {
    one: Loop,
    count: usize,
    weight: usize,
}

impl Lattice {
    fn new(loops: &[Loop]) -> Self {
        let mut sorted = loops.to_vec();
        sorted.sort_unstable();
        let mut kinds: Vec<Kind> = Vec::new();
        let mut size = 1_usize;
        for same in sorted.chunk_by(|a, b| a == b) {
            kinds.push(Kind { one: same[0], count: same.len(), weight: size });
            size = size.saturating_mul(same.len() + 1);
        }
        Self { kinds, size, total: loops.iter().map(|(_, factor)| factor).product() }
    }

    fn count(&self, set: usize, kind: &Kind) -> usize {
        set / kind.weight % (kind.count + 1)
    }

    fn whole(&self) -> usize {
        self.size - 1
    }

    /// Product of the loops of a set that `counts` selects.
    fn product(&self, set: usize, counts: impl Fn(usize) -> bool) -> u64 {
        (self.kinds.iter())
            .filter(|kind| counts(kind.one.0))
            .map(|kind| kind.one.1.pow(self.count(set, kind) as u32))
            .product()
    }
}

/// A boundary of an operand: energy and bits per set below it.
struct Boundary {
    /// Infinite where the tile exceeds the memory or the boundary may not stand.
    energy: Vec<f64>,
    /// Bits in the memory below the boundary.
    bits: Vec<f64>,
    /// Position of that memory; none at the array.
    memory: Option<usize>,
}

struct Chain<'a> {
    mapped: &'a Mapped<'a>,
    lattice: Lattice,
    /// Boundaries of each operand, lowest first, the one above everything left out.
    boundaries: Vec<Vec<Boundary>>,
    /// Weight of each operand's number of placed boundaries in the number `placed`.
    weights: Vec<usize>,
    /// Numbers `placed` there are.
    placements: usize,
}

impl<'a> Chain<'a> {
    fn new(mapped: &'a Mapped<'a>, lattice: Lattice) -> Option<Self> {
        let mut weights = Vec::new();
        let mut placements = 1_usize;
        for operand in &mapped.problem.operands {
            weights.push(placements);
            placements = placements.saturating_mul(levels(operand).count() + 1);
        }
        if placements.saturating_mul(lattice.size) > MOST_STATES {
            return None;
        }
        let mut chain = Self { mapped, lattice, boundaries: Vec::new(), weights, placements };
        chain.boundaries = (0..mapped.problem.operands.len())
            .map(|operand| {
                levels(&mapped.problem.operands[operand]).map(|v| chain.boundary(operand, v)).collect()
            })
            .collect();
        Some(chain)
    }

    fn boundary(&self, operand: usize, v: usize) -> Boundary {
        let description = &self.mapped.problem.operands[operand];
        let memory = v.checked_sub(1).map(|level| description.levels[level]);
        let mut boundary = Boundary { energy: Vec::new(), bits: Vec::new(), memory };
        for set in 0..self.lattice.size {
            let (mut energy, bits) = (self.energy(operand, v, set), self.bits(operand, v, set));
            let stands = match memory {
                Some(memory) => bits <= self.capacity(memory),
                None => self.lattice.product(set, |dim| !description.is_irrelevant(dim)) == 1,
            };
            if !stands {
                energy = f64::INFINITY;
            }
            boundary.energy.push(energy);
            boundary.bits.push(bits);
        }
        boundary
    }

    fn capacity(&self, memory: usize) -> f64 {
        self.mapped.problem.hierarchy.memories[memory].size.0 as f64
    }

    /// Elements below the first `v` lists of spatial loops and the loops of `set`, not rounded.
    fn tile(&self, unrolling: &Unrolling, operand: usize, v: usize, set: usize) -> f64 {
        let problem = self.mapped.problem;
        let mut extents: Extents = problem.unit_extents();
        for (dim, factor) in unrolling.operands[operand].levels[..v].iter().flatten() {
            extents[*dim] *= factor;
        }
        for kind in &self.lattice.kinds {
            extents[kind.one.0] *= kind.one.1.pow(self.lattice.count(set, kind) as u32) as f64;
        }
        problem.tensor_size(&problem.operands[operand], &extents)
    }

    /// Product of the output's irrelevant loops above the set and arch level `v`.
    fn repeats(&self, operand: usize, v: usize, set: usize) -> f64 {
        let description = &self.mapped.problem.operands[operand];
        let irrelevant = |dim: usize| description.is_irrelevant(dim);
        let above = self.mapped.fractional.operands[operand].levels.iter().skip(v + 1).flatten();
        let spatial: f64 = above.filter(|(dim, _)| irrelevant(*dim)).map(|(_, factor)| factor).product();
        spatial * self.passes(operand, set) as f64
    }

    /// Product of the operand's irrelevant temporal loops above the set.
    fn passes(&self, operand: usize, set: usize) -> u64 {
        let irrelevant = |dim: usize| self.mapped.problem.operands[operand].is_irrelevant(dim);
        self.lattice.product(self.lattice.whole(), irrelevant) / self.lattice.product(set, irrelevant)
    }

    /// Bits of one element at arch level `v`.
    fn precision(&self, operand: usize, v: usize, set: usize) -> u64 {
        let description = &self.mapped.problem.operands[operand];
        let partial = description.output && self.repeats(operand, v, set) > 1.0;
        if partial { description.partial_bits } else { description.bits }
    }

    /// Bits that the tile takes in the memory below the boundary.
    fn bits(&self, operand: usize, v: usize, set: usize) -> f64 {
        let Some(level) = v.checked_sub(1) else {
            return 0.0;
        };
        let description = &self.mapped.problem.operands[operand];
        let memory = &self.mapped.problem.hierarchy.memories[description.levels[level]];
        let tile = |set| self.tile(self.mapped.held(), operand, v, set);
        let doubled = memory.double_buffering && tile(set) < tile(self.lattice.whole());
        let tile = tile(set);
        tile * self.precision(operand, v, set) as f64 * if doubled { 2.0 } else { 1.0 }
    }

    /// `g(o, v, P)`.
    fn energy(&self, operand: usize, v: usize, set: usize) -> f64 {
        let problem = self.mapped.problem;
        let description = &problem.operands[operand];
        let unrolled = &self.mapped.fractional.operands[operand];
        let precision = self.precision(operand, v, set);
        let amount = |lists: usize| {
            Amount::new(problem.model, self.tile(&self.mapped.fractional, operand, lists, set))
        };
        let tile = if v == 0 { Amount { whole: 1, rest: 0.0 } } else { amount(v) };
        let fed = match problem.model {
            Model::Zigzag => Amount { whole: tile.whole * unrolled.boost[v], rest: 0.0 },
            Model::Millstream => amount(v + 1),
        };
        let count = self.lattice.total / self.lattice.product(set, |_| true);
        let passes = self.passes(operand, set);
        let read_back = match problem.model {
            Model::Zigzag => count,
            Model::Millstream => count - count / passes,
        };
        let returns = description.output && self.repeats(operand, v, set) > 1.0 && read_back > 0;
        let directions = if description.output {
            [
                (Direction::FromLow, true),
                (Direction::ToLow, returns),
                (Direction::ToHigh, true),
                (Direction::FromHigh, returns),
            ]
        } else {
            [
                (Direction::ToLow, true),
                (Direction::FromLow, false),
                (Direction::FromHigh, true),
                (Direction::ToHigh, false),
            ]
        };
        (directions.into_iter().filter(|(_, moves)| *moves))
            .map(|(direction, _)| {
                let low = matches!(direction, Direction::ToLow | Direction::FromLow);
                let (level, amount) = match (low, v.checked_sub(1)) {
                    (true, _) => (v, fed),
                    (false, Some(level)) => (level, tile),
                    (false, None) => return 0.0,
                };
                let back = description.output && matches!(direction, Direction::ToLow | Direction::FromHigh);
                let moves = if back { read_back } else { count };
                let transfer = Transfer { amount, precision, moves, ..Transfer::default() };
                let interface = &problem.interfaces[description.first + 4 * level + direction as usize];
                word_energy(problem.model, interface, &transfer, unrolled.unit_count[level + 1])
            })
            .sum()
    }

    fn placed(&self, placed: usize, operand: usize) -> usize {
        placed / self.weights[operand] % (self.boundaries[operand].len() + 1)
    }

    /// The next boundary of an operand.
    fn next(&self, placed: usize, operand: usize) -> Option<&Boundary> {
        self.boundaries[operand].get(self.placed(placed, operand))
    }

    /// `h`, by `set * placements + placed`.
    fn rest(&self) -> Vec<f64> {
        let mut rest = vec![f64::INFINITY; self.lattice.size * self.placements];
        for set in (0..self.lattice.size).rev() {
            for placed in (0..self.placements).rev() {
                let here = set * self.placements + placed;
                let last = set == self.lattice.whole() && placed + 1 == self.placements;
                let mut least = if last { 0.0 } else { f64::INFINITY };
                for operand in 0..self.boundaries.len() {
                    if let Some(boundary) = self.next(placed, operand) {
                        least = least.min(boundary.energy[set] + rest[here + self.weights[operand]]);
                    }
                }
                for kind in &self.lattice.kinds {
                    if self.lattice.count(set, kind) < kind.count {
                        least = least.min(rest[here + kind.weight * self.placements]);
                    }
                }
                rest[here] = least;
            }
        }
        rest
    }
}

/// Arch levels of an operand's boundaries, the top left out.
fn levels(operand: &Operand) -> std::ops::Range<usize> {
    usize::from(operand.output)..operand.levels.len()
}

/// Memories in which operands compete, with the bits of those that are whole there.
struct Shares {
    /// Position of the memory, capacity, bits of operands whose top it is.
    memories: Vec<(usize, f64, f64)>,
}

impl Shares {
    /// None where what must be whole does not fit.
    fn new(chain: &Chain) -> Option<Self> {
        let mut memories = Vec::new();
        for visit in &chain.mapped.problem.visits {
            let capacity = chain.capacity(visit.memory);
            let top =
                |(operand, level): &&(usize, usize)| chain.mapped.problem.operands[*operand].top() == *level;
            let whole = chain.lattice.whole();
            let bits: f64 = (visit.operands.iter().filter(top))
                .map(|(operand, level)| chain.bits(*operand, level + 1, whole))
                .sum();
            if bits > capacity {
                return None;
            }
            let tops = visit.operands.iter().filter(top).count();
            if tops < visit.operands.len() && visit.operands.len() > 1 {
                memories.push((visit.memory, capacity, bits));
            }
        }
        Some(Self { memories })
    }
}

/// Bits used in each shared memory.
type Used = SmallVec<[f64; 2]>;

/// A partial mapping.
struct State {
    set: usize,
    placed: usize,
    energy: f64,
    used: Used,
    before: Option<usize>,
}

/// Place in the queue: least bound first, then most progress, then first come.
#[derive(PartialEq)]
struct Rank {
    bound: f64,
    progress: usize,
    state: usize,
}

impl Eq for Rank {}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Rank {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.bound.total_cmp(&other.bound))
            .then(other.progress.cmp(&self.progress))
            .then(self.state.cmp(&other.state))
    }
}

/// Best-first search with the bound `rest`.
struct Frontier<'a> {
    chain: &'a Chain<'a>,
    rest: &'a [f64],
    states: Vec<State>,
    queue: BinaryHeap<Reverse<Rank>>,
    /// Undominated energies and uses by (set, placed).
    kept: FxHashMap<usize, Vec<(f64, Used)>>,
}

impl Frontier<'_> {
    fn push(&mut self, state: State, progress: usize) {
        let at = state.set * self.chain.placements + state.placed;
        if self.rest[at].is_infinite() {
            return;
        }
        let kept = self.kept.entry(at).or_default();
        let below = |used: &Used| used.iter().zip(&state.used).all(|(a, b)| a <= b);
        if kept.iter().any(|(energy, used)| *energy <= state.energy && below(used)) {
            return;
        }
        kept.push((state.energy, state.used.clone()));
        let rank = Rank { bound: state.energy + self.rest[at], progress, state: self.states.len() };
        self.states.push(state);
        self.queue.push(Reverse(rank));
    }
}

fn search(chain: &Chain, shares: &Shares, rest: &[f64]) -> Option<Found> {
    let mut frontier =
        Frontier { chain, rest, states: Vec::new(), queue: BinaryHeap::new(), kept: FxHashMap::default() };
    let used = shares.memories.iter().map(|(_, _, bits)| *bits).collect();
    frontier.push(State { set: 0, placed: 0, energy: 0.0, used, before: None }, 0);
    let mut extended = 0;
    while let Some(Reverse(Rank { progress, state, .. })) = frontier.queue.pop() {
        let State { set, placed, energy, ref used, .. } = frontier.states[state];
        if set == chain.lattice.whole() && placed + 1 == chain.placements {
            return Some(found(chain, &frontier.states, state, extended));
        }
        let used = used.clone();
        extended += 1;
        for operand in 0..chain.boundaries.len() {
            let Some(boundary) = chain.next(placed, operand) else {
                continue;
            };
            let mut used = used.clone();
            let shared = shares.memories.iter().position(|(memory, _, _)| boundary.memory == Some(*memory));
            if let Some(shared) = shared {
                used[shared] += boundary.bits[set];
                if used[shared] > shares.memories[shared].1 {
                    continue;
                }
            }
            let (placed, energy) = (placed + chain.weights[operand], energy + boundary.energy[set]);
            frontier.push(State { set, placed, energy, used, before: Some(state) }, progress + 1);
        }
        for kind in &chain.lattice.kinds {
            if chain.lattice.count(set, kind) < kind.count {
                let (set, used) = (set + kind.weight, used.clone());
                frontier.push(State { set, placed, energy, used, before: Some(state) }, progress + 1);
            }
        }
    }
    None
}

/// The mapping that leads to a state.
fn found(chain: &Chain, states: &[State], last: usize, extended: u64) -> Found {
    let mut path = vec![last];
    while let Some(before) = path.last().and_then(|state| states[*state].before) {
        path.push(before);
    }
    path.reverse();
    let mut order = Vec::new();
    let mut ends: Ends = chain.boundaries.iter().map(|_| smallvec![]).collect();
    for step in path.windows(2) {
        let (from, to) = (&states[step[0]], &states[step[1]]);
        let added = to.set - from.set;
        match chain.lattice.kinds.iter().find(|kind| added > 0 && kind.weight == added) {
            Some(kind) => order.push(kind.one),
            None => {
                let moved = to.placed - from.placed;
                let operand = chain.weights.iter().rposition(|weight| *weight == moved);
                let operand = operand.expect("a step without a loop places one boundary");
                let boundary = &chain.boundaries[operand][chain.placed(from.placed, operand)];
                if boundary.memory.is_some() {
                    ends[operand].push(order.len());
                }
            }
        }
    }
    ends.iter_mut().for_each(|ends| ends.push(order.len()));
    Found { order, ends, extended }
}

/// Lower bound of the energy of single loop orders, whoever divides them: the least energy of the
/// order's own boundaries, each fitting its memory alone. Admissible as `h` is.
///
/// Invariant: only where all spatial factors are whole numbers, so that tiles do not depend on the
/// order in which factors multiply.
pub(super) struct Floor<'a> {
    chain: Chain<'a>,
    /// Energy that no order changes: operations, and what the array exchanges every cycle.
    base: f64,
}

impl<'a> Floor<'a> {
    /// None where the bound does not hold or is too large to keep.
    pub fn new(mapped: &'a Mapped<'a>, loops: &[Loop]) -> Option<Self> {
        let chain = mapped.is_whole().then(|| Chain::new(mapped, Lattice::new(loops))).flatten()?;
        let outputs = (0..mapped.problem.operands.len()).filter(|at| mapped.problem.operands[*at].output);
        let array: f64 = outputs.map(|operand| chain.energy(operand, 0, 0)).sum();
        Some(Self { base: mapped.operation_energy() + array, chain })
    }

    /// An order that a good division makes the best one; a start for comparisons, no more.
    pub fn promising(&self) -> Option<Vec<Loop>> {
        let rest = self.chain.rest();
        let shares = Shares::new(&self.chain)?;
        search(&self.chain, &shares, &rest).map(|found| found.order)
    }

    /// The bound of an order.
    pub fn of(&self, order: &[Loop]) -> f64 {
        let mut sets: SmallVec<[usize; 16]> = smallvec![0];
        let mut set = 0;
        for one in order {
            set +=
                self.chain.lattice.kinds.iter().find(|kind| kind.one == *one).map_or(0, |kind| kind.weight);
            sets.push(set);
        }
        let mut total = self.base;
        for boundaries in &self.chain.boundaries {
            // least[b]: least energy of the first b boundaries at or below the sets seen.
            let mut least: SmallVec<[f64; 8]> = smallvec![f64::INFINITY; boundaries.len() + 1];
            least[0] = 0.0;
            for set in &sets {
                for (b, boundary) in boundaries.iter().enumerate() {
                    least[b + 1] = least[b + 1].min(least[b] + boundary.energy[*set]);
                }
            }
            total += least[boundaries.len()];
        }
        total
    }
}
