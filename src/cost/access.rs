//! Data amounts, transfers and word accesses of a mapping (MODEL.md 6 and 7).
//!
//! With C\[v\] the cycles of the loops at or below memory level v-1 (C\[0\] = the irrelevant run at the
//! very bottom for inputs, 1 for the output) and Dat\[v\] the elements in one instance of arch level v
//! (Dat\[0\] = 1), memory level l of an operand moves per period
//!
//! ```text
//!            tl                fl                       th                fh
//! input      Dat[l]*boost[l]   -                        -                 Dat[l+1]
//!   every    C[l]                                                         C[l+1]
//! output     = fl if ps[l]     trunc(Dat[l]*boost[l])   Dat[l+1]          = th if ps[l+1]
//!   every    C[l]              C[l]                     C[l+1]            C[l+1]
//! words      = trunc(ceil(amount*precision / bw_min) * (bw_min/bw_max) * count * unit_count[l+1])
//! ```
//!
//! where ps\[v\] says that a loop over a dimension irrelevant to the output lies above arch level v,
//! count = total cycles / period, and nothing goes above the top memory. All of it exists for the
//! fractional spatial factors (energy) and for the integer ones (latency).
//!
//! [`Model::Millstream`] differs where that is a fault (MODEL.md 14):
//!
//! ```text
//! partial sums   the first pass over a tile reads none back: count - count / passes[v] transfers (14.1),
//!                with passes[v] the product of the irrelevant temporal loops above arch level v
//! neighbours     what memory level l feeds per period is the tensor size of T[0..l-1] and S[0..l], so that a
//!                halo is read once (14.10); boost is not used
//! fractions      a mean of n + rest elements is n or n + 1 elements, in words by that share; units are not
//!                rounded, words are rounded up (14.2)
//! ```

use super::allocate::Ends;
use super::problem::{Interface, Operand, Problem, Relevance};
use super::temporal::Loop;
use super::unroll::{Unrolled, Unrolling, whole_up};
use super::{CostError, Model};
use crate::accelerator::Direction;
use smallvec::{SmallVec, smallvec};

/// One number per arch level.
pub(super) type PerLevel<T> = SmallVec<[T; 6]>;

/// Cycle counts of one operand's loops in memory, after stationary loops moved down.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Nesting {
    /// C[v].
    pub cycles: PerLevel<u64>,
    /// Product of the run of relevant loops at the outer end of the level below v.
    pub top_relevant: PerLevel<u64>,
    /// Product of the run of irrelevant loops at the outer end of the level below v.
    pub top_irrelevant: PerLevel<u64>,
}

/// A number of elements: whole ones, and the rest of a mean over tiles of unequal size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Amount {
    pub whole: u64,
    /// Below 1; zero with [`Model::Zigzag`].
    pub rest: f64,
}

impl Amount {
    /// Elements of a tile: rounded, or their mean.
    pub fn new(model: Model, elements: f64) -> Self {
        match model {
            Model::Zigzag => Self { whole: elements.round_ties_even() as u64, rest: 0.0 },
            Model::Millstream => {
                // Whole but for rounding of doubles: nothing is left.
                let whole = whole_up(elements) as u64;
                let less = (whole as f64 - elements) > 1e-9 * whole as f64;
                match less {
                    true => Self { whole: whole - 1, rest: elements.fract() },
                    false => Self { whole, rest: 0.0 },
                }
            }
        }
    }

    /// Elements of the largest tile.
    pub fn most(self) -> u64 {
        self.whole + u64::from(self.rest > 0.0)
    }

    fn mean(self) -> f64 {
        self.whole as f64 + self.rest
    }
}

/// What one instance of each level of one operand holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Contents {
    /// Elements per arch level.
    pub elements: PerLevel<Amount>,
    /// Distinct elements that each memory level exchanges per period with all it serves.
    pub fed: PerLevel<Amount>,
    /// Bits of an element per arch level.
    pub precision: PerLevel<u64>,
    /// Partial sums come back to this arch level.
    pub partial: PerLevel<bool>,
    /// Product of the output's irrelevant loops at arch levels >= v (output only), with one more
    /// entry beyond the top.
    irrelevant_above: PerLevel<f64>,
    /// Product of the output's irrelevant temporal loops above each arch level (output only).
    pub passes: PerLevel<u64>,
}

/// A movement at one interface. Inactive where `count` is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Transfer {
    /// Elements per period.
    pub amount: Amount,
    /// Bits of an element.
    pub precision: u64,
    /// Cycles between transfers.
    pub period: u64,
    /// Number of periods.
    pub count: u64,
    /// Periods in which data move.
    pub moves: u64,
    /// Cycles of a period in which the data may move without double buffering.
    pub window: u64,
    /// Average bandwidth, bits per cycle.
    pub bandwidth: u64,
}

impl Transfer {
    /// Bits per period, at most.
    pub fn bits(&self) -> u64 {
        self.amount.most() * self.precision
    }
}

/// Contents and transfers of a mapping for one version of the spatial factors.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Traffic {
    /// Per operand.
    pub contents: SmallVec<[Contents; 3]>,
    /// Per interface of the problem.
    pub transfers: Vec<Transfer>,
}

/// Cycle counts of all operands.
pub(super) fn nestings(problem: &Problem, order: &[Loop], ends: &Ends) -> SmallVec<[Nesting; 3]> {
    (problem.operands.iter().zip(ends)).map(|(operand, ends)| Nesting::new(operand, order, ends)).collect()
}

impl Nesting {
    fn new(operand: &Operand, order: &[Loop], ends: &[usize]) -> Self {
        let irrelevant = |position: usize| operand.is_irrelevant(order[position].0);
        let relevant = |position: usize| operand.relevance[order[position].0] == Relevance::Relevant;
        let product = |range: std::ops::Range<usize>| order[range].iter().map(|(_, n)| n).product::<u64>();
        let run = (0..order.len()).take_while(|position| irrelevant(*position)).count();
        let mut nesting = Self {
            cycles: smallvec![if operand.output { 1 } else { product(0..run) }],
            top_relevant: smallvec![1],
            top_irrelevant: smallvec![1],
        };
        let mut start = 0;
        for end in ends {
            let top = |wanted: &dyn Fn(usize) -> bool| {
                let run = (start..*end).rev().take_while(|position| wanted(*position)).count();
                product(end - run..*end)
            };
            nesting.cycles.push(product(0..*end));
            nesting.top_relevant.push(top(&relevant));
            nesting.top_irrelevant.push(top(&irrelevant));
            start = *end;
        }
        nesting
    }

    /// Product of all temporal loops.
    pub fn total(&self) -> u64 {
        self.cycles[self.cycles.len() - 1]
    }
}

impl Contents {
    fn new(
        problem: &Problem,
        operand: &Operand,
        unrolled: &Unrolled,
        order: &[Loop],
        ends: &[usize],
    ) -> Self {
        let mut extents = problem.unit_extents();
        let mut elements: PerLevel<Amount> = smallvec![Amount { whole: 1, rest: 0.0 }];
        let mut fed = PerLevel::new();
        let mut start = 0;
        for (level, end) in ends.iter().enumerate() {
            for (dim, factor) in &unrolled.levels[level] {
                extents[*dim] *= factor;
            }
            fed.push(match problem.model {
                Model::Zigzag => Amount { whole: elements[level].whole * unrolled.boost[level], rest: 0.0 },
                Model::Millstream => Amount::new(problem.model, problem.tensor_size(operand, &extents)),
            });
            for (dim, factor) in &order[start..*end] {
                extents[*dim] *= *factor as f64;
            }
            elements.push(Amount::new(problem.model, problem.tensor_size(operand, &extents)));
            start = *end;
        }
        let count = elements.len();
        if !operand.output {
            return Self {
                elements,
                fed,
                passes: SmallVec::new(),
                precision: smallvec![operand.bits; count],
                partial: smallvec![false; count],
                irrelevant_above: SmallVec::new(),
            };
        }
        let (partial, irrelevant_above, passes) = partial_sums(operand, unrolled, order, ends);
        let precision = (partial.iter())
            .map(|partial| if *partial { operand.partial_bits } else { operand.bits })
            .collect();
        Self { elements, fed, precision, partial, irrelevant_above, passes }
    }

    /// Bits of one instance of arch level `v`.
    pub fn bits(&self, v: usize) -> u64 {
        self.elements[v].most() * self.precision[v]
    }
}

/// Per arch level v of the output: whether a loop above v makes partial sums, the product of such
/// loops at v and above (with one more entry beyond the top), and that of the temporal ones above v.
fn partial_sums(
    operand: &Operand,
    unrolled: &Unrolled,
    order: &[Loop],
    ends: &[usize],
) -> (PerLevel<bool>, PerLevel<f64>, PerLevel<u64>) {
    let count = ends.len() + 1;
    let mut passes: PerLevel<u64> = smallvec![1; count];
    let mut partial: PerLevel<bool> = smallvec![false; count];
    let mut product: PerLevel<f64> = smallvec![1.0; count + 2];
    let mut above = false;
    for v in (0..count).rev() {
        partial[v] = above;
        product[v] = product[v + 1];
        if let Some(end) = ends.get(v) {
            let start = if v > 0 { ends[v - 1] } else { 0 };
            let irrelevant = order[start..*end].iter().filter(|(dim, _)| operand.is_irrelevant(*dim));
            passes[v] = passes[v + 1] * irrelevant.map(|(_, factor)| factor).product::<u64>();
        }
        let mut meet = |dim: usize, factor: f64| {
            if operand.is_irrelevant(dim) {
                product[v] *= factor;
                above |= factor > 1.0;
            }
        };
        unrolled.levels[v].iter().for_each(|(dim, factor)| meet(*dim, *factor));
        if v > 0 {
            let start = if v > 1 { ends[v - 2] } else { 0 };
            order[start..ends[v - 1]].iter().for_each(|(dim, factor)| meet(*dim, *factor as f64));
        }
    }
    (partial, product, passes)
}

impl Traffic {
    /// Contents and transfers of the loop order `order` cut at `ends`.
    pub fn new(
        problem: &Problem,
        unrolling: &Unrolling,
        order: &[Loop],
        ends: &Ends,
        nestings: &[Nesting],
    ) -> Self {
        let mut contents = SmallVec::new();
        let mut transfers = Vec::with_capacity(problem.interfaces.len());
        for (position, operand) in problem.operands.iter().enumerate() {
            let unrolled = &unrolling.operands[position];
            let held = Contents::new(problem, operand, unrolled, order, &ends[position]);
            let flow = Flow {
                model: problem.model,
                operand,
                boost: &unrolled.boost,
                contents: &held,
                nesting: &nestings[position],
                elements: if operand.output {
                    problem.tensor_size(operand, &problem.full_extents())
                } else {
                    0.0
                },
            };
            for level in 0..operand.levels.len() {
                transfers.extend(if operand.output { flow.of_output(level) } else { flow.of_input(level) });
            }
            contents.push(held);
        }
        Self { contents, transfers }
    }
}

/// What the transfers of one operand follow from.
struct Flow<'a> {
    model: Model,
    operand: &'a Operand,
    boost: &'a [u64],
    contents: &'a Contents,
    nesting: &'a Nesting,
    /// Elements of the whole output.
    elements: f64,
}

impl Flow<'_> {
    fn of_input(&self, level: usize) -> [Transfer; 4] {
        let none = Transfer::default();
        let bits = self.operand.bits;
        let down = self.low_side(level, bits);
        let fill = if level == self.operand.top() { none } else { self.high_side(level, bits) };
        [down, none, none, fill]
    }

    fn of_output(&self, level: usize) -> [Transfer; 4] {
        let none = Transfer::default();
        let low = self.precision(level + 1);
        let arriving = self.low_side(level, low.0);
        let returning = self.read_back(level, self.low_side(level, low.1));
        if level == self.operand.top() {
            return [returning, arriving, none, none];
        }
        let high = self.precision(level + 2);
        let leaving = self.high_side(level, high.0);
        let refilled = self.read_back(level + 1, self.high_side(level, high.1));
        [returning, arriving, leaving, refilled]
    }

    /// What of the traffic at arch level `v` brings partial sums back.
    fn read_back(&self, v: usize, traffic: Transfer) -> Transfer {
        let first = match self.model {
            Model::Zigzag => 0,
            Model::Millstream => traffic.count / self.contents.passes[v],
        };
        if !self.contents.partial[v] || first == traffic.count {
            return Transfer::default();
        }
        Transfer { moves: traffic.count - first, ..traffic }
    }

    /// Bits of elements going up and coming back at the interface below arch level `v`.
    fn precision(&self, v: usize) -> (u64, u64) {
        let partial = match self.model {
            Model::Zigzag => (self.elements * (self.contents.irrelevant_above[v] - 1.0)).trunc() > 0.0,
            Model::Millstream => self.contents.partial[v - 1],
        };
        if partial { (self.operand.partial_bits, self.operand.partial_bits) } else { (self.operand.bits, 0) }
    }

    fn low_side(&self, level: usize, precision: u64) -> Transfer {
        let fed = self.contents.fed[level];
        let cycles = self.nesting.cycles[level] as f64;
        let bandwidth = match self.model {
            Model::Zigzag => self.contents.bits(level) as f64 / cycles * self.boost[level] as f64,
            Model::Millstream => fed.mean() * self.contents.precision[level] as f64 / cycles,
        };
        self.transfer(level, fed, precision, bandwidth)
    }

    fn high_side(&self, level: usize, precision: u64) -> Transfer {
        let upper = level + 1;
        let moved = self.contents.bits(upper) as f64 / self.nesting.cycles[upper] as f64;
        self.transfer(upper, self.contents.elements[upper], precision, moved)
    }

    fn transfer(&self, v: usize, amount: Amount, precision: u64, bandwidth: f64) -> Transfer {
        let period = self.nesting.cycles[v];
        let count = self.nesting.total() / period;
        Transfer {
            amount,
            precision,
            period,
            count,
            moves: count,
            window: period / self.nesting.top_irrelevant[v],
            bandwidth: bandwidth.trunc() as u64,
        }
    }
}

/// Words at every interface, from the traffic with fractional factors.
pub(super) fn words(
    problem: &Problem,
    unrolling: &Unrolling,
    traffic: &Traffic,
) -> Result<Vec<u64>, CostError> {
    (problem.interfaces.iter().zip(&traffic.transfers))
        .map(|(interface, transfer)| {
            if interface.port.is_none() {
                return if transfer.amount.most() == 0 { Ok(0) } else { Err(no_port(problem, interface)) };
            }
            let units = unrolling.operands[interface.operand].unit_count[interface.level + 1];
            Ok(words_moved(problem.model, interface, transfer, units))
        })
        .collect()
}

/// Words of a movement at `units` instances.
fn words_moved(model: Model, interface: &Interface, transfer: &Transfer, units: f64) -> u64 {
    let (min, max) = (interface.bandwidth_min as f64, interface.bandwidth_max as f64);
    let Transfer { amount, precision, moves, .. } = *transfer;
    let chunks = |elements: u64| ((elements * precision) as f64 / min).ceil();
    match model {
        Model::Zigzag => (chunks(amount.whole) * (min / max) * moves as f64 * units).trunc() as u64,
        Model::Millstream => {
            let mean = chunks(amount.whole) * (1.0 - amount.rest) + chunks(amount.most()) * amount.rest;
            whole_up(mean * min * moves as f64 * units / max) as u64
        }
    }
}

/// Picojoules of a movement at `units` instances; zero without a port.
pub(super) fn word_energy(model: Model, interface: &Interface, transfer: &Transfer, units: f64) -> f64 {
    if interface.port.is_none() {
        return 0.0;
    }
    words_moved(model, interface, transfer, units) as f64 * interface.word_cost
}

/// Energy of the memories: words times cost, in the order memory, operand, direction.
pub(super) fn memory_energy(problem: &Problem, words: &[u64]) -> f64 {
    (problem.by_memory.iter()).map(|at| words[*at] as f64 * problem.interfaces[*at].word_cost).sum()
}

fn no_port(problem: &Problem, interface: &Interface) -> CostError {
    CostError::NoPort {
        memory: problem.hierarchy.memories[interface.memory].name.clone(),
        operand: problem.operands[interface.operand].memory,
        direction: Direction::ALL[interface.direction as usize].abbreviation(),
    }
}
