//! Independent parts of a problem.
//!
//! Two tasks depend on each other if they share a group, an edge with pairs or a budget. The
//! objective is a sum over the classes of the transitive closure, so that each class is a
//! problem of its own, and optima and bounds add up.

use crate::problem::{Edge, Problem};

/// A problem over some tasks of another one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Part {
    pub problem: Problem,
    /// The tasks in the whole, ascending.
    pub tasks: Vec<u32>,
}

/// The independent parts, by their first task.
pub(crate) fn parts(problem: &Problem) -> Vec<Part> {
    let mut classes = Classes::new(problem.tasks.len());
    let mut of_group = vec![None; problem.groups];
    let mut of_budget = vec![None; problem.budgets.len()];
    for (t, task) in problem.tasks.iter().enumerate() {
        classes.join(t, *of_group[task.group as usize].get_or_insert(t));
        for &(budget, amount) in task.choices.iter().flat_map(|choice| &choice.uses) {
            if amount > 0.0 {
                classes.join(t, *of_budget[budget as usize].get_or_insert(t));
            }
        }
    }
    for edge in problem.edges.iter().filter(|edge| !edge.pairs.is_empty()) {
        classes.join(edge.from as usize, edge.to as usize);
    }
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); problem.tasks.len()];
    for t in 0..problem.tasks.len() {
        members[classes.root(t)].push(t as u32);
    }
    members.retain(|tasks| !tasks.is_empty());
    members.sort_unstable_by_key(|tasks| tasks[0]);
    members.into_iter().map(|tasks| Part { problem: restrict(problem, &tasks), tasks }).collect()
}

/// The problem over `tasks` (ascending) and the edges among them; groups are renumbered.
pub(crate) fn restrict(problem: &Problem, tasks: &[u32]) -> Problem {
    let mut position = vec![None; problem.tasks.len()];
    let mut groups: Vec<u32> = Vec::new();
    let mut kept = Vec::with_capacity(tasks.len());
    for (i, &t) in tasks.iter().enumerate() {
        position[t as usize] = Some(i as u32);
        let mut task = problem.tasks[t as usize].clone();
        let known = groups.iter().position(|&group| group == task.group);
        let group = known.unwrap_or_else(|| {
            groups.push(task.group);
            groups.len() - 1
        });
        task.group = group as u32;
        kept.push(task);
    }
    let edges = problem.edges.iter().filter_map(|edge| {
        let from = position[edge.from as usize]?;
        let to = position[edge.to as usize]?;
        let pairs = edge.pairs.clone();
        Some(Edge { from, to, pairs })
    });
    Problem {
        resources: problem.resources,
        groups: groups.len(),
        tasks: kept,
        edges: edges.collect(),
        budgets: problem.budgets.clone(),
        symmetric: problem.symmetric.clone(),
    }
}

/// Disjoint sets whose root is the least member.
struct Classes(Vec<usize>);

impl Classes {
    fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    fn root(&mut self, mut t: usize) -> usize {
        while self.0[t] != t {
            self.0[t] = self.0[self.0[t]];
            t = self.0[t];
        }
        t
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{Choice, Pair, Task};

    #[test]
    fn groups_and_edges_join_tasks() {
        // Groups {0, 1}, {2}, {3}; an edge with a pair joins 2 and 3, one without joins nothing.
        let task = |group| Task { group, choices: vec![Choice::default()] };
        let edge = |from, to, pairs| Edge { from, to, pairs };
        let problem = Problem {
            resources: 1,
            groups: 3,
            tasks: vec![task(0), task(0), task(1), task(2)],
            edges: vec![edge(1, 2, vec![]), edge(2, 3, vec![Pair::default()])],
            ..Problem::default()
        };
        let parts = parts(&problem);
        let tasks: Vec<&[u32]> = parts.iter().map(|part| &part.tasks[..]).collect();
        assert_eq!(tasks, [&[0, 1][..], &[2, 3][..]]);
        assert_eq!(parts[1].problem.groups, 2);
        assert_eq!(parts[1].problem.edges[0].from, 0);
    }
}
