//! Reshape: the same row-major positions under another shape.
//!
//! Both shapes are cut into the shortest runs of axes with equal products, which are independent of
//! one another. Inside a run the strides of both sides usually divide one another in a chain. Then
//! they define digits common to both: an axis of either side is a number written in some of them. An
//! output set becomes a few boxes over its digits, and a box over digits is one box over input axes.
//! Where no such digits exist (2x3 as 3x2), the region is cut into contiguous runs of positions, and
//! each run into boxes of the input: exact, but with more pieces.

use super::region::{AxisSet, Span};
use std::collections::BTreeMap;

type Region = Vec<AxisSet>;

/// The boxes of the input (shape `input`) that are `region` of the output (shape `output`).
pub(super) fn reshape(output: &[u64], input: &[u64], region: &[AxisSet]) -> Vec<Vec<AxisSet>> {
    let mut boxes = vec![Vec::new()];
    for (outer, inner) in runs(output, input) {
        let shapes = (&output[outer.clone()], &input[inner]);
        let parts = run(shapes.0, shapes.1, &region[outer]);
        boxes = product(&boxes, &parts);
    }
    boxes
}

type Axes = std::ops::Range<usize>;

/// The shortest runs of axes with equal products on both sides.
fn runs(output: &[u64], input: &[u64]) -> Vec<(Axes, Axes)> {
    let mut result = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < output.len() || j < input.len() {
        let (first_i, first_j) = (i, j);
        let (mut a, mut b) = (1, 1);
        while i == first_i && j == first_j || a != b {
            if a <= b && i < output.len() || j == input.len() {
                a *= output[i];
                i += 1;
            } else {
                b *= input[j];
                j += 1;
            }
        }
        result.push((first_i..i, first_j..j));
    }
    result
}

fn run(output: &[u64], input: &[u64], region: &[AxisSet]) -> Vec<Region> {
    if output == input {
        return vec![region.to_vec()];
    }
    match digits(output, input) {
        Some(radices) => by_digits(output, input, region, &radices),
        None => by_positions(output, input, region),
    }
}

/// Radices of the digits common to both shapes, outermost first.
fn digits(output: &[u64], input: &[u64]) -> Option<Vec<u64>> {
    let mut strides: Vec<u64> = Vec::new();
    for shape in [output, input] {
        let mut stride = 1;
        for extent in shape.iter().rev() {
            strides.push(stride);
            stride *= extent;
        }
        strides.push(stride);
    }
    strides.sort_unstable();
    strides.dedup();
    let ratio = |pair: &[u64]| pair[1].is_multiple_of(pair[0]).then(|| pair[1] / pair[0]);
    let mut radices = strides.windows(2).map(ratio).collect::<Option<Vec<u64>>>()?;
    radices.reverse();
    Some(radices)
}

fn by_digits(output: &[u64], input: &[u64], region: &[AxisSet], radices: &[u64]) -> Vec<Region> {
    let mut boxes = vec![Vec::new()];
    let mut left = radices;
    for (extent, set) in output.iter().zip(region) {
        let (own, rest) = left.split_at(digits_of(*extent, left));
        left = rest;
        boxes = product(&boxes, &decompose(set, own));
    }
    boxes.into_iter().map(|digits| join(&digits, input, radices)).collect()
}

/// Number of leading digits whose radices multiply to `extent`.
fn digits_of(extent: u64, radices: &[u64]) -> usize {
    let mut product = 1;
    let mut count = 0;
    while product < extent {
        product *= radices[count];
        count += 1;
    }
    count
}

/// A box over digits as a box over the axes of `shape`.
fn join(digits: &[AxisSet], shape: &[u64], radices: &[u64]) -> Region {
    let mut at = 0;
    let axis = |extent: &u64| {
        let count = digits_of(*extent, &radices[at..]);
        let set = (at..at + count)
            .fold(AxisSet::interval(0..1), |outer, digit| joined(&outer, &digits[digit], radices[digit]));
        at += count;
        set
    };
    shape.iter().map(axis).collect()
}

/// `{ outer * radix + inner }`.
fn joined(outer: &AxisSet, inner: &AxisSet, radix: u64) -> AxisSet {
    let full = *inner == AxisSet::interval(0..radix);
    let mut spans = Vec::new();
    for high in &outer.0 {
        if full && high.step == 1 {
            spans.push(Span { start: high.start * radix, count: high.count * radix, step: 1 });
        } else if let ([low], true) = (inner.0.as_slice(), inner.count() == 1) {
            let step = if high.count == 1 { 1 } else { high.step * radix };
            spans.push(Span { start: high.start * radix + low.start, count: high.count, step });
        } else {
            for index in high.indices() {
                let shifted = inner.0.iter().map(|low| Span { start: index * radix + low.start, ..*low });
                spans.extend(shifted);
            }
        }
    }
    spans.sort_unstable();
    AxisSet(spans)
}

/// Disjoint boxes over digits that hold the numbers of `set`.
fn decompose(set: &AxisSet, radices: &[u64]) -> Vec<Region> {
    let (first, rest) = match radices {
        [] => return vec![Vec::new()],
        [_] => return vec![vec![set.clone()]],
        [first, rest @ ..] => (*first, rest),
    };
    let radix: u64 = rest.iter().product();
    if *set == AxisSet::interval(0..first * radix) {
        return vec![radices.iter().map(|radix| AxisSet::interval(0..*radix)).collect()];
    }
    let mut boxes = Vec::new();
    for (high, low) in rows(set, radix) {
        boxes.extend(decompose(&low, rest).into_iter().map(|mut digits| {
            digits.insert(0, high.clone());
            digits
        }));
    }
    boxes
}

/// The numbers `high * radix + low` of a set as products of highs and lows.
fn rows(set: &AxisSet, radix: u64) -> Vec<(AxisSet, AxisSet)> {
    if let Some(range) = set.as_interval() {
        let (head, tail) = (range.start.div_ceil(radix), range.end / radix);
        let part = |row: u64, low| (AxisSet::interval(row..row + 1), AxisSet::interval(low));
        if head > tail {
            return vec![part(tail, range.start % radix..range.end - tail * radix)];
        }
        let mut result = Vec::new();
        if range.start < head * radix {
            result.push(part(head - 1, range.start % radix..radix));
        }
        if head < tail {
            result.push((AxisSet::interval(head..tail), AxisSet::interval(0..radix)));
        }
        if tail * radix < range.end {
            result.push(part(tail, 0..range.end % radix));
        }
        return result;
    }
    let mut by_high: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for index in set.indices() {
        by_high.entry(index / radix).or_default().push(index % radix);
    }
    let mut by_low: BTreeMap<Vec<u64>, Vec<u64>> = BTreeMap::new();
    for (high, low) in by_high {
        by_low.entry(low).or_default().push(high);
    }
    (by_low.into_iter())
        .map(|(low, high)| (AxisSet::from_sorted(&high), AxisSet::from_sorted(&low)))
        .collect()
}

/// Positions of the region as contiguous runs, each cut into boxes of the input.
fn by_positions(output: &[u64], input: &[u64], region: &[AxisSet]) -> Vec<Region> {
    let mut positions = AxisSet::interval(0..1);
    for (extent, set) in output.iter().zip(region) {
        positions = joined(&positions, set, *extent);
    }
    let mut boxes = Vec::new();
    for run in contiguous(&positions) {
        boxes.extend(decompose(&run, input));
    }
    for axis in 0..input.len() {
        boxes = merged(boxes, axis);
    }
    boxes
}

/// The maximal intervals of a set.
fn contiguous(set: &AxisSet) -> Vec<AxisSet> {
    let mut ranges: Vec<std::ops::Range<u64>> = Vec::new();
    let mut push = |range: std::ops::Range<u64>| match ranges.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => ranges.push(range),
    };
    for span in &set.0 {
        if span.step == 1 {
            push(span.start..span.start + span.count);
        } else {
            span.indices().for_each(|index| push(index..index + 1));
        }
    }
    ranges.into_iter().map(AxisSet::interval).collect()
}

/// Unites disjoint boxes that differ along one axis only.
fn merged(boxes: Vec<Region>, axis: usize) -> Vec<Region> {
    let mut groups: BTreeMap<Region, Vec<u64>> = BTreeMap::new();
    for mut axes in boxes {
        let own = std::mem::take(&mut axes[axis]);
        groups.entry(axes).or_default().extend(own.indices());
    }
    let unite = |(mut axes, mut indices): (Region, Vec<u64>)| {
        indices.sort_unstable();
        axes[axis] = AxisSet::from_sorted(&indices);
        axes
    };
    groups.into_iter().map(unite).collect()
}

/// Every box of `left` with every one of `right` behind it.
fn product(left: &[Region], right: &[Region]) -> Vec<Region> {
    let pair = |a: &Region, b: &Region| a.iter().chain(b).cloned().collect();
    left.iter().flat_map(|a| right.iter().map(move |b| pair(a, b))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_an_image_in_a_vector_are_one_interval() {
        let boxes = reshape(&[1, 24], &[1, 2, 3, 4], &[AxisSet::interval(0..1), AxisSet::interval(4..12)]);
        let expected = [0..1, 0..1, 1..3, 0..4].map(AxisSet::interval).to_vec();
        assert_eq!(boxes, [expected]);
    }

    #[test]
    fn an_unaligned_interval_has_a_head_a_middle_and_a_tail() {
        let boxes = reshape(&[12], &[3, 4], &[AxisSet::interval(2..9)]);
        let expected = [[0..1, 2..4], [1..2, 0..4], [2..3, 0..1]];
        assert_eq!(boxes, expected.map(|ranges| ranges.map(AxisSet::interval).to_vec()));
    }

    #[test]
    fn shapes_without_common_digits_are_cut_at_positions() {
        // Row 1 of 2x3 holds positions 3, 4, 5: of 3x2 the last of row 1 and all of row 2.
        let region = [AxisSet::interval(1..2), AxisSet::interval(0..3)];
        let boxes = reshape(&[2, 3], &[3, 2], &region);
        let expected = [[2..3, 0..2], [1..2, 1..2]].map(|ranges| ranges.map(AxisSet::interval).to_vec());
        assert_eq!(boxes.len(), 2);
        assert!(expected.iter().all(|expected| boxes.contains(expected)), "{boxes:?}");
    }

    #[test]
    fn extents_of_one_belong_to_some_run() {
        assert_eq!(runs(&[1, 6, 1], &[2, 3]), [(0..1, 0..0), (1..2, 0..2), (2..3, 2..2)]);
        assert_eq!(runs(&[], &[1, 1]), [(0..0, 0..1), (0..0, 1..2)]);
    }
}
