//! How much work a solve may do. By default nothing here depends on the clock.

use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// Limits of [`milp`](crate::milp).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Relative gap at which a model counts as solved.
    pub gap: f64,
    /// Tasks per window.
    pub window: usize,
    /// Branch-and-bound nodes per model of up to 1000 variables; larger models get fewer, by the square
    /// of their size. 0: relaxations only.
    pub nodes: u64,
    /// Variables beyond which a model of the whole is not built, windows alone are.
    pub columns: usize,
    /// Entries of the tables of the exact elimination, beyond which models are used. 0: never.
    pub tables: u64,
    /// Evaluations per local search; at most [`Limits::EVALUATIONS_PER_TASK`] per task are used.
    pub evaluations: u64,
    /// Wall-clock limit. The answer then depends on the machine's speed.
    pub time_limit: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            gap: 1e-6,
            window: 6,
            nodes: 1000,
            columns: 4_000,
            tables: 300_000,
            evaluations: 1_000_000,
            time_limit: None,
        }
    }
}

impl Limits {
    /// Small parts are searched through sooner.
    pub const EVALUATIONS_PER_TASK: u64 = 20_000;

    /// Evaluations of a local search over `tasks` tasks.
    pub(crate) fn evaluations_for(&self, tasks: usize) -> u64 {
        let most = Self::EVALUATIONS_PER_TASK.saturating_mul(tasks as u64);
        self.evaluations.min(most)
    }

    /// Nodes for a model of `columns` variables: a node of twice the size costs four times the work.
    pub(crate) fn nodes_for(&self, columns: usize) -> u64 {
        let scale = (1000.0 / columns.max(1000) as f64).powi(2);
        (self.nodes as f64 * scale) as u64
    }
}

/// The wall clock, if it counts.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    deadline: Option<Instant>,
    stopped: bool,
}

impl Clock {
    pub fn start(limits: &Limits) -> Self {
        let now = Instant::now();
        Self {
            // A limit beyond the clock's range is none.
            deadline: limits.time_limit.and_then(|limit| now.checked_add(limit)),
            stopped: false,
        }
    }

    /// Time left; `None` if the clock does not count.
    pub fn remaining(&self) -> Option<Duration> {
        let now = Instant::now();
        self.deadline.map(|end| end.saturating_duration_since(now))
    }

    /// Whether the time is over; once asked and answered yes, work was skipped.
    pub fn expired(&mut self) -> bool {
        let over = self.remaining().is_some_and(|left| left.is_zero());
        self.note(over);
        over
    }

    /// Remembers that the clock stopped something.
    pub fn note(&mut self, stopped: bool) {
        self.stopped |= stopped;
    }

    /// Whether the clock stopped anything.
    pub fn stopped(&self) -> bool {
        self.stopped
    }
}
