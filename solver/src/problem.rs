//! The input: tasks with choices, resources in groups, pairwise terms, budgets.
//!
//! ```text
//! tasks t, choices c of t, resources r, groups g(t), edges e = (p, t), budgets b
//! ```
//! Assumptions, checked once by [`Problem::validate`]: every number is finite and not
//! negative; edges go from an earlier task to a later one; groups do not decrease along an
//! edge; a task has at least one choice; one resource (budget, pair) is named at most once
//! in a list. A pair that an edge does not list loads nothing and costs nothing.

use crate::error::SolveError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// An assignment problem: choose one choice per task. See the crate documentation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// Number of resources. Each is a machine, a link or a port; loads are in units of time.
    pub resources: usize,
    /// Number of groups. Groups run one after the other, each has a makespan.
    pub groups: usize,
    /// The tasks, in topological order.
    pub tasks: Vec<Task>,
    /// Terms that depend on the choices of two tasks.
    #[serde(default)]
    pub edges: Vec<Edge>,
    /// Capacities.
    #[serde(default)]
    pub budgets: Vec<Budget>,
    /// Interchangeable resources, a hint that shortens proofs. A claim that does not hold is ignored.
    #[serde(default)]
    pub symmetric: Vec<Symmetry>,
}

/// One decision.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The group whose makespan this task's loads and latency count in.
    pub group: u32,
    /// What can be chosen; never empty.
    pub choices: Vec<Choice>,
}

/// One way to execute a task.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// (resource, time for which it is occupied).
    #[serde(default)]
    pub loads: Vec<(u32, f64)>,
    /// Time from the task's start to its end; its group lasts at least so long.
    #[serde(default)]
    pub latency: f64,
    /// Time from the task's start until its successors in the same group can start.
    #[serde(default)]
    pub fill: f64,
    /// What it costs beside time.
    #[serde(default)]
    pub cost: f64,
    /// (budget, amount used of it).
    #[serde(default)]
    pub uses: Vec<(u32, f64)>,
}

/// Terms between two tasks; its loads count in the group of `to`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edge {
    /// The earlier task.
    pub from: u32,
    /// The later task.
    pub to: u32,
    /// The pairs of choices with a load or a cost.
    #[serde(default)]
    pub pairs: Vec<Pair>,
}

/// What happens on an edge when both choices are taken.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// Choice of the edge's `from`.
    pub from_choice: u32,
    /// Choice of the edge's `to`.
    pub to_choice: u32,
    /// (resource, time for which it is occupied).
    #[serde(default)]
    pub loads: Vec<(u32, f64)>,
    /// What it costs beside time.
    #[serde(default)]
    pub cost: f64,
}

/// A capacity shared by the choices that use it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// The amount that can be used for nothing.
    pub capacity: f64,
    /// What happens beyond it.
    pub overflow: Overflow,
}

/// What happens when a budget's capacity is exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overflow {
    /// The capacity is hard.
    Forbidden,
    /// Each unit beyond the capacity adds this much to the objective.
    Priced(f64),
}

/// Interchangeable blocks: any permutation of the blocks maps the problem onto itself.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Symmetry {
    /// The blocks, all alike, without a resource or budget in common.
    pub blocks: Vec<Block>,
}

/// What moves together (a machine, its own port, the budget of its memory), listed in the same
/// order in every block.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// Resources.
    #[serde(default)]
    pub resources: Vec<u32>,
    /// Budgets.
    #[serde(default)]
    pub budgets: Vec<u32>,
}

impl Symmetry {
    /// Single interchangeable resources.
    pub fn of_resources(resources: &[u32]) -> Self {
        let block = |&resource: &u32| Block { resources: vec![resource], budgets: Vec::new() };
        let blocks = resources.iter().map(block).collect();
        Self { blocks }
    }
}

/// Prices of the two parts of the objective.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// Price of one unit of time.
    pub time: f64,
    /// Price of one unit of cost.
    pub cost: f64,
}

impl Default for Weights {
    /// Time alone.
    fn default() -> Self {
        Self { time: 1.0, cost: 0.0 }
    }
}

impl Problem {
    /// Checks the assumptions in the module comment.
    ///
    /// # Errors
    /// [`SolveError::Malformed`] names the first field that breaks one.
    pub fn validate(&self) -> Result<(), SolveError> {
        for (t, task) in self.tasks.iter().enumerate() {
            self.validate_task(t, task)?;
        }
        for (e, edge) in self.edges.iter().enumerate() {
            self.validate_edge(e, edge)?;
        }
        for (b, budget) in self.budgets.iter().enumerate() {
            let at = || format!("budget {b}");
            quantity(budget.capacity, || format!("{}: capacity", at()))?;
            if let Overflow::Priced(price) = budget.overflow {
                quantity(price, || format!("{}: price", at()))?;
            }
        }
        for (s, symmetry) in self.symmetric.iter().enumerate() {
            for block in &symmetry.blocks {
                for &resource in &block.resources {
                    below(resource, self.resources, || format!("symmetry {s}: resource"))?;
                }
                for &budget in &block.budgets {
                    below(budget, self.budgets.len(), || format!("symmetry {s}: budget"))?;
                }
            }
        }
        Ok(())
    }

    fn validate_task(&self, t: usize, task: &Task) -> Result<(), SolveError> {
        below(task.group, self.groups, || format!("task {t}: group"))?;
        if task.choices.is_empty() {
            return Err(malformed(format!("task {t} has no choice")));
        }
        for (c, choice) in task.choices.iter().enumerate() {
            let at = || format!("task {t}, choice {c}");
            amounts(&choice.loads, self.resources, || format!("{}: loads", at()))?;
            amounts(&choice.uses, self.budgets.len(), || format!("{}: uses", at()))?;
            quantity(choice.latency, || format!("{}: latency", at()))?;
            quantity(choice.fill, || format!("{}: fill", at()))?;
            quantity(choice.cost, || format!("{}: cost", at()))?;
        }
        Ok(())
    }

    fn validate_edge(&self, e: usize, edge: &Edge) -> Result<(), SolveError> {
        below(edge.to, self.tasks.len(), || format!("edge {e}: to"))?;
        if edge.from >= edge.to {
            return Err(malformed(format!("edge {e} goes from task {} back to task {}", edge.from, edge.to)));
        }
        let (from, to) = (&self.tasks[edge.from as usize], &self.tasks[edge.to as usize]);
        if from.group > to.group {
            return Err(malformed(format!(
                "edge {e} goes from group {} back to group {}",
                from.group, to.group
            )));
        }
        let mut seen = BTreeSet::new();
        for (p, pair) in edge.pairs.iter().enumerate() {
            let at = || format!("edge {e}, pair {p}");
            below(pair.from_choice, from.choices.len(), || format!("{}: from_choice", at()))?;
            below(pair.to_choice, to.choices.len(), || format!("{}: to_choice", at()))?;
            amounts(&pair.loads, self.resources, || format!("{}: loads", at()))?;
            quantity(pair.cost, || format!("{}: cost", at()))?;
            if !seen.insert((pair.from_choice, pair.to_choice)) {
                return Err(malformed(format!("{} is listed twice", at())));
            }
        }
        Ok(())
    }
}

impl Weights {
    /// Checks that both prices are finite and not negative.
    ///
    /// # Errors
    /// [`SolveError::Malformed`] names the price.
    pub fn validate(&self) -> Result<(), SolveError> {
        quantity(self.time, || "weights: time".to_string())?;
        quantity(self.cost, || "weights: cost".to_string())
    }
}

fn malformed(what: String) -> SolveError {
    SolveError::Malformed(what)
}

fn quantity(value: f64, at: impl Fn() -> String) -> Result<(), SolveError> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err(malformed(format!("{} is {value}; it must be finite and not negative", at())))
}

fn below(index: u32, count: usize, at: impl Fn() -> String) -> Result<(), SolveError> {
    if (index as usize) < count {
        return Ok(());
    }
    Err(malformed(format!("{} is {index}, but there are {count}", at())))
}

fn amounts(list: &[(u32, f64)], count: usize, at: impl Fn() -> String) -> Result<(), SolveError> {
    for (i, &(index, value)) in list.iter().enumerate() {
        below(index, count, &at)?;
        quantity(value, &at)?;
        if list[..i].iter().any(|&(other, _)| other == index) {
            return Err(malformed(format!("{} names {index} twice", at())));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_tasks() -> Problem {
        let task = Task { group: 0, choices: vec![Choice { loads: vec![(0, 1.0)], ..Choice::default() }] };
        Problem { resources: 1, groups: 1, tasks: vec![task.clone(), task], ..Problem::default() }
    }

    fn message(problem: &Problem) -> String {
        problem.validate().unwrap_err().to_string()
    }

    #[test]
    fn faults_are_named() {
        assert_eq!(two_tasks().validate(), Ok(()));
        let mut p = two_tasks();
        p.tasks[1].choices[0].loads[0].1 = -2.0;
        assert_eq!(
            message(&p),
            "malformed problem: task 1, choice 0: loads is -2; it must be finite and not negative"
        );
        let mut p = two_tasks();
        p.tasks[0].choices[0].loads.push((0, 1.0));
        assert_eq!(message(&p), "malformed problem: task 0, choice 0: loads names 0 twice");
        let mut p = two_tasks();
        p.edges.push(Edge { from: 1, to: 1, pairs: vec![] });
        assert_eq!(message(&p), "malformed problem: edge 0 goes from task 1 back to task 1");
        let mut p = two_tasks();
        p.tasks[1].choices.clear();
        assert_eq!(message(&p), "malformed problem: task 1 has no choice");
        let mut p = two_tasks();
        p.tasks[1].group = 3;
        assert_eq!(message(&p), "malformed problem: task 1: group is 3, but there are 1");
    }
}
