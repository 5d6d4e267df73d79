//! Fix and optimise: small models over a window of tasks, all other tasks as they are.
//!
//! ```text
//! windows: [k w/2, k w/2 + w) for k = 0, 1, …        in topological order, w tasks each
//! solve the model with every task outside the window fixed; keep the result if it improves
//! ```
//! Passes are repeated while they improve, at most `PASSES` times. The value never rises, and
//! nothing is proven.

use crate::backend::{Effort, solve};
use crate::index::Index;
use crate::limits::Clock;
use crate::model::{Aim, EdgeTerms, Form, time_units};
use crate::problem::Weights;
use crate::state::State;

/// Passes over all windows.
const PASSES: usize = 3;

/// What the windows cost and gave.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Swept {
    pub choices: Vec<u32>,
    /// Models solved.
    pub solves: usize,
}

/// Improves `start` window by window; `nodes` limits each model.
pub(crate) fn sweep(
    index: &Index,
    weights: Weights,
    start: &[u32],
    (window, nodes): (usize, u64),
    clock: &mut Clock,
) -> Swept {
    let mut swept = Swept { choices: start.to_vec(), solves: 0 };
    let tasks = start.len();
    let step = (window / 2).max(1);
    for _ in 0..PASSES {
        let mut improved = false;
        for first in (0..tasks).step_by(step) {
            if clock.expired() {
                return swept;
            }
            let last = (first + window).min(tasks);
            improved |= optimise(index, weights, &mut swept, first..last, nodes, clock);
            if last == tasks {
                break;
            }
        }
        if !improved {
            break;
        }
    }
    swept
}

fn optimise(
    index: &Index,
    weights: Weights,
    swept: &mut Swept,
    window: std::ops::Range<usize>,
    nodes: u64,
    clock: &mut Clock,
) -> bool {
    let now = State::new(index, weights, &swept.choices).objective();
    if now.value <= 0.0 {
        return false;
    }
    let allowed: Vec<Vec<u32>> = (0..swept.choices.len())
        .map(|t| match window.contains(&t) {
            true => (0..index.choices(t) as u32).collect(),
            false => vec![swept.choices[t]],
        })
        .collect();
    let form = Form {
        index,
        weights,
        allowed: &allowed,
        edges: EdgeTerms::Modelled,
        aim: Aim::Objective,
        time_units: &time_units(index, &now.times),
        unit: now.value,
        integral: true,
    };
    let effort = Effort { nodes, time: clock.remaining(), start: Some(&swept.choices), ..Effort::default() };
    swept.solves += 1;
    let outcome = solve(&form, &effort);
    clock.note(outcome.timed_out);
    let Some(choices) = outcome.choices else {
        return false;
    };
    let better = State::new(index, weights, &choices).score().beats(now.score());
    if better {
        swept.choices = choices;
    }
    better
}
