//! The optimal allocator of the intra-core search: against brute force over every order and every
//! division on small nests for each objective, and never worse than any search of the reference
//! (`search.jsonl` for energy, latency and their product; `beyond.jsonl`, energy: limits 7 and 8, and
//! SALSA).

use millstream::accelerator::{Array, ArrayMapping, CoreKind, Direction, Memory, Port, PortKind};
use millstream::cost::{
    Allocation, Cost, Division, Hierarchy, MappingConstraint, Model, Objective, SearchOptions,
};
use millstream::cost::{evaluate, evaluate_divided, search};
use millstream::units::{Bits, BitsPerCycle, Picojoules};
use millstream::workload::nest::{LoopNest, NestOperand, Relation};
use millstream::workload::{Dim, MemoryOperand};
use rayon::prelude::*;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::Path;

fn lines<T: DeserializeOwned>(file: &str) -> Vec<T> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/zigzag").join(file);
    let text = std::fs::read_to_string(&path).expect("the reference figures are part of the repository");
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

#[derive(Deserialize)]
struct Searched {
    id: String,
    core: String,
    nest: LoopNest,
    spatial: Vec<ArrayMapping>,
    /// (energy, latency) of the best by each objective.
    energy: (f64, f64),
    latency: (f64, f64),
    edp: (f64, f64),
}

#[derive(Deserialize)]
struct Beyond {
    id: String,
    source: String,
    energy: f64,
}

fn options(lpf_limit: usize) -> SearchOptions {
    SearchOptions {
        objective: Objective::Energy,
        allocator: Division::Optimal,
        lpf_limit,
        ..SearchOptions::default()
    }
}

#[test]
fn no_search_of_the_reference_is_better() {
    let cores: Vec<CoreKind> = lines("cores.jsonl");
    let cores: BTreeMap<String, CoreKind> = cores.into_iter().map(|core| (core.name.clone(), core)).collect();
    let mut beyond: BTreeMap<String, Vec<Beyond>> = BTreeMap::new();
    for one in lines::<Beyond>("beyond.jsonl") {
        beyond.entry(one.id.clone()).or_default().push(one);
    }
    let mut worse = Vec::new();
    let (mut better, mut rows, mut compared) = (0, 0, 0);
    for case in lines::<Searched>("search.jsonl") {
        let core = &cores[&case.core];
        let hierarchy = Hierarchy::of(core, &[], None);
        let constraint = MappingConstraint { fixed: case.spatial, ..MappingConstraint::default() };
        let cost = search(&case.nest, &hierarchy, &core.name, &constraint, &options(usize::MAX));
        let (energy, latency) = (cost.as_ref().expect("it fits").energy.0, cost.expect("it fits").latency.0);
        let limit = (case.energy.0 * (1.0 + 1e-9), case.energy.1);
        if energy > limit.0 || (energy >= case.energy.0 * (1.0 - 1e-12) && latency > limit.1) {
            worse.push(format!("{}: {energy} pJ, {latency} cycles, limit 6 {:?}", case.id, case.energy));
        }
        better += usize::from(energy < case.energy.0 * (1.0 - 1e-9));
        rows += 1;
        for other in beyond.get(&case.id).into_iter().flatten() {
            compared += 1;
            if energy > other.energy * (1.0 + 1e-9) {
                worse.push(format!("{}: {energy} pJ, {} {}", case.id, other.source, other.energy));
            }
        }
    }
    assert!(worse.is_empty(), "{} worse:\n{}", worse.len(), worse.join("\n"));
    println!("{better} of {rows} better than limit 6, {compared} further searches");
    assert_eq!((rows, compared), (129, BEYOND));
    assert!(better > 0);
}

/// Rows of `beyond.jsonl` whose layer is in `search.jsonl`.
const BEYOND: usize = 43;

fn dim(name: &str) -> Dim {
    Dim(name.to_owned())
}

fn operand(name: &str, memory: MemoryOperand, indices: &[&str], bits: u64) -> NestOperand {
    NestOperand {
        name: name.to_owned(),
        memory,
        indices: indices.iter().map(|index| dim(index)).collect(),
        bits,
        partial_bits: 2 * bits,
        constant: false,
    }
}

/// A convolution in one dimension over channels.
fn convolution(k: u64, c: u64, ox: u64, fx: u64) -> LoopNest {
    LoopNest {
        operator: "Conv".to_owned(),
        dims: vec![(dim("K"), k), (dim("C"), c), (dim("OX"), ox), (dim("FX"), fx)],
        relations: vec![Relation {
            derived: dim("IX"),
            terms: [(dim("OX"), 1), (dim("FX"), 1)],
            extent: ox + fx - 1,
        }],
        operands: vec![
            operand("O", MemoryOperand::O, &["K", "OX"], 8),
            operand("W", MemoryOperand::I2, &["K", "C", "FX"], 8),
            operand("I", MemoryOperand::I1, &["C", "IX"], 8),
        ],
    }
}

/// One unit; a register file and a buffer that all operands share, with costs apart, and DRAM.
fn shared_buffers(register: u64, buffer: u64) -> Hierarchy {
    let memory = |name: &str, size: u64, read: f64, write: f64, bandwidth: u64| Memory {
        name: name.to_owned(),
        size: Bits(size),
        read_cost: Picojoules(read),
        write_cost: Picojoules(write),
        operands: vec![MemoryOperand::I1, MemoryOperand::I2, MemoryOperand::O],
        ports: vec![Port {
            name: "rw".to_owned(),
            kind: PortKind::ReadWrite,
            bandwidth_min: BitsPerCycle(8),
            bandwidth_max: BitsPerCycle(bandwidth),
            allocation: [MemoryOperand::I1, MemoryOperand::I2, MemoryOperand::O]
                .into_iter()
                .flat_map(|operand| Direction::ALL.map(|direction| (operand, direction)))
                .collect(),
        }],
        served: vec![0],
        double_buffering: false,
        area: 0.0,
        latency: 1,
        shared_instance: None,
    };
    Hierarchy {
        array: Array {
            dims: vec![("D1".to_owned(), 1)],
            unit_energy: Picojoules(1.0),
            unit_area: 0.0,
            systolic: Vec::new(),
            imc: None,
        },
        memories: vec![
            memory("registers", register, 1.0, 1.5, 8),
            memory("buffer", buffer, 10.0, 13.0, 16),
            memory("dram", 1 << 40, 100.0, 130.0, 32),
        ],
        dram: None,
    }
}

/// Every distinct order of the loops.
fn orders(loops: &[(Dim, u64)]) -> Vec<Vec<(Dim, u64)>> {
    if loops.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (position, one) in loops.iter().enumerate() {
        if loops[..position].contains(one) {
            continue;
        }
        let mut rest = loops.to_vec();
        rest.remove(position);
        for mut order in orders(&rest) {
            order.insert(0, one.clone());
            all.push(order);
        }
    }
    all
}

/// What the objective compares, most important first.
fn figures(objective: Objective, energy: f64, latency: f64) -> (f64, f64) {
    match objective {
        Objective::Energy => (energy, latency),
        Objective::Latency => (latency, energy),
        Objective::Edp => (energy * latency, energy),
    }
}

#[test]
fn no_latency_or_product_of_the_reference_is_better() {
    let cores: Vec<CoreKind> = lines("cores.jsonl");
    let cores: BTreeMap<String, CoreKind> = cores.into_iter().map(|core| (core.name.clone(), core)).collect();
    let cases: Vec<Searched> = lines("search.jsonl");
    let compared: Vec<Result<bool, String>> =
        cases.par_iter().flat_map(|case| compare_latency_and_product(case, &cores[&case.core])).collect();
    let worse: Vec<&String> = compared.iter().filter_map(|one| one.as_ref().err()).collect();
    assert!(worse.is_empty(), "{} worse: {worse:#?}", worse.len());
    let better = compared.iter().filter(|one| **one == Ok(true)).count();
    println!("{better} of {} better than limit 6", compared.len());
    assert_eq!(compared.len(), 258);
    assert!(better > 0);
}

/// Whether the least latency and the least product are better than the reference's at limit 6.
fn compare_latency_and_product(case: &Searched, core: &CoreKind) -> Vec<Result<bool, String>> {
    let hierarchy = Hierarchy::of(core, &[], None);
    let constraint = MappingConstraint { fixed: case.spatial.clone(), ..MappingConstraint::default() };
    let compare = |(objective, theirs): (Objective, (f64, f64))| {
        let options = SearchOptions { objective, ..options(6) };
        let cost = search(&case.nest, &hierarchy, &core.name, &constraint, &options)
            .map_err(|error| format!("{} {objective}: {error}", case.id))?;
        let ours = figures(objective, cost.energy.0, cost.latency.0).0;
        let limit = figures(objective, theirs.0, theirs.1).0;
        match ours > limit * (1.0 + 1e-9) {
            true => Err(format!("{} {objective}: {ours}, limit 6 {limit}", case.id)),
            false => Ok(ours < limit * (1.0 - 1e-9)),
        }
    };
    [(Objective::Latency, case.latency), (Objective::Edp, case.edp)].into_iter().map(compare).collect()
}

#[test]
fn every_objective_equals_brute_force() {
    let mut tighter = 0;
    for (nest, loops) in [
        (convolution(2, 2, 5, 3), vec![("K", 2), ("C", 2), ("OX", 5), ("FX", 3)]),
        (convolution(4, 2, 5, 1), vec![("K", 2), ("K", 2), ("C", 2), ("OX", 5)]),
    ] {
        let loops: Vec<(Dim, u64)> = loops.into_iter().map(|(name, n)| (dim(name), n)).collect();
        for (register, buffer, model) in [
            (64, 240, Model::Zigzag),
            (48, 160, Model::Zigzag),
            (64, 240, Model::Millstream),
            (48, 160, Model::Millstream),
        ] {
            let hierarchy = shared_buffers(register, buffer);
            let objectives = [Objective::Energy, Objective::Latency, Objective::Edp];
            let mut least = [f64::INFINITY; 3];
            let mut greedy = [f64::INFINITY; 3];
            let lower = |least: &mut [f64; 3], cost: &Cost| {
                for (least, objective) in least.iter_mut().zip(objectives) {
                    *least = least.min(figures(objective, cost.energy.0, cost.latency.0).0);
                }
            };
            for order in orders(&loops) {
                // Ends of the two lower levels of each operand; the top takes the rest.
                let n = order.len();
                let cuts: Vec<[usize; 2]> = (0..=n).flat_map(|a| (a..=n).map(move |b| [a, b])).collect();
                for o in &cuts {
                    for w in &cuts {
                        for i in &cuts {
                            let ends = [o, w, i].map(|cut| vec![cut[0], cut[1], n]);
                            if let Ok(one) =
                                evaluate_divided(&nest, &hierarchy, "unit", &[], &order, &ends, model)
                            {
                                lower(&mut least, &one.cost);
                            }
                        }
                    }
                }
                if let Ok(greedily) =
                    evaluate(&nest, &hierarchy, "unit", &[], &order, Allocation::Uneven, model)
                {
                    lower(&mut greedy, &greedily.cost);
                }
            }
            for ((objective, least), greedy) in objectives.into_iter().zip(least).zip(greedy) {
                let options = SearchOptions { model, objective, ..options(usize::MAX) };
                let found = search(&nest, &hierarchy, "unit", &MappingConstraint::default(), &options);
                let found = found.expect("one iteration fits");
                let found = figures(objective, found.energy.0, found.latency.0).0;
                assert!(
                    (found - least).abs() <= 1e-9 * least,
                    "{objective}, {register}, {buffer}, {model:?}: {found}, brute force {least}"
                );
                assert!(found <= greedy * (1.0 + 1e-12));
                tighter += usize::from(found < greedy * (1.0 - 1e-9));
            }
        }
    }
    assert!(tighter > 0, "the greedy allocator is beaten somewhere");
}
