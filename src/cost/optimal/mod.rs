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

mod chain;
mod timed;

pub(super) use timed::{TimedFailure, least_latency};

use super::allocate::Ends;
use super::evaluate::Mapped;
use super::temporal::Loop;
use chain::{Chain, Lattice, Shares};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

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
pub(super) fn least_energy(mapped: &Mapped, loops: &[Loop]) -> Result<Found, Failure> {
    let lattice = Lattice::new(loops);
    let chain = Chain::new(mapped, lattice).ok_or(Failure::TooLarge)?;
    let shares = Shares::new(&chain).ok_or(Failure::DoesNotFit)?;
    let rest = chain.rest();
    search(&chain, &shares, &rest).ok_or(Failure::DoesNotFit)
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
