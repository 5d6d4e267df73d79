//! The whole line: on shipped networks, and on random small ones.

mod under_pressure;

use crate::fixture::{Draws, draws, random_tiling, random_workload};
use millstream::accelerator::{Accelerator, yaml as hardware};
use millstream::allocation::Candidate;
use millstream::allocation::policy::Policy;
use millstream::bound::bound;
use millstream::cn::TransferUnit;
use millstream::cost::{CostTable, Model};
use millstream::ids::CoreId;
use millstream::mapping::{Mapping, yaml as mappings};
use millstream::pipeline::run::{Mode, Outcome, RunOptions, check, run};
use millstream::pipeline::{Evaluation, Problem, evaluate, graph};
use millstream::report::{self, Run, summary};
use millstream::schedule::{Contention, Priority, Record, Schedule};
use millstream::units::{Bits, Cycles};
use millstream::workload::onnx::{self, ReadOptions};
use millstream::workload::{MemoryOperand, Workload};
use millstream::{library, report::Summary};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use std::collections::BTreeMap;
use std::path::Path;

pub fn network(name: &str) -> Workload {
    onnx::parse(name, library::workload(name).unwrap(), &ReadOptions::default()).unwrap()
}

fn problem(workload: Workload, accelerator: &str, mapping: Mapping) -> Problem {
    Problem::new(workload, hardware::find(accelerator).unwrap(), mapping).unwrap()
}

fn options(mode: Mode) -> RunOptions {
    RunOptions { mode, rows: vec![4], simulations: Some(8), ..RunOptions::default() }
}

fn summarised(problem: &Problem, options: &RunOptions, outcome: &Outcome) -> Summary {
    summary(&Run { problem, options, outcome, inputs: &[], seconds: &BTreeMap::new() })
}

/// Cycles of the CNs of each core, stalls included, streams left out.
fn work(accelerator: &Accelerator, evaluation: &Evaluation) -> Vec<Cycles> {
    let mut work = vec![Cycles::ZERO; accelerator.cores.len()];
    for node in &evaluation.placement.node_of {
        let core = evaluation.placement.nodes[*node as usize].core;
        work[core.index()] += evaluation.costs.nodes[*node as usize].cycles.max(Cycles(1));
    }
    work
}

/// Runs the main job, which fails where its own check finds anything, and holds it to its bounds.
fn check_run(workload: &str, accelerator: &str, mode: Mode) -> (Problem, Outcome) {
    let problem = problem(network(workload), accelerator, Mapping::default());
    let options = options(mode);
    let outcome = run(&problem, &options).unwrap();
    let (schedule, energy) = (&outcome.evaluation.schedule, &outcome.evaluation.energy);
    assert!(schedule.latency >= outcome.bound.latency);
    assert!(energy.total >= outcome.bound.energy.0);
    let gap = summarised(&problem, &options, &outcome).gap;
    for gap in [gap.latency, gap.energy, gap.edp] {
        assert!((0.0..1.0).contains(&gap), "{gap}");
    }
    assert!(gap.edp >= gap.latency.max(gap.energy), "a product is as far from its bound as its factors");
    let cns = outcome.graph.class_of.iter().map(|class| &outcome.graph.classes[class.index()]);
    assert_eq!(cns.map(|class| class.nest.operations()).sum::<u64>(), problem.workload.operations());
    let work = work(&problem.accelerator, &outcome.evaluation);
    assert!(work.iter().zip(&schedule.busy).all(|(work, busy)| work <= busy && *busy <= schedule.latency));
    let why = &schedule.why;
    assert_eq!(why.compute + why.stall + why.transfer + why.dram + why.memory, schedule.latency.0);
    (problem, outcome)
}

/// The mapping that a result's files hold gives the result again.
fn check_reproduction(problem: &Problem, outcome: &Outcome, accelerator: &str, mode: Mode) {
    let dir = tempfile::tempdir().unwrap();
    let options = options(mode);
    let seconds = BTreeMap::new();
    report::write(&Run { problem, options: &options, outcome, inputs: &[], seconds: &seconds }, dir.path())
        .unwrap();
    let found = dir.path().join("mapping.yaml");
    let mapping = mappings::load(Path::new(&found), Some(&problem.accelerator)).unwrap();
    let again = self::problem(problem.workload.clone(), accelerator, mapping);
    let fixed = run(&again, &RunOptions { policy: Policy::Fixed, ..options }).unwrap();
    assert_eq!(fixed.candidate.cores, outcome.candidate.cores);
    assert_eq!(fixed.candidate.tiling.layers, outcome.candidate.tiling.layers);
    assert_eq!(fixed.evaluation.schedule, outcome.evaluation.schedule);
    assert_eq!(fixed.evaluation.energy, outcome.evaluation.energy);
    let saved = report::saved::check(dir.path()).unwrap();
    assert!(saved.is_clean(), "{saved}");
}

#[test]
fn fsrcnn_fused() {
    let (problem, outcome) = check_run("fsrcnn", "tpu_like_quad_core", Mode::Fused);
    check_reproduction(&problem, &outcome, "tpu_like_quad_core", Mode::Fused);
}

#[test]
fn fsrcnn_layer_by_layer() {
    check_run("fsrcnn", "tpu_like_quad_core", Mode::LayerByLayer);
}

#[test]
fn resnet18_fused() {
    check_run("resnet18", "tpu_like_quad_core", Mode::Fused);
}

#[test]
fn resnet18_layer_by_layer() {
    let (problem, outcome) = check_run("resnet18", "tpu_like_quad_core", Mode::LayerByLayer);
    check_reproduction(&problem, &outcome, "tpu_like_quad_core", Mode::LayerByLayer);
}

#[test]
fn resnet18_on_different_cores() {
    check_run("resnet18", "hetero_quad_core", Mode::Fused);
}

/// Everything a run decides and finds, but for names and seconds.
fn assert_same(one: &Outcome, other: &Outcome) {
    assert_eq!(one.candidate, other.candidate);
    assert_eq!(one.source, other.source);
    assert_eq!(one.solver, other.solver);
    assert_eq!(one.graph, other.graph);
    assert_eq!(one.evaluation, other.evaluation);
    assert_eq!(one.bound, other.bound);
    assert_eq!((one.evaluations, one.distinct_costs), (other.evaluations, other.distinct_costs));
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let run_on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let problem = problem(network("fsrcnn"), "tpu_like_quad_core", Mapping::default());
        pool.install(|| run(&problem, &options(Mode::LayerByLayer)).unwrap())
    };
    let one = run_on(1);
    assert_same(&one, &run_on(2));
    assert_same(&one, &run_on(2));
}

#[test]
fn names_change_nothing() {
    let workload = network("resnet18");
    let mut renamed = workload.clone();
    let (layers, tensors) = (renamed.layers.len(), renamed.tensors.len());
    for (at, layer) in renamed.layers.iter_mut().enumerate() {
        layer.name = format!("l{}", layers - at);
    }
    for (at, tensor) in renamed.tensors.iter_mut().enumerate() {
        tensor.name = format!("t{}", tensors - at);
    }
    let one = problem(workload, "hetero_quad_core", Mapping::default());
    let other = problem(renamed, "hetero_quad_core", Mapping::default());
    let options = options(Mode::LayerByLayer);
    assert_same(&run(&one, &options).unwrap(), &run(&other, &options).unwrap());
}

/// A random candidate on random hardware with random options.
fn random_case(draws: &mut Draws) -> (Problem, Candidate) {
    let workload = random_workload(draws);
    let tiling = random_tiling(draws, &workload);
    let name = if draws.rarely(2) { "testing_four_core" } else { "testing_two_core" };
    let mut accelerator = hardware::find(name).unwrap();
    if draws.rarely(2) {
        shrink(draws, &mut accelerator, &workload);
    }
    let cores: Vec<CoreId> = accelerator.compute_cores().collect();
    let mut problem = Problem::new(workload, accelerator, Mapping::default()).unwrap();
    let priorities = [Priority::Latency, Priority::Memory, Priority::Order];
    problem.schedule.priority = priorities[draws.below(3) as usize];
    problem.schedule.prefetch = draws.below(3) as u32;
    problem.schedule.contention = [Contention::Exclusive, Contention::Fair][draws.below(2) as usize];
    let units = [TransferUnit::Fragment, TransferUnit::WholeTensor];
    problem.schedule.transfer = units[usize::from(draws.rarely(3))];
    problem.search.model = [Model::Zigzag, Model::Millstream][draws.below(2) as usize];
    problem.schedule.packet = Bits([65_536, 64, 200][draws.below(3) as usize]);
    let layers = || problem.workload.layers.iter().zip(&tiling.layers);
    let core = |draws: &mut Draws| cores[draws.below(cores.len() as u64) as usize];
    let of_layers =
        layers().map(|(layer, cuts)| (0..cuts.parts(layer)).map(|_| core(draws)).collect()).collect();
    let order = layers().map(|_| draws.below(4) as u32).collect();
    (problem, Candidate { tiling, cores: of_layers, order })
}

/// Gives the top memories some eighths of what the network's tensors need.
fn shrink(draws: &mut Draws, accelerator: &mut Accelerator, workload: &Workload) {
    let all: u64 = workload.tensors.iter().map(|tensor| tensor.elements() * tensor.element_bits).sum();
    for operand in [MemoryOperand::I1, MemoryOperand::I2] {
        let size = Bits((all * (1 + draws.below(10)) / 8).max(64));
        for at in 0..accelerator.cores.len() {
            let core = CoreId::from(at);
            let Some(pool) = accelerator.top_pool(core, operand) else { continue };
            if accelerator.pool(pool).dram {
                continue;
            }
            let memory = accelerator.pool(pool).memory;
            accelerator.pools[pool.index()].size = size;
            let kind = accelerator.core(core).kind;
            accelerator.kinds[kind.index()].memories[memory].size = size;
        }
    }
}

/// Half of them share bandwidth fairly.
const CASES: u32 = 3000;

/// The problem whose mapping allows this candidate alone: bounds hold within the mapping's choices.
fn narrowed(problem: &Problem, candidate: &Candidate) -> Problem {
    let mapping = report::inputs::found(problem, candidate);
    let mut narrowed = Problem::new(problem.workload.clone(), problem.accelerator.clone(), mapping).unwrap();
    narrowed.search = problem.search.clone();
    narrowed
}

/// Whether the case has a legal schedule; refusals are values.
fn check_case(problem: &Problem, candidate: &Candidate) -> bool {
    let table = CostTable::new();
    let graph = graph(problem, candidate).unwrap();
    let full = match evaluate(problem, &graph, candidate, &table, Record::Full) {
        Ok(full) => full,
        Err(error) => {
            assert!(error.to_string().starts_with("layer "), "{error}");
            assert!(!error.to_string().contains("short by 0"), "{error}");
            return false;
        }
    };
    let report = check(problem, &graph, candidate, &full, &bound(&narrowed(problem, candidate)));
    assert!(report.is_clean(), "{report}");
    let totals = evaluate(problem, &graph, candidate, &table, Record::Totals).unwrap();
    let stripped = Schedule { log: None, ..full.schedule.clone() };
    assert_eq!(Evaluation { schedule: stripped, ..full.clone() }, totals);
    let schedule = &full.schedule;
    let why = &schedule.why;
    assert_eq!(why.compute + why.stall + why.transfer + why.dram + why.memory, schedule.latency.0);
    let streams = full.costs.nodes.iter().any(|node| !node.cost.streamed.is_empty());
    let work = work(&problem.accelerator, &full);
    // Not the latency: the last CN may make what nobody reads (rows that a stride leaves out).
    let end = schedule.cns.iter().map(|times| times.end).max().unwrap_or_default();
    for (work, busy) in work.iter().zip(&schedule.busy) {
        assert!(work <= busy && *busy <= end);
        assert!(streams || work == busy, "a core is busy for its CNs only");
    }
    true
}

#[test]
fn random_cases_are_scheduled_legally_or_refused() {
    let config = ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let scheduled = std::cell::Cell::new(0);
    let run = TestRunner::new_with_rng(config, rng).run(&draws(), |mut draws| {
        let (problem, candidate) = random_case(&mut draws);
        scheduled.set(scheduled.get() + u32::from(check_case(&problem, &candidate)));
        Ok(())
    });
    run.unwrap_or_else(|error| panic!("{error}"));
    let scheduled = scheduled.get();
    assert!(scheduled > CASES * 6 / 10, "only {scheduled} of {CASES} cases had a schedule");
}
