//! Iterated local search: kick the best choice vector, descend, keep what is not worse.
//!
//! ```text
//! kick: 2 to 4 tasks get other choices, tasks and choices from a fixed pseudo-random sequence
//! ```
//! The sequence (seed 0) is part of the algorithm: equal inputs, equal answers.
//! Source: H. Lourenço, O. Martin, T. Stützle, Iterated local search, 2003.

use crate::index::Index;
use crate::limits::Clock;
use crate::local::improve_from;
use crate::problem::Weights;
use crate::sequence::Sequence;

/// Improves `start` with about `evaluations` trials; returns the choices and the trials made.
pub(crate) fn kick(
    index: &Index,
    weights: Weights,
    start: &[u32],
    evaluations: u64,
    clock: &mut Clock,
) -> (Vec<u32>, u64) {
    let free: Vec<usize> = (0..start.len()).filter(|&t| index.choices(t) > 1).collect();
    let mut sequence = Sequence::new(0);
    let mut best = improve_from(index, weights, start, evaluations);
    let mut spent = best.evaluations;
    while spent < evaluations && free.len() > 1 && !clock.expired() {
        let mut trial = best.choices.clone();
        for _ in 0..2 + sequence.below(3) {
            let t = free[sequence.below(free.len())];
            trial[t] = sequence.below(index.choices(t)) as u32;
        }
        let found = improve_from(index, weights, &trial, evaluations - spent);
        spent += found.evaluations.max(1);
        if !best.objective.score().beats(found.objective.score()) {
            best = found;
        }
    }
    (best.choices, spent)
}
