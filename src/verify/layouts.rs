//! Elements behind layout operators, one by one.
//!
//! The element `index` of a tensor made by a layout operator is followed to the tensor that holds the
//! data by the operator's definition on single indices: no boxes, no mixed radix. Regions above a cap
//! of elements go through [`layout::resolve`] instead.

use super::partition::Partition;
use crate::ids::{FragmentId, TensorId};
use crate::workload::region::AxisSet;
use crate::workload::{Layout, LayoutMap, Origin, Workload, layout};
use std::collections::BTreeMap;

/// Elements of a region that are followed one by one.
const CAP: u64 = 1 << 20;

/// Fragments touched by the product of index lists of a tensor, ascending, with the number of
/// elements touched.
pub(super) fn touched(
    workload: &Workload,
    partition: &Partition,
    tensor: TensorId,
    region: &[Vec<u64>],
) -> Vec<(FragmentId, u64)> {
    let elements = region.iter().fold(1u64, |count, indices| count.saturating_mul(indices.len() as u64));
    match elements <= CAP {
        true => one_by_one(workload, partition, tensor, region),
        false => by_boxes(workload, partition, tensor, region),
    }
}

fn one_by_one(
    workload: &Workload,
    partition: &Partition,
    tensor: TensorId,
    region: &[Vec<u64>],
) -> Vec<(FragmentId, u64)> {
    let mut elements: Vec<(TensorId, u64, FragmentId)> = Vec::new();
    let mut at = vec![0; region.len()];
    loop {
        let index = at.iter().zip(region).map(|(at, indices)| indices[*at]).collect();
        if let Some((tensor, index)) = source(workload, tensor, index) {
            let number = row_major(&index, &workload.tensor(tensor).shape);
            if partition.has_fragments(tensor) {
                elements.push((tensor, number, partition.fragment(tensor, &index)));
            }
        }
        // The next index of the product, the last axis fastest.
        let Some(axis) = (0..at.len()).rev().find(|axis| at[*axis] + 1 < region[*axis].len()) else {
            break;
        };
        at[axis] += 1;
        at[axis + 1..].fill(0);
    }
    elements.sort_unstable();
    elements.dedup();
    let mut counts: BTreeMap<FragmentId, u64> = BTreeMap::new();
    for (.., fragment) in elements {
        *counts.entry(fragment).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

fn by_boxes(
    workload: &Workload,
    partition: &Partition,
    tensor: TensorId,
    region: &[Vec<u64>],
) -> Vec<(FragmentId, u64)> {
    let sets: Vec<AxisSet> = region.iter().map(|indices| AxisSet::from_sorted(indices)).collect();
    let mut counts: BTreeMap<FragmentId, u64> = BTreeMap::new();
    for piece in layout::resolve(workload, tensor, &sets) {
        if !partition.has_fragments(piece.tensor) {
            continue;
        }
        let axes: Vec<Vec<(u32, u64)>> = (piece.axes.iter().enumerate())
            .map(|(axis, set)| partition.touched(piece.tensor, axis, &set.indices()))
            .collect();
        let axes: Vec<&[(u32, u64)]> = axes.iter().map(Vec::as_slice).collect();
        for (fragment, elements) in partition.product(piece.tensor, &axes) {
            *counts.entry(fragment).or_insert(0) += elements;
        }
    }
    counts.into_iter().collect()
}

/// Follows one element to the tensor that holds it; none for padding.
fn source(workload: &Workload, mut tensor: TensorId, mut index: Vec<u64>) -> Option<(TensorId, Vec<u64>)> {
    while let Origin::Layout(operator) = workload.tensor(tensor).origin {
        let operator = workload.layouts.get(operator as usize)?;
        (tensor, index) = through(workload, operator, &index)?;
    }
    Some((tensor, index))
}

fn through(workload: &Workload, operator: &Layout, index: &[u64]) -> Option<(TensorId, Vec<u64>)> {
    let first = *operator.inputs.first()?;
    let shape = &workload.tensor(first).shape;
    let index = match &operator.map {
        LayoutMap::Reshape => {
            let mut rest = row_major(index, &workload.tensor(operator.output).shape);
            let mut input = vec![0; shape.len()];
            for (digit, extent) in input.iter_mut().zip(shape).rev() {
                *digit = rest % extent;
                rest /= extent;
            }
            input
        }
        LayoutMap::Transpose { permutation } => {
            let mut input = vec![0; index.len()];
            for (axis, index) in permutation.iter().zip(index) {
                input[*axis] = *index;
            }
            input
        }
        LayoutMap::Concat { axis } => {
            let mut input = index.to_vec();
            for tensor in &operator.inputs {
                let extent = workload.tensor(*tensor).shape[*axis];
                if input[*axis] < extent {
                    return Some((*tensor, input));
                }
                input[*axis] -= extent;
            }
            return None;
        }
        LayoutMap::Slice { starts, steps } => (index.iter().zip(starts.iter().zip(steps)))
            .map(|(index, (start, step))| start.checked_add_signed(step * *index as i64))
            .collect::<Option<_>>()?,
        LayoutMap::Pad { before } => (index.iter().zip(before).zip(shape))
            .map(|((index, before), extent)| index.checked_add_signed(-before).filter(|index| index < extent))
            .collect::<Option<_>>()?,
        LayoutMap::Expand => {
            let added = index.len() - shape.len();
            (index[added..].iter().zip(shape))
                .map(|(index, extent)| if *extent == 1 { 0 } else { *index })
                .collect()
        }
    };
    Some((first, index))
}

fn row_major(index: &[u64], shape: &[u64]) -> u64 {
    index.iter().zip(shape).fold(0, |number, (index, extent)| number * extent + index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Tensor;

    /// The operator between input tensors of these shapes and an output tensor, the last one.
    fn network(inputs: &[&[u64]], output: &[u64], map: LayoutMap) -> Workload {
        let tensor = |shape: &[u64], origin| Tensor {
            name: "t".to_owned(),
            shape: shape.to_vec(),
            element_bits: 8,
            origin,
        };
        let mut tensors: Vec<Tensor> = inputs.iter().map(|shape| tensor(shape, Origin::Input)).collect();
        tensors.push(tensor(output, Origin::Layout(0)));
        let operator = Layout {
            name: "l".to_owned(),
            operator: "L".to_owned(),
            inputs: (0..inputs.len()).map(TensorId::from).collect(),
            output: TensorId::from(inputs.len()),
            map,
        };
        Workload {
            name: "n".to_owned(),
            layers: vec![],
            tensors,
            layouts: vec![operator],
            outputs: vec![TensorId::from(inputs.len())],
            notes: vec![],
        }
    }

    fn follow(workload: &Workload, index: &[u64]) -> Option<(u32, Vec<u64>)> {
        let (tensor, index) = source(workload, workload.outputs[0], index.to_vec())?;
        Some((tensor.0, index))
    }

    #[test]
    fn a_reshape_keeps_the_row_major_number() {
        // Element 7 of a 2 x 6 tensor in 3 x 4.
        let workload = network(&[&[3, 4]], &[2, 6], LayoutMap::Reshape);
        assert_eq!(follow(&workload, &[1, 1]), Some((0, vec![1, 3])));
    }

    #[test]
    fn a_transpose_moves_axes() {
        let map = LayoutMap::Transpose { permutation: vec![1, 2, 0] };
        let workload = network(&[&[2, 3, 4]], &[3, 4, 2], map);
        assert_eq!(follow(&workload, &[2, 3, 1]), Some((0, vec![1, 2, 3])));
    }

    #[test]
    fn a_concat_continues_in_the_next_input() {
        let workload = network(&[&[2, 2], &[2, 3]], &[2, 5], LayoutMap::Concat { axis: 1 });
        assert_eq!(follow(&workload, &[1, 1]), Some((0, vec![1, 1])));
        assert_eq!(follow(&workload, &[1, 2]), Some((1, vec![1, 0])));
        assert_eq!(follow(&workload, &[0, 4]), Some((1, vec![0, 2])));
    }

    #[test]
    fn a_slice_may_run_backwards() {
        let map = LayoutMap::Slice { starts: vec![8], steps: vec![-2] };
        assert_eq!(follow(&network(&[&[9]], &[5], map), &[3]), Some((0, vec![2])));
    }

    #[test]
    fn padding_is_no_data() {
        let workload = network(&[&[3]], &[6], LayoutMap::Pad { before: vec![2] });
        let found: Vec<Option<u64>> =
            (0..6).map(|index| follow(&workload, &[index]).map(|(_, index)| index[0])).collect();
        assert_eq!(found, [None, None, Some(0), Some(1), Some(2), None]);
    }

    #[test]
    fn an_expansion_reads_extent_one_at_zero() {
        let workload = network(&[&[1, 4]], &[2, 3, 4], LayoutMap::Expand);
        assert_eq!(follow(&workload, &[1, 2, 3]), Some((0, vec![0, 3])));
    }

    #[test]
    fn boxes_and_single_elements_agree() {
        type Case = (&'static [&'static [u64]], &'static [u64], LayoutMap);
        let maps: [Case; 7] = [
            (&[&[3, 4]], &[2, 6], LayoutMap::Reshape),
            (&[&[6, 10]], &[4, 15], LayoutMap::Reshape),
            (&[&[2, 3, 4]], &[3, 4, 2], LayoutMap::Transpose { permutation: vec![1, 2, 0] }),
            (&[&[2, 2], &[2, 3]], &[2, 5], LayoutMap::Concat { axis: 1 }),
            (&[&[9]], &[5], LayoutMap::Slice { starts: vec![8], steps: vec![-2] }),
            (&[&[3]], &[6], LayoutMap::Pad { before: vec![2] }),
            (&[&[1, 4]], &[2, 3, 4], LayoutMap::Expand),
        ];
        for (inputs, output, map) in maps {
            let workload = network(inputs, output, map.clone());
            let partition = Partition::by_element(&workload);
            let tensor = workload.outputs[0];
            // All regions from an index to the end of each axis, and every second index.
            for start in 0..*output.iter().min().unwrap() {
                for step in [1, 2] {
                    let region: Vec<Vec<u64>> =
                        output.iter().map(|extent| (start..*extent).step_by(step).collect()).collect();
                    let single = one_by_one(&workload, &partition, tensor, &region);
                    let boxes = by_boxes(&workload, &partition, tensor, &region);
                    assert_eq!(single, boxes, "{map:?} of {region:?}");
                }
            }
        }
    }
}
