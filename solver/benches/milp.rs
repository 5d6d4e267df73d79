//! Assignment instances of the class on which solvers are compared: objective, proven bound and gap within
//! the default budget of nodes, for the solver alone and with the searches around it.
//!
//! ```text
//! instance  N jobs on M unequal machines; run times 10 to 100, times 0.5 to 2 per machine; hard
//!           memories with 25 % slack; two predecessors per job; data that changes machines loads the
//!           sender and costs
//! minimise  makespan + 0.01 data moved
//! ```
//! `cargo bench -p millstream-solver --bench milp`. `greedy`: tasks in order. `model`: the linear model
//! of the whole by microlp, warm-started by greedy, without windows and local search. `milp`: all.

use millstream_solver::{
    Budget, Choice, Edge, Limits, Overflow, Pair, Problem, Sequence, SolveError, Task, Weights, evaluate,
    greedy, milp,
};
use std::time::Instant;

const WEIGHTS: Weights = Weights { time: 1.0, cost: 0.01 };

fn main() -> Result<(), SolveError> {
    println!("instance    greedy     model    milp     bound  gap, %  seconds");
    for (jobs, machines) in [(20, 4), (40, 8), (60, 8), (80, 16)] {
        let problem = instance(jobs, machines);
        let first = evaluate(&problem, &WEIGHTS, &greedy(&problem, &WEIGHTS)).value;
        let model = Limits { window: 1, evaluations: 0, columns: usize::MAX, ..Limits::default() };
        let alone = milp(&problem, &WEIGHTS, &model)?.objective.value;
        let start = Instant::now();
        let found = milp(&problem, &WEIGHTS, &Limits::default())?;
        let seconds = start.elapsed().as_secs_f64();
        let value = found.objective.value;
        let gap = 100.0 * (1.0 - found.bound / value);
        let name = format!("{jobs}x{machines}");
        println!(
            "{name:<8}  {first:>8.1}  {alone:>8.1}  {value:>6.1}  {:>8.1}  {gap:>6.1}  {seconds:>7.2}",
            found.bound
        );
    }
    Ok(())
}

fn instance(jobs: usize, machines: usize) -> Problem {
    let mut sequence = Sequence::new((1000 * jobs + machines) as u64);
    let mut uniform = |low: usize, high: usize| (low + sequence.below(high - low + 1)) as f64;
    let mut tasks = Vec::new();
    let mut edges = Vec::new();
    let mut needed = 0.0;
    for job in 0..jobs {
        let (work, memory, data) = (uniform(10, 100), uniform(1, 10), uniform(1, 20));
        needed += memory;
        let choices = (0..machines).map(|machine| Choice {
            loads: vec![(machine as u32, work * uniform(50, 200) / 100.0)],
            uses: vec![(machine as u32, memory)],
            ..Choice::default()
        });
        tasks.push(Task { group: 0, choices: choices.collect() });
        for _ in 0..job.min(2) {
            let from = uniform(0, job - 1) as u32;
            if edges.iter().any(|edge: &Edge| (edge.from, edge.to) == (from, job as u32)) {
                continue;
            }
            edges.push(Edge { from, to: job as u32, pairs: moved(machines as u32, data) });
        }
    }
    let capacity = 1.25 * needed / machines as f64;
    let budget = Budget { capacity, overflow: Overflow::Forbidden };
    Problem {
        resources: machines,
        groups: 1,
        tasks,
        edges,
        budgets: vec![budget; machines],
        ..Problem::default()
    }
}

/// Data that changes machines loads the one it leaves.
fn moved(machines: u32, data: f64) -> Vec<Pair> {
    let different = |from: u32| (0..machines).filter(move |to| *to != from).map(move |to| (from, to));
    let pair = |(from_choice, to_choice): (u32, u32)| Pair {
        from_choice,
        to_choice,
        loads: vec![(from_choice, data)],
        cost: data,
    };
    (0..machines).flat_map(different).map(pair).collect()
}
