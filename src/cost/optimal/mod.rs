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

mod bounds;
mod chain;
mod timed;

use super::allocate::Ends;
use super::evaluate::{Mapped, Score};
use super::temporal::Loop;
use super::{CostError, SearchOptions};
use chain::{Chain, Lattice, Shares, Step, Used};
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
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// No division of the loops fits.
    DoesNotFit,
    /// More states than are kept, or more steps than are taken.
    TooLarge,
    /// The problem itself.
    Cost(CostError),
}

impl From<CostError> for Failure {
    fn from(error: CostError) -> Self {
        Self::Cost(error)
    }
}

/// All orders of a nest's loops with all divisions.
pub(super) struct Space<'a> {
    chain: Chain<'a>,
    shares: Shares,
    /// `h`.
    rest: Vec<f64>,
}

impl<'a> Space<'a> {
    pub fn new(mapped: &'a Mapped<'a>, loops: &[Loop]) -> Result<Self, Failure> {
        let chain = Chain::new(mapped, Lattice::new(loops)).ok_or(Failure::TooLarge)?;
        let shares = Shares::new(&chain).ok_or(Failure::DoesNotFit)?;
        let rest = chain.rest();
        match rest[0].is_finite() {
            true => Ok(Self { chain, shares, rest }),
            false => Err(Failure::DoesNotFit),
        }
    }

    /// The mapping of least energy.
    pub fn least_energy(&self) -> Result<Found, Failure> {
        search(self).ok_or(Failure::DoesNotFit)
    }

    /// The best mapping by latency or product, if it is better than `best`.
    pub fn least_latency(&self, options: &SearchOptions, best: Score) -> Result<Option<Found>, Failure> {
        timed::search(self, options, best)
    }
}

/// A partial mapping.
struct State {
    set: usize,
    placed: usize,
    energy: f64,
    used: Used,
    /// What led here, and from which state.
    step: Option<(Step, usize)>,
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
    space: &'a Space<'a>,
    states: Vec<State>,
    queue: BinaryHeap<Reverse<Rank>>,
    /// Undominated energies and uses by (set, placed).
    kept: FxHashMap<usize, Vec<(f64, Used)>>,
}

impl Frontier<'_> {
    fn push(&mut self, state: State, progress: usize) {
        let at = state.set * self.space.chain.placements + state.placed;
        let rest = self.space.rest[at];
        if rest.is_infinite() {
            return;
        }
        let kept = self.kept.entry(at).or_default();
        let below = |used: &Used| used.iter().zip(&state.used).all(|(a, b)| a <= b);
        if kept.iter().any(|(energy, used)| *energy <= state.energy && below(used)) {
            return;
        }
        kept.push((state.energy, state.used.clone()));
        let rank = Rank { bound: state.energy + rest, progress, state: self.states.len() };
        self.states.push(state);
        self.queue.push(Reverse(rank));
    }
}

fn search(space: &Space) -> Option<Found> {
    let chain = &space.chain;
    let mut frontier =
        Frontier { space, states: Vec::new(), queue: BinaryHeap::new(), kept: FxHashMap::default() };
    let used = space.shares.start();
    frontier.push(State { set: 0, placed: 0, energy: 0.0, used, step: None }, 0);
    let mut extended = 0;
    while let Some(Reverse(Rank { progress, state, .. })) = frontier.queue.pop() {
        let State { set, placed, energy, ref used, .. } = frontier.states[state];
        if set == chain.lattice.whole() && placed + 1 == chain.placements {
            let layout = chain.layout(&steps(&frontier.states, state));
            return Some(Found { order: layout.segments.concat(), ends: layout.ends, extended });
        }
        let used = used.clone();
        extended += 1;
        for operand in 0..chain.boundaries.len() {
            let Some(boundary) = chain.next(placed, operand) else {
                continue;
            };
            let Some(used) = space.shares.with(&used, boundary, set) else {
                continue;
            };
            let (placed, energy) = (placed + chain.weights[operand], energy + boundary.energy[set]);
            let step = Some((Step::Boundary(operand), state));
            frontier.push(State { set, placed, energy, used, step }, progress + 1);
        }
        for (at, kind) in chain.lattice.kinds.iter().enumerate() {
            if chain.lattice.count(set, kind) < kind.count {
                let (set, used) = (set + kind.weight, used.clone());
                let step = Some((Step::Loop(at), state));
                frontier.push(State { set, placed, energy, used, step }, progress + 1);
            }
        }
    }
    None
}

/// The steps that lead to a state.
fn steps(states: &[State], last: usize) -> Vec<Step> {
    let before = std::iter::successors(states[last].step, |(_, before)| states[*before].step);
    let mut steps: Vec<Step> = before.map(|(step, _)| step).collect();
    steps.reverse();
    steps
}

/// Lower bound of the energy of single loop orders, whoever divides them: the least energy of the
/// order's own boundaries, each fitting its memory alone. Admissible as `h` is.
///
/// Invariant: only where all spatial factors are whole numbers, so that tiles do not depend on the
/// order in which factors multiply.
pub(super) struct Floor<'a> {
    space: Space<'a>,
    /// Energy that no order changes.
    base: f64,
}

impl<'a> Floor<'a> {
    /// None where the bound does not hold, where it is too large to keep, and where no order fits.
    pub fn new(mapped: &'a Mapped<'a>, loops: &[Loop]) -> Option<Self> {
        let space = mapped.is_whole().then(|| Space::new(mapped, loops).ok()).flatten()?;
        Some(Self { base: space.chain.base(), space })
    }

    /// An order that a good division makes the best one; a start for comparisons, no more.
    pub fn promising(&self) -> Option<Vec<Loop>> {
        search(&self.space).map(|found| found.order)
    }

    /// The bound of an order.
    pub fn of(&self, order: &[Loop]) -> f64 {
        let chain = &self.space.chain;
        let mut sets: SmallVec<[usize; 16]> = smallvec![0];
        let mut set = 0;
        for one in order {
            set += chain.lattice.kinds.iter().find(|kind| kind.one == *one).map_or(0, |kind| kind.weight);
            sets.push(set);
        }
        let mut total = self.base;
        for boundaries in &chain.boundaries {
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
