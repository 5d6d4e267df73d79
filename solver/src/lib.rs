//! Assignment problems in pure mathematics: choose one of several choices for every task.
//!
//! Given tasks t with choices c, resources r, groups g that run one after the other, edges
//! e = (p, t) and budgets b, choose c_t for every t so as to
//! ```text
//! minimise  w_time Σ_g T_g + w_cost ( Σ_t cost(t, c_t) + Σ_e cost(e, c_p, c_t) ) + Σ_b price_b o_b
//!
//! T_g = max of  Σ_{t in g} load(t, c_t, r) + Σ_{e into g} load(e, c_p, c_t, r)    for every r
//!          and  s_t + latency(t, c_t)                                             for every t in g
//! s_t = max of 0 and s_p + fill(p, c_p)          over the edges (p, t) within g
//! o_b = max of 0 and Σ_t uses(t, c_t, b) - capacity_b;    hard budgets demand o_b = 0
//! ```
//! A resource is whatever works for one thing at a time: a machine, a link, a port. T_g is what
//! g takes if every resource works without waiting, so the objective is a surrogate: a lower
//! bound on the makespan of every schedule that makes these choices and keeps the groups apart.
//!
//! [`evaluate`] is this formula and nothing else; every policy is compared by it. [`milp`]
//! minimises it and proves a bound, [`greedy`] and [`improve`] are the fast ways,
//! [`exhaustive`] is the oracle. All of them are deterministic: limits count nodes, table
//! entries and evaluations, and the clock only where [`Limits::time_limit`] asks for it.
//!
//! ```
//! use millstream_solver::{Choice, Limits, Problem, SolveStatus, Task, Weights, milp};
//!
//! // Two machines; tasks of length 3, 2 and 1 on either: {3} and {2, 1} take 3.
//! let task = |length| Task {
//!     group: 0,
//!     choices: vec![0, 1].into_iter().map(|machine| Choice {
//!         loads: vec![(machine, length)],
//!         ..Choice::default()
//!     }).collect(),
//! };
//! let problem = Problem {
//!     resources: 2,
//!     groups: 1,
//!     tasks: vec![task(3.0), task(2.0), task(1.0)],
//!     ..Problem::default()
//! };
//! let solution = milp(&problem, &Weights::default(), &Limits::default())?;
//! assert_eq!(solution.objective.value, 3.0);
//! assert_eq!(solution.status, SolveStatus::Optimal);
//! # Ok::<(), millstream_solver::SolveError>(())
//! ```
//!
//! Modules in reading order: `problem`, `objective` (the formula), `state` (the same,
//! incrementally), `greedy`, `local`, `kicks`, `exhaustive`, `eliminate` (exact for small
//! groups), `model` with `transport` (the linear model), `backend` (microlp), `symmetry`,
//! `windows`, `split`, `feasible`, `limits`, `solve` (the order of all this). Apart from problems of
//! this form: `pareto` and `nsga`, the genetic search over any genome with two objectives, `fluid`, a bound for divisible work,
//! and `sequence`, the pseudo-random numbers of all searches.

mod backend;
mod eliminate;
mod error;
mod exhaustive;
mod feasible;
mod fluid;
mod greedy;
mod index;
mod kicks;
mod limits;
mod local;
mod model;
mod nsga;
mod objective;
mod pareto;
mod problem;
mod sequence;
mod solve;
mod split;
mod state;
mod symmetry;
mod transport;
mod windows;

pub use error::SolveError;
pub use exhaustive::{Best, choice_vectors, exhaustive};
pub use fluid::fluid;
pub use greedy::greedy;
pub use limits::Limits;
pub use local::{Improved, improve};
pub use nsga::{Breeding, Individual, nsga2};
pub use objective::{Objective, evaluate};
pub use pareto::{Front, Values, dominates};
pub use problem::{Block, Budget, Choice, Edge, Overflow, Pair, Problem, Symmetry, Task, Weights};
pub use sequence::Sequence;
pub use solve::{Solution, SolveStatus, milp};

#[cfg(test)]
mod properties;
