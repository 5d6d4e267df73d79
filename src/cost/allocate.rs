//! Allocation of a loop order to memories: bottom-up and greedy, uneven by default.
//!
//! Memories are visited in topological order (MODEL.md 5). At memory m every operand it holds may
//! take the next i = 0..n of its remaining loops, as long as
//!
//! ```text
//! size_i = tensor size(allocated loops + first i remaining) * precision <= capacity
//! metric = sum over operands of (product of the loops left after i) * size_i     (0 at a top memory)
//! ```
//!
//! and the combination with the least metric whose sizes fit together is taken; ties go to the later
//! combination (last operand fastest). At its top memory an operand takes as much as fits. The
//! precision is that of partial sums while a loop irrelevant to the output is still unallocated or
//! unrolled above. `force_double_buffering` doubles a size that is not yet the whole tensor's.
//!
//! Sizes and metrics are doubles and ties are decided by their last bit: extents multiply in the
//! order in which their loops were allocated, sizes as in [`Problem::tensor_size`].
//!
//! Afterwards irrelevant loops at the bottom of a level move down to the level below (section 6): an
//! allocation is then just the position in the order at which each level of each operand ends.

use super::problem::{Extents, Problem, Relevance, Visit};
use super::temporal::Loop;
use super::unroll::Unrolling;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// Whether operands may hold different loops in a memory they share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Allocation {
    /// Each operand takes its own number of loops.
    #[default]
    Uneven,
    /// A loop at one position is taken by all operands of a memory or by none.
    Even,
}

/// Per operand and memory level, the position in the loop order at which the level ends.
pub(super) type Ends = SmallVec<[SmallVec<[usize; 6]>; 3]>;

/// Why a loop order does not fit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rejection {
    /// Position of the memory.
    pub memory: usize,
    /// Operands of the nest that do not fit.
    pub operands: SmallVec<[usize; 3]>,
    /// Bits needed.
    pub needed: f64,
    /// It is the top memory of the operand, which cannot hold the whole tensor.
    pub top: bool,
}

/// One number of loops an operand may take at a memory.
#[derive(Clone, Copy, Debug)]
struct Choice {
    loops: usize,
    size: f64,
    metric: f64,
}

/// State of one operand on the way up.
#[derive(Clone, Debug)]
struct Climb {
    extents: Extents,
    /// First loop of the order not yet allocated.
    next: usize,
}

/// A loop order on its way through the memories.
struct Pass<'a> {
    problem: &'a Problem<'a>,
    unrolling: &'a Unrolling,
    order: &'a [Loop],
    /// `left[i]` = product of the loops from position i.
    left: SmallVec<[f64; 24]>,
    climbs: SmallVec<[Climb; 3]>,
}

/// Allocates `order` with fractional spatial factors. The ends are those before stationary loops
/// move down ([`settle`]).
pub(super) fn allocate(
    problem: &Problem,
    unrolling: &Unrolling,
    order: &[Loop],
    allocation: Allocation,
) -> Result<Ends, Rejection> {
    let mut pass = Pass::new(problem, unrolling, order);
    let mut ends: Ends = problem.operands.iter().map(|_| SmallVec::new()).collect();
    let mut choices: SmallVec<[SmallVec<[Choice; 24]>; 3]> = SmallVec::new();
    for visit in &problem.visits {
        choices.clear();
        for (operand, level) in &visit.operands {
            choices.push(pass.choices(visit, *operand, *level)?);
        }
        let picked = pass.pick(visit, &choices, allocation)?;
        for ((operand, level), loops) in visit.operands.iter().zip(picked) {
            pass.take(visit, *operand, *level, loops)?;
            ends[*operand].push(pass.climbs[*operand].next);
        }
    }
    Ok(ends)
}

/// Moves irrelevant loops at the bottom of every level but the lowest down to the level below.
pub(super) fn settle(problem: &Problem, order: &[Loop], ends: &mut Ends) {
    for (operand, ends) in problem.operands.iter().zip(ends) {
        for end in ends {
            while order.get(*end).is_some_and(|(dim, _)| operand.is_irrelevant(*dim)) {
                *end += 1;
            }
        }
    }
}

impl<'a> Pass<'a> {
    fn new(problem: &'a Problem<'a>, unrolling: &'a Unrolling, order: &'a [Loop]) -> Self {
        let mut left: SmallVec<[f64; 24]> = smallvec::smallvec![1.0; order.len() + 1];
        let mut product = 1_u64;
        for (position, (_, factor)) in order.iter().enumerate().rev() {
            product *= factor;
            left[position] = product as f64;
        }
        let climbs = (unrolling.operands.iter())
            .map(|unrolled| {
                let mut extents = problem.unit_extents();
                for (dim, factor) in &unrolled.levels[0] {
                    extents[*dim] *= factor;
                }
                Climb { extents, next: 0 }
            })
            .collect();
        Self { problem, unrolling, order, left, climbs }
    }

    fn precision(&self, operand: usize, level: usize) -> f64 {
        let description = &self.problem.operands[operand];
        let partial = description.output && {
            let irrelevant = |dim: usize| description.is_irrelevant(dim);
            let next = self.climbs[operand].next;
            self.order[next..].iter().any(|(dim, _)| irrelevant(*dim))
                || self.unrolling.operands[operand].levels[level + 1..]
                    .iter()
                    .flatten()
                    .any(|(dim, _)| irrelevant(*dim))
        };
        (if partial { description.partial_bits } else { description.bits }) as f64
    }

    fn choices(&self, visit: &Visit, operand: usize, level: usize) -> Result<SmallVec<[Choice; 24]>, Rejection> {
        let description = &self.problem.operands[operand];
        let memory = &self.problem.hierarchy.memories[visit.memory];
        let precision = self.precision(operand, level);
        let capacity = memory.size.0 as f64;
        let Climb { extents, next } = &self.climbs[operand];
        let remaining = &self.order[*next..];
        let whole = memory.double_buffering.then(|| {
            let mut extents = extents.clone();
            remaining.iter().for_each(|(dim, factor)| extents[*dim] *= *factor as f64);
            self.problem.tensor_size(description, &extents) * precision
        });
        let mut extents = extents.clone();
        let mut tile = self.problem.tensor_size(description, &extents);
        let mut choices: SmallVec<[Choice; 24]> = SmallVec::new();
        for loops in 0..=remaining.len() {
            if loops > 0 {
                let (dim, factor) = remaining[loops - 1];
                extents[dim] *= factor as f64;
                if matches!(description.relevance[dim], Relevance::Relevant | Relevance::Partial) {
                    tile = self.problem.tensor_size(description, &extents);
                }
            }
            let mut size = tile * precision;
            if whole.is_some_and(|whole| loops < remaining.len() && size < whole) {
                size *= 2.0;
            }
            if size > capacity {
                if loops == 0 {
                    return Err(reject(visit, [operand].into_iter().collect(), size));
                }
                break;
            }
            choices.push(Choice { loops, size, metric: self.left[next + loops] * size });
        }
        if level == description.top() {
            choices.drain(..choices.len() - 1);
            choices[0].metric = 0.0;
        }
        Ok(choices)
    }

    /// The best combination: loops taken per operand of the visit.
    fn pick(
        &self,
        visit: &Visit,
        choices: &[SmallVec<[Choice; 24]>],
        allocation: Allocation,
    ) -> Result<SmallVec<[usize; 3]>, Rejection> {
        let capacity = self.problem.hierarchy.memories[visit.memory].size.0 as f64;
        let smallest: f64 = choices.iter().map(|choices| choices[0].size).sum();
        if smallest > capacity {
            let operands = visit.operands.iter().map(|(operand, _)| *operand).collect();
            return Err(reject(visit, operands, smallest));
        }
        let mut best: Option<(f64, SmallVec<[usize; 3]>)> = None;
        let mut at: SmallVec<[usize; 3]> = choices.iter().map(|_| 0).collect();
        loop {
            let picked = |field: fn(&Choice) -> f64| -> f64 {
                choices.iter().zip(&at).map(|(choices, at)| field(&choices[*at])).sum()
            };
            if picked(|choice| choice.size) <= capacity {
                let metric = picked(|choice| choice.metric);
                let wins = best.as_ref().is_none_or(|(least, _)| metric <= *least);
                if wins && (allocation == Allocation::Uneven || self.is_even(visit, choices, &at)) {
                    best = Some((metric, at.clone()));
                }
            }
            let Some(place) = (0..at.len()).rev().find(|place| at[*place] + 1 < choices[*place].len()) else {
                break;
            };
            at[place] += 1;
            at[place + 1..].fill(0);
        }
        match best {
            Some((_, at)) => Ok(choices.iter().zip(at).map(|(choices, at)| choices[at].loops).collect()),
            None => {
                let operands = visit.operands.iter().map(|(operand, _)| *operand).collect();
                Err(reject(visit, operands, smallest))
            }
        }
    }

    /// No loop is taken by one operand of the memory and left by another.
    fn is_even(&self, visit: &Visit, choices: &[SmallVec<[Choice; 24]>], at: &[usize]) -> bool {
        let ranges: SmallVec<[(usize, usize); 3]> = (visit.operands.iter().zip(choices).zip(at))
            .map(|(((operand, _), choices), at)| {
                let next = self.climbs[*operand].next;
                (next, next + choices[*at].loops)
            })
            .collect();
        let highest = ranges.iter().map(|(_, end)| *end).max().unwrap_or(0);
        let lowest = ranges.iter().map(|(_, end)| *end).min().unwrap_or(0);
        (lowest..highest).all(|position| {
            !ranges.iter().any(|(start, end)| (*start..*end).contains(&position))
                || ranges.iter().all(|(_, end)| position < *end)
        })
    }

    fn take(&mut self, visit: &Visit, operand: usize, level: usize, loops: usize) -> Result<(), Rejection> {
        let climb = &mut self.climbs[operand];
        for (dim, factor) in &self.order[climb.next..climb.next + loops] {
            climb.extents[*dim] *= *factor as f64;
        }
        climb.next += loops;
        for (dim, factor) in &self.unrolling.operands[operand].levels[level + 1] {
            climb.extents[*dim] *= factor;
        }
        let description = &self.problem.operands[operand];
        if level == description.top() && climb.next < self.order.len() {
            let whole = self.problem.tensor_size(description, &self.problem.full_extents());
            let needed = whole * description.bits as f64;
            return Err(Rejection { top: true, ..reject(visit, [operand].into_iter().collect(), needed) });
        }
        Ok(())
    }
}

fn reject(visit: &Visit, operands: SmallVec<[usize; 3]>, needed: f64) -> Rejection {
    Rejection { memory: visit.memory, operands, needed, top: false }
}
