//! Local search: three neighbourhoods, first improvement, until none improves.
//!
//! ```text
//! move:  c_t := any choice                        for every task t
//! pair:  (c_p, c_t) := any pair of choices        for every edge (p, t)
//! swap:  (c_t, c_u) := (c_u, c_t)                 for tasks t < u of one group, where both exist
//! ```
//! Tasks, edges and choices are tried in the order of ids, and the search starts again with
//! moves after an improvement, so the result depends on nothing else.

use crate::index::Index;
use crate::objective::{Objective, Score};
use crate::problem::{Problem, Weights};
use crate::state::{Move, State};
use serde::{Deserialize, Serialize};

/// Where a local search ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Improved {
    /// One choice per task; never worse than the start.
    pub choices: Vec<u32>,
    /// Their value.
    pub objective: Objective,
    /// Choice vectors that were evaluated.
    pub evaluations: u64,
    /// Whether no neighbour improves (false: the evaluations ran out).
    pub locally_optimal: bool,
}

/// Improves `start` by moves, pair moves and swaps, with at most `evaluations` trials.
///
/// # Panics
/// If the problem is malformed or `start` does not fit it.
pub fn improve(problem: &Problem, weights: &Weights, start: &[u32], evaluations: u64) -> Improved {
    assert_eq!(start.len(), problem.tasks.len(), "one choice per task");
    improve_from(&Index::new(problem), *weights, start, evaluations)
}

pub(crate) fn improve_from(index: &Index, weights: Weights, start: &[u32], evaluations: u64) -> Improved {
    let state = State::new(index, weights, start);
    let mut search = Search { score: state.score(), state, left: evaluations };
    let mut improved = true;
    while improved && search.left > 0 {
        improved = search.moves(index) || search.pairs(index) || search.swaps(index);
    }
    Improved {
        choices: search.state.choices().to_vec(),
        objective: search.state.objective(),
        evaluations: evaluations - search.left,
        locally_optimal: !improved && search.left > 0,
    }
}

struct Search<'a> {
    state: State<'a>,
    score: Score,
    left: u64,
}

impl Search<'_> {
    /// Commits `moves` when they improve.
    fn attempt(&mut self, moves: &[Move]) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        if !self.state.trial(moves).beats(self.score) {
            return false;
        }
        self.state.commit(moves);
        self.score = self.state.score();
        true
    }

    fn moves(&mut self, index: &Index) -> bool {
        let mut any = false;
        for t in 0..index.problem.tasks.len() {
            for c in 0..index.choices(t) as u32 {
                if c != self.state.choices()[t] {
                    any |= self.attempt(&[(t, c)]);
                }
            }
        }
        any
    }

    fn pairs(&mut self, index: &Index) -> bool {
        let mut any = false;
        for edge in &index.problem.edges {
            let (p, t) = (edge.from as usize, edge.to as usize);
            for a in 0..index.choices(p) as u32 {
                for b in 0..index.choices(t) as u32 {
                    let now = self.state.choices();
                    if a != now[p] && b != now[t] {
                        any |= self.attempt(&[(p, a), (t, b)]);
                    }
                }
            }
        }
        any
    }

    fn swaps(&mut self, index: &Index) -> bool {
        let mut any = false;
        for tasks in &index.group_tasks {
            for (i, &t) in tasks.iter().enumerate() {
                for &u in &tasks[i + 1..] {
                    let (t, u) = (t as usize, u as usize);
                    let (a, b) = (self.state.choices()[t], self.state.choices()[u]);
                    let exists = (b as usize) < index.choices(t) && (a as usize) < index.choices(u);
                    if a != b && exists {
                        any |= self.attempt(&[(t, b), (u, a)]);
                    }
                }
            }
        }
        any
    }
}
