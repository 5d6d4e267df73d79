//! Two layers on two cores, and a legal log of their execution, all by hand.
//!
//! ```text
//! layer 0 on core 0   a[x] = sum_f i[x+f] w[f]   x < 8, f < 2   tiles of 4: cn0, cn1   5 cycles each
//! layer 1 on core 1   b[x] = sum_f a[x+f] w[f]   x < 7, f < 2   tiles of 4: cn2, cn3   6 cycles each
//!
//! tensor   elements    fragments                         bits
//! i        9           0: 0..4   1: 4..5   2: 5..9       32  8 32
//! w        2           3: 0..2                           16
//! a        8           4: 0..4   5: 4..5   6: 5..8       32  8 24      (partial sums 16 bits)
//! b        7           7: 0..4   8: 4..7                 32 24
//!
//! core 0 (pool 0) --link 8 bits/cycle, 0 cycles--> core 1 (pool 1)
//! core 0, core 1, DRAM (pool 2) on a bus of 16 bits/cycle, 2 cycles; packets of 16 bits
//! ```
//!
//! Pools have exactly the size that the execution needs.

use super::events::{admit, end, leave, request, start, time_of, transfer};
use super::hardware::accelerator;
use super::network::{layer, node_cost, tiling, workload};
use millstream::accelerator::Accelerator;
use millstream::accelerator::route::Routes;
use millstream::allocation::Candidate;
use millstream::cn::refine::refine;
use millstream::cn::{CnGraph, TransferUnit};
use millstream::cost::StreamedBits;
use millstream::ids::*;
use millstream::ledger::{Action, Component, Costs, Ledger, LedgerRow};
use millstream::placement::{Placement, place};
use millstream::schedule::log::{Event, Log, Purpose};
use millstream::schedule::{CnTimes, Schedule, ScheduleOptions, Traffic, Why};
use millstream::units::{Bits, Cycles, Picojoules};
use millstream::verify::{Case, Claims, Report, verify};
use millstream::workload::{MemoryOperand, Origin, Tensor, Workload};

/// Inputs and claims, to be mutated.
pub struct Fixture {
    pub workload: Workload,
    pub accelerator: Accelerator,
    pub graph: CnGraph,
    pub candidate: Candidate,
    pub placement: Placement,
    pub costs: Costs,
    pub options: ScheduleOptions,
    pub schedule: Schedule,
    pub ledger: Ledger,
    pub bound: Option<(Cycles, Picojoules)>,
}

impl Fixture {
    pub fn check(&self) -> Report {
        let routes = Routes::new(&self.accelerator);
        let case = Case {
            workload: &self.workload,
            accelerator: &self.accelerator,
            routes: &routes,
            graph: &self.graph,
            candidate: &self.candidate,
            placement: &self.placement,
            costs: &self.costs,
            options: &self.options,
        };
        verify(&case, &Claims { schedule: &self.schedule, ledger: &self.ledger, bound: self.bound })
    }

    pub fn log(&mut self) -> &mut Vec<Event> {
        &mut self.schedule.log.as_mut().unwrap().0
    }

    /// The one event of which the predicate holds.
    pub fn event(&mut self, which: impl Fn(&Event) -> bool) -> &mut Event {
        let mut found: Vec<&mut Event> = self.log().iter_mut().filter(|event| which(event)).collect();
        assert_eq!(found.len(), 1, "the predicate is to hold of one event");
        found.remove(0)
    }

    /// Removes it.
    pub fn remove(&mut self, which: impl Fn(&Event) -> bool) -> Event {
        let found: Vec<usize> = (0..self.log().len()).filter(|at| which(&self.log()[*at])).collect();
        assert_eq!(found.len(), 1, "the predicate is to hold of one event");
        self.log().remove(found[0])
    }

    /// Inserts an event behind those of its time.
    pub fn insert(&mut self, event: Event) {
        let at = self.log().partition_point(|other| time_of(other) <= time_of(&event));
        self.log().insert(at, event);
    }
}

/// The execution described above.
pub fn two_layers() -> Fixture {
    let workload = workload(2);
    let accelerator = accelerator([216, 136]);
    let tiling = tiling(&workload, 4);
    let cores = vec![vec![CoreId(0)], vec![CoreId(1)]];
    let candidate = Candidate { tiling, cores, order: vec![0, 1] };
    let graph = refine(&workload, &candidate.tiling, TransferUnit::Fragment).unwrap();
    let placement = place(&workload, &accelerator, &graph, &candidate).unwrap();
    let nodes = placement.nodes.iter().map(|node| {
        let class = &graph.classes[node.class.index()];
        node_cost([5, 6][node.layer.index()], class, vec![])
    });
    let costs = Costs { nodes: nodes.collect() };
    let (log, schedule) = (two_layers_log(), two_layers_schedule());
    Fixture {
        workload,
        accelerator,
        graph,
        candidate,
        placement,
        costs,
        options: ScheduleOptions { packet: Bits(16), ..ScheduleOptions::default() },
        schedule: Schedule { log: Some(Log(log)), ..schedule },
        ledger: two_layers_ledger(),
        bound: Some((Cycles(37), Picojoules(200.0))),
    }
}

fn two_layers_log() -> Vec<Event> {
    use Purpose::{Fetch, Prefetch, Store};
    vec![
        admit(0, 0, &[(0, 64)]),
        request(0, 0, 0, 0, Fetch),
        request(0, 1, 0, 0, Fetch),
        request(0, 3, 0, 0, Fetch),
        admit(0, 1, &[(0, 64)]),
        request(0, 2, 0, 1, Fetch),
        request(0, 3, 1, 2, Prefetch),
        transfer(1, 0, (Some(3), 16, Fetch), (2, &[0, 1]), (0, 4), &[(1, 2)]),
        transfer(0, 0, (Some(0), 32, Fetch), (2, &[0]), (0, 5), &[(0, 1), (2, 3)]),
        transfer(2, 0, (Some(1), 8, Fetch), (2, &[0]), (0, 6), &[(3, 4)]),
        start(6, 0),
        transfer(3, 1, (Some(2), 32, Fetch), (2, &[0]), (0, 8), &[(4, 6)]),
        end(11, 0),
        leave(11, 0, 0),
        start(11, 1),
        end(16, 1),
        leave(16, 1, 0),
        leave(16, 2, 0),
        leave(16, 3, 0),
        admit(16, 2, &[(1, 32)]),
        request(16, 4, 1, 2, Fetch),
        request(16, 5, 1, 2, Fetch),
        admit(16, 3, &[(1, 24)]),
        request(16, 6, 1, 3, Fetch),
        transfer(4, 2, (Some(4), 32, Fetch), (0, &[1]), (16, 20), &[(16, 20)]),
        leave(20, 4, 0),
        transfer(5, 2, (Some(5), 8, Fetch), (0, &[1]), (16, 21), &[(20, 21)]),
        leave(21, 5, 0),
        start(21, 2),
        transfer(6, 3, (Some(6), 24, Fetch), (0, &[1]), (16, 24), &[(21, 24)]),
        leave(24, 6, 0),
        end(27, 2),
        leave(27, 4, 1),
        request(27, 7, 2, 2, Store),
        start(27, 3),
        transfer(7, 2, (Some(7), 32, Store), (1, &[2]), (27, 31), &[(27, 29)]),
        leave(31, 7, 1),
        end(33, 3),
        leave(33, 5, 1),
        leave(33, 6, 1),
        leave(33, 3, 1),
        request(33, 8, 2, 3, Store),
        transfer(8, 3, (Some(8), 24, Store), (1, &[2]), (33, 37), &[(33, 35)]),
        leave(37, 8, 1),
    ]
}

fn two_layers_schedule() -> Schedule {
    let times = |released, admitted, start, end| CnTimes {
        released: Cycles(released),
        admitted: Cycles(admitted),
        start: Cycles(start),
        end: Cycles(end),
    };
    Schedule {
        latency: Cycles(37),
        cns: vec![times(0, 0, 6, 11), times(0, 0, 11, 16), times(16, 16, 21, 27), times(16, 16, 27, 33)],
        busy: vec![Cycles(10), Cycles(12), Cycles(0)],
        traffic: Traffic {
            read_words: vec![8, 7, 11],
            write_words: vec![11, 10, 7],
            // Link forth and back, bus, ports of core 0 (read, write), of core 1, of the DRAM.
            active: [8, 0, 10, 8, 6, 4, 9, 10].map(Cycles).to_vec(),
            bits: [64, 0, 144, 64, 88, 56, 80, 144].map(Bits).to_vec(),
        },
        peak: [216, 136, 0].map(Bits).to_vec(),
        why: Why { compute: 22, stall: 0, transfer: 5, dram: 10, memory: 0 },
        critical: vec![],
        transfers: 9,
        log: None,
    }
}

/// Narrow words of 8 bits cost a quarter of an SRAM's and half of the DRAM's full words.
fn two_layers_ledger() -> Ledger {
    use Action::{Operate, Read, Receive, Send, Traverse, Write};
    let memory = |core| Component::Memory(CoreId(core), 0);
    let rows = [
        (Component::Array(CoreId(0)), Operate, 16, 0.5),
        (Component::Array(CoreId(1)), Operate, 14, 0.5),
        (memory(0), Read, 12, 4.0),
        (memory(0), Write, 8, 8.0),
        (memory(0), Send, 8, 1.0),
        (memory(0), Receive, 11, 2.0),
        (memory(1), Read, 12, 4.0),
        (memory(1), Write, 8, 8.0),
        (memory(1), Send, 7, 1.0),
        (memory(1), Receive, 10, 2.0),
        (memory(2), Send, 11, 5.0),
        (memory(2), Receive, 7, 6.0),
        (Component::Link(0), Traverse, 8, 3.0),
        (Component::Link(1), Traverse, 144, 0.25),
    ];
    let rows = rows.map(|(component, action, count, unit)| LedgerRow {
        component,
        action,
        count,
        unit: Picojoules(unit),
    });
    Ledger { rows: rows.to_vec() }
}

/// Layer 0 alone in one CN; input and output do not fit and are streamed, with tiles of 24 and 32
/// bits: the input is read with 80 bits, for its window is read twice.
pub fn streams() -> Fixture {
    use Purpose::{Fetch, StreamIn, StreamOut};
    let workload = workload(1);
    let accelerator = accelerator([72, 0]);
    let tiling = tiling(&workload, 8);
    let candidate = Candidate { tiling, cores: vec![vec![CoreId(0)]], order: vec![0] };
    let graph = refine(&workload, &candidate.tiling, TransferUnit::Fragment).unwrap();
    let placement = place(&workload, &accelerator, &graph, &candidate).unwrap();
    let streamed = vec![
        StreamedBits { operand: MemoryOperand::I1, read: 80, write: 0, tile: 24 },
        StreamedBits { operand: MemoryOperand::O, read: 0, write: 64, tile: 32 },
    ];
    let mut cost = node_cost(5, &graph.classes[0], streamed);
    cost.stream_tiles = vec![32, 24, 0];
    // Fragments: 0 is i, 1 is w, 2 is a.
    let log = vec![
        admit(0, 0, &[(0, 56)]),
        request(0, 1, 0, 0, Fetch),
        transfer(0, 0, (Some(1), 16, Fetch), (2, &[0]), (0, 3), &[(0, 1)]),
        start(3, 0),
        transfer(1, 0, (None, 80, StreamIn), (2, &[0]), (3, 10), &[(3, 8)]),
        transfer(2, 0, (None, 64, StreamOut), (0, &[2]), (3, 14), &[(8, 12)]),
        end(14, 0),
    ];
    let (cycles, zero) = (Cycles(14), Cycles::ZERO);
    let schedule = Schedule {
        latency: cycles,
        cns: vec![CnTimes { released: zero, admitted: zero, start: Cycles(3), end: cycles }],
        busy: vec![Cycles(11), zero, zero],
        traffic: Traffic {
            read_words: vec![0, 0, 2],
            write_words: vec![2, 0, 0],
            active: [0, 0, 10, 4, 6, 0, 0, 10].map(Cycles).to_vec(),
            bits: [0, 0, 160, 64, 96, 0, 0, 160].map(Bits).to_vec(),
        },
        peak: [72, 0, 0].map(Bits).to_vec(),
        why: Why { compute: 5, stall: 0, transfer: 0, dram: 9, memory: 0 },
        critical: vec![],
        transfers: 3,
        log: Some(Log(log)),
    };
    let row = |component, action, count, unit| LedgerRow { component, action, count, unit: Picojoules(unit) };
    let rows = vec![
        row(Component::Array(CoreId(0)), Action::Operate, 16, 0.5),
        row(Component::Memory(CoreId(0), 0), Action::Read, 6, 4.0),
        row(Component::Memory(CoreId(0), 0), Action::Write, 4, 8.0),
        row(Component::Memory(CoreId(0), 0), Action::Receive, 2, 2.0),
        row(Component::Memory(CoreId(2), 0), Action::Send, 2, 5.0),
        row(Component::Link(1), Action::Traverse, 160, 0.25),
    ];
    Fixture {
        workload,
        accelerator,
        graph,
        candidate,
        placement,
        costs: Costs { nodes: vec![cost] },
        options: ScheduleOptions { packet: Bits(16), ..ScheduleOptions::default() },
        schedule,
        ledger: Ledger { rows },
        bound: None,
    }
}

/// A chain of layers like the two above on alternating cores, with pools of a size: inputs only,
/// claims are empty.
pub fn chain(layers: usize, size: u64, tile: u64, pool: u64) -> Fixture {
    let name = |index: usize| format!("t{index}");
    let tensor = |index: usize, extent, origin| Tensor {
        name: name(index),
        shape: vec![extent],
        element_bits: 8,
        origin,
    };
    let mut workload = workload(1);
    workload.tensors = vec![tensor(0, size + 1, Origin::Input), tensor(1, 2, Origin::Constant)];
    workload.layers.clear();
    for index in 0..layers {
        let extent = size - index as u64;
        let (output, input) = (index as u32 + 2, if index == 0 { 0 } else { index as u32 + 1 });
        workload.layers.push(layer(&name(index), extent, [output, input, 1], 16));
        workload.tensors.push(tensor(index + 2, extent, Origin::Layer(LayerId::from(index))));
    }
    workload.outputs = vec![TensorId::from(layers + 1)];
    let accelerator = accelerator([pool, pool]);
    let tiling = tiling(&workload, tile);
    let cores = (0..layers as u32).map(|layer| vec![CoreId(layer % 2)]).collect();
    let candidate = Candidate { tiling, cores, order: (0..layers as u32).collect() };
    let graph = refine(&workload, &candidate.tiling, TransferUnit::Fragment).unwrap();
    let placement = place(&workload, &accelerator, &graph, &candidate).unwrap();
    let nodes = placement.nodes.iter().map(|node| {
        let class = &graph.classes[node.class.index()];
        let streamed = |operand: usize| {
            let bits = class.operand_bits[operand];
            let (read, write) = if operand == 0 { (0, bits) } else { (bits, 0) };
            StreamedBits { operand: node.operands[operand].memory, read, write, tile: 8 }
        };
        let operands: Vec<usize> = (0..3).filter(|operand| node.operands[*operand].streamed).collect();
        let streams = operands.iter().map(|operand| streamed(*operand)).collect();
        let mut cost = node_cost(5 + u64::from(node.layer.0) % 3, class, streams);
        for operand in operands {
            cost.stream_tiles[operand] = 8;
        }
        cost
    });
    let costs = Costs { nodes: nodes.collect() };
    let options = ScheduleOptions { packet: Bits(16), ..ScheduleOptions::default() };
    let template = two_layers();
    Fixture { workload, accelerator, graph, candidate, placement, costs, options, bound: None, ..template }
}
