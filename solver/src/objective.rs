//! The surrogate: the exact value of any choice vector.
//!
//! ```text
//! value = w_time Σ_g T_g + w_cost (Σ_t cost(t, c_t) + Σ_e cost(e, c_from, c_to)) + Σ_b price_b o_b
//! T_g   = max( max_r Σ loads on r in g,  max_{t in g} s_t + latency(t, c_t) )
//! s_t   = max( 0, max over edges (p, t) within the group of s_p + fill(p, c_p) )
//! o_b   = max( 0, Σ_t uses(t, c_t, b) - capacity_b )
//! violation = Σ over hard b of o_b / capacity_b          (o_b itself when the capacity is 0)
//! ```

use crate::index::Index;
use crate::problem::{Budget, Overflow, Problem, Weights};
use crate::state::State;
use serde::{Deserialize, Serialize};

/// The value of a choice vector and its parts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Objective {
    /// What is minimised, soft penalties included, hard violations not.
    pub value: f64,
    /// Makespan per group, in units of time.
    pub times: Vec<f64>,
    /// Sum of the costs of choices and pairs, before the weight.
    pub cost: f64,
    /// Use beyond the capacity, per budget.
    pub overflows: Vec<f64>,
    /// Sum of price times overflow over the soft budgets.
    pub penalty: f64,
    /// Sum of relative overflows of the hard budgets; 0 means feasible.
    pub violation: f64,
}

/// What decides between two choice vectors: violation first, then value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Score {
    pub violation: f64,
    pub value: f64,
}

impl Score {
    pub const WORST: Self = Self { violation: f64::INFINITY, value: f64::INFINITY };

    /// Whether `self` improves on `other` by more than rounding noise.
    pub fn beats(self, other: Self) -> bool {
        let noise = 1e-9;
        if self.violation < other.violation - noise {
            return true;
        }
        self.violation <= other.violation + 1e-12
            && (other.value.is_infinite() && self.value.is_finite()
                || self.value < other.value - noise * other.value.abs())
    }
}

impl Objective {
    pub(crate) fn score(&self) -> Score {
        Score { violation: self.violation, value: self.value }
    }
}

/// The exact value of `choices`, one per task, in the order of the tasks.
///
/// # Panics
/// If the problem is malformed, a choice does not exist, or the lengths differ.
pub fn evaluate(problem: &Problem, weights: &Weights, choices: &[u32]) -> Objective {
    assert_eq!(choices.len(), problem.tasks.len(), "one choice per task");
    let index = Index::new(problem);
    State::new(&index, *weights, choices).objective()
}

/// Use of `budget` beyond its capacity; rounding of a sum is no overflow.
pub(crate) fn overflow(budget: &Budget, used: f64) -> f64 {
    let over = used - budget.capacity;
    if over > 1e-12 * budget.capacity { over } else { 0.0 }
}

/// (penalty, violation) of an overflow.
pub(crate) fn overflow_terms(budget: &Budget, over: f64) -> (f64, f64) {
    match budget.overflow {
        Overflow::Priced(price) => (price * over, 0.0),
        Overflow::Forbidden if budget.capacity > 0.0 => (0.0, over / budget.capacity),
        Overflow::Forbidden => (0.0, over),
    }
}
