//! Exact optimum by elimination of tasks, where groups are small.
//!
//! The objective is a sum of factors: one per group g, over its tasks and the tasks at the
//! other end of edges into it (w_time T_g and all costs of g), and one per budget, over its
//! users. Eliminating task t replaces the factors that contain it by
//! ```text
//! f'(rest) = min over c_t of Σ f(c_t, rest)
//! ```
//! and records the minimiser; the task of least table goes first. The effort is known before
//! any table is filled, from the scopes alone; beyond the limit the answer is `None`.
//! Entries are (violation, value) pairs, added componentwise and compared in this order.
//! Source: R. Dechter, Bucket elimination, Artificial Intelligence 113, 1999.

use crate::index::Index;
use crate::objective::{Score, overflow, overflow_terms};
use crate::problem::{Choice, Problem, Weights};
use crate::split::restrict;
use crate::state::State;

/// A function of the choices of a few tasks.
#[derive(Debug, Clone)]
struct Factor {
    /// Tasks, ascending; the last one runs fastest in the table.
    scope: Vec<usize>,
    table: Vec<Score>,
}

/// An optimal choice vector, if the tables have at most `limit` entries together.
pub(crate) fn eliminate(index: &Index, weights: Weights, limit: u64) -> Option<Vec<u32>> {
    let problem = index.problem;
    let scopes = scopes(index);
    let order = plan(index, &scopes, limit)?;
    let mut factors = Vec::new();
    for (group, scope) in scopes.iter().enumerate() {
        factors.push(if group < problem.groups {
            group_factor(problem, weights, group as u32, scope)
        } else {
            budget_factor(index, group - problem.groups, scope)
        });
    }
    let mut choices = vec![0; problem.tasks.len()];
    let mut decisions = Vec::new();
    for &t in &order {
        let (mine, others) = factors.into_iter().partition(|factor: &Factor| factor.scope.contains(&t));
        factors = others;
        let (factor, decision) = minimise(index, &mine, t);
        factors.push(factor);
        decisions.push(decision);
    }
    for decision in decisions.iter().rev() {
        let at = position(index, &decision.scope, &choices);
        choices[decision.task] = decision.best[at];
    }
    Some(choices)
}

/// The scopes of all groups' factors, then of all budgets'.
fn scopes(index: &Index) -> Vec<Vec<usize>> {
    let problem = index.problem;
    let mut scopes: Vec<Vec<usize>> = Vec::new();
    for tasks in &index.group_tasks {
        let mut scope: Vec<usize> = tasks.iter().map(|&t| t as usize).collect();
        for e in tasks.iter().flat_map(|&t| &index.incoming[t as usize]) {
            let edge = &problem.edges[*e as usize];
            if !edge.pairs.is_empty() {
                scope.push(edge.from as usize);
            }
        }
        scopes.push(scope);
    }
    for budget in 0..problem.budgets.len() as u32 {
        let uses = |choice: &Choice| choice.uses.iter().any(|&(b, _)| b == budget);
        let users = problem.tasks.iter().enumerate();
        let users = users.filter(|(_, task)| task.choices.iter().any(uses));
        scopes.push(users.map(|(t, _)| t).collect());
    }
    for scope in &mut scopes {
        scope.sort_unstable();
        scope.dedup();
    }
    scopes
}

/// The order of elimination, if its tables stay within `limit`.
fn plan(index: &Index, scopes: &[Vec<usize>], limit: u64) -> Option<Vec<usize>> {
    let mut scopes = scopes.to_vec();
    let mut left: Vec<usize> = (0..index.problem.tasks.len()).collect();
    let mut order = Vec::new();
    let mut spent = 0u64;
    for scope in &scopes {
        spent = spent.checked_add(entries(index, scope)?)?;
    }
    while spent <= limit {
        let joint = left.iter().map(|&t| {
            let scope = joint_scope(&scopes, t);
            (entries(index, &scope).unwrap_or(u64::MAX), t, scope)
        });
        let Some((size, t, mut scope)) = joint.min_by_key(|&(size, t, _)| (size, t)) else {
            return Some(order);
        };
        spent = spent.saturating_add(size);
        scopes.retain(|other| !other.contains(&t));
        scope.retain(|&other| other != t);
        scopes.push(scope);
        left.retain(|&other| other != t);
        order.push(t);
    }
    None
}

fn joint_scope(scopes: &[Vec<usize>], t: usize) -> Vec<usize> {
    let mine = scopes.iter().filter(|scope| scope.contains(&t));
    let mut joint: Vec<usize> = mine.flatten().copied().collect();
    joint.sort_unstable();
    joint.dedup();
    joint
}

fn entries(index: &Index, scope: &[usize]) -> Option<u64> {
    let sizes = scope.iter().map(|&t| index.choices(t) as u64);
    sizes.into_iter().try_fold(1, u64::checked_mul)
}

/// Position of the choices of `scope` in a table over it.
fn position(index: &Index, scope: &[usize], choices: &[u32]) -> usize {
    scope.iter().fold(0, |at, &t| at * index.choices(t) + choices[t] as usize)
}

/// Calls `visit` for all choices of `scope`, in the order of its table.
fn for_all(index: &Index, scope: &[usize], choices: &mut [u32], mut visit: impl FnMut(&[u32])) {
    for &t in scope {
        choices[t] = 0;
    }
    loop {
        visit(choices);
        let step = scope.iter().rev().find(|&&t| {
            choices[t] += 1;
            let last = choices[t] as usize == index.choices(t);
            if last {
                choices[t] = 0;
            }
            !last
        });
        if step.is_none() {
            return;
        }
    }
}

/// w_time T_g and the costs of `group`'s tasks and of the edges into it.
fn group_factor(problem: &Problem, weights: Weights, group: u32, scope: &[usize]) -> Factor {
    let tasks: Vec<u32> = scope.iter().map(|&t| t as u32).collect();
    let mut part = restrict(problem, &tasks);
    part.budgets.clear();
    for (task, &t) in part.tasks.iter_mut().zip(scope) {
        let foreign = problem.tasks[t].group != group;
        for choice in &mut task.choices {
            choice.uses.clear();
            if foreign {
                *choice = Choice::default();
            }
        }
    }
    let inside = |t: u32| problem.tasks[scope[t as usize]].group == group;
    part.edges.retain(|edge| inside(edge.to));
    let index = Index::new(&part);
    let all: Vec<usize> = (0..scope.len()).collect();
    let mut choices = vec![0; scope.len()];
    let mut state = State::new(&index, weights, &choices);
    let mut table = Vec::new();
    for_all(&index, &all, &mut choices, |choices| {
        state.set(choices);
        table.push(state.score());
    });
    Factor { scope: scope.to_vec(), table }
}

fn budget_factor(index: &Index, b: usize, scope: &[usize]) -> Factor {
    let budget = &index.problem.budgets[b];
    let amount = |t: usize, choice: u32| -> f64 {
        let uses = &index.problem.tasks[t].choices[choice as usize].uses;
        let mine = uses.iter().filter(|&&(other, _)| other as usize == b);
        mine.map(|&(_, amount)| amount).sum()
    };
    let mut choices = vec![0; index.problem.tasks.len()];
    let mut table = Vec::new();
    for_all(index, scope, &mut choices, |choices| {
        let used = scope.iter().map(|&t| amount(t, choices[t])).sum();
        let (value, violation) = overflow_terms(budget, overflow(budget, used));
        table.push(Score { violation, value });
    });
    Factor { scope: scope.to_vec(), table }
}

/// The best choice of a task for all choices of its scope.
struct Decision {
    task: usize,
    scope: Vec<usize>,
    best: Vec<u32>,
}

/// The sum of `factors` minimised over `task`.
fn minimise(index: &Index, factors: &[Factor], task: usize) -> (Factor, Decision) {
    let scopes: Vec<Vec<usize>> = factors.iter().map(|f| f.scope.clone()).collect();
    let mut scope = joint_scope(&scopes, task);
    scope.retain(|&t| t != task);
    let mut table = Vec::new();
    let mut best = Vec::new();
    let mut choices = vec![0; index.problem.tasks.len()];
    let mut trial = choices.clone();
    for_all(index, &scope, &mut choices, |choices| {
        trial.copy_from_slice(choices);
        let mut least = (Score::WORST, 0);
        for choice in 0..index.choices(task) as u32 {
            trial[task] = choice;
            let mut sum = Score { violation: 0.0, value: 0.0 };
            for factor in factors {
                let entry = factor.table[position(index, &factor.scope, &trial)];
                sum.violation += entry.violation;
                sum.value += entry.value;
            }
            if (sum.violation, sum.value) < (least.0.violation, least.0.value) {
                least = (sum, choice);
            }
        }
        table.push(least.0);
        best.push(least.1);
    });
    let factor = Factor { scope: scope.clone(), table };
    (factor, Decision { task, scope, best })
}
