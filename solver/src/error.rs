//! Why there is no solution.

use thiserror::Error;

/// Why [`milp`](crate::milp) returned no solution.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SolveError {
    /// The problem or the weights break an assumption of [`Problem`](crate::Problem).
    #[error("malformed problem: {0}")]
    Malformed(String),
    /// No choice of choices satisfies the hard budgets.
    #[error("infeasible: budget {budget} has a capacity of {capacity}, at least {demand} is demanded")]
    Infeasible {
        /// The budget that is exceeded.
        budget: u32,
        /// The least use of it: over all choices of choices when it alone is too small, else in
        /// the one that exceeds all hard budgets together by the least sum of shares.
        demand: f64,
        /// Its capacity.
        capacity: f64,
    },
    /// The search for a choice of choices within the hard budgets was stopped by a limit.
    #[error(
        "no feasible solution found within the limits: the best one uses {demand} of budget {budget}, whose capacity is {capacity}"
    )]
    NothingFound {
        /// The budget that is exceeded most.
        budget: u32,
        /// Its use in the best solution found.
        demand: f64,
        /// Its capacity.
        capacity: f64,
    },
}
