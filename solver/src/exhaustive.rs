//! The oracle: every choice vector, each evaluated from scratch.

use crate::index::Index;
use crate::objective::{Objective, Score};
use crate::problem::{Problem, Weights};
use crate::state::State;
use serde::{Deserialize, Serialize};

/// The best of all choice vectors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// One choice per task; the lexicographically first among equals.
    pub choices: Vec<u32>,
    /// Their value; a positive violation means that the problem is infeasible.
    pub objective: Objective,
}

/// Number of choice vectors, or `None` if more than 2^64 - 1.
pub fn choice_vectors(problem: &Problem) -> Option<u64> {
    let sizes = problem.tasks.iter().map(|task| task.choices.len() as u64);
    sizes.into_iter().try_fold(1u64, u64::checked_mul)
}

/// Tries all choice vectors; `None` if there are more than `limit`.
///
/// # Panics
/// If the problem is malformed.
pub fn exhaustive(problem: &Problem, weights: &Weights, limit: u64) -> Option<Best> {
    choice_vectors(problem).filter(|&count| count <= limit)?;
    let index = Index::new(problem);
    let mut choices = vec![0; problem.tasks.len()];
    let mut best = (Score::WORST, choices.clone());
    loop {
        let score = State::new(&index, *weights, &choices).score();
        let less = (score.violation, score.value) < (best.0.violation, best.0.value);
        if less {
            best = (score, choices.clone());
        }
        if !advance(&index, &mut choices) {
            break;
        }
    }
    let objective = State::new(&index, *weights, &best.1).objective();
    Some(Best { choices: best.1, objective })
}

/// The next vector in lexicographic order; false after the last.
fn advance(index: &Index, choices: &mut [u32]) -> bool {
    for t in (0..choices.len()).rev() {
        choices[t] += 1;
        if (choices[t] as usize) < index.choices(t) {
            return true;
        }
        choices[t] = 0;
    }
    false
}
