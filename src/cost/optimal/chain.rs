//! Multisets of loops below the boundaries of operands, and what a boundary costs where it stands.

use super::super::Model;
use super::super::access::{Amount, Transfer, word_energy};
use super::super::allocate::Ends;
use super::super::evaluate::Mapped;
use super::super::problem::{Extents, Operand};
use super::super::temporal::Loop;
use super::super::unroll::Unrolling;
use crate::accelerator::Direction;
use smallvec::{SmallVec, smallvec};

/// Most entries of `h`: 8 bytes each.
pub(super) const MOST_STATES: usize = 1 << 24;

/// All multisets of the loops, as mixed-radix numbers.
pub(super) struct Lattice {
    /// Distinct loops with how often they occur and the weight of one in the number.
    pub kinds: Vec<Kind>,
    pub size: usize,
    /// Product of all loops.
    pub total: u64,
}

pub(super) struct Kind {
    pub one: Loop,
    pub count: usize,
    pub weight: usize,
}

impl Lattice {
    pub fn new(loops: &[Loop]) -> Self {
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

    pub fn count(&self, set: usize, kind: &Kind) -> usize {
        set / kind.weight % (kind.count + 1)
    }

    pub fn whole(&self) -> usize {
        self.size - 1
    }

    /// Product of the loops of a set that `counts` selects.
    pub fn product(&self, set: usize, counts: impl Fn(usize) -> bool) -> u64 {
        (self.kinds.iter())
            .filter(|kind| counts(kind.one.0))
            .map(|kind| kind.one.1.pow(self.count(set, kind) as u32))
            .product()
    }
}

/// A boundary of an operand: energy and bits per set below it.
pub(super) struct Boundary {
    /// Infinite where the tile exceeds the memory or the boundary may not stand.
    pub energy: Vec<f64>,
    /// Bits in the memory below the boundary.
    pub bits: Vec<f64>,
    /// Position of that memory; none at the array.
    pub memory: Option<usize>,
}

pub(super) struct Chain<'a> {
    pub mapped: &'a Mapped<'a>,
    pub lattice: Lattice,
    /// Boundaries of each operand, lowest first, the one above everything left out.
    pub boundaries: Vec<Vec<Boundary>>,
    /// Weight of each operand's number of placed boundaries in the number `placed`.
    pub weights: Vec<usize>,
    /// Numbers `placed` there are.
    pub placements: usize,
}

impl<'a> Chain<'a> {
    pub fn new(mapped: &'a Mapped<'a>, lattice: Lattice) -> Option<Self> {
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
    pub fn tile(&self, unrolling: &Unrolling, operand: usize, v: usize, set: usize) -> f64 {
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
    fn repeats(&self, unrolling: &Unrolling, operand: usize, v: usize, set: usize) -> f64 {
        let description = &self.mapped.problem.operands[operand];
        let irrelevant = |dim: usize| description.is_irrelevant(dim);
        let above = unrolling.operands[operand].levels.iter().skip(v + 1).flatten();
        let spatial: f64 = above.filter(|(dim, _)| irrelevant(*dim)).map(|(_, factor)| factor).product();
        spatial * self.passes(operand, set) as f64
    }

    /// Product of the operand's irrelevant temporal loops above the set.
    fn passes(&self, operand: usize, set: usize) -> u64 {
        let irrelevant = |dim: usize| self.mapped.problem.operands[operand].is_irrelevant(dim);
        self.lattice.product(self.lattice.whole(), irrelevant) / self.lattice.product(set, irrelevant)
    }

    /// Bits of one element at arch level `v`.
    fn precision(&self, unrolling: &Unrolling, operand: usize, v: usize, set: usize) -> u64 {
        let description = &self.mapped.problem.operands[operand];
        let partial = description.output && self.repeats(unrolling, operand, v, set) > 1.0;
        if partial { description.partial_bits } else { description.bits }
    }

    /// Bits that the tile takes in the memory below the boundary.
    pub fn bits(&self, operand: usize, v: usize, set: usize) -> f64 {
        let Some(level) = v.checked_sub(1) else {
            return 0.0;
        };
        let description = &self.mapped.problem.operands[operand];
        let memory = &self.mapped.problem.hierarchy.memories[description.levels[level]];
        let tile = |set| self.tile(self.mapped.held(), operand, v, set);
        let doubled = memory.double_buffering && tile(set) < tile(self.lattice.whole());
        let tile = tile(set);
        tile * self.precision(&self.mapped.fractional, operand, v, set) as f64
            * if doubled { 2.0 } else { 1.0 }
    }

    /// `g(o, v, P)`.
    pub fn energy(&self, operand: usize, v: usize, set: usize) -> f64 {
        let (problem, unrolling) = (self.mapped.problem, &self.mapped.fractional);
        let moved = self.transfers(unrolling, operand, v, set).into_iter();
        moved
            .map(|(at, transfer)| {
                let interface = &problem.interfaces[at];
                let units = unrolling.operands[operand].unit_count[interface.level + 1];
                word_energy(problem.model, interface, &transfer, units)
            })
            .sum()
    }

    /// What moves at the boundary: interfaces and movements, without windows and bandwidths.
    pub fn transfers(
        &self,
        unrolling: &Unrolling,
        operand: usize,
        v: usize,
        set: usize,
    ) -> SmallVec<[(usize, Transfer); 4]> {
        let problem = self.mapped.problem;
        let description = &problem.operands[operand];
        let precision = self.precision(unrolling, operand, v, set);
        let amount = |lists: usize| Amount::new(problem.model, self.tile(unrolling, operand, lists, set));
        let tile = if v == 0 { Amount { whole: 1, rest: 0.0 } } else { amount(v) };
        let fed = match problem.model {
            Model::Zigzag => Amount { whole: tile.whole * unrolling.operands[operand].boost[v], rest: 0.0 },
            Model::Millstream => amount(v + 1),
        };
        let period = self.lattice.product(set, |_| true);
        let count = self.lattice.total / period;
        let passes = self.passes(operand, set);
        let read_back = match problem.model {
            Model::Zigzag => count,
            Model::Millstream => count - count / passes,
        };
        let returns = description.output && self.repeats(unrolling, operand, v, set) > 1.0 && read_back > 0;
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
            .filter_map(|(direction, _)| {
                let low = matches!(direction, Direction::ToLow | Direction::FromLow);
                let (level, amount) = match (low, v.checked_sub(1)) {
                    (true, _) => (v, fed),
                    (false, below) => (below?, tile),
                };
                let back = description.output && matches!(direction, Direction::ToLow | Direction::FromHigh);
                let moves = if back { read_back } else { count };
                let transfer = Transfer { amount, precision, period, count, moves, ..Transfer::default() };
                Some((description.first + 4 * level + direction as usize, transfer))
            })
            .collect()
    }

    /// Energy that no order changes: operations, and what the array exchanges every cycle.
    pub fn base(&self) -> f64 {
        let outputs = (0..self.boundaries.len()).filter(|at| self.mapped.problem.operands[*at].output);
        self.mapped.operation_energy() + outputs.map(|operand| self.energy(operand, 0, 0)).sum::<f64>()
    }

    /// The chain that the steps describe.
    pub fn layout(&self, steps: &[Step]) -> Layout {
        let mut segments = vec![Vec::new()];
        let mut ends: Ends = self.boundaries.iter().map(|_| smallvec![]).collect();
        let (mut placed, mut loops, mut open) = (0, 0, true);
        for step in steps {
            match *step {
                Step::Loop(kind) => {
                    if !open {
                        segments.push(Vec::new());
                    }
                    segments.last_mut().expect("there is one").push(self.lattice.kinds[kind].one);
                    (open, loops) = (true, loops + 1);
                }
                Step::Boundary(operand) => {
                    let boundary = &self.boundaries[operand][self.placed(placed, operand)];
                    if boundary.memory.is_some() {
                        ends[operand].push(loops);
                    }
                    placed += self.weights[operand];
                    open = false;
                }
            }
        }
        ends.iter_mut().for_each(|ends| ends.push(loops));
        Layout { segments, ends }
    }

    pub fn placed(&self, placed: usize, operand: usize) -> usize {
        placed / self.weights[operand] % (self.boundaries[operand].len() + 1)
    }

    /// The next boundary of an operand.
    pub fn next(&self, placed: usize, operand: usize) -> Option<&Boundary> {
        self.boundaries[operand].get(self.placed(placed, operand))
    }

    /// `h` of the energy.
    pub fn rest(&self) -> Vec<f64> {
        self.least(|operand, b, set| self.boundaries[operand][b].energy[set])
    }

    /// The least sum over the boundaries still to place, by `set * placements + placed`, of what the
    /// boundary `b` of an operand costs at a set.
    pub fn least(&self, cost: impl Fn(usize, usize, usize) -> f64) -> Vec<f64> {
        let mut rest = vec![f64::INFINITY; self.lattice.size * self.placements];
        for set in (0..self.lattice.size).rev() {
            for placed in (0..self.placements).rev() {
                let here = set * self.placements + placed;
                let last = set == self.lattice.whole() && placed + 1 == self.placements;
                let mut least = if last { 0.0 } else { f64::INFINITY };
                for (operand, boundaries) in self.boundaries.iter().enumerate() {
                    let b = self.placed(placed, operand);
                    if b < boundaries.len() {
                        least = least.min(cost(operand, b, set) + rest[here + self.weights[operand]]);
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
pub(super) fn levels(operand: &Operand) -> std::ops::Range<usize> {
    usize::from(operand.output)..operand.levels.len()
}

/// Bits used in each shared memory.
pub(super) type Used = SmallVec<[f64; 2]>;

/// Memories in which operands compete.
pub(super) struct Shares {
    memories: Vec<Share>,
}

struct Share {
    memory: usize,
    capacity: f64,
    /// Bits of operands whose top it is: they are whole there.
    whole: f64,
}

impl Shares {
    /// None where what must be whole does not fit.
    pub fn new(chain: &Chain) -> Option<Self> {
        let mut memories = Vec::new();
        for visit in &chain.mapped.problem.visits {
            let capacity = chain.capacity(visit.memory);
            let top =
                |(operand, level): &&(usize, usize)| chain.mapped.problem.operands[*operand].top() == *level;
            let set = chain.lattice.whole();
            let whole: f64 = (visit.operands.iter().filter(top))
                .map(|(operand, level)| chain.bits(*operand, level + 1, set))
                .sum();
            if whole > capacity {
                return None;
            }
            let tops = visit.operands.iter().filter(top).count();
            if tops < visit.operands.len() && visit.operands.len() > 1 {
                memories.push(Share { memory: visit.memory, capacity, whole });
            }
        }
        Some(Self { memories })
    }

    /// What is used before any boundary stands.
    pub fn start(&self) -> Used {
        self.memories.iter().map(|share| share.whole).collect()
    }

    /// What is used with `boundary` at `set` too; none where it does not fit.
    pub fn with(&self, used: &Used, boundary: &Boundary, set: usize) -> Option<Used> {
        let mut used = used.clone();
        for (share, used) in self.memories.iter().zip(&mut used) {
            if boundary.memory == Some(share.memory) {
                *used += boundary.bits[set];
                if *used > share.capacity {
                    return None;
                }
            }
        }
        Some(used)
    }
}

/// A step along a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A loop of this kind joins.
    Loop(usize),
    /// The operand's next boundary.
    Boundary(usize),
}

/// A chain as loops and ends.
pub(super) struct Layout {
    /// Loops between groups of boundaries, innermost segment first.
    pub segments: Vec<Vec<Loop>>,
    /// Ends of the levels of each operand.
    pub ends: Ends,
}
