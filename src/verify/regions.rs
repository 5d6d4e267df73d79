//! The elements that the CNs of a layer touch, from loop ranges and affine maps alone.
//!
//! Along one axis a CN touches `{sum(c_i * d_i) + offset : d_i in range i}` inside the tensor. The
//! indices are enumerated, not reasoned about, once per combination of the tiles that the axis
//! depends on; a region is the product over axes, once per combination of the tiles that the operand
//! depends on (its *key*), shared by all CNs that differ elsewhere. Work is linear in loop iterations
//! along single axes and in fragments per key.

use super::partition::Partition;
use super::{Case, Report, Violation, layouts};
use crate::cn::{DimGrid, TransferUnit};
use crate::ids::{FragmentId, LayerId, TensorId};
use crate::workload::{Axis, Layer, Origin};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The regions of one operand of a layer.
#[derive(Default)]
pub(super) struct OperandDemand {
    /// Dimensions it depends on, as digits of a CN's offset within the layer.
    digits: Vec<Digit>,
    /// Per key.
    regions: Vec<Region>,
}

/// `offset / stride % tiles` is a tile index, `weight` its weight in the key.
struct Digit {
    dim: usize,
    stride: u32,
    tiles: u32,
    weight: u32,
}

/// What one operand of a CN touches.
pub(super) struct Region {
    /// Fragments, ascending.
    pub fragments: Vec<FragmentId>,
    /// Their bits.
    pub bits: u64,
    /// Their elements.
    pub elements: u64,
}

/// One operand of one layer, whose regions are to be derived.
pub(super) struct Regions<'a> {
    /// The inputs of the check.
    pub case: &'a Case<'a>,
    /// Fragments of all elements.
    pub partition: &'a Partition,
    /// The layer.
    pub id: LayerId,
    /// The same.
    pub layer: &'a Layer,
    /// Its tiles.
    pub dims: &'a [DimGrid],
    /// Position of the operand.
    pub operand: usize,
}

impl OperandDemand {
    /// The region of the CN at an offset within the layer; none for an operand without data.
    pub fn region(&self, offset: u32) -> Option<&Region> {
        let key: u32 =
            self.digits.iter().map(|digit| offset / digit.stride % digit.tiles * digit.weight).sum();
        self.regions.get(key as usize)
    }
}

impl Regions<'_> {
    /// Derives the regions; reports fragments that are only partly touched, unless they are an input's
    /// share of a whole output of a CN ([`TransferUnit::WholeTensor`]).
    pub fn derive(&self, report: &mut Report) -> OperandDemand {
        let axes = &self.layer.operands[self.operand].axes;
        let Some(tensor) = self.layer.operands[self.operand].tensor else {
            return OperandDemand::default();
        };
        let mut digits = Vec::new();
        let mut keys = 1;
        for (dim, grid) in self.dims.iter().enumerate() {
            let used = axes.iter().any(|axis| axis.terms.iter().any(|term| term.dim == dim));
            if used && grid.tiles.len() > 1 {
                let tiles = grid.tiles.len() as u32;
                digits.push(Digit { dim, stride: grid.stride, tiles, weight: keys });
                keys *= tiles;
            }
        }
        let layout = matches!(self.case.workload.tensor(tensor).origin, Origin::Layout(_));
        if !layout && !self.partition.has_fragments(tensor) {
            report.add(Violation::NoFragments { layer: self.id, operand: self.operand, tensor });
            return OperandDemand::default();
        }
        let mut memo = Memo { lists: Vec::new(), known: vec![FxHashMap::default(); axes.len()] };
        let mut regions = Vec::with_capacity(keys as usize);
        let mut tiles = vec![0; self.dims.len()];
        for key in 0..keys {
            for digit in &digits {
                tiles[digit.dim] = (key / digit.weight % digit.tiles) as usize;
            }
            let touched = match layout {
                true => {
                    let region = self.indices(tensor, &tiles);
                    layouts::touched(self.case.workload, self.partition, tensor, &region)
                }
                false => self.direct(tensor, &tiles, &mut memo),
            };
            regions.push(self.region(touched, report));
        }
        OperandDemand { digits, regions }
    }

    /// Indices touched along every axis.
    fn indices(&self, tensor: TensorId, tiles: &[usize]) -> Vec<Vec<u64>> {
        let shape = &self.case.workload.tensor(tensor).shape;
        (self.layer.operands[self.operand].axes.iter().zip(shape))
            .map(|(axis, extent)| touched_indices(axis, &self.ranges(axis, tiles), *extent))
            .collect()
    }

    /// Fragments touched in a tensor that holds data, with the number of elements.
    fn direct(&self, tensor: TensorId, tiles: &[usize], memo: &mut Memo) -> Vec<(FragmentId, u64)> {
        let shape = &self.case.workload.tensor(tensor).shape;
        let axes = &self.layer.operands[self.operand].axes;
        let mut found = Vec::with_capacity(axes.len());
        for (position, (axis, extent)) in axes.iter().zip(shape).enumerate() {
            let key: Vec<usize> = axis.terms.iter().map(|term| tiles[term.dim]).collect();
            let list = *memo.known[position].entry(key).or_insert_with(|| {
                let indices = touched_indices(axis, &self.ranges(axis, tiles), *extent);
                memo.lists.push(self.partition.touched(tensor, position, &indices));
                memo.lists.len() - 1
            });
            found.push(list);
        }
        let axes: Vec<&[(u32, u64)]> = found.iter().map(|list| memo.lists[*list].as_slice()).collect();
        self.partition.product(tensor, &axes)
    }

    fn ranges(&self, axis: &Axis, tiles: &[usize]) -> Vec<Range<u64>> {
        axis.terms.iter().map(|term| self.dims[term.dim].tiles[tiles[term.dim]].clone()).collect()
    }

    fn region(&self, touched: Vec<(FragmentId, u64)>, report: &mut Report) -> Region {
        let whole = self.case.options.transfer == TransferUnit::WholeTensor && self.operand > 0;
        let mut region = Region { fragments: Vec::with_capacity(touched.len()), bits: 0, elements: 0 };
        for (fragment, touched) in touched {
            let elements = self.partition.elements(fragment);
            let made = || {
                let tensor = self.case.graph.tensor_of[fragment.index()];
                matches!(self.case.workload.tensor(tensor).origin, Origin::Layer(_))
            };
            if touched != elements && !(whole && made()) {
                let (layer, operand) = (self.id, self.operand);
                report.add(Violation::PartlyTouched { layer, operand, fragment, touched, elements });
            }
            region.fragments.push(fragment);
            region.bits += self.case.graph.bits[fragment.index()];
            region.elements += elements;
        }
        region
    }
}

/// Atoms touched along the axes of an operand.
struct Memo {
    lists: Vec<Vec<(u32, u64)>>,
    /// Per axis, by the tiles of its terms: position in `lists`.
    known: Vec<FxHashMap<Vec<usize>, usize>>,
}

/// The distinct indices in `[0, extent)`, ascending. `ranges` has one range per term.
fn touched_indices(axis: &Axis, ranges: &[Range<u64>], extent: u64) -> Vec<u64> {
    let mut sums = vec![axis.offset];
    for (term, range) in axis.terms.iter().zip(ranges) {
        sums = (sums.iter())
            .flat_map(|sum| range.clone().map(move |value| sum + (term.coefficient * value) as i64))
            .collect();
        sums.sort_unstable();
        sums.dedup();
    }
    let inside = sums.into_iter().filter_map(|sum| u64::try_from(sum).ok());
    inside.filter(|index| *index < extent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Term;

    #[test]
    fn a_dilated_window_touches_every_second_index_but_no_padding() {
        let terms = vec![Term { dim: 0, coefficient: 1 }, Term { dim: 1, coefficient: 2 }];
        let axis = Axis { terms, offset: -2, sliding: true };
        // o = 1, f = 0..3: -1, 1, 3; the extent cuts 3.
        assert_eq!(touched_indices(&axis, &[1..2, 0..3], 3), [1]);
        assert_eq!(touched_indices(&axis, &[1..2, 0..3], 4), [1, 3]);
    }
}
