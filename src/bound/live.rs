//! What of each layer the outputs need.
//!
//! Latency ends with the last output's write (Rule (end)); what nobody reads (rows that a stride leaves
//! out, an input window that is all padding) may be done later, so a bound on latency must not count it.
//! The live part of a layer is found backwards from the outputs. It is exact where readers need all of
//! a tensor or disjoint regions of it; beyond a partly read tensor it goes on with the largest box of
//! it, which can only make the bound smaller.

use crate::workload::layout::{Piece, disjoint, resolve};
use crate::workload::region::AxisSet;
use crate::workload::{Layer, Workload};
use std::ops::Range;

/// The part of a layer that outputs need.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Live {
    /// Share of its operations.
    pub share: f64,
    /// Loop ranges that are needed; all of them if `share` is 1, none if nothing is known.
    pub ranges: Option<Vec<Range<u64>>>,
}

/// All loop ranges of a layer.
pub(super) fn all(layer: &Layer) -> Vec<Range<u64>> {
    layer.dims.iter().map(|dim| 0..dim.size).collect()
}

/// The elements of inputs, constants and layers' outputs that the layer reads within `ranges`.
pub(super) fn reads(workload: &Workload, layer: &Layer, ranges: &[Range<u64>]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for operand in layer.inputs() {
        let Some(tensor) = operand.tensor else { continue };
        let shape = &workload.tensor(tensor).shape;
        let region: Vec<AxisSet> =
            operand.axes.iter().zip(shape).map(|(axis, extent)| axis.set(ranges, *extent)).collect();
        pieces.extend(resolve(workload, tensor, &region));
    }
    pieces
}

/// All that the layer reads, each element once.
pub(super) fn disjoint_reads(workload: &Workload, layer: &Layer) -> Vec<Piece> {
    disjoint(reads(workload, layer, &all(layer)))
}

/// Number of elements.
pub(super) fn elements(piece: &Piece) -> u64 {
    piece.axes.iter().map(AxisSet::count).product()
}

/// The live part of each layer.
pub(super) fn live(workload: &Workload) -> Vec<Live> {
    let mut needed: Vec<Vec<Piece>> = vec![Vec::new(); workload.tensors.len()];
    let note = |needed: &mut Vec<Vec<Piece>>, pieces: Vec<Piece>| {
        for piece in pieces {
            let whole = elements(&piece) == workload.tensor(piece.tensor).elements();
            let known = &mut needed[piece.tensor.index()];
            if whole {
                known.clear();
            }
            known.push(piece);
        }
    };
    for output in &workload.outputs {
        let region: Vec<AxisSet> =
            workload.tensor(*output).shape.iter().map(|extent| AxisSet::interval(0..*extent)).collect();
        note(&mut needed, resolve(workload, *output, &region));
    }
    let mut result = Vec::with_capacity(workload.layers.len());
    for layer in workload.layers.iter().rev() {
        let tensor = layer.output().tensor.map(|tensor| (tensor, workload.tensor(tensor).elements()));
        let part = tensor.map_or(Live { share: 0.0, ranges: None }, |(tensor, whole)| {
            let pieces = disjoint(std::mem::take(&mut needed[tensor.index()]));
            let count: u64 = pieces.iter().map(elements).sum();
            let ranges = match count == whole {
                true => Some(all(layer)),
                false => {
                    pieces.iter().max_by_key(|piece| elements(piece)).and_then(|piece| inside(layer, piece))
                }
            };
            Live { share: count as f64 / whole as f64, ranges }
        });
        if let Some(ranges) = &part.ranges {
            note(&mut needed, reads(workload, layer, ranges));
        }
        result.push(part);
    }
    result.reverse();
    result
}

/// Loop ranges that make nothing outside a piece of the layer's output.
fn inside(layer: &Layer, piece: &Piece) -> Option<Vec<Range<u64>>> {
    let mut ranges = all(layer);
    for (axis, set) in layer.output().axes.iter().zip(&piece.axes) {
        let sizes: u64 = axis.terms.iter().map(|term| layer.dims[term.dim].size).product();
        let span = set.0.first()?;
        match axis.terms[..] {
            _ if set.count() == sizes => {}
            [term] if term.coefficient == 1 && axis.offset == 0 => {
                let count = if span.step == 1 { span.count } else { 1 };
                ranges[term.dim] = span.start..span.start + count;
            }
            _ => return None,
        }
    }
    Some(ranges)
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::yaml::parse;

    /// Three convolutions along y; `last` replaces the relation and sizes of the third.
    fn shares(relation: &str, rows: u64, kernel: u64) -> Vec<f64> {
        let layer = |id: usize, source: usize, relation: &str, rows: u64, kernel: u64| {
            format!(
                "
- id: {id}
  operator_type: Conv
  equation: O[b][k][oy]+=W[k][c][fy]*I[b][c][iy]
  dimension_relations: [{relation}]
  loop_dims: [B, K, C, OY, FY]
  loop_sizes: [1, 2, 2, {rows}, {kernel}]
  pr_loop_dims: [IY]
  pr_loop_sizes: [16]
  operand_precision: {{O: 16, O_final: 8, W: 8, I: 8}}
  operand_source: {{W: {id}, I: {source}}}
"
            )
        };
        let pointwise = "iy=1*oy+1*fy";
        let text = layer(0, 0, pointwise, 16, 1)
            + &layer(1, 0, pointwise, 16, 1)
            + &layer(2, 1, relation, rows, kernel);
        let workload = parse("net.yaml", &text).unwrap_or_else(|errors| panic!("{errors}"));
        live(&workload).iter().map(|live| live.share).collect()
    }

    #[test]
    fn what_is_read_whole_is_live() {
        assert_eq!(shares("iy=1*oy+1*fy", 14, 3), [1.0, 1.0, 1.0]);
        assert_eq!(shares("iy=2*oy+1*fy", 8, 2), [1.0, 1.0, 1.0]);
    }

    /// Rows 0 to 14 of 16 are read, and all of them are made from their like.
    #[test]
    fn a_last_row_that_no_window_reaches_is_not() {
        assert_eq!(shares("iy=2*oy+1*fy", 7, 3), [15.0 / 16.0, 15.0 / 16.0, 1.0]);
    }

    /// Every second row is read; beyond, one of them is followed.
    #[test]
    fn rows_between_strides_are_not() {
        assert_eq!(shares("iy=2*oy+1*fy", 8, 1), [1.0 / 16.0, 0.5, 1.0]);
    }
}
