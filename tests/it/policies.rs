//! Policies over one space: the oracle is nowhere beaten, bounds hold, searches repeat.

use crate::fixture::{Draws, draws, random_workload};
use millstream::accelerator::yaml as hardware;
use millstream::allocation::genome::{Genes, Genome};
use millstream::allocation::policy::Policy;
use millstream::bound::bound;
use millstream::cost::{CostTable, Objective};
use millstream::mapping::Mapping;
use millstream::pipeline::Problem;
use millstream::pipeline::run::{Mode, Outcome, RunError, RunOptions, run_with};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use std::cell::RefCell;

/// Candidates the oracle may try in a case.
const MOST: usize = 1500;

fn small_case(draws: &mut Draws) -> (Problem, RunOptions) {
    let workload = random_workload(draws);
    let accelerator = hardware::find("testing_two_core").unwrap();
    let mut problem = Problem::new(workload, accelerator, Mapping::default()).unwrap();
    problem.search.lpf_limit = 4;
    let options = RunOptions {
        mode: if draws.rarely(3) { Mode::LayerByLayer } else { Mode::Fused },
        rows: vec![1, 3],
        objective: [Objective::Latency, Objective::Energy, Objective::Edp][draws.below(3) as usize],
        simulations: Some(40),
        seed: draws.below(5),
        ..RunOptions::default()
    };
    problem.search.objective = options.objective;
    (problem, options)
}

fn value(outcome: &Outcome, objective: Objective) -> f64 {
    let (latency, energy) = (outcome.evaluation.schedule.latency.0 as f64, outcome.evaluation.energy.total);
    match objective {
        Objective::Latency => latency,
        Objective::Energy => energy,
        Objective::Edp => latency * energy,
    }
}

/// 1 - bound / value of the oracle's best; none if the case is too large or infeasible.
fn check_case(problem: &Problem, options: &RunOptions) -> Option<f64> {
    let table = CostTable::new();
    let by = |policy, simulations| {
        let options = RunOptions { policy, simulations: Some(simulations), ..options.clone() };
        run_with(problem, &options, &table)
    };
    let oracle = by(Policy::Exhaustive, MOST);
    if let Err(RunError::Search(error)) = &oracle
        && error.to_string().contains("exhaustive")
    {
        return None;
    }
    let Ok(oracle) = oracle else {
        for policy in [Policy::Ilp, Policy::Greedy, Policy::Genetic, Policy::Random] {
            assert!(by(policy, 40).is_err(), "{policy:?} schedules what the oracle finds infeasible");
        }
        return None;
    };
    let best = value(&oracle, options.objective);
    let bound = bound(problem);
    let least = match options.objective {
        Objective::Latency => bound.latency.0 as f64,
        Objective::Energy => bound.energy.0,
        Objective::Edp => bound.edp(),
    };
    assert!(least <= best, "bound {least} above the optimum {best}");
    let ilp = by(Policy::Ilp, 40).map(|outcome| value(&outcome, options.objective));
    let greedy = by(Policy::Greedy, 40).map(|outcome| value(&outcome, options.objective));
    for policy in [Policy::Ilp, Policy::Greedy, Policy::Genetic, Policy::Random] {
        let Ok(outcome) = by(policy, 40) else { continue };
        let found = value(&outcome, options.objective);
        assert!(found >= best, "{policy:?} finds {found}, the oracle {best}");
    }
    if let (Ok(ilp), Ok(greedy)) = (ilp, greedy) {
        assert!(ilp <= greedy, "ilp {ilp} is worse than greedy {greedy}");
    }
    Some(1.0 - least / best)
}

#[test]
fn no_policy_beats_the_oracle_and_bounds_hold() {
    let config = ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let gaps = RefCell::new(Vec::new());
    let run = TestRunner::new_with_rng(config, rng).run(&draws(), |mut draws| {
        let (problem, options) = small_case(&mut draws);
        gaps.borrow_mut().extend(check_case(&problem, &options));
        Ok(())
    });
    run.unwrap_or_else(|error| panic!("{error}"));
    let mut gaps = gaps.into_inner();
    gaps.sort_by(f64::total_cmp);
    assert!(gaps.len() > 100, "only {} of 150 cases were small and feasible", gaps.len());
    println!("median gap between bound and optimum over {} cases: {:.3}", gaps.len(), gaps[gaps.len() / 2]);
}

#[test]
fn a_seed_repeats_a_search() {
    let workload = crate::pipeline::network("fsrcnn");
    let accelerator = hardware::find("tpu_like_quad_core").unwrap();
    let problem = Problem::new(workload, accelerator, Mapping::default()).unwrap();
    for policy in [Policy::Ilp, Policy::Genetic, Policy::Random] {
        let options = RunOptions {
            mode: Mode::LayerByLayer,
            policy,
            simulations: Some(24),
            seed: 3,
            ..RunOptions::default()
        };
        let one = run_with(&problem, &options, &CostTable::new()).unwrap();
        let other = run_with(&problem, &options, &CostTable::new()).unwrap();
        assert_eq!(one.candidate, other.candidate);
        assert_eq!(one.front, other.front);
        assert!(!one.front.is_empty());
        let ascending = one
            .front
            .windows(2)
            .all(|two| two[0].latency_cycles < two[1].latency_cycles && two[0].energy_pj > two[1].energy_pj);
        assert!(ascending, "a front trades latency for energy: {:?}", one.front);
    }
}

#[test]
fn a_space_too_large_for_the_oracle_is_refused() {
    let workload = crate::pipeline::network("resnet18");
    let accelerator = hardware::find("tpu_like_quad_core").unwrap();
    let problem = Problem::new(workload, accelerator, Mapping::default()).unwrap();
    let options = RunOptions { policy: Policy::Exhaustive, ..RunOptions::default() };
    let error = run_with(&problem, &options, &CostTable::new()).err().unwrap().to_string();
    assert!(error.starts_with("--policy exhaustive would simulate"), "{error}");
}

/// `extract` of FSRCNN has 56 output channels: gene 1 cuts it in single rows, the first gene behind the rows
/// in 4 pieces of 14 channels, as long as it is alone; in a stack all layers are cut in rows.
#[test]
fn a_layer_alone_may_be_cut_in_channels() {
    let workload = crate::pipeline::network("fsrcnn");
    let accelerator = hardware::find("tpu_like_quad_core").unwrap();
    let problem = Problem::new(workload, accelerator, Mapping::default()).unwrap();
    let genes = Genes::new(&problem, &[1, 2], true).unwrap();
    let layers = problem.workload.layers.len();
    let tiles = |begins: bool, gene: u8| {
        let genome =
            Genome { begins: vec![begins; layers], rows: vec![gene; layers], choices: vec![0; layers] };
        let cuts = genes.intra(&genes.canonical(genome));
        let layer = &problem.workload.layers[0];
        cuts[0].iter().map(|cut| (layer.dims[cut.dim].dim.to_string(), cut.tile)).collect::<Vec<_>>()
    };
    assert_eq!(tiles(true, 0), []);
    assert_eq!(tiles(true, 1), [("OY".to_owned(), 1)]);
    assert_eq!(tiles(true, 3), [("K".to_owned(), 14)]);
    assert_eq!(tiles(false, 3), [("OY".to_owned(), 1)]);
}
