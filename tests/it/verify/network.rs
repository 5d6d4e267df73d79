//! The layers of the fixture, their tilings and costs.

use millstream::accelerator::Direction;
use millstream::cn::CnClass;
use millstream::cost::{Cost, StreamedBits, WordAccess};
use millstream::fusion::{Cut, LayerTiling, Stack, Tiling};
use millstream::ids::*;
use millstream::ledger::NodeCost;
use millstream::units::{Cycles, FractionalCycles, Picojoules};
use millstream::workload::{
    Axis, Dim, Layer, LoopDim, MemoryOperand, Operand, Origin, Tensor, Term, Workload,
};
use std::sync::Arc;

/// Both layers, or the first alone.
pub fn workload(layers: usize) -> Workload {
    let names = ["i", "w", "a", "b"];
    let origins = [Origin::Input, Origin::Constant, Origin::Layer(LayerId(0)), Origin::Layer(LayerId(1))];
    let tensors = (names.iter().zip([9, 2, 8, 7]).zip(origins).take(2 + layers))
        .map(|((name, extent), origin)| Tensor {
            name: (*name).to_owned(),
            shape: vec![extent],
            element_bits: 8,
            origin,
        })
        .collect();
    let all = [layer("first", 8, [2, 0, 1], 16), layer("second", 7, [3, 2, 1], 8)];
    Workload {
        name: "two layers".to_owned(),
        layers: all.into_iter().take(layers).collect(),
        tensors,
        layouts: vec![],
        outputs: vec![TensorId::from(1 + layers)],
        notes: vec![],
    }
}

/// `o[x] = sum_f i[x+f] w[f]`; tensors are output, input, weight.
pub fn layer(name: &str, size: u64, tensors: [u32; 3], partial_bits: u64) -> Layer {
    let term = |dim| Term { dim, coefficient: 1 };
    let axis = |terms: Vec<Term>| Axis { sliding: terms.len() > 1, terms, offset: 0 };
    let operand = |name: &str, memory, tensor, axis, partial_bits| Operand {
        name: name.to_owned(),
        memory,
        tensor: Some(TensorId(tensor)),
        axes: vec![axis],
        bits: 8,
        partial_bits,
        constant: memory == MemoryOperand::I2,
    };
    Layer {
        name: name.to_owned(),
        operator: "Conv".to_owned(),
        dims: vec![LoopDim { dim: Dim::new("OX"), size }, LoopDim { dim: Dim::new("FX"), size: 2 }],
        operands: vec![
            operand("O", MemoryOperand::O, tensors[0], axis(vec![term(0)]), partial_bits),
            operand("I", MemoryOperand::I1, tensors[1], axis(vec![term(0), term(1)]), 8),
            operand("W", MemoryOperand::I2, tensors[2], axis(vec![term(1)]), 8),
        ],
        folded: vec![],
        inference: 0,
    }
}

pub fn tiling(workload: &Workload, tile: u64) -> Tiling {
    let layers = LayerTiling { intra: vec![Cut { dim: 0, tile }], inter: vec![] };
    Tiling {
        stacks: vec![Stack { layers: workload.layer_ids().collect() }],
        layers: vec![layers; workload.layers.len()],
    }
}

pub fn node_cost(cycles: u64, class: &CnClass, streamed: Vec<StreamedBits>) -> NodeCost {
    let operations = class.nest.operations();
    let output_bits = class.partial_bits.max(class.operand_bits[0]);
    let zero = FractionalCycles(0.0);
    let access = |operand, direction, words| WordAccess { memory: 0, operand, direction, words };
    let cost = Cost {
        latency: FractionalCycles(cycles as f64),
        ideal: zero,
        temporal: zero,
        stall: zero,
        onload: zero,
        offload: zero,
        drain: zero,
        operations,
        operation_energy: Picojoules(0.5),
        accesses: vec![
            access(MemoryOperand::I1, Direction::ToLow, 6),
            access(MemoryOperand::O, Direction::FromLow, 4),
        ],
        energy: Picojoules(0.0),
        ports: vec![],
        streamed,
        spatial: vec![],
        temporal_mapping: vec![],
        evaluated: 1,
        pruned: 0,
    };
    NodeCost { cost: Arc::new(cost), cycles: Cycles(cycles), output_bits, stream_tiles: vec![0; 3] }
}
