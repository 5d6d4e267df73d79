//! Running a linear model on a backend.
//!
//! The model itself is written by [`write`] for any `good_lp::Solver`; a further backend is
//! one more function like [`solve`] here.
//!
//! microlp is deterministic, and stops after a number of branch-and-bound nodes. good_lp
//! passes on neither that limit nor the proven bound, so the model is built through good_lp and
//! solved through `MicroLpProblem::as_inner`. Invariant: microlp's columns are those of
//! good_lp, in the same order.

use crate::model::{Form, Written, write};
use good_lp::{ProblemVariables, ResolutionError, microlp};
use std::time::Duration;

/// The name of the backend, for reports.
pub(crate) const NAME: &str = "microlp";

/// When to stop, and where to start.
#[derive(Debug, Clone, Default)]
pub(crate) struct Effort<'a> {
    pub nodes: u64,
    pub gap: f64,
    pub time: Option<Duration>,
    /// A choice vector within `allowed` to start from.
    pub start: Option<&'a [u32]>,
}

/// What a backend found out.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Outcome {
    /// One choice per task, if any was found; relaxations have none.
    pub choices: Option<Vec<u32>>,
    /// Lower bound on the form's aim, unscaled; `None` if nothing was proven.
    pub bound: Option<f64>,
    /// Whether `choices` is proven optimal (for a relaxation: whether it is solved).
    pub optimal: bool,
    /// Whether the clock stopped the search.
    pub timed_out: bool,
    /// Whether no choice vector satisfies the model.
    pub infeasible: bool,
    /// Branch-and-bound nodes and simplex pivots spent.
    pub nodes: u64,
    pub iterations: u64,
}

/// microlp's names of the first `count` columns of any problem.
macro_rules! columns_of {
    ($count:expr) => {{
        let empty = ProblemVariables::new().minimise(0.0).using(microlp);
        let mut problem = empty.as_inner().clone();
        let column = |_| problem.add_var(0.0, (0.0, 0.0));
        (0..$count).map(column).collect::<Vec<_>>()
    }};
}

/// Solves `form` with microlp.
pub(crate) fn solve(form: &Form, effort: &Effort) -> Outcome {
    let written = write(form, microlp);
    // good_lp does not re-export the type of the options.
    let run = |options| written.model.as_inner().solve_with(options);
    let mut options = default_argument(&run);
    options.node_limit = Some(effort.nodes);
    options.time_limit = effort.time;
    options.mip_gap = effort.gap;
    let start = effort.start.filter(|_| form.integral);
    let hint = start.map(|start| hint(form, &written, start));
    if let Some(hint) = hint {
        let columns = columns_of!(written.columns);
        options.warm_start = Some(hint.into_iter().map(|(i, v)| (columns[i], v)).collect());
    }
    let mut outcome = Outcome::default();
    match run(options) {
        Ok(found) => {
            let stats = found.stats();
            outcome.nodes = stats.nodes_solved;
            outcome.iterations = stats.lp_iterations;
            outcome.optimal = found.is_optimal();
            outcome.bound = stats.best_bound;
            if let Some(solution) = found.solution() {
                let values: Vec<f64> = solution.iter().map(|(_, value)| value).collect();
                outcome.choices = form.integral.then(|| chosen(form, &written, &values));
                if outcome.optimal {
                    outcome.bound = Some(solution.objective());
                }
            }
            outcome.timed_out = effort.time.is_some_and(|limit| stats.elapsed >= limit);
        }
        Err(error) => {
            let error = ResolutionError::from(error);
            outcome.infeasible = matches!(error, ResolutionError::Infeasible);
            // Numerical trouble proves nothing; the caller keeps its incumbent.
            tracing::debug!(%error, columns = written.columns, "no result");
        }
    }
    let unscaled = |bound: f64| (bound + written.constant) * form.unit;
    outcome.bound = outcome.bound.filter(|b| b.is_finite()).map(unscaled);
    outcome
}

/// The default of what `function` takes.
fn default_argument<A: Default, R>(_function: &impl Fn(A) -> R) -> A {
    A::default()
}

/// (column, value) of every choice variable for the choice vector `start`.
fn hint<M>(form: &Form, written: &Written<M>, start: &[u32]) -> Vec<(usize, f64)> {
    let mut values = Vec::new();
    for (t, x) in written.x.iter().enumerate() {
        for (column, &choice) in x.iter().zip(&form.allowed[t]) {
            let value = f64::from(u8::from(choice == start[t]));
            values.push((column.position, value));
        }
    }
    values
}

/// The choice of greatest value per task.
fn chosen<M>(form: &Form, written: &Written<M>, values: &[f64]) -> Vec<u32> {
    let tasks = form.allowed.iter().zip(&written.x);
    tasks
        .map(|(allowed, x)| {
            let mut best = (allowed[0], f64::NEG_INFINITY);
            for (column, &choice) in x.iter().zip(allowed) {
                let value = values[column.position];
                if value > best.1 {
                    best = (choice, value);
                }
            }
            best.0
        })
        .collect()
}
