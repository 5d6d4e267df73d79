//! Sets of indices along an axis, and regions as products of them.
//!
//! The indices that a box of loop ranges touches along `sum(c_i * d_i) + offset` are a union of
//! strided spans: a 3-wide window moved by 1 touches an interval, a 1-wide window moved by 2 every
//! second index, a 2-wide window moved by 3 two of three. [`AxisSet`] holds exactly that union, as
//! few disjoint spans as possible, so that dependencies are never bounding boxes.

use super::Axis;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Indices `start, start + step, ..., start + (count-1)*step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Span {
    /// First index.
    pub start: u64,
    /// Number of indices, at least 1.
    pub count: u64,
    /// Distance, at least 1; 1 when `count` is 1.
    pub step: u64,
}

impl Span {
    /// A contiguous, non-empty interval.
    pub fn interval(range: Range<u64>) -> Self {
        Self { start: range.start, count: range.end - range.start, step: 1 }
    }

    /// Last index.
    pub fn last(&self) -> u64 {
        self.start + (self.count - 1) * self.step
    }

    /// Whether `index` is one of them.
    pub fn contains(&self, index: u64) -> bool {
        index >= self.start && index <= self.last() && (index - self.start).is_multiple_of(self.step)
    }

    /// The indices in order.
    pub fn indices(&self) -> impl Iterator<Item = u64> + use<> {
        let Self { start, count, step } = *self;
        (0..count).map(move |k| start + k * step)
    }
}

/// A set of indices along one axis: disjoint spans ordered by their first index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AxisSet(pub Vec<Span>);

impl AxisSet {
    /// A contiguous interval; the empty set if the range is empty.
    pub fn interval(range: Range<u64>) -> Self {
        if range.is_empty() { Self::default() } else { Self(vec![Span::interval(range)]) }
    }

    /// The set of sorted, distinct indices, in as few spans as a greedy scan finds.
    pub fn from_sorted(indices: &[u64]) -> Self {
        let mut spans = Vec::new();
        let mut at = 0;
        while at < indices.len() {
            let mut end = at + 1;
            let step = indices.get(end).map_or(1, |next| next - indices[at]);
            while end < indices.len() && indices[end] - indices[end - 1] == step {
                end += 1;
            }
            // A pair far apart is two single indices unless a third one continues it.
            if end - at == 2 && step > 1 {
                end = at + 1;
            }
            let count = (end - at) as u64;
            let step = if count == 1 { 1 } else { step };
            spans.push(Span { start: indices[at], count, step });
            at = end;
        }
        Self(spans)
    }

    /// Number of indices.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|span| span.count).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `index` is in the set.
    pub fn contains(&self, index: u64) -> bool {
        self.0.iter().any(|span| span.contains(index))
    }

    /// The interval, if the set is contiguous.
    pub fn as_interval(&self) -> Option<Range<u64>> {
        match self.0.as_slice() {
            [] => Some(0..0),
            [span] if span.step == 1 => Some(span.start..span.start + span.count),
            _ => None,
        }
    }

    /// All indices in ascending order.
    pub fn indices(&self) -> Vec<u64> {
        let mut all: Vec<u64> = self.0.iter().flat_map(Span::indices).collect();
        all.sort_unstable();
        all
    }
}

impl Axis {
    /// Exactly the indices in `[0, extent)` that a box of loop ranges touches (padding is no data).
    pub fn set(&self, ranges: &[Range<u64>], extent: u64) -> AxisSet {
        let mut steps: Vec<(u64, u64)> = Vec::new(); // (coefficient, count), counts above 1
        let mut base = self.offset;
        for term in &self.terms {
            let range = &ranges[term.dim];
            base += (term.coefficient * range.start) as i64;
            if range.end - range.start > 1 {
                steps.push((term.coefficient, range.end - range.start));
            }
        }
        steps.sort_unstable();
        // Contiguous as long as each coarser step is bridged by what the finer ones reach.
        let mut reach = 1;
        for (coefficient, count) in &steps {
            if *coefficient > reach {
                return clipped_spans(base, &steps, extent);
            }
            reach += coefficient * (count - 1);
        }
        let start = base.max(0) as u64;
        let end = ((base + reach as i64).max(0) as u64).min(extent);
        AxisSet::interval(start.min(end)..end)
    }
}

/// The general case: one span for a single strided term, else the distinct indices.
fn clipped_spans(base: i64, steps: &[(u64, u64)], extent: u64) -> AxisSet {
    if let [(step, count)] = *steps {
        let skipped = if base < 0 { base.unsigned_abs().div_ceil(step) } else { 0 };
        let start = (base + (skipped * step) as i64) as u64;
        if skipped >= count || start >= extent {
            return AxisSet::default();
        }
        let count = (count - skipped).min((extent - 1 - start) / step + 1);
        return AxisSet(vec![Span { start, count, step: if count == 1 { 1 } else { step } }]);
    }
    let mut indices = vec![base];
    for (coefficient, count) in steps {
        indices = (0..*count)
            .flat_map(|k| indices.iter().map(move |index| index + (k * coefficient) as i64))
            .collect();
    }
    indices.retain(|index| *index >= 0 && (*index as u64) < extent);
    indices.sort_unstable();
    indices.dedup();
    let indices: Vec<u64> = indices.into_iter().map(|index| index as u64).collect();
    AxisSet::from_sorted(&indices)
}

#[cfg(test)]
mod tests {
    use super::super::Term;
    use super::*;

    fn window(stride: u64, dilation: u64, pad: i64) -> Axis {
        Axis {
            terms: vec![Term { dim: 0, coefficient: stride }, Term { dim: 1, coefficient: dilation }],
            offset: -pad,
            sliding: true,
        }
    }

    #[test]
    fn a_window_of_three_moved_by_one_is_an_interval_without_padding() {
        assert_eq!(window(1, 1, 1).set(&[0..2, 0..3], 10), AxisSet::interval(0..3));
    }

    #[test]
    fn a_window_of_one_moved_by_two_is_every_second_index() {
        let set = window(2, 1, 0).set(&[0..4, 0..1], 7);
        assert_eq!(set, AxisSet(vec![Span { start: 0, count: 4, step: 2 }]));
    }

    #[test]
    fn every_box_gives_exactly_the_indices_it_touches() {
        for (stride, dilation, pad) in [(1, 1, 0), (2, 1, 1), (3, 1, 1), (1, 2, 2), (3, 2, 1), (2, 3, 0)] {
            for (outputs, kernel) in [(0..1, 0..3), (2..5, 0..3), (0..4, 0..2), (1..4, 1..2)] {
                let axis = window(stride, dilation, pad);
                let mut expected: Vec<u64> = Vec::new();
                for o in outputs.clone() {
                    for f in kernel.clone() {
                        let index = (stride * o + dilation * f) as i64 - pad;
                        if (0..11).contains(&index) {
                            expected.push(index as u64);
                        }
                    }
                }
                expected.sort_unstable();
                expected.dedup();
                assert_eq!(axis.set(&[outputs.clone(), kernel.clone()], 11).indices(), expected);
            }
        }
    }
}
