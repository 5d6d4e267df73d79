//! Inputs that contradict one another: tiles, fragments, classes, placement.

use super::fixture::*;
use super::{found, only};
use millstream::cn::TensorGrid;
use millstream::ids::*;
use millstream::units::Bits;
use millstream::verify::Violation;
use millstream::workload::region::AxisSet;
use millstream::workload::{Origin, Tensor};

/// Two layers with other atoms of the input: intervals, and the bits of its three fragments.
fn atoms(atoms: [std::ops::Range<u64>; 3], bits: [u64; 3]) -> Fixture {
    let mut fixture = two_layers();
    fixture.graph.tensors[0].axes[0].atoms = atoms.map(AxisSet::interval).to_vec();
    fixture.graph.bits[..3].copy_from_slice(&bits);
    fixture
}

#[test]
fn a_candidate_with_another_core() {
    let mut fixture = two_layers();
    fixture.candidate.cores[1] = vec![CoreId(0)];
    found!(fixture, Violation::WrongCore { cn: CnId(2), part: 0, core: CoreId(1), expected: CoreId(0), .. });
}

#[test]
fn a_node_of_another_class() {
    let mut fixture = two_layers();
    fixture.placement.node_of[3] = fixture.placement.node_of[2];
    only!(fixture, Violation::WrongNode { cn: CnId(3) });
}

#[test]
fn an_operand_in_a_pool_of_another_core() {
    let mut fixture = two_layers();
    fixture.placement.nodes[0].operands[1].pool = Some(PoolId(1));
    only!(fixture, Violation::WrongPool { layer: LayerId(0), operand: 1, core: CoreId(0), pool: PoolId(1) });
}

#[test]
fn a_class_of_another_size() {
    let mut fixture = two_layers();
    fixture.graph.classes[0].partial_bits += 1;
    found!(fixture, Violation::WrongClass { cn: CnId(0), what: "number of partial-sum bits", .. });
    let mut fixture = two_layers();
    fixture.graph.classes[0].operand_bits[1] -= 8;
    found!(fixture, Violation::WrongClass { cn: CnId(1), what: "number of operand bits", .. });
    let mut fixture = two_layers();
    fixture.graph.classes[0].nest.dims[0].1 = 3;
    found!(fixture, Violation::WrongClass { cn: CnId(0), what: "number of iterations", .. });
}

#[test]
fn arrays_of_different_lengths() {
    let mut fixture = two_layers();
    fixture.costs.nodes.pop();
    only!(fixture, Violation::Shape { what: "costs", found: 2, expected: 3 });
}

#[test]
fn tiles_with_a_gap_and_an_overlap() {
    for start in [3, 5] {
        let mut fixture = two_layers();
        fixture.graph.layers[0].dims[0].tiles[1].start = start;
        only!(fixture, Violation::Tiles { layer: LayerId(0), dim: 0 });
    }
}

#[test]
fn cn_numbers_that_do_not_enumerate_the_tiles() {
    let mut fixture = two_layers();
    fixture.graph.layers[1].dims[0].stride = 2;
    only!(fixture, Violation::Numbering { layer: LayerId(1) });
}

#[test]
fn a_core_without_dram() {
    let mut fixture = two_layers();
    fixture.accelerator.links[1].cores = vec![CoreId(0), CoreId(1)];
    found!(fixture, Violation::NoDram { core: CoreId(0) });
}

#[test]
fn fragments_that_overlap_or_leave_a_hole() {
    let fixture = atoms([0..4, 3..5, 5..9], [32, 8, 32]);
    found!(fixture, Violation::AtomOverlap { tensor: TensorId(0), axis: 0, index: 3 });
    let fixture = atoms([0..4, 4..5, 6..9], [32, 8, 32]);
    found!(fixture, Violation::AtomHole { tensor: TensorId(0), axis: 0, index: 5 });
    let fixture = atoms([0..4, 4..5, 5..10], [32, 8, 32]);
    found!(fixture, Violation::AtomOverlap { tensor: TensorId(0), axis: 0, index: 9 });
}

#[test]
fn a_fragment_of_which_a_cn_needs_only_a_part() {
    let fixture = atoms([0..3, 3..5, 5..9], [24, 16, 32]);
    // cn0 reads 0..5, a union of fragments; cn1 reads 4..9.
    found!(
        fixture,
        Violation::PartlyTouched {
            layer: LayerId(0),
            operand: 1,
            fragment: FragmentId(1),
            touched: 1,
            elements: 2
        }
    );
}

#[test]
fn a_fragment_of_another_size_or_number() {
    let fixture = atoms([0..4, 4..5, 5..9], [32, 9, 32]);
    only!(fixture, Violation::FragmentBits { fragment: FragmentId(1), claimed: Bits(9), derived: Bits(8) });
    let mut fixture = two_layers();
    fixture.graph.tensors[2].first = FragmentId(5);
    only!(fixture, Violation::FragmentNumbering { tensor: TensorId(2) });
}

#[test]
fn a_tensor_made_twice_and_one_made_by_nobody() {
    let mut fixture = two_layers();
    fixture.workload.layers[1].operands[0].tensor = Some(TensorId(2));
    found!(fixture, Violation::TwoMakers { fragment: FragmentId(4), first: CnId(0), second: CnId(2) });
    found!(fixture, Violation::NoMaker { fragment: FragmentId(7), tensor: TensorId(3) });
}

#[test]
fn an_input_of_the_network_that_a_cn_makes() {
    let mut fixture = two_layers();
    fixture.workload.tensors[2].origin = Origin::Input;
    found!(fixture, Violation::MadeInput { fragment: FragmentId(4), tensor: TensorId(2), cn: CnId(0) });
}

#[test]
fn a_tensor_without_fragments() {
    let mut fixture = two_layers();
    let origin = Origin::Input;
    let tensor = Tensor { name: "c".to_owned(), shape: vec![8], element_bits: 8, origin };
    fixture.workload.tensors.push(tensor);
    let first = FragmentId::from(fixture.graph.bits.len());
    fixture.graph.tensors.push(TensorGrid { first, ..TensorGrid::default() });
    fixture.workload.layers[1].operands[1].tensor = Some(TensorId(4));
    found!(fixture, Violation::NoFragments { layer: LayerId(1), operand: 1, tensor: TensorId(4) });
}
