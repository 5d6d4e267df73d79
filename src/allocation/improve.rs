//! Local search on the simulator: neighbours of the best genome, a batch at a time.
//!
//! Each batch draws [`BATCH`] neighbours of the incumbent, simulates them in parallel and moves to
//! the best of them if it is not worse (equal values let the search drift over plateaus). The budget
//! counts simulations and the sequence of a seed decides the rest, so that the answer does not depend
//! on threads or clocks.

use super::genome::Genome;
use super::judge::{Judge, Score};
use super::vary::Variation;
use crate::cost::Objective;
use millstream_solver::Sequence;

/// Neighbours simulated at once.
const BATCH: usize = 8;

/// Draws after which a batch is left incomplete: small spaces run dry.
const ATTEMPTS: usize = 200;

/// How far to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Simulations.
    pub simulations: usize,
    /// Seed of the sequence.
    pub seed: u64,
}

/// Improves a genome; returns the best found, which is never worse.
pub fn improve(
    judge: &mut Judge,
    variation: &Variation,
    start: (Genome, Score),
    objective: Objective,
    effort: Effort,
) -> (Genome, Score) {
    let mut sequence = Sequence::new(effort.seed);
    let (mut best, mut score) = start;
    let until = judge.simulations() + effort.simulations;
    loop {
        let room = BATCH.min(until.saturating_sub(judge.simulations()));
        let mut batch: Vec<Genome> = Vec::with_capacity(room);
        for _ in 0..ATTEMPTS {
            if batch.len() == room {
                break;
            }
            let neighbour = variation.neighbour(&best, &mut sequence);
            if !judge.knows(&neighbour) && !batch.contains(&neighbour) {
                batch.push(neighbour);
            }
        }
        if batch.is_empty() {
            return (best, score);
        }
        let scores = judge.judge(&batch);
        let feasible = batch.into_iter().zip(scores).filter_map(|(genome, score)| Some((genome, score?)));
        let winner = feasible.min_by(|a, b| a.1.value(objective).total_cmp(&b.1.value(objective)));
        if let Some((genome, found)) = winner
            && found.value(objective) <= score.value(objective)
        {
            (best, score) = (genome, found);
        }
    }
}
