//! Instances of the typical size: what is found and proven within the default limits.

use crate::stack::{one_by_one, stack};
use millstream_solver::*;

const WEIGHTS: Weights = Weights { time: 1.0, cost: 0.01 };

#[test]
fn forty_tasks_are_solved_within_a_few_percent() {
    let problem = stack(40, 7, 0.3);
    let found = milp(&problem, &WEIGHTS, &Limits::default()).unwrap();
    let gap = 1.0 - found.bound / found.objective.value;
    assert!((0.0..0.05).contains(&gap), "{gap}");
    let first = evaluate(&problem, &WEIGHTS, &greedy(&problem, &WEIGHTS));
    assert!(found.objective.value < 0.9 * first.value);
}

#[test]
fn the_answer_is_the_same_every_time() {
    let limits = Limits { nodes: 50, evaluations: 20_000, ..Limits::default() };
    let problem = stack(20, 3, 1.0);
    let solve = || milp(&problem, &WEIGHTS, &limits).unwrap();
    assert_eq!(solve(), solve());
}

#[test]
fn chains_of_one_task_groups_are_exact_without_a_model() {
    let problem = one_by_one(50, 7, 1.0);
    let found = milp(&problem, &WEIGHTS, &Limits::default()).unwrap();
    assert_eq!((found.status, found.solves), (SolveStatus::Optimal, 0));
    let start = greedy(&problem, &WEIGHTS);
    let improved = improve(&problem, &WEIGHTS, &start, 1_000_000);
    assert!(found.objective.value <= improved.objective.value);
}
