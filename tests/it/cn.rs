//! The CN graph against an oracle that visits every loop point and every element.

use crate::fixture::{Network, Window, draws, random_tiling, random_workload, whole};
use expect_test::expect;
use millstream::cn::refine::refine;
use millstream::cn::{CnGraph, TransferUnit};
use millstream::fusion::{Cut, Tiling};
use millstream::ids::{CnId, FragmentId, TensorId};
use millstream::workload::{Dim, Layer, Operand, Origin, Workload};
use proptest::prelude::*;
use proptest::test_runner::RngAlgorithm;
use proptest::test_runner::{TestRng, TestRunner};
use std::collections::{BTreeMap, BTreeSet};

/// Elements of a tensor, by their row-major number.
type Elements = BTreeSet<u64>;

/// What the oracle found of one graph.
struct Oracle {
    /// Elements of every fragment, read off the grids.
    fragments: Vec<Elements>,
    /// Elements that each CN touches through each operand.
    touched: BTreeMap<(CnId, usize), Elements>,
}

/// All combinations of indices below `sizes`, from `starts`.
fn points(ranges: &[std::ops::Range<u64>]) -> Vec<Vec<u64>> {
    ranges.iter().fold(vec![Vec::new()], |points, range| {
        let longer = |point: &Vec<u64>| {
            let point = point.clone();
            range.clone().map(move |index| point.iter().copied().chain([index]).collect())
        };
        points.iter().flat_map(longer).collect()
    })
}

/// The element that a loop point touches; none in the padding.
fn element(operand: &Operand, shape: &[u64], point: &[u64]) -> Option<u64> {
    operand.axes.iter().zip(shape).try_fold(0, |number, (axis, extent)| {
        let terms = axis.terms.iter().map(|term| (term.coefficient * point[term.dim]) as i64);
        let index = axis.offset + terms.sum::<i64>();
        (0..*extent as i64).contains(&index).then(|| number * extent + index as u64)
    })
}

impl Oracle {
    fn new(workload: &Workload, graph: &CnGraph) -> Self {
        let fragments = (0..graph.fragments()).map(|fragment| decode(workload, graph, fragment)).collect();
        let mut touched: BTreeMap<(CnId, usize), Elements> = BTreeMap::new();
        for cn in (0..graph.cns()).map(CnId::from) {
            let layer = workload.layer(graph.layer(cn));
            for point in points(&graph.ranges(cn)) {
                for (at, operand) in layer.operands.iter().enumerate() {
                    let Some(tensor) = operand.tensor else { continue };
                    let element = element(operand, &workload.tensor(tensor).shape, &point);
                    touched.entry((cn, at)).or_default().extend(element);
                }
            }
        }
        Self { fragments, touched }
    }

    fn union(&self, fragments: &[FragmentId]) -> Elements {
        fragments.iter().flat_map(|fragment| self.fragments[fragment.index()].iter().copied()).collect()
    }
}

/// Elements of a fragment: its id less the tensor's first is a mixed radix number of atoms.
fn decode(workload: &Workload, graph: &CnGraph, fragment: usize) -> Elements {
    let tensor = graph.tensor_of[fragment];
    let grid = &graph.tensors[tensor.index()];
    let mut rest = fragment as u32 - grid.first.0;
    let mut atoms = Vec::new();
    for axis in grid.axes.iter().rev() {
        let count = axis.atoms.len() as u32;
        atoms.push(axis.atoms[(rest % count) as usize].indices());
        rest /= count;
    }
    assert_eq!(rest, 0, "fragment {fragment} is beyond its tensor's grid");
    let shape = &workload.tensor(tensor).shape;
    (atoms.iter().rev().zip(shape)).fold(Elements::from([0]), |numbers, (indices, extent)| {
        numbers.iter().flat_map(|number| indices.iter().map(move |index| number * extent + index)).collect()
    })
}

/// The part over cores of a box, row-major over the cuts in the order of the dimensions.
fn part(layer: &Layer, inter: &[Cut], ranges: &[std::ops::Range<u64>]) -> usize {
    (0..layer.dims.len()).fold(0, |part, dim| match inter.iter().find(|cut| cut.dim == dim) {
        Some(cut) => {
            let tile = ranges[dim].start / cut.tile;
            assert!(ranges[dim].end <= (tile + 1) * cut.tile, "a CN crosses two parts");
            part * layer.dims[dim].size.div_ceil(cut.tile) as usize + tile as usize
        }
        None => part,
    })
}

fn check_loop_points(workload: &Workload, tiling: &Tiling, graph: &CnGraph) {
    for id in workload.layer_ids() {
        let layer = workload.layer(id);
        let mut seen = BTreeSet::new();
        for cn in graph.cns_of(id) {
            let ranges = graph.ranges(cn);
            assert_eq!(graph.layer(cn), id);
            assert_eq!(graph.part(cn), part(layer, &tiling.layers[id.index()].inter, &ranges), "{cn}");
            assert!((graph.part(cn) as u32) < graph.grid(cn).parts);
            let sizes = ranges.iter().map(|range| range.end - range.start);
            assert!(graph.class(cn).nest.dims.iter().map(|(_, size)| *size).eq(sizes), "{cn}");
            for point in points(&ranges) {
                assert!(seen.insert(point.clone()), "{cn} repeats the loop point {point:?}");
            }
        }
        assert_eq!(seen.len() as u64, layer.operations(), "{}", layer.name);
    }
}

fn check_regions(workload: &Workload, graph: &CnGraph, oracle: &Oracle) {
    for cn in (0..graph.cns()).map(CnId::from) {
        let layer = workload.layer(graph.layer(cn));
        let class = graph.class(cn);
        for (at, operand) in layer.operands.iter().enumerate() {
            let fragments: Vec<FragmentId> = match at {
                0 => graph.outputs(cn).collect(),
                _ => graph.inputs(cn).filter(|(of, _)| *of == at).map(|(_, fragment)| fragment).collect(),
            };
            let Some(tensor) = operand.tensor else {
                assert_eq!(fragments, []);
                continue;
            };
            let distinct: BTreeSet<_> = fragments.iter().collect();
            assert_eq!(distinct.len(), fragments.len(), "{cn} names a fragment of operand {at} twice");
            assert!(fragments.iter().all(|fragment| graph.tensor_of[fragment.index()] == tensor));
            let touched = &oracle.touched[&(cn, at)];
            assert_eq!(&oracle.union(&fragments), touched, "{cn} operand {at} of {layer:?}");
            let bits = touched.len() as u64 * workload.tensor(tensor).element_bits;
            assert_eq!(class.operand_bits[at], bits, "{cn} operand {at}");
        }
        let made = oracle.touched[&(cn, 0)].len() as u64;
        assert_eq!(class.partial_bits, made * layer.output().partial_bits, "{cn}");
    }
}

fn check_fragments(workload: &Workload, graph: &CnGraph, oracle: &Oracle) {
    let mut seen: BTreeMap<TensorId, Elements> = BTreeMap::new();
    for (fragment, elements) in oracle.fragments.iter().enumerate() {
        let tensor = graph.tensor_of[fragment];
        assert!(!elements.is_empty());
        assert_eq!(graph.bits[fragment], elements.len() as u64 * workload.tensor(tensor).element_bits);
        for element in elements {
            assert!(seen.entry(tensor).or_default().insert(*element), "fragment{fragment} overlaps another");
        }
    }
    for ((cn, at), touched) in &oracle.touched {
        let operand = &workload.layer(graph.layer(*cn)).operands[*at];
        let tensor = operand.tensor.unwrap();
        assert!(touched.is_empty() || touched.is_subset(&seen[&tensor]), "{cn} operand {at}");
    }
}

fn check_relations(workload: &Workload, graph: &CnGraph, oracle: &Oracle) {
    let mut readers: BTreeMap<FragmentId, Vec<(CnId, usize)>> = BTreeMap::new();
    let mut edges = BTreeSet::new();
    for cn in (0..graph.cns()).map(CnId::from) {
        for (operand, fragment) in graph.inputs(cn) {
            readers.entry(fragment).or_default().push((cn, operand));
        }
    }
    for fragment in (0..graph.fragments()).map(FragmentId::from) {
        let elements = &oracle.fragments[fragment.index()];
        let tensor = graph.tensor_of[fragment.index()];
        let makers: Vec<CnId> = match workload.tensor(tensor).origin {
            Origin::Layer(layer) => graph.cns_of(layer).collect(),
            _ => Vec::new(),
        };
        let makers: Vec<CnId> =
            makers.into_iter().filter(|cn| elements.is_subset(&oracle.touched[&(*cn, 0)])).collect();
        assert!(makers.len() <= 1, "{fragment} has the makers {makers:?}");
        assert_eq!(graph.producer(fragment), makers.first().copied(), "{fragment}");
        let mut found: Vec<(CnId, usize)> = graph.readers(fragment).collect();
        found.sort_unstable();
        assert_eq!(found, readers.remove(&fragment).unwrap_or_default(), "{fragment}");
        for (reader, operand) in found {
            edges.extend(makers.iter().map(|maker| (*maker, reader, operand)));
        }
    }
    assert_eq!(graph.edges, edges.len() as u64);
    let leaves = |fragment: &FragmentId| workload.outputs.contains(&graph.tensor_of[fragment.index()]);
    let outputs: Vec<FragmentId> = (0..graph.fragments()).map(FragmentId::from).filter(leaves).collect();
    assert_eq!(graph.output_fragments(workload), outputs);
}

fn check(workload: &Workload, tiling: &Tiling) {
    let graph = refine(workload, tiling, TransferUnit::Fragment).unwrap();
    let oracle = Oracle::new(workload, &graph);
    check_loop_points(workload, tiling, &graph);
    check_regions(workload, &graph, &oracle);
    check_fragments(workload, &graph, &oracle);
    check_relations(workload, &graph, &oracle);
}

#[test]
fn random_graphs_are_what_their_elements_say() {
    let config = ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let run = TestRunner::new_with_rng(config, rng).run(&draws(), |mut draws| {
        let workload = random_workload(&mut draws);
        let tiling = random_tiling(&mut draws, &workload);
        check(&workload, &tiling);
        Ok(())
    });
    run.unwrap_or_else(|error| panic!("{error}"));
}

/// Two 3x3 convolutions with padding, 3 channels to 4 to 5, on rows of 6 elements.
fn chain(rows: u64) -> Workload {
    let mut network = Network::new();
    let input = network.input([3, rows, 6]);
    let first = network.conv("first", input, Window::same(3, 1), 1, 4).unwrap();
    let second = network.conv("second", first, Window::same(3, 1), 1, 5).unwrap();
    network.finish(&[second])
}

fn in_rows(workload: &Workload, rows: [u64; 2]) -> Tiling {
    let mut tiling = whole(workload);
    for (layer, tile) in rows.into_iter().enumerate() {
        let dim = workload.layers[layer].position(&Dim::new("OY")).unwrap();
        tiling.layers[layer].intra = vec![Cut { dim, tile }];
    }
    tiling
}

#[test]
fn a_chain_in_rows_with_a_remainder() {
    let workload = chain(7);
    let tiling = in_rows(&workload, [2, 3]);
    check(&workload, &tiling);
    let graph = refine(&workload, &tiling, TransferUnit::Fragment).unwrap();
    expect![[r#"
        7 CNs, 6 classes, 14 fragments, 7 edges

        layer  name                             CNs  parts  classes  fragments  cuts
        0      first                              4      1        3          5  OY 7 = 4 x 2 (last 1)
        1      second                             3      1        3          3  OY 7 = 3 x 3 (last 1)
    "#]]
    .assert_eq(&graph.table(&workload));
}

#[test]
fn a_chain_in_rows_over_two_cores() {
    let workload = chain(5);
    let mut tiling = in_rows(&workload, [1, 2]);
    for (layer, cuts) in workload.layers.iter().zip(&mut tiling.layers) {
        cuts.inter = vec![Cut { dim: layer.position(&Dim::new("K")).unwrap(), tile: 3 }];
    }
    check(&workload, &tiling);
    let graph = refine(&workload, &tiling, TransferUnit::Fragment).unwrap();
    expect![[r#"
        16 CNs, 10 classes, 25 fragments, 36 edges

        layer  name                             CNs  parts  classes  fragments  cuts
        0      first                             10      2        4         10  K 4 = 2 x 3 (last 1), OY 5 = 5 x 1
        1      second                             6      2        6          6  K 5 = 2 x 3 (last 2), OY 5 = 3 x 2 (last 1)
    "#]].assert_eq(&graph.table(&workload));
}

/// The first layer in pairs of rows, the second row by row. Row 0 of the second reads rows 0 and 1 of the
/// first, one CN; row 1 reads rows 0 to 2, two CNs. As fragments the first layer's output is 7 rows, since
/// every row is the end of some window; whole, it is 4 outputs of CNs, and row 1 needs two of them.
#[test]
fn whole_outputs_move_for_a_halo_row() {
    let workload = chain(7);
    let tiling = in_rows(&workload, [2, 1]);
    let fragments = |unit| {
        let graph = refine(&workload, &tiling, unit).unwrap();
        let output = workload.layers[0].output().tensor.unwrap();
        let first = |fragment: FragmentId| graph.tensor_of[fragment.index()] == output;
        let made = (0..graph.fragments()).map(FragmentId::from).filter(|fragment| first(*fragment)).count();
        let row_1 = CnId::from(5);
        let read: u64 = (graph.inputs(row_1))
            .filter(|(_, fragment)| first(*fragment))
            .map(|(_, fragment)| graph.bits(fragment) / (4 * 6 * 8))
            .sum();
        (made, read, graph.edges)
    };
    // Fragments, rows read by row 1, edges.
    assert_eq!(fragments(TransferUnit::Fragment), (7, 3, 13));
    assert_eq!(fragments(TransferUnit::WholeTensor), (4, 4, 13));
}
