//! Temporal loops: sizes, prime loops, merging to a limit, and the sequence of all loop orders.
//!
//! Temporal size of a dimension (MODEL.md 4.1): the layer's size, divided and rounded up by each of
//! its fractional spatial factors in the list of the first input ([`Model::Millstream`]: by their
//! product, 14.3); sizes of 1 are dropped. Every prime factor is one loop. While there are more loops
//! than the limit, the dimension with most loops (first on ties) merges its two smallest factors (4.3):
//! the smallest with itself if it occurs twice, else with the next.
//!
//! All distinct orders of the loops are visited by prefix shifts (A. Williams, "Loopless generation
//! of multiset permutations using a constant number of variables by prefix shifts", SODA 2009) from
//! the order that descends by (name of the dimension, factor). A loop order is written innermost
//! loop first.

use super::problem::Problem;
use super::unroll::{Unrolling, whole_up};
use super::{Model, OrderEntry};
use crate::workload::Dim;

/// A temporal loop: dimension and number of iterations.
pub(super) type Loop = (usize, u64);

/// Temporal size of every dimension that has one, in the order of the nest.
pub(super) fn temporal_sizes(problem: &Problem, fractional: &Unrolling) -> Vec<Loop> {
    let mut sizes: Vec<u64> = problem.nest.dims.iter().map(|(_, size)| *size).collect();
    let first_input = 1.min(problem.operands.len() - 1);
    let factors = fractional.operands[first_input].levels.iter().flatten();
    match problem.model {
        Model::Zigzag => factors.for_each(|(dim, factor)| {
            sizes[*dim] = (sizes[*dim] as f64 / factor).ceil() as u64;
        }),
        Model::Millstream => {
            let mut units = problem.unit_extents();
            factors.for_each(|(dim, factor)| units[*dim] *= factor);
            for (size, units) in sizes.iter_mut().zip(&units) {
                *size = whole_up(*size as f64 / units) as u64;
            }
        }
    }
    sizes.into_iter().enumerate().filter(|(_, size)| *size > 1).collect()
}

/// Prime loops merged to at most `limit` (raised to the number of dimensions), grouped by dimension
/// in the order of the nest, ascending factors. Never empty.
pub(super) fn loops(sizes: &[Loop], limit: usize) -> Vec<Loop> {
    let mut groups: Vec<(usize, Vec<u64>)> = sizes.iter().map(|(dim, size)| (*dim, primes(*size))).collect();
    let limit = limit.max(groups.len());
    while groups.iter().map(|(_, factors)| factors.len()).sum::<usize>() > limit {
        let most = groups.iter().map(|(_, factors)| factors.len()).max().unwrap_or(0);
        if let Some((_, factors)) = groups.iter_mut().find(|(_, factors)| factors.len() == most) {
            merge_smallest(factors);
        }
    }
    let loops: Vec<Loop> =
        (groups.iter()).flat_map(|(dim, factors)| factors.iter().map(|factor| (*dim, *factor))).collect();
    if loops.is_empty() { vec![(0, 1)] } else { loops }
}

/// Prime factors, ascending.
pub(super) fn primes(mut number: u64) -> Vec<u64> {
    let mut factors = Vec::new();
    let mut divisor = 2;
    while divisor * divisor <= number {
        while number.is_multiple_of(divisor) {
            factors.push(divisor);
            number /= divisor;
        }
        divisor += 1;
    }
    if number > 1 {
        factors.push(number);
    }
    factors
}

/// The two smallest of ascending factors become their product.
fn merge_smallest(factors: &mut Vec<u64>) {
    let product = factors[0] * factors[1];
    factors.drain(..2);
    let place = factors.partition_point(|factor| *factor < product);
    factors.insert(place, product);
}

/// What a mapping fixes of the loop order (MODEL.md 4, last paragraph).
pub(super) struct Imposed {
    /// Dimension and size of the loops from the innermost.
    inner: Vec<(usize, Option<u64>)>,
    /// The same from the outermost.
    outer: Vec<(usize, Option<u64>)>,
}

impl Imposed {
    /// Entries for dimensions that the nest lacks fix nothing.
    pub(super) fn new(problem: &Problem, entries: &[OrderEntry]) -> Self {
        let position = |entry: &OrderEntry| match entry {
            OrderEntry::Loop(dim, size) => Some((problem.position(dim)?, *size)),
            OrderEntry::Rest => None,
        };
        let rest = entries.iter().position(|entry| *entry == OrderEntry::Rest).unwrap_or(entries.len());
        Self {
            inner: entries[..rest].iter().filter_map(position).collect(),
            outer: entries[rest..].iter().rev().filter_map(position).collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.inner.is_empty() && self.outer.is_empty()
    }

    /// The order itself, if sizes are given and multiply to the temporal size of every dimension.
    pub(super) fn complete(&self, sizes: &[Loop]) -> Option<Vec<Loop>> {
        let entries = self.inner.iter().chain(self.outer.iter().rev());
        let loops: Vec<Loop> =
            entries.map(|(dim, size)| size.map(|size| (*dim, size))).collect::<Option<_>>()?;
        let product = |dim: usize| -> u64 {
            loops
                .iter()
                .filter(|(of, _)| *of == dim)
                .fold(1, |product, (_, size)| product.saturating_mul(*size))
        };
        let known = |(dim, _): &Loop| sizes.iter().any(|(of, _)| of == dim) || product(*dim) == 1;
        let whole = sizes.iter().all(|(dim, size)| product(*dim) == *size) && loops.iter().all(known);
        whole.then(|| loops.into_iter().filter(|(_, size)| *size > 1).collect())
    }

    /// Whether an order has the fixed loops in their places.
    pub(super) fn admits(&self, order: &[Loop]) -> bool {
        let fits = |(dim, size): &(usize, Option<u64>), given: &Loop| {
            *dim == given.0 && size.is_none_or(|size| size == given.1)
        };
        self.inner.len().max(self.outer.len()) <= order.len()
            && self.inner.iter().zip(order).all(|(fixed, given)| fits(fixed, given))
            && self.outer.iter().zip(order.iter().rev()).all(|(fixed, given)| fits(fixed, given))
    }
}

/// All distinct orders of a list of loops, in the reference's sequence.
///
/// A linked list of the elements; three positions (`head`, `next_to_last`, `last` of the descending
/// prefix) decide which element moves to the front.
#[derive(Clone, Debug)]
pub(super) struct Orders {
    /// Elements, descending by (name, factor); `rank` compares equal elements as equal.
    elements: Vec<Loop>,
    rank: Vec<usize>,
    next: Vec<usize>,
    head: usize,
    prefix_end: usize,
    after_prefix: usize,
    started: bool,
}

/// No element: the end of the list.
const END: usize = usize::MAX;

impl Orders {
    /// All orders of `loops`, whose dimensions are positions in `dims` and compare by name.
    pub fn new(dims: &[(Dim, u64)], loops: &[Loop]) -> Self {
        let mut elements = loops.to_vec();
        let key = |element: &Loop| (&dims[element.0].0, element.1);
        elements.sort_by(|a, b| key(b).cmp(&key(a)));
        let count = elements.len();
        let mut rank = vec![count; count];
        for position in 1..count {
            let step = usize::from(elements[position] != elements[position - 1]);
            rank[position] = rank[position - 1] - step;
        }
        let next = (1..count).chain([END]).collect();
        Self {
            elements,
            rank,
            next,
            head: 0,
            prefix_end: count.saturating_sub(2),
            after_prefix: count - 1,
            started: false,
        }
    }

    /// Writes the next order, innermost loop first; false after the last one.
    pub fn next_into(&mut self, order: &mut Vec<Loop>) -> bool {
        if self.started && !self.shift() {
            return false;
        }
        self.started = true;
        order.clear();
        let mut element = self.head;
        while element != END {
            order.push(self.elements[element]);
            element = self.next[element];
        }
        true
    }

    fn shift(&mut self) -> bool {
        let following = self.next[self.after_prefix];
        if following == END && self.rank[self.after_prefix] >= self.rank[self.head] {
            return false;
        }
        let before = if following != END && self.rank[self.prefix_end] >= self.rank[following] {
            self.after_prefix
        } else {
            self.prefix_end
        };
        let moved = self.next[before];
        self.next[before] = self.next[moved];
        self.next[moved] = self.head;
        if self.rank[moved] < self.rank[self.head] {
            self.prefix_end = moved;
        }
        self.after_prefix = self.next[self.prefix_end];
        self.head = moved;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_are_primes() {
        assert_eq!(primes(56), [2, 2, 2, 7]);
        assert_eq!(primes(1), [0_u64; 0]);
        assert_eq!(primes(97), [97]);
    }

    #[test]
    fn the_longest_list_merges_its_smallest_factors() {
        // 56 = 2*2*2*7 and 9 = 3*3, limit 4: 2*2 -> 4, then 2*4 -> 8 (three loops, still most).
        assert_eq!(loops(&[(0, 56), (1, 9)], 4), [(0, 7), (0, 8), (1, 3), (1, 3)]);
        // On ties the first dimension merges.
        assert_eq!(loops(&[(0, 9), (1, 4)], 3), [(0, 9), (1, 2), (1, 2)]);
        // The limit never goes below the number of dimensions.
        assert_eq!(loops(&[(0, 4), (1, 4), (2, 4)], 1), [(0, 4), (1, 4), (2, 4)]);
        // A nest without temporal loops has one of a single iteration.
        assert_eq!(loops(&[], 6), [(0, 1)]);
    }

    fn orders(loops: &[Loop]) -> Vec<String> {
        let dims: Vec<(Dim, u64)> = ["A", "B", "C"].iter().map(|name| (Dim::new(name), 1)).collect();
        let mut orders = Orders::new(&dims, loops);
        let mut order = Vec::new();
        let mut all = Vec::new();
        while orders.next_into(&mut order) {
            all.push(order.iter().map(|(dim, factor)| format!("{}{factor}", dims[*dim].0)).collect());
        }
        all
    }

    #[test]
    fn every_order_is_a_prefix_shift_of_the_one_before() {
        assert_eq!(
            orders(&[(0, 2), (1, 2), (2, 2)]),
            ["C2B2A2", "A2C2B2", "C2A2B2", "B2C2A2", "A2B2C2", "B2A2C2"]
        );
        assert_eq!(orders(&[(0, 2), (0, 2), (0, 3)]), ["A3A2A2", "A2A3A2", "A2A2A3"]);
        assert_eq!(orders(&[(1, 7)]), ["B7"]);
    }

    #[test]
    fn orders_are_distinct_and_complete() {
        let mut all = orders(&[(0, 2), (0, 2), (1, 3), (1, 3), (2, 5), (2, 7)]);
        assert_eq!(all.len(), 720 / 4);
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 720 / 4);
    }
}
