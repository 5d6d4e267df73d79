//! The solver: greedy, local search, windows, one model of the whole.
//!
//! Independent parts are solved one by one; values and bounds add up. For each part:
//! ```text
//! 1 elimination, if its tables are small: optimal
//! 2 greedy + local search; if hard budgets are broken, a model of the violation alone
//! 3 bound: relaxation without edges (tiny)
//! 4 iterated local search; windows (fix and optimise); local search
//! 5 the whole model, symmetric choices forbidden, started from 4: bound, perhaps optimality;
//!   without nodes left for it, its relaxation
//! ```
//! The incumbent never gets worse; bound ≤ optimum ≤ value always. The status follows from
//! both: optimal if they agree within [`Limits::gap`].

use crate::backend::{self, Effort, Outcome};
use crate::eliminate::eliminate;
use crate::error::SolveError;
use crate::feasible::{check_budgets, infeasible, repair};
use crate::greedy::greedy_from;
use crate::index::Index;
use crate::kicks;
use crate::limits::{Clock, Limits};
use crate::local::improve_from;
use crate::model::{Aim, EdgeTerms, Form, time_units};
use crate::objective::{Objective, Score, evaluate};
use crate::problem::{Problem, Weights};
use crate::split::parts;
use crate::state::State;
use crate::symmetry;
use crate::windows;
use serde::{Deserialize, Serialize};

/// What [`milp`] found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Solution {
    /// One choice per task.
    pub choices: Vec<u32>,
    /// Their exact value, by [`evaluate`](crate::evaluate).
    pub objective: Objective,
    /// No choice vector within the hard budgets has a lower value.
    pub bound: f64,
    /// How the value relates to the bound.
    pub status: SolveStatus,
    /// What solved the models.
    pub backend: String,
    /// Models solved: relaxations, windows, wholes.
    pub solves: usize,
    /// Choice vectors evaluated by local search.
    pub evaluations: u64,
}

/// How good a solution is known to be; gap = 1 - bound / value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SolveStatus {
    /// No choice vector is better (within [`Limits::gap`]).
    Optimal,
    /// The limits on work were reached.
    Feasible {
        /// Relative distance to the bound.
        gap: f64,
    },
    /// The clock stopped the search: another run may end elsewhere.
    TimeLimited {
        /// Relative distance to the bound.
        gap: f64,
    },
}

/// Solves `problem`, exactly where it is small, else as well as the limits permit.
///
/// # Errors
/// [`SolveError::Malformed`]; [`SolveError::Infeasible`] and [`SolveError::NothingFound`] if
/// hard budgets cannot be, or were not, satisfied.
pub fn milp(problem: &Problem, weights: &Weights, limits: &Limits) -> Result<Solution, SolveError> {
    problem.validate()?;
    weights.validate()?;
    check_budgets(problem)?;
    let mut work = Work { limits, clock: Clock::start(limits), solves: 0, evaluations: 0 };
    let mut choices = vec![0; problem.tasks.len()];
    let mut bound = 0.0;
    for part in parts(problem) {
        let found = work.part(&part.problem, *weights)?;
        for (&t, choice) in part.tasks.iter().zip(found.choices) {
            choices[t as usize] = choice;
        }
        bound += found.bound;
    }
    let objective = evaluate(problem, weights, &choices);
    let bound = bound.min(objective.value);
    Ok(Solution {
        status: status(objective.value, bound, limits, work.clock.stopped()),
        choices,
        objective,
        bound,
        backend: backend::NAME.to_string(),
        solves: work.solves,
        evaluations: work.evaluations,
    })
}

fn status(value: f64, bound: f64, limits: &Limits, stopped: bool) -> SolveStatus {
    let gap = if value > 0.0 { 1.0 - bound / value } else { 0.0 };
    if gap <= limits.gap.max(PROOF) {
        SolveStatus::Optimal
    } else if stopped {
        SolveStatus::TimeLimited { gap }
    } else {
        SolveStatus::Feasible { gap }
    }
}

/// Relative distance below which value and bound agree: the accuracy of the backend.
const PROOF: f64 = 1e-6;

/// A window's model gets this fraction of the nodes: it improves, the whole model proves.
const WINDOW_SHARE: u64 = 20;

/// A part's choices and a bound on its value.
struct Found {
    choices: Vec<u32>,
    bound: f64,
}

struct Work<'l> {
    limits: &'l Limits,
    clock: Clock,
    solves: usize,
    evaluations: u64,
}

impl Work<'_> {
    fn part(&mut self, problem: &Problem, weights: Weights) -> Result<Found, SolveError> {
        let index = Index::new(problem);
        if let Some(choices) = eliminate(&index, weights, self.limits.tables) {
            let score = State::new(&index, weights, &choices).score();
            if score.violation > 0.0 {
                return Err(infeasible(&index, &choices));
            }
            let bound = score.value;
            return Ok(Found { choices, bound });
        }
        let mut choices = self.improve(&index, weights, &greedy_from(&index, weights));
        if score(&index, weights, &choices).violation > 0.0 {
            choices = repair(&index, weights, &choices, self.limits, &mut self.clock)?;
            self.solves += 1;
            choices = self.improve(&index, weights, &choices);
        }
        let mut bound = self.relaxation(&index, weights, &choices);
        if self.solved(&index, weights, &choices, bound) {
            return Ok(Found { choices, bound });
        }
        choices = self.kick(&index, weights, &choices);
        if self.solved(&index, weights, &choices, bound) {
            return Ok(Found { choices, bound });
        }
        choices = self.windows(&index, weights, &choices);
        if !self.solved(&index, weights, &choices, bound) {
            let whole = self.whole(&index, weights, &choices);
            bound = whole.bound.unwrap_or(bound).max(bound);
            if let Some(found) = whole.choices {
                let found = self.improve(&index, weights, &found);
                if score(&index, weights, &found).beats(score(&index, weights, &choices)) {
                    choices = found;
                }
            }
        }
        Ok(Found { choices, bound })
    }

    fn solved(&self, index: &Index, weights: Weights, choices: &[u32], bound: f64) -> bool {
        let value = score(index, weights, choices).value;
        status(value, bound, self.limits, false) == SolveStatus::Optimal
    }

    fn improve(&mut self, index: &Index, weights: Weights, start: &[u32]) -> Vec<u32> {
        let limit = self.limits.evaluations_for(start.len());
        let improved = improve_from(index, weights, start, limit);
        self.evaluations += improved.evaluations;
        improved.choices
    }

    fn kick(&mut self, index: &Index, weights: Weights, start: &[u32]) -> Vec<u32> {
        let limit = self.limits.evaluations_for(start.len());
        let (choices, spent) = kicks::kick(index, weights, start, limit, &mut self.clock);
        self.evaluations += spent;
        choices
    }

    /// Lower bound by the relaxation without edges; 0 if it fails.
    fn relaxation(&mut self, index: &Index, weights: Weights, choices: &[u32]) -> f64 {
        let allowed = symmetry::allowed(index, &[]);
        let effort = Effort::default();
        let terms = (EdgeTerms::Dropped, false);
        let outcome = self.model(index, weights, choices, &allowed, terms, effort);
        outcome.bound.unwrap_or(0.0).max(0.0)
    }

    fn windows(&mut self, index: &Index, weights: Weights, choices: &[u32]) -> Vec<u32> {
        let window = self.limits.window.min(choices.len());
        if window < 2 || self.limits.nodes == 0 {
            return choices.to_vec();
        }
        let sizes = (window, self.limits.nodes.div_ceil(WINDOW_SHARE));
        let swept = windows::sweep(index, weights, choices, sizes, &mut self.clock);
        self.solves += swept.solves;
        self.improve(index, weights, &swept.choices)
    }

    /// The model of the whole, or its relaxation if there are no nodes for it.
    fn whole(&mut self, index: &Index, weights: Weights, choices: &[u32]) -> Outcome {
        let symmetries = symmetry::check(index);
        let allowed = symmetry::allowed(index, &symmetries);
        let start = symmetry::canonical(index, &symmetries, choices);
        let columns = columns(index, &allowed);
        if columns > self.limits.columns || self.clock.expired() {
            return Outcome::default();
        }
        let nodes = self.limits.nodes_for(columns);
        let effort =
            Effort { nodes, gap: self.limits.gap, time: self.clock.remaining(), start: Some(&start) };
        let terms = (EdgeTerms::Modelled, nodes > 0);
        self.model(index, weights, choices, &allowed, terms, effort)
    }

    fn model(
        &mut self,
        index: &Index,
        weights: Weights,
        choices: &[u32],
        allowed: &[Vec<u32>],
        (edges, integral): (EdgeTerms, bool),
        effort: Effort,
    ) -> Outcome {
        let objective = State::new(index, weights, choices).objective();
        if objective.value <= 0.0 {
            return Outcome::default();
        }
        let form = Form {
            index,
            weights,
            allowed,
            edges,
            aim: Aim::Objective,
            time_units: &time_units(index, &objective.times),
            unit: objective.value,
            integral,
        };
        self.solves += 1;
        let outcome = backend::solve(&form, &effort);
        self.clock.note(outcome.timed_out);
        tracing::debug!(
            bound = outcome.bound,
            nodes = outcome.nodes,
            pivots = outcome.iterations,
            optimal = outcome.optimal,
            "model solved"
        );
        outcome
    }
}

fn score(index: &Index, weights: Weights, choices: &[u32]) -> Score {
    State::new(index, weights, choices).score()
}

/// Variables of the whole model, roughly.
fn columns(index: &Index, allowed: &[Vec<u32>]) -> usize {
    let singles: usize = allowed.iter().map(Vec::len).sum();
    let pairs = index.problem.edges.iter().map(|edge| {
        let (p, t) = (edge.from as usize, edge.to as usize);
        let dense = allowed[p].len() * allowed[t].len();
        dense.min(edge.pairs.len() * 2)
    });
    singles + pairs.sum::<usize>() + index.problem.groups
}
