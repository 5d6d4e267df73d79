//! Prints value, bound, status and time for problems of growing size:
//! `cargo run --release -p millstream-solver --example sizes`.

#[path = "../tests/it/stack.rs"]
mod stack;

use millstream_solver::{Limits, Problem, Weights, milp};
use std::time::Instant;

fn main() {
    for traffic in [0.1, 0.3, 1.0] {
        for count in [1, 2, 3, 4, 6, 8, 10, 14, 20, 30, 40, 50, 100, 200] {
            report("one group", count, traffic, &stack::stack(count, 7, traffic));
            report("one by one", count, traffic, &stack::one_by_one(count, 7, traffic));
        }
    }
}

fn report(shape: &str, count: usize, traffic: f64, problem: &Problem) {
    let weights = Weights { time: 1.0, cost: 0.01 };
    let start = Instant::now();
    match milp(problem, &weights, &Limits::default()) {
        Ok(found) => println!(
            "{shape:10} tasks {count:3} traffic {traffic:.1}: {:9.0} ≥ {:9.0} gap {:5.2} % models {:3} in {:?}",
            found.objective.value,
            found.bound,
            100.0 * (1.0 - found.bound / found.objective.value),
            found.solves,
            start.elapsed(),
        ),
        Err(error) => println!("{shape:10} tasks {count:3}: {error}"),
    }
}
