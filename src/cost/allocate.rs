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
//! unrolled above. `force_double_buffering` doubles a size that is not yet the whole tensor's, and with
//! it the metric, except with [`Model::Millstream`]: a copy moves nothing (MODEL.md 14.11).
//!
//! Sizes and metrics are doubles and ties are decided by their last bit: extents multiply in the
//! order in which their loops were allocated, sizes as in [`Problem::tensor_size`].
//!
//! Afterwards irrelevant loops at the bottom of a level move down to the level below (section 6): an
//! allocation is then just the position in the order at which each level of each operand ends.

use super::Model;
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

/// A combination of choices with its sums.
#[derive(Clone, Copy, Debug)]
struct Picked {
    /// Choice per operand of the visit; I1, I2 and O are all there are.
    at: [usize; 3],
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

/// Allocates loop orders with one spatial mapping; its buffers serve all of them.
pub(super) struct Allocator<'a> {
    problem: &'a Problem<'a>,
    /// Spatial factors whose tiles the memories hold.
    unrolling: &'a Unrolling,
    allocation: Allocation,
    /// `left[i]` = product of the loops from position i.
    left: Vec<f64>,
    /// Per operand of the nest.
    climbs: Vec<Climb>,
    /// Per operand of the memory visited.
    choices: Vec<Vec<Choice>>,
}

impl<'a> Allocator<'a> {
    /// An allocator for one spatial mapping.
    pub fn new(problem: &'a Problem<'a>, unrolling: &'a Unrolling, allocation: Allocation) -> Self {
        let climb = Climb { extents: problem.unit_extents(), next: 0 };
        Self {
            problem,
            unrolling,
            allocation,
            left: Vec::new(),
            climbs: vec![climb; problem.operands.len()],
            choices: vec![Vec::new(); problem.operands.len()],
        }
    }

    /// The ends of all levels before stationary loops move down ([`settle`]).
    pub fn allocate(&mut self, order: &[Loop]) -> Result<Ends, Rejection> {
        self.start(order);
        let mut ends: Ends = self.problem.operands.iter().map(|_| SmallVec::new()).collect();
        let problem = self.problem;
        for visit in &problem.visits {
            for (place, (operand, level)) in visit.operands.iter().enumerate() {
                self.choose(order, visit, place, (*operand, *level))?;
            }
            let picked = self.pick(visit)?;
            for (place, (operand, level)) in visit.operands.iter().enumerate() {
                let loops = self.choices[place][picked.at[place]].loops;
                self.climb(order, visit, (*operand, *level), loops)?;
                ends[*operand].push(self.climbs[*operand].next);
            }
        }
        Ok(ends)
    }

    fn start(&mut self, order: &[Loop]) {
        self.left.clear();
        self.left.resize(order.len() + 1, 1.0);
        let mut product = 1_u64;
        for (position, (_, factor)) in order.iter().enumerate().rev() {
            product *= factor;
            self.left[position] = product as f64;
        }
        for (climb, unrolled) in self.climbs.iter_mut().zip(&self.unrolling.operands) {
            climb.next = 0;
            climb.extents.fill(1.0);
            for (dim, factor) in &unrolled.levels[0] {
                climb.extents[*dim] *= factor;
            }
        }
    }

    fn precision(&self, order: &[Loop], operand: usize, level: usize) -> f64 {
        let description = &self.problem.operands[operand];
        let partial = description.output && {
            let irrelevant = |dim: usize| description.is_irrelevant(dim);
            let above = &self.unrolling.operands[operand].levels[level + 1..];
            order[self.climbs[operand].next..].iter().any(|(dim, _)| irrelevant(*dim))
                || above.iter().flatten().any(|(dim, _)| irrelevant(*dim))
        };
        (if partial { description.partial_bits } else { description.bits }) as f64
    }

    /// Lists what the operand in `place` of the visit may take.
    fn choose(
        &mut self,
        order: &[Loop],
        visit: &Visit,
        place: usize,
        (operand, level): (usize, usize),
    ) -> Result<(), Rejection> {
        let description = &self.problem.operands[operand];
        let memory = &self.problem.hierarchy.memories[visit.memory];
        let precision = self.precision(order, operand, level);
        let capacity = memory.size.0 as f64;
        let Climb { extents, next } = &self.climbs[operand];
        let remaining = &order[*next..];
        let whole = memory.double_buffering.then(|| {
            let mut extents = extents.clone();
            remaining.iter().for_each(|(dim, factor)| extents[*dim] *= *factor as f64);
            self.problem.tensor_size(description, &extents) * precision
        });
        let mut extents = Extents::from_slice(extents);
        let mut tile = self.problem.tensor_size(description, &extents);
        let choices = &mut self.choices[place];
        choices.clear();
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
                break;
            }
            let moved = if self.problem.model == Model::Zigzag { size } else { tile * precision };
            choices.push(Choice { loops, size, metric: self.left[next + loops] * moved });
        }
        let Some(largest) = choices.last().copied() else {
            return Err(reject(visit, SmallVec::from_iter([operand]), tile * precision));
        };
        if level == description.top() {
            choices.clear();
            choices.push(Choice { metric: 0.0, ..largest });
        }
        Ok(())
    }

    /// The best combination: a choice per operand of the visit.
    fn pick(&self, visit: &Visit) -> Result<Picked, Rejection> {
        let choices = &self.choices[..visit.operands.len()];
        let capacity = self.problem.hierarchy.memories[visit.memory].size.0 as f64;
        let mut best = None;
        let trial = Picked { at: [0; 3], size: 0.0, metric: 0.0 };
        self.combine(visit, choices, capacity, trial, 0, &mut best);
        best.ok_or_else(|| {
            let operands = visit.operands.iter().map(|(operand, _)| *operand).collect();
            reject(visit, operands, choices.iter().map(|choices| choices[0].size).sum())
        })
    }

    /// Tries all choices from `place` on; `trial` holds the sums of the places before.
    fn combine(
        &self,
        visit: &Visit,
        choices: &[Vec<Choice>],
        capacity: f64,
        mut trial: Picked,
        place: usize,
        best: &mut Option<Picked>,
    ) {
        let (size, metric) = (trial.size, trial.metric);
        for (at, choice) in choices[place].iter().enumerate() {
            trial.at[place] = at;
            trial.size = size + choice.size;
            trial.metric = metric + choice.metric;
            if trial.size > capacity {
                continue;
            }
            if place + 1 < choices.len() {
                self.combine(visit, choices, capacity, trial, place + 1, best);
            } else if best.as_ref().is_none_or(|best| trial.metric <= best.metric)
                && (self.allocation == Allocation::Uneven || self.is_even(visit, choices, &trial.at))
            {
                *best = Some(trial);
            }
        }
    }

    /// No loop is taken by one operand of the memory and left by another.
    fn is_even(&self, visit: &Visit, choices: &[Vec<Choice>], at: &[usize]) -> bool {
        let ranges: SmallVec<[(usize, usize); 3]> = (visit.operands.iter().zip(choices).zip(at))
            .map(|(((operand, _), choices), at)| {
                let next = self.climbs[*operand].next;
                (next, next + choices[*at].loops)
            })
            .collect();
        let lowest = ranges.iter().map(|(_, end)| *end).min().unwrap_or(0);
        ranges.iter().all(|(start, end)| *end <= lowest.max(*start))
    }

    fn climb(
        &mut self,
        order: &[Loop],
        visit: &Visit,
        (operand, level): (usize, usize),
        loops: usize,
    ) -> Result<(), Rejection> {
        let climb = &mut self.climbs[operand];
        for (dim, factor) in &order[climb.next..climb.next + loops] {
            climb.extents[*dim] *= *factor as f64;
        }
        climb.next += loops;
        let description = &self.problem.operands[operand];
        if level == description.top() && climb.next < order.len() {
            let mut whole = climb.extents.clone();
            order[climb.next..].iter().for_each(|(dim, factor)| whole[*dim] *= *factor as f64);
            let needed = self.problem.tensor_size(description, &whole) * description.bits as f64;
            return Err(Rejection { top: true, ..reject(visit, SmallVec::from_iter([operand]), needed) });
        }
        for (dim, factor) in &self.unrolling.operands[operand].levels[level + 1] {
            climb.extents[*dim] *= factor;
        }
        Ok(())
    }
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

fn reject(visit: &Visit, operands: SmallVec<[usize; 3]>, needed: f64) -> Rejection {
    Rejection { memory: visit.memory, operands, needed, top: false }
}
