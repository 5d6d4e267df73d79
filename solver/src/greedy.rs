//! A first choice vector: tasks in order, each with the choice of least marginal objective.
//!
//! Later tasks count for nothing while a task chooses. Ties are broken by the least sum of the
//! choice's loads, then by its position.

use crate::index::Index;
use crate::objective::Score;
use crate::problem::{Problem, Weights};
use crate::state::{State, UNASSIGNED};

/// One choice per task, greedily in topological order.
///
/// # Panics
/// If the problem is malformed.
pub fn greedy(problem: &Problem, weights: &Weights) -> Vec<u32> {
    greedy_from(&Index::new(problem), *weights)
}

pub(crate) fn greedy_from(index: &Index, weights: Weights) -> Vec<u32> {
    let tasks = index.problem.tasks.len();
    let mut state = State::new(index, weights, &vec![UNASSIGNED; tasks]);
    for t in 0..tasks {
        let mut best = (0, Score::WORST, f64::INFINITY);
        for (c, choice) in index.problem.tasks[t].choices.iter().enumerate() {
            let score = state.trial(&[(t, c as u32)]);
            let work: f64 = choice.loads.iter().map(|&(_, load)| load).sum();
            let ties = !best.1.beats(score);
            if score.beats(best.1) || (ties && work < best.2) {
                best = (c as u32, score, work);
            }
        }
        state.commit(&[(t, best.0)]);
    }
    state.choices().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{Choice, Task};

    #[test]
    fn three_equal_tasks_fill_two_machines() {
        // Machine 0 takes 2, machine 1 takes 3: 0 (T = 2), 1 (T = 3), 0 (T = 4; 1 would give 6).
        let choice = |r, time| Choice { loads: vec![(r, time)], ..Choice::default() };
        let task = Task { group: 0, choices: vec![choice(0, 2.0), choice(1, 3.0)] };
        let problem = Problem { resources: 2, groups: 1, tasks: vec![task; 3], ..Problem::default() };
        assert_eq!(greedy(&problem, &Weights::default()), [0, 1, 0]);
    }
}
