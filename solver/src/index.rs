//! The problem's adjacency, built once: which edges touch a task, which pair belongs to two
//! choices, which tasks form a group.

use crate::problem::{Pair, Problem};

/// No pair is listed for these choices.
const NO_PAIR: u32 = u32::MAX;

/// Adjacency of a validated problem.
#[derive(Debug, Clone)]
pub(crate) struct Index<'a> {
    pub problem: &'a Problem,
    /// Edges whose `to` is the task, by id.
    pub incoming: Vec<Vec<u32>>,
    /// Edges whose `from` is the task, by id.
    pub outgoing: Vec<Vec<u32>>,
    /// Tasks of each group, ascending.
    pub group_tasks: Vec<Vec<u32>>,
    /// Whether a choice of the group has a fill, so that start times matter.
    pub group_fills: Vec<bool>,
    /// Per edge: position in `pairs` at `from_choice * |choices of to| + to_choice`.
    tables: Vec<Vec<u32>>,
}

impl<'a> Index<'a> {
    /// Invariant: `problem` is valid.
    pub fn new(problem: &'a Problem) -> Self {
        let tasks = problem.tasks.len();
        let mut index = Self {
            problem,
            incoming: vec![Vec::new(); tasks],
            outgoing: vec![Vec::new(); tasks],
            group_tasks: vec![Vec::new(); problem.groups],
            group_fills: vec![false; problem.groups],
            tables: Vec::with_capacity(problem.edges.len()),
        };
        for (e, edge) in problem.edges.iter().enumerate() {
            index.outgoing[edge.from as usize].push(e as u32);
            index.incoming[edge.to as usize].push(e as u32);
            let columns = index.choices(edge.to as usize);
            let mut table = vec![NO_PAIR; index.choices(edge.from as usize) * columns];
            for (p, pair) in edge.pairs.iter().enumerate() {
                table[pair.from_choice as usize * columns + pair.to_choice as usize] = p as u32;
            }
            index.tables.push(table);
        }
        for (t, task) in problem.tasks.iter().enumerate() {
            let group = task.group as usize;
            index.group_tasks[group].push(t as u32);
            index.group_fills[group] |= task.choices.iter().any(|choice| choice.fill > 0.0);
        }
        index
    }

    /// Number of choices of task `t`.
    pub fn choices(&self, t: usize) -> usize {
        self.problem.tasks[t].choices.len()
    }

    /// The pair of edge `e` for choice `a` of its `from` and `b` of its `to`.
    pub fn pair(&self, e: usize, a: u32, b: u32) -> Option<&'a Pair> {
        let edge = &self.problem.edges[e];
        let columns = self.choices(edge.to as usize);
        let position = self.tables[e][a as usize * columns + b as usize];
        (position != NO_PAIR).then(|| &edge.pairs[position as usize])
    }
}
