//! Hard budgets: proof that they cannot hold, or a choice vector that satisfies them.
//!
//! ```text
//! alone:  Σ_t min_c uses(t, c, b) > capacity_b        proves that budget b is too small
//! joint:  min Σ_hard o_b / capacity_b > 0             (a model of x and o alone) proves the rest
//! ```
//! Loads, costs and edges never make a problem infeasible.

use crate::backend::{Effort, solve};
use crate::error::SolveError;
use crate::index::Index;
use crate::limits::{Clock, Limits};
use crate::model::{Aim, EdgeTerms, Form, time_units};
use crate::objective::overflow;
use crate::problem::{Overflow, Problem, Weights};
use crate::state::State;

/// Violations below this are within the backend's accuracy and prove nothing.
const PROOF: f64 = 1e-6;

/// Checks every hard budget on its own.
pub(crate) fn check_budgets(problem: &Problem) -> Result<(), SolveError> {
    for (b, budget) in problem.budgets.iter().enumerate() {
        let least = problem.tasks.iter().map(|task| {
            let amounts = task.choices.iter().map(|choice| {
                let mine = choice.uses.iter().filter(|&&(other, _)| other as usize == b);
                mine.map(|&(_, amount)| amount).sum::<f64>()
            });
            amounts.fold(f64::INFINITY, f64::min)
        });
        let demand: f64 = least.sum();
        if budget.overflow == Overflow::Forbidden && overflow(budget, demand) > 0.0 {
            return Err(SolveError::Infeasible { budget: b as u32, demand, capacity: budget.capacity });
        }
    }
    Ok(())
}

/// A choice vector within the hard budgets, `start` being none.
pub(crate) fn repair(
    index: &Index,
    weights: Weights,
    start: &[u32],
    limits: &Limits,
    clock: &mut Clock,
) -> Result<Vec<u32>, SolveError> {
    let allowed: Vec<Vec<u32>> = (0..start.len()).map(|t| (0..index.choices(t) as u32).collect()).collect();
    let form = Form {
        index,
        weights,
        allowed: &allowed,
        edges: EdgeTerms::Dropped,
        aim: Aim::Violation,
        time_units: &time_units(index, &vec![0.0; index.problem.groups]),
        unit: 1.0,
        integral: true,
    };
    let effort = Effort {
        nodes: limits.nodes.max(1) * 10,
        time: clock.remaining(),
        start: Some(start),
        ..Effort::default()
    };
    let outcome = solve(&form, &effort);
    clock.note(outcome.timed_out);
    let before = State::new(index, weights, start).score();
    let best = match outcome.choices {
        Some(found) if State::new(index, weights, &found).score().beats(before) => found,
        _ => start.to_vec(),
    };
    if State::new(index, weights, &best).score().violation == 0.0 {
        return Ok(best);
    }
    let error = infeasible(index, &best);
    match (outcome.bound.is_some_and(|bound| bound > PROOF), error) {
        (false, SolveError::Infeasible { budget, demand, capacity }) => {
            Err(SolveError::NothingFound { budget, demand, capacity })
        }
        (_, error) => Err(error),
    }
}

/// The error that names the hard budget which `choices` exceed most, relatively.
pub(crate) fn infeasible(index: &Index, choices: &[u32]) -> SolveError {
    let state = State::new(index, Weights::default(), choices);
    let mut worst = (0, 0.0, f64::NEG_INFINITY);
    for (b, budget) in index.problem.budgets.iter().enumerate() {
        let used = state.uses()[b];
        let share = overflow(budget, used) / budget.capacity.max(f64::MIN_POSITIVE);
        if budget.overflow == Overflow::Forbidden && share > worst.2 {
            worst = (b, used, share);
        }
    }
    SolveError::Infeasible {
        budget: worst.0 as u32,
        demand: worst.1,
        capacity: index.problem.budgets[worst.0].capacity,
    }
}
