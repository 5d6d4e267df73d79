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

use super::CostError;
use super::allocate::Ends;
use super::problem::{Interface, Operand, Problem, Relevance};
use super::temporal::Loop;
use super::unroll::{Unrolled, Unrolling};
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

/// What one instance of each level of one operand holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Contents {
    /// Elements per arch level.
    pub elements: PerLevel<u64>,
    /// Bits of an element per arch level.
    pub precision: PerLevel<u64>,
    /// Partial sums come back to this arch level.
    pub partial: PerLevel<bool>,
    /// Product of the output's irrelevant loops at arch levels >= v (output only), with one more
    /// entry beyond the top.
    irrelevant_above: PerLevel<f64>,
}

/// A movement at one interface. Inactive where `count` is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Transfer {
    /// Elements per period.
    pub amount: u64,
    /// Bits of an element.
    pub precision: u64,
    /// Cycles between transfers.
    pub period: u64,
    /// Number of transfers.
    pub count: u64,
    /// Cycles of a period in which the data may move without double buffering.
    pub window: u64,
    /// Average bandwidth, bits per cycle.
    pub bandwidth: u64,
}

impl Transfer {
    /// Bits per period.
    pub fn bits(&self) -> u64 {
        self.amount * self.precision
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
        let mut elements: PerLevel<u64> = smallvec![1];
        let mut start = 0;
        for (level, end) in ends.iter().enumerate() {
            for (dim, factor) in &unrolled.levels[level] {
                extents[*dim] *= factor;
            }
            for (dim, factor) in &order[start..*end] {
                extents[*dim] *= *factor as f64;
            }
            elements.push(problem.tensor_size(operand, &extents).round_ties_even() as u64);
            start = *end;
        }
        let count = elements.len();
        if !operand.output {
            return Self {
                elements,
                precision: smallvec![operand.bits; count],
                partial: smallvec![false; count],
                irrelevant_above: SmallVec::new(),
            };
        }
        let (partial, irrelevant_above) = partial_sums(operand, unrolled, order, ends);
        let precision = (partial.iter())
            .map(|partial| if *partial { operand.partial_bits } else { operand.bits })
            .collect();
        Self { elements, precision, partial, irrelevant_above }
    }

    /// Bits of one instance of arch level `v`.
    pub fn bits(&self, v: usize) -> u64 {
        self.elements[v] * self.precision[v]
    }
}

/// Per arch level v of the output: whether a loop above v makes partial sums, and the product of
/// such loops at v and above (with one more entry beyond the top).
fn partial_sums(
    operand: &Operand,
    unrolled: &Unrolled,
    order: &[Loop],
    ends: &[usize],
) -> (PerLevel<bool>, PerLevel<f64>) {
    let count = ends.len() + 1;
    let mut partial: PerLevel<bool> = smallvec![false; count];
    let mut product: PerLevel<f64> = smallvec![1.0; count + 2];
    let mut above = false;
    for v in (0..count).rev() {
        partial[v] = above;
        product[v] = product[v + 1];
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
    (partial, product)
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
        let returning = if self.contents.partial[level] { self.low_side(level, low.1) } else { none };
        if level == self.operand.top() {
            return [returning, arriving, none, none];
        }
        let high = self.precision(level + 2);
        let leaving = self.high_side(level, high.0);
        let refilled = if self.contents.partial[level + 1] { self.high_side(level, high.1) } else { none };
        [returning, arriving, leaving, refilled]
    }

    /// Bits of elements going up and coming back at the interface below arch level `v`.
    fn precision(&self, v: usize) -> (u64, u64) {
        let repeats = (self.elements * (self.contents.irrelevant_above[v] - 1.0)).trunc();
        if repeats > 0.0 {
            (self.operand.partial_bits, self.operand.partial_bits)
        } else {
            (self.operand.bits, 0)
        }
    }

    fn low_side(&self, level: usize, precision: u64) -> Transfer {
        let elements = self.contents.elements[level] * self.boost[level];
        let moved = self.contents.bits(level) as f64 / self.nesting.cycles[level] as f64;
        self.transfer(level, elements, precision, moved * self.boost[level] as f64)
    }

    fn high_side(&self, level: usize, precision: u64) -> Transfer {
        let upper = level + 1;
        let moved = self.contents.bits(upper) as f64 / self.nesting.cycles[upper] as f64;
        self.transfer(upper, self.contents.elements[upper], precision, moved)
    }

    fn transfer(&self, v: usize, amount: u64, precision: u64, bandwidth: f64) -> Transfer {
        let period = self.nesting.cycles[v];
        Transfer {
            amount,
            precision,
            period,
            count: self.nesting.total() / period,
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
                return if transfer.amount == 0 { Ok(0) } else { Err(no_port(problem, interface)) };
            }
            let units = unrolling.operands[interface.operand].unit_count[interface.level + 1];
            Ok(words_moved(interface, transfer.bits(), transfer.count, units))
        })
        .collect()
}

/// Words of `count` transfers of `bits` each at `units` instances.
fn words_moved(interface: &Interface, bits: u64, count: u64, units: u64) -> u64 {
    let (min, max) = (interface.bandwidth_min as f64, interface.bandwidth_max as f64);
    let chunks = (bits as f64 / min).ceil();
    (chunks * (min / max) * count as f64 * units as f64).trunc() as u64
}

/// Picojoules of `count` transfers of `bits` each at `units` instances; zero without a port.
pub(super) fn word_energy(interface: &Interface, bits: u64, count: u64, units: u64) -> f64 {
    if interface.port.is_none() {
        return 0.0;
    }
    words_moved(interface, bits, count, units) as f64 * interface.word_cost
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
