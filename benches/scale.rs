//! The engine at 10^4, 10^5 and 10^6 CNs: seconds for graph and schedule, memory, fitted exponent.
//!
//! ```text
//! network      64 convolutions of 16 to 16 channels, 3 rows high, in a chain; K over 4 cores, one CN
//!              per part, row and group of columns; every CN reads 3 rows of 4 parts and its weights
//! accelerator  8 x 8 cores in a mesh, DRAM at the 8 cores of one side; memories of a few rows each,
//!              so that fragments are evicted
//! costs        given (10 to 17 cycles a CN): the cost model is not what is measured
//! ```
//!
//! `cargo bench --bench scale -- [CNs ...] [--fair]`; seconds are wall-clock seconds of one
//! run each; CPU seconds (where the system tells them) leave out what other processes took, and give the exponent.

use millstream::accelerator::Accelerator;
use millstream::accelerator::yaml::{self, File};
use millstream::allocation::Candidate;
use millstream::cost::CostTable;
use millstream::diagnostic::Diagnostic;
use millstream::fusion::{Cut, LayerTiling, Stack, Tiling};
use millstream::ids::{CoreId, LayerId, TensorId};
use millstream::mapping::Mapping;
use millstream::overrides::CostOverrides;
use millstream::pipeline::{Problem, evaluate, graph};
use millstream::schedule::{Contention, Record};
use millstream::units::Bits;
use millstream::workload::{
    Axis, Dim, Layer, LoopDim, MemoryOperand, Operand, Origin, Tensor, Term, Workload,
};
use std::error::Error;
use std::time::Instant;

const LAYERS: usize = 64;
const PARTS: u64 = 4;
const ROWS: u64 = 64;
const SIDE: usize = 8;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let fair = arguments.iter().any(|argument| argument == "--fair");
    let mut sizes: Vec<u64> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![10_000, 100_000, 1_000_000];
    }
    println!("      CNs      edges  transfers   graph s  schedule s     CPU s  CNs/CPU s  peak MiB");
    let mut points: Vec<(f64, f64)> = Vec::new();
    for size in sizes {
        let (cns, seconds) = measure(size, fair)?;
        points.push(((cns as f64).ln(), seconds.ln()));
    }
    if let [(x0, y0), .., (x1, y1)] = points.as_slice() {
        println!("time grows as CNs^{:.2} between the first and the last size", (y1 - y0) / (x1 - x0));
    }
    Ok(())
}

/// Builds and schedules a case of about `size` CNs.
fn measure(size: u64, fair: bool) -> Result<(usize, f64), Box<dyn Error>> {
    let columns = (size / (LAYERS as u64 * PARTS * ROWS)).max(1);
    let rows = (size / (LAYERS as u64 * PARTS * columns)).min(ROWS);
    let workload = chain(rows, columns);
    let accelerator = mesh(rows * columns)?;
    let mut costs = "layer,core,latency_cycles,energy_pj\n".to_owned();
    for layer in 0..LAYERS {
        for core in 0..SIDE * SIDE {
            costs += &format!("layer{layer},{core},{},10\n", 10 + (layer * 5 + core * 3) % 8);
        }
    }
    let overrides = CostOverrides::parse("costs.csv", &costs)?;
    let problem = Problem::new(workload, accelerator, Mapping::default())?;
    let mut problem = Problem { overrides, ..problem };
    if fair {
        problem.schedule.contention = Contention::Fair;
    }
    let candidate = candidate(&problem.workload);
    let (began, before) = (Instant::now(), processor_seconds());
    let graph = graph(&problem, &candidate)?;
    let refined = began.elapsed().as_secs_f64();
    let evaluation = evaluate(&problem, &graph, &candidate, &CostTable::new(), Record::Totals)?;
    let total = began.elapsed().as_secs_f64();
    let used = processor_seconds().zip(before).map_or(total, |(after, before)| after - before);
    println!(
        "{:>9}  {:>9}  {:>9}  {:>8.2}  {:>10.2}  {:>8.2}  {:>9.0}  {:>8}",
        graph.cns(),
        graph.edges,
        evaluation.schedule.transfers,
        refined,
        total - refined,
        used,
        graph.cns() as f64 / used,
        peak_memory()
    );
    Ok((graph.cns(), used))
}

/// Seconds this thread has run on a processor, where the system tells it.
fn processor_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<u64>().ok()? as f64 / 1e9)
}

/// Peak resident memory of this process in MiB, where the system tells it.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.map_or_else(|| "?".to_owned(), |kib| (kib / 1024).to_string())
}

/// Convolutions of 16 to 16 channels over `rows` x `columns`, three rows high.
fn chain(rows: u64, columns: u64) -> Workload {
    let tensor = |name: String, shape: Vec<u64>, origin| Tensor { name, shape, element_bits: 8, origin };
    let image = || vec![16, rows, columns];
    let mut tensors = vec![tensor("in".to_owned(), image(), Origin::Input)];
    let mut layers = Vec::new();
    let mut input = TensorId(0);
    for at in 0..LAYERS {
        let weight = TensorId::from(tensors.len());
        tensors.push(tensor(format!("w{at}"), vec![16, 16, 3], Origin::Constant));
        let output = TensorId::from(tensors.len());
        tensors.push(tensor(format!("t{at}"), image(), Origin::Layer(LayerId::from(at))));
        layers.push(convolution(format!("layer{at}"), [rows, columns], [output, input, weight]));
        input = output;
    }
    let (name, layouts, notes) = ("chain".to_owned(), Vec::new(), Vec::new());
    Workload { name, layers, tensors, layouts, outputs: vec![input], notes }
}

/// `o[k, y, x] = sum over c, f of i[c, y + f - 1, x] w[k, c, f]`.
fn convolution(name: String, [rows, columns]: [u64; 2], tensors: [TensorId; 3]) -> Layer {
    let sizes = [("K", 16), ("OY", rows), ("OX", columns), ("C", 16), ("FY", 3)];
    let axis = |dim| Axis { terms: vec![Term { dim, coefficient: 1 }], offset: 0, sliding: false };
    let terms = [1, 4].map(|dim| Term { dim, coefficient: 1 }).to_vec();
    let window = Axis { terms, offset: -1, sliding: true };
    let operand = |name: &str, memory, tensor, axes, partial_bits| Operand {
        name: name.to_owned(),
        memory,
        tensor: Some(tensor),
        axes,
        bits: 8,
        partial_bits,
        constant: memory == MemoryOperand::I2,
    };
    Layer {
        name,
        operator: "Conv".to_owned(),
        dims: sizes.map(|(name, size)| LoopDim { dim: Dim::new(name), size }).to_vec(),
        operands: vec![
            operand("O", MemoryOperand::O, tensors[0], vec![axis(0), axis(1), axis(2)], 16),
            operand("I", MemoryOperand::I1, tensors[1], vec![axis(3), window, axis(2)], 8),
            operand("W", MemoryOperand::I2, tensors[2], vec![axis(0), axis(3), axis(4)], 8),
        ],
        folded: Vec::new(),
        inference: 0,
    }
}

/// 8 x 8 cores in a mesh with DRAM at one side; memories hold about four rows of a layer.
fn mesh(positions: u64) -> Result<Accelerator, Box<dyn Error>> {
    let mut text = "name: mesh\noffchip_core_id: 64\ncores:\n".to_owned();
    (0..SIDE * SIDE).for_each(|core| text += &format!("  {core}: tpu_like.yaml\n"));
    text += "  64: dram.yaml\ncore_connectivity:\n";
    let mut link = |from: usize, to: usize| {
        text += &format!("  - {{type: link, cores: [{from}, {to}], bandwidth: 64}}\n");
    };
    for core in 0..SIDE * SIDE {
        if core % SIDE + 1 < SIDE {
            link(core, core + 1);
        }
        if core / SIDE + 1 < SIDE {
            link(core, core + SIDE);
        }
    }
    (0..SIDE).for_each(|row| link(row * SIDE, SIDE * SIDE));
    let resolver = |name: &str| {
        let text = millstream::library::core(name.trim_end_matches(".yaml"));
        let text = text.ok_or_else(|| Diagnostic::new(format!("no core {name}")))?;
        Ok(File { name: name.to_owned(), text: text.to_owned() })
    };
    let mut accelerator = yaml::parse("mesh.yaml", &text, &resolver)?;
    // Weights of a part, and four rows of 16 channels of 8 bits, of which a long row is most.
    let size = Bits(16_384 + positions * 16 * 8 * 4 / ROWS.min(positions));
    for pool in accelerator.pools.iter_mut().filter(|pool| !pool.dram) {
        pool.size = size;
    }
    Ok(accelerator)
}

/// Part `p` of layer `l` on core `4 l + p`, modulo their number.
fn candidate(workload: &Workload) -> Candidate {
    let cuts = LayerTiling {
        intra: vec![Cut { dim: 2, tile: 1 }, Cut { dim: 1, tile: 1 }],
        inter: vec![Cut { dim: 0, tile: 16 / PARTS }],
    };
    let core =
        |layer: usize, part: u64| CoreId::from((layer * PARTS as usize + part as usize) % (SIDE * SIDE));
    Candidate {
        tiling: Tiling {
            stacks: vec![Stack { layers: workload.layer_ids().collect() }],
            layers: vec![cuts; LAYERS],
        },
        cores: (0..LAYERS).map(|layer| (0..PARTS).map(|part| core(layer, part)).collect()).collect(),
        order: (0..LAYERS as u32).collect(),
    }
}
