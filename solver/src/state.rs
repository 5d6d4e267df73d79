//! A choice vector with its sums, for cheap trials.
//!
//! A trial changes the sums of what a move touches, reads the score and restores the stored
//! old values, so that trials leave no rounding behind. A commit sums afresh.
//! A task may be unassigned; it and its edges then contribute nothing.
//!
//! Invariant: between calls, every sum is the one of `choices` in the order of ids.

use crate::index::Index;
use crate::objective::{Objective, Score, overflow, overflow_terms};
use crate::problem::Weights;

/// The choice of an unassigned task.
pub(crate) const UNASSIGNED: u32 = u32::MAX;

/// A task's new choice.
pub(crate) type Move = (usize, u32);

/// A choice vector with its sums.
#[derive(Debug, Clone)]
pub(crate) struct State<'a> {
    index: &'a Index<'a>,
    weights: Weights,
    choices: Vec<u32>,
    /// At `group * resources + resource`.
    loads: Vec<f64>,
    uses: Vec<f64>,
    cost: f64,
    times: Vec<f64>,
    /// Scratch: start times per task, groups touched by a trial, overwritten (position, value).
    starts: Vec<f64>,
    touched: Vec<u32>,
    old_loads: Vec<(usize, f64)>,
    old_uses: Vec<(usize, f64)>,
}

impl<'a> State<'a> {
    pub fn new(index: &'a Index<'a>, weights: Weights, choices: &[u32]) -> Self {
        let problem = index.problem;
        let mut state = Self {
            index,
            weights,
            choices: choices.to_vec(),
            loads: vec![0.0; problem.groups * problem.resources],
            uses: vec![0.0; problem.budgets.len()],
            cost: 0.0,
            times: vec![0.0; problem.groups],
            starts: vec![0.0; problem.tasks.len()],
            touched: Vec::new(),
            old_loads: Vec::new(),
            old_uses: Vec::new(),
        };
        state.sum();
        state
    }

    pub fn choices(&self) -> &[u32] {
        &self.choices
    }

    /// Score after `moves`, which name each task at most once; the state stays as it is.
    pub fn trial(&mut self, moves: &[Move]) -> Score {
        let old_cost = self.cost;
        let mut old_choices = [(0usize, 0u32); 2];
        debug_assert!(moves.len() <= old_choices.len());
        for (slot, &(t, choice)) in old_choices.iter_mut().zip(moves) {
            *slot = (t, self.choices[t]);
            self.add_task(t, -1.0);
            self.choices[t] = choice;
            self.add_task(t, 1.0);
        }
        let score = self.score_touched();
        for &(t, choice) in &old_choices[..moves.len()] {
            self.choices[t] = choice;
        }
        self.cost = old_cost;
        while let Some((at, value)) = self.old_loads.pop() {
            self.loads[at] = value;
        }
        while let Some((at, value)) = self.old_uses.pop() {
            self.uses[at] = value;
        }
        score
    }

    /// Makes `moves` and sums afresh.
    pub fn commit(&mut self, moves: &[Move]) {
        for &(t, choice) in moves {
            self.choices[t] = choice;
        }
        self.sum();
    }

    /// Replaces all choices.
    pub fn set(&mut self, choices: &[u32]) {
        self.choices.copy_from_slice(choices);
        self.sum();
    }

    pub fn score(&self) -> Score {
        self.score_with(self.times.iter().sum())
    }

    /// Use of each budget.
    pub fn uses(&self) -> &[f64] {
        &self.uses
    }

    pub fn objective(&self) -> Objective {
        let budgets = &self.index.problem.budgets;
        let overflows: Vec<f64> =
            budgets.iter().zip(&self.uses).map(|(budget, &used)| overflow(budget, used)).collect();
        let terms = budgets.iter().zip(&overflows);
        let penalty = terms.map(|(budget, &over)| overflow_terms(budget, over).0);
        Objective {
            value: self.score().value,
            times: self.times.clone(),
            cost: self.cost,
            penalty: penalty.sum(),
            overflows,
            violation: self.score().violation,
        }
    }

    fn score_with(&self, total_time: f64) -> Score {
        let mut value = self.weights.time * total_time + self.weights.cost * self.cost;
        let mut violation = 0.0;
        for (budget, &used) in self.index.problem.budgets.iter().zip(&self.uses) {
            let (penalty, broken) = overflow_terms(budget, overflow(budget, used));
            value += penalty;
            violation += broken;
        }
        Score { violation, value }
    }

    fn score_touched(&mut self) -> Score {
        let mut total: f64 = self.times.iter().sum();
        self.touched.sort_unstable();
        self.touched.dedup();
        let touched = std::mem::take(&mut self.touched);
        for &group in &touched {
            total += self.group_time(group as usize) - self.times[group as usize];
        }
        self.touched = touched;
        self.touched.clear();
        self.score_with(total)
    }

    /// Adds `sign` times the terms of task `t` and of its edges to assigned tasks.
    fn add_task(&mut self, t: usize, sign: f64) {
        let index = self.index;
        let group = index.problem.tasks[t].group as usize;
        self.touched.push(group as u32);
        if self.choices[t] == UNASSIGNED {
            return;
        }
        let choice = &index.problem.tasks[t].choices[self.choices[t] as usize];
        self.add_loads(group, &choice.loads, sign);
        self.cost += sign * choice.cost;
        for &(budget, amount) in &choice.uses {
            let budget = budget as usize;
            self.old_uses.push((budget, self.uses[budget]));
            self.uses[budget] += sign * amount;
        }
        for &e in &index.incoming[t] {
            self.add_edge(e as usize, sign);
        }
        for &e in &index.outgoing[t] {
            self.add_edge(e as usize, sign);
        }
    }

    fn add_edge(&mut self, e: usize, sign: f64) {
        let index = self.index;
        let edge = &index.problem.edges[e];
        let (a, b) = (self.choices[edge.from as usize], self.choices[edge.to as usize]);
        if a == UNASSIGNED || b == UNASSIGNED {
            return;
        }
        if let Some(pair) = index.pair(e, a, b) {
            let group = index.problem.tasks[edge.to as usize].group;
            self.touched.push(group);
            self.cost += sign * pair.cost;
            self.add_loads(group as usize, &pair.loads, sign);
        }
    }

    fn add_loads(&mut self, group: usize, loads: &[(u32, f64)], sign: f64) {
        let base = group * self.index.problem.resources;
        for &(resource, load) in loads {
            let at = base + resource as usize;
            self.old_loads.push((at, self.loads[at]));
            self.loads[at] += sign * load;
        }
    }

    fn group_time(&mut self, group: usize) -> f64 {
        let index = self.index;
        let base = group * index.problem.resources;
        let loads = &self.loads[base..base + index.problem.resources];
        let mut time = loads.iter().copied().fold(0.0, f64::max);
        for &t in &index.group_tasks[group] {
            let t = t as usize;
            if self.choices[t] == UNASSIGNED {
                continue;
            }
            let start = if index.group_fills[group] { self.start(t) } else { 0.0 };
            let choice = &index.problem.tasks[t].choices[self.choices[t] as usize];
            time = time.max(start + choice.latency);
        }
        time
    }

    /// Start of `t`, given that the starts of its predecessors in the group are up to date.
    fn start(&mut self, t: usize) -> f64 {
        let tasks = &self.index.problem.tasks;
        let mut start: f64 = 0.0;
        for &e in &self.index.incoming[t] {
            let p = self.index.problem.edges[e as usize].from as usize;
            if tasks[p].group == tasks[t].group && self.choices[p] != UNASSIGNED {
                let fill = tasks[p].choices[self.choices[p] as usize].fill;
                start = start.max(self.starts[p] + fill);
            }
        }
        self.starts[t] = start;
        start
    }

    fn sum(&mut self) {
        self.loads.fill(0.0);
        self.uses.fill(0.0);
        self.cost = 0.0;
        let index = self.index;
        for (t, task) in index.problem.tasks.iter().enumerate() {
            if self.choices[t] == UNASSIGNED {
                continue;
            }
            let choice = &task.choices[self.choices[t] as usize];
            self.add_loads(task.group as usize, &choice.loads, 1.0);
            self.cost += choice.cost;
            for &(budget, amount) in &choice.uses {
                self.uses[budget as usize] += amount;
            }
        }
        for e in 0..index.problem.edges.len() {
            self.add_edge(e, 1.0);
        }
        self.old_loads.clear();
        self.touched.clear();
        for group in 0..self.times.len() {
            self.times[group] = self.group_time(group);
        }
    }
}
