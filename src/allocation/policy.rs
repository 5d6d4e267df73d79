//! Policies, and what they propose for one tiling.
//!
//! [`propose`] names its candidates by source. The ILP minimises the
//! surrogate exactly where the solver proves it, and brings the greedy and two uniform candidates
//! (every layer split over all cores in channels, or in rows) along: the simulation decides among
//! them, because the surrogate ignores fill, contention and eviction.

use super::space::{LayerChoice, Space, SpaceError};
use super::surrogate::Surrogate;
use crate::cost::Objective;
use crate::workload::{Layer, Workload};
use millstream_solver as solver;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Which policy allocates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Integer linear programme over the surrogate, then the simulation among its proposals.
    #[default]
    Ilp,
    /// Layer by layer, least marginal surrogate.
    Greedy,
    /// The mapping's allocation.
    Fixed,
    /// NSGA-II on simulated latency and energy.
    Genetic,
    /// Random candidates, the best of them.
    Random,
    /// Every candidate, where they are few.
    Exhaustive,
}

/// A choice per layer and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// `ilp`, `greedy`, `channels`, `rows`, `fixed`.
    pub source: &'static str,
    /// Choice per layer.
    pub choices: Vec<u32>,
    /// What the solver says, for the ILP.
    pub solver: SolverReport,
}

/// The solver's report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SolverReport {
    /// `microlp`, or `none`.
    pub backend: String,
    /// `optimal`, `feasible`, `time_limited`, `none`.
    pub status: String,
    /// Lower bound on the surrogate's objective, where there is one.
    pub bound: Option<f64>,
}

impl SolverReport {
    /// No solver was asked.
    pub fn none() -> Self {
        Self { backend: "none".to_owned(), status: "none".to_owned(), bound: None }
    }
}

/// A policy that found nothing.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The mapping leaves layers open.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// The solver's reason.
    #[error("allocation: {0}")]
    Solver(#[from] solver::SolveError),
}

/// The proposals of a policy for one tiling.
pub fn propose(
    workload: &Workload,
    space: &Space,
    surrogate: &Surrogate,
    policy: Policy,
    objective: Objective,
    time_limit: Option<Duration>,
) -> Result<Vec<Proposal>, PolicyError> {
    if policy == Policy::Fixed {
        let choices = space.fixed(workload)?;
        return Ok(vec![Proposal { source: "fixed", choices, solver: SolverReport::none() }]);
    }
    let proposal = |source, choices: Vec<u32>, solver| {
        let choices = surrogate.original(&choices);
        Proposal { source, choices, solver }
    };
    let simple = |source, choices| proposal(source, choices, SolverReport::none());
    let start = solver::greedy(&surrogate.problem, &solver::Weights { time: 1.0, cost: 0.0 });
    let weights = weights(surrogate, &start, objective);
    let greedy = simple("greedy", solver::greedy(&surrogate.problem, &weights));
    if policy == Policy::Greedy {
        return Ok(vec![greedy]);
    }
    let limits = solver::Limits { time_limit, ..solver::Limits::default() };
    let solution = solver::milp(&surrogate.problem, &weights, &limits)?;
    let status = match solution.status {
        solver::SolveStatus::Optimal => "optimal",
        solver::SolveStatus::Feasible { .. } => "feasible",
        solver::SolveStatus::TimeLimited { .. } => "time_limited",
    };
    let report =
        SolverReport { backend: solution.backend, status: status.to_owned(), bound: Some(solution.bound) };
    let mut proposals = vec![proposal("ilp", solution.choices, report)];
    let uniform = |source, rows| simple(source, uniform(workload, &surrogate.space, rows));
    for proposal in [greedy, uniform("channels", false), uniform("rows", true)] {
        if proposals.iter().all(|known| known.choices != proposal.choices) {
            proposals.push(proposal);
        }
    }
    Ok(proposals)
}

/// Prices of time and energy: EDP is linearised at the start, where 1 % of either weighs the same.
fn weights(surrogate: &Surrogate, start: &[u32], objective: Objective) -> solver::Weights {
    let at = surrogate.predict(start);
    let (time, cost) = (1.0 / at.latency_cycles.max(1.0), 1.0 / at.energy_pj.max(1.0));
    match objective {
        Objective::Latency => solver::Weights { time, cost: 1e-6 * cost },
        Objective::Energy => solver::Weights { time: 1e-6 * time, cost },
        Objective::Edp => solver::Weights { time, cost },
    }
}

/// Every layer split over as many cores as possible, in rows or in channels.
fn uniform(workload: &Workload, space: &Space, rows: bool) -> Vec<u32> {
    let rank = |layer: &Layer, choice: &LayerChoice| {
        let wanted = choice.inter.first().is_some_and(|cut| (Some(cut.dim) != layer.channel_dim()) == rows);
        (wanted, choice.cores.len())
    };
    (workload.layers.iter().zip(&space.layers))
        .map(|(layer, choices)| {
            let best = (0..choices.len()).rev().max_by_key(|at| rank(layer, &choices[*at]));
            best.unwrap_or(0) as u32
        })
        .collect()
}
