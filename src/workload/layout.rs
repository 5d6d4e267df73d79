//! Index regions sent through layout operators to the tensors whose elements they are.
//!
//! A region is a product of one [`AxisSet`] per axis. Every operator maps it to regions of its
//! inputs: axes are exchanged (Transpose), shifted and clipped (Concat, Pad), strided (Slice), read
//! at 0 (Expand) or split and joined in a mixed radix (Reshape, [`super::radix`]). Always exactly the
//! elements that are read: never a bounding box.

use super::region::{AxisSet, Span};
use super::{Layout, LayoutMap, Origin, Workload, radix};
use crate::ids::TensorId;
use std::ops::Range;

/// A region of a tensor that is an input, a constant or made by a layer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Piece {
    /// The tensor.
    pub tensor: TensorId,
    /// Indices per axis.
    pub axes: Vec<AxisSet>,
}

/// The elements of inputs, constants and layers' outputs that a region of a tensor consists of.
/// Pieces do not overlap; padding is no data and belongs to none.
pub fn resolve(workload: &Workload, tensor: TensorId, region: &[AxisSet]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut repeats = false;
    let mut work = vec![Piece { tensor, axes: region.to_vec() }];
    while let Some(piece) = work.pop() {
        if piece.axes.iter().any(AxisSet::is_empty) {
            continue;
        }
        let Origin::Layout(index) = workload.tensor(piece.tensor).origin else {
            pieces.push(piece);
            continue;
        };
        let layout = &workload.layouts[index as usize];
        // Only these let two elements of their output be one element of an input.
        repeats |= matches!(layout.map, LayoutMap::Expand | LayoutMap::Concat { .. });
        let mut sources = through(workload, layout, &piece.axes);
        sources.reverse();
        work.append(&mut sources);
    }
    if repeats { disjoint(pieces) } else { pieces }
}

/// The regions of a layout operator's inputs that a region of its output consists of.
fn through(workload: &Workload, layout: &Layout, region: &[AxisSet]) -> Vec<Piece> {
    let shape = |id: TensorId| workload.tensor(id).shape.as_slice();
    let input = layout.inputs[0];
    let extents = shape(input);
    let axes = match &layout.map {
        LayoutMap::Reshape => {
            let regions = radix::reshape(shape(layout.output), extents, region);
            return regions.into_iter().map(|axes| Piece { tensor: input, axes }).collect();
        }
        LayoutMap::Concat { axis } => return concat(workload, layout, *axis, region),
        LayoutMap::Transpose { permutation } => {
            let mut axes = vec![AxisSet::default(); region.len()];
            for (output, from) in permutation.iter().enumerate() {
                axes[*from].clone_from(&region[output]);
            }
            axes
        }
        LayoutMap::Slice { starts, steps } => (region.iter().zip(starts).zip(steps))
            .map(|((set, start), step)| strided(set, *start, *step))
            .collect(),
        LayoutMap::Pad { before } => (region.iter().zip(before).zip(extents))
            .map(|((set, before), extent)| moved(set, -before, *extent))
            .collect(),
        LayoutMap::Expand => {
            let missing = region.len() - extents.len();
            (extents.iter().zip(&region[missing..]))
                .map(|(extent, set)| if *extent == 1 { AxisSet::interval(0..1) } else { set.clone() })
                .collect()
        }
    };
    vec![Piece { tensor: input, axes }]
}

fn concat(workload: &Workload, layout: &Layout, axis: usize, region: &[AxisSet]) -> Vec<Piece> {
    let mut start = 0i64;
    let mut pieces = Vec::new();
    for input in &layout.inputs {
        let extent = workload.tensor(*input).shape[axis];
        let mut axes = region.to_vec();
        axes[axis] = moved(&region[axis], -start, extent);
        pieces.push(Piece { tensor: *input, axes });
        start += extent as i64;
    }
    pieces
}

/// `{ index + by }`, clipped to `[0, extent)`.
fn moved(set: &AxisSet, by: i64, extent: u64) -> AxisSet {
    let low = by.min(0).unsigned_abs();
    let shift = by.max(0) as u64;
    let high = if by < 0 { extent.saturating_add(low) } else { extent.saturating_sub(shift) };
    let spans = set.0.iter().filter_map(|span| clipped(span, low..high));
    AxisSet(spans.map(|span| Span { start: span.start + shift - low, ..span }).collect())
}

fn clipped(span: &Span, range: Range<u64>) -> Option<Span> {
    let skipped = range.start.saturating_sub(span.start).div_ceil(span.step);
    let start = span.start + skipped * span.step;
    if skipped >= span.count || start >= range.end {
        return None;
    }
    let count = (span.count - skipped).min((range.end - 1 - start) / span.step + 1);
    Some(Span { start, count, step: if count == 1 { 1 } else { span.step } })
}

/// `{ start + step * index }`.
fn strided(set: &AxisSet, start: u64, step: i64) -> AxisSet {
    let at = |index: u64| start.wrapping_add_signed(step * index as i64);
    let mut spans: Vec<Span> = (set.0.iter())
        .map(|span| Span {
            start: at(if step < 0 { span.last() } else { span.start }),
            count: span.count,
            step: if span.count == 1 { 1 } else { span.step * step.unsigned_abs() },
        })
        .collect();
    spans.sort_unstable();
    AxisSet(spans)
}

/// Removes from each piece what an earlier one of the same tensor holds.
pub(crate) fn disjoint(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut result: Vec<Piece> = Vec::new();
    for piece in pieces {
        let mut rest = vec![piece];
        for earlier in &result {
            rest = rest.into_iter().flat_map(|piece| without(piece, earlier)).collect();
        }
        result.append(&mut rest);
    }
    result
}

/// `piece` minus `other`: per axis, what lies inside `other` before it, outside it there.
fn without(piece: Piece, other: &Piece) -> Vec<Piece> {
    let apart = piece.tensor != other.tensor
        || piece.axes.iter().zip(&other.axes).any(|(own, other)| split(own, other).0.is_empty());
    if apart {
        return vec![piece];
    }
    let mut rest = Vec::new();
    let mut inside = piece.axes.clone();
    for (axis, set) in other.axes.iter().enumerate() {
        let (common, outside) = split(&inside[axis], set);
        if !outside.is_empty() {
            let mut axes = inside.clone();
            axes[axis] = outside;
            rest.push(Piece { tensor: piece.tensor, axes });
        }
        inside[axis] = common;
    }
    rest
}

/// The indices of `set` inside and outside `other`.
fn split(set: &AxisSet, other: &AxisSet) -> (AxisSet, AxisSet) {
    if set == other {
        return (set.clone(), AxisSet::default());
    }
    if let (Some(own), Some(other)) = (set.as_interval(), other.as_interval())
        && (own.end <= other.start || other.end <= own.start)
    {
        return (AxisSet::default(), set.clone());
    }
    let (inside, outside): (Vec<u64>, Vec<u64>) =
        set.indices().into_iter().partition(|index| other.contains(*index));
    (AxisSet::from_sorted(&inside), AxisSet::from_sorted(&outside))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: u64, count: u64, step: u64) -> AxisSet {
        AxisSet(vec![Span { start, count, step }])
    }

    #[test]
    fn moving_clips_at_both_ends() {
        assert_eq!(moved(&span(0, 6, 1), -2, 3), span(0, 3, 1));
        assert_eq!(moved(&span(0, 6, 1), 2, 5), span(2, 3, 1));
        assert_eq!(moved(&span(1, 4, 3), -2, 9), span(2, 3, 3));
        assert_eq!(moved(&span(0, 2, 1), -2, 3), AxisSet::default());
    }

    #[test]
    fn a_negative_step_turns_a_span_round() {
        // input = 9 - 2 * output: 1, 2, 3 read 7, 5, 3.
        assert_eq!(strided(&span(1, 3, 1), 9, -2), span(3, 3, 2));
    }

    #[test]
    fn a_box_minus_a_box_has_what_is_left() {
        let piece = |rows, columns| Piece { tensor: TensorId(0), axes: vec![rows, columns] };
        let rest = without(piece(span(0, 3, 1), span(0, 3, 1)), &piece(span(1, 1, 1), span(1, 2, 1)));
        let expected =
            [piece(AxisSet::from_sorted(&[0, 2]), span(0, 3, 1)), piece(span(1, 1, 1), span(0, 1, 1))];
        assert_eq!(rest, expected);
    }
}
