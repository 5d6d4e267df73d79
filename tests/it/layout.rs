//! Index regions through chains of layout operators, against following every element by itself.

use millstream::ids::{LayerId, TensorId};
use millstream::workload::layout::resolve;
use millstream::workload::region::AxisSet;
use millstream::workload::{Layout, LayoutMap, Origin, Tensor, Workload};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Two inputs of these shapes and a chain of layout operators on the first.
fn workload(shapes: [&[u64]; 2]) -> Workload {
    let tensors = shapes.iter().enumerate().map(|(index, shape)| Tensor {
        name: format!("x{index}"),
        shape: shape.to_vec(),
        element_bits: 8,
        origin: if index == 0 { Origin::Layer(LayerId(0)) } else { Origin::Input },
    });
    Workload {
        name: String::new(),
        layers: Vec::new(),
        tensors: tensors.collect(),
        layouts: Vec::new(),
        outputs: Vec::new(),
        notes: Vec::new(),
    }
}

fn push(workload: &mut Workload, inputs: Vec<TensorId>, shape: Vec<u64>, map: LayoutMap) -> TensorId {
    let output = TensorId::from(workload.tensors.len());
    let origin = Origin::Layout(workload.layouts.len() as u32);
    workload.tensors.push(Tensor { name: output.to_string(), shape, element_bits: 8, origin });
    let layout = Layout { name: String::new(), operator: String::new(), inputs, output, map };
    workload.layouts.push(layout);
    output
}

/// The element of a root tensor that one element is; `None` for padding.
fn follow(workload: &Workload, tensor: TensorId, index: &[u64]) -> Option<(TensorId, Vec<u64>)> {
    let Origin::Layout(layout) = workload.tensor(tensor).origin else {
        return Some((tensor, index.to_vec()));
    };
    let layout = &workload.layouts[layout as usize];
    let mut input = layout.inputs[0];
    let extents = &workload.tensor(input).shape;
    let source: Vec<u64> = match &layout.map {
        LayoutMap::Reshape => {
            let shape = &workload.tensor(tensor).shape;
            let mut position = index.iter().zip(shape).fold(0, |sum, (index, extent)| sum * extent + index);
            let mut source = Vec::new();
            for extent in extents.iter().rev() {
                source.insert(0, position % extent);
                position /= extent;
            }
            source
        }
        LayoutMap::Transpose { permutation } => {
            let mut source = index.to_vec();
            permutation.iter().zip(index).for_each(|(from, index)| source[*from] = *index);
            source
        }
        LayoutMap::Slice { starts, steps } => (0..index.len())
            .map(|axis| (starts[axis] as i64 + steps[axis] * index[axis] as i64) as u64)
            .collect(),
        LayoutMap::Pad { before } => {
            let source: Vec<i64> = index.iter().zip(before).map(|(index, pad)| *index as i64 - pad).collect();
            if source.iter().zip(extents).any(|(index, extent)| *index < 0 || *index >= *extent as i64) {
                return None;
            }
            source.into_iter().map(|index| index as u64).collect()
        }
        LayoutMap::Expand => {
            let missing = index.len() - extents.len();
            let at = |(axis, extent): (usize, &u64)| if *extent == 1 { 0 } else { index[missing + axis] };
            extents.iter().enumerate().map(at).collect()
        }
        LayoutMap::Concat { axis } => {
            let mut source = index.to_vec();
            for candidate in &layout.inputs {
                input = *candidate;
                let extent = workload.tensor(input).shape[*axis];
                if source[*axis] < extent {
                    break;
                }
                source[*axis] -= extent;
            }
            source
        }
    };
    follow(workload, input, &source)
}

/// All index vectors of a region.
fn elements(region: &[AxisSet]) -> Vec<Vec<u64>> {
    region.iter().fold(vec![Vec::new()], |prefixes, set| {
        let extend = |prefix: &Vec<u64>| {
            let prefix = prefix.clone();
            set.indices().into_iter().map(move |index| [prefix.as_slice(), &[index]].concat())
        };
        prefixes.iter().flat_map(extend).collect()
    })
}

fn check(workload: &Workload, tensor: TensorId, region: &[AxisSet]) {
    let expected: BTreeSet<_> =
        elements(region).iter().filter_map(|index| follow(workload, tensor, index)).collect();
    let pieces = resolve(workload, tensor, region);
    let mut found = BTreeSet::new();
    for piece in &pieces {
        for index in elements(&piece.axes) {
            assert!(found.insert((piece.tensor, index)), "pieces overlap: {pieces:?}");
        }
        for set in &piece.axes {
            let starts: Vec<u64> = set.0.iter().map(|span| span.start).collect();
            assert!(starts.is_sorted(), "spans out of order: {set:?}");
            assert!(set.0.iter().all(|span| span.step == 1 || span.count > 1), "{set:?}");
        }
    }
    assert_eq!(found, expected, "region {region:?}");
}

/// A layout operator chosen by random numbers, on a tensor of this shape.
fn random_layout(workload: &mut Workload, input: TensorId, kind: u8, numbers: &[u64]) -> TensorId {
    let shape = workload.tensor(input).shape.clone();
    let at = |index: usize| numbers[index % numbers.len()];
    let rank = shape.len();
    match kind % 6 {
        0 => {
            let mut left: u64 = shape.iter().product();
            let mut new = Vec::new();
            for index in 0..3 {
                let divisors: Vec<u64> = (1..=left).filter(|divisor| left.is_multiple_of(*divisor)).collect();
                let divisor = divisors[at(index) as usize % divisors.len()];
                new.push(divisor);
                left /= divisor;
            }
            new.push(left);
            push(workload, vec![input], new, LayoutMap::Reshape)
        }
        1 => {
            let mut permutation: Vec<usize> = (0..rank).collect();
            permutation.sort_by_key(|axis| at(*axis));
            let new = permutation.iter().map(|axis| shape[*axis]).collect();
            push(workload, vec![input], new, LayoutMap::Transpose { permutation })
        }
        2 => {
            let axis = at(0) as usize % rank;
            let mut new = shape.clone();
            new[axis] *= 2;
            push(workload, vec![input, input], new, LayoutMap::Concat { axis })
        }
        3 => {
            let (mut starts, mut steps, mut new) = (Vec::new(), Vec::new(), Vec::new());
            for (axis, extent) in shape.iter().enumerate() {
                let start = at(axis) % extent;
                let step = 1 + at(axis + 1) % 3;
                let backward = at(axis + 2).is_multiple_of(2);
                let room = if backward { start } else { extent - 1 - start };
                starts.push(start);
                steps.push(if backward { -(step as i64) } else { step as i64 });
                new.push(room / step + 1);
            }
            push(workload, vec![input], new, LayoutMap::Slice { starts, steps })
        }
        4 => {
            let before: Vec<i64> = (0..rank).map(|axis| at(axis) as i64 % 3 - 1).collect();
            let new = (shape.iter().zip(&before))
                .map(|(extent, before)| (*extent as i64 + before + 1).max(1) as u64)
                .collect();
            push(workload, vec![input], new, LayoutMap::Pad { before })
        }
        _ => {
            let mut new = vec![1 + at(0) % 2];
            new.extend(shape.iter().map(|extent| if *extent == 1 { 1 + at(1) % 3 } else { *extent }));
            push(workload, vec![input], new, LayoutMap::Expand)
        }
    }
}

/// A set of indices below `extent`, chosen by random bits; every second one an interval.
fn random_set(extent: u64, bits: u64) -> AxisSet {
    let chosen: Vec<u64> = (0..extent).filter(|index| bits >> (1 + index % 60) & 1 == 1).collect();
    match (bits & 1, chosen.first(), chosen.last()) {
        (0, Some(first), Some(last)) => AxisSet::interval(*first..last + 1),
        _ => AxisSet::from_sorted(&chosen),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn chains_of_layouts_are_followed_exactly(
        shape in prop::collection::vec(1u64..7, 1..4),
        chain in prop::collection::vec((any::<u8>(), prop::collection::vec(0u64..100, 4)), 1..4),
        sets in prop::collection::vec(any::<u64>(), 8),
    ) {
        let mut workload = workload([&shape, &[1]]);
        let mut tensor = TensorId(0);
        for (kind, numbers) in &chain {
            tensor = random_layout(&mut workload, tensor, *kind, numbers);
        }
        let extents = workload.tensor(tensor).shape.clone();
        prop_assume!(extents.iter().product::<u64>() < 4000);
        let region: Vec<AxisSet> = (extents.iter().zip(sets.iter().cycle()))
            .map(|(extent, bits)| random_set(*extent, *bits))
            .collect();
        check(&workload, tensor, &region);
    }
}

#[test]
fn a_concatenation_of_two_tensors_gives_a_piece_of_each() {
    let mut workload = workload([&[2, 3], &[2, 4]]);
    let joined =
        push(&mut workload, vec![TensorId(0), TensorId(1)], vec![2, 7], LayoutMap::Concat { axis: 1 });
    let region = [AxisSet::interval(1..2), AxisSet::interval(2..5)];
    let pieces = resolve(&workload, joined, &region);
    let axes: Vec<_> = pieces.iter().map(|piece| (piece.tensor, piece.axes.clone())).collect();
    let row = AxisSet::interval(1..2);
    assert_eq!(
        axes,
        [
            (TensorId(0), vec![row.clone(), AxisSet::interval(2..3)]),
            (TensorId(1), vec![row, AxisSet::interval(0..2)]),
        ]
    );
    check(&workload, joined, &region);
}

#[test]
fn rows_of_pixels_shuffled_from_channels_are_strided_boxes() {
    // DepthToSpace with blocks of 4x4, as at the end of FSRCNN: row 5 of the image is block row 1,
    // line 1 inside it, hence channels 4..8.
    let mut workload = workload([&[1, 16, 6, 10], &[1]]);
    let split = push(&mut workload, vec![TensorId(0)], vec![1, 4, 4, 1, 6, 10], LayoutMap::Reshape);
    let permutation = vec![0, 3, 4, 1, 5, 2];
    let moved =
        push(&mut workload, vec![split], vec![1, 1, 6, 4, 10, 4], LayoutMap::Transpose { permutation });
    let image = push(&mut workload, vec![moved], vec![1, 1, 24, 40], LayoutMap::Reshape);
    let region = [0..1, 0..1, 5..6, 0..40].map(AxisSet::interval);
    let pieces = resolve(&workload, image, &region);
    assert_eq!(pieces.len(), 1);
    assert_eq!(pieces[0].axes, [0..1, 4..8, 1..2, 0..10].map(AxisSet::interval));
    check(&workload, image, &region);
}
