//! Interchangeable blocks of resources: checked, then used to forbid equivalent choices.
//!
//! A symmetry holds if, for neighbouring blocks k and k+1, exchanging them maps the choices of
//! every task and the pairs of every edge onto themselves (budgets of exchanged blocks being
//! equal). Neighbour exchanges generate all permutations. A choice *touches* a block if it
//! loads one of its resources or uses one of its budgets.
//!
//! Some optimum then takes up new blocks in the order of their numbers, so that
//! ```text
//! choice c of task t may only touch blocks below  Σ_{u < t} max_c' touched(u, c') + touched(t, c)
//! ```
//! Symmetries that share a resource or budget with an earlier one are ignored.

use crate::index::Index;
use crate::problem::{Block, Choice, Pair, Symmetry};
use std::collections::BTreeSet;

/// A symmetry that holds.
#[derive(Debug, Clone)]
pub(crate) struct Checked<'a> {
    blocks: &'a [Block],
    /// For every exchange of blocks k and k+1: per task, the image of each choice.
    images: Vec<Vec<Vec<u32>>>,
}

/// The symmetries of the problem that hold and are disjoint.
pub(crate) fn check<'a>(index: &Index<'a>) -> Vec<Checked<'a>> {
    let mut checked = Vec::new();
    let mut resources = BTreeSet::new();
    let mut budgets = BTreeSet::new();
    for symmetry in &index.problem.symmetric {
        let blocks = &symmetry.blocks;
        let mut disjoint = true;
        for block in blocks {
            for &resource in &block.resources {
                disjoint &= resources.insert(resource);
            }
            for &budget in &block.budgets {
                disjoint &= budgets.insert(budget);
            }
        }
        if disjoint && let Some(images) = images(index, symmetry) {
            checked.push(Checked { blocks, images });
        }
    }
    checked
}

/// The choices that remain when equivalent ones are forbidden.
pub(crate) fn allowed(index: &Index, symmetries: &[Checked]) -> Vec<Vec<u32>> {
    let tasks = &index.problem.tasks;
    let mut used = vec![0; symmetries.len()];
    let mut allowed = Vec::new();
    for task in tasks {
        let mut mine: Vec<u32> = (0..task.choices.len() as u32).collect();
        for (symmetry, used) in symmetries.iter().zip(&mut used) {
            let touched: Vec<Vec<usize>> = task.choices.iter().map(|c| symmetry.touched(c)).collect();
            mine.retain(|&c| {
                let blocks = &touched[c as usize];
                blocks.last().is_none_or(|&last| last < *used + blocks.len())
            });
            *used += touched.iter().map(Vec::len).max().unwrap_or(0);
        }
        allowed.push(mine);
    }
    allowed
}

/// The equivalent of `choices` that takes up blocks in order; it satisfies [`allowed`].
pub(crate) fn canonical(index: &Index, symmetries: &[Checked], choices: &[u32]) -> Vec<u32> {
    let mut choices = choices.to_vec();
    for symmetry in symmetries {
        let mut next = 0;
        for (t, task) in index.problem.tasks.iter().enumerate() {
            loop {
                let blocks = symmetry.touched(&task.choices[choices[t] as usize]);
                let Some(&block) = blocks.iter().find(|&&block| block >= next) else {
                    break;
                };
                for k in (next..block).rev() {
                    for (choice, images) in choices.iter_mut().zip(&symmetry.images[k]) {
                        *choice = images[*choice as usize];
                    }
                }
                next += 1;
            }
        }
    }
    choices
}

impl Checked<'_> {
    /// The blocks that `choice` touches, ascending.
    fn touched(&self, choice: &Choice) -> Vec<usize> {
        let names = |list: &[(u32, f64)], ids: &[u32]| {
            list.iter().any(|&(id, value)| value > 0.0 && ids.contains(&id))
        };
        let blocks = self.blocks.iter().enumerate();
        blocks
            .filter(|(_, block)| {
                names(&choice.loads, &block.resources) || names(&choice.uses, &block.budgets)
            })
            .map(|(k, _)| k)
            .collect()
    }
}

fn images(index: &Index, symmetry: &Symmetry) -> Option<Vec<Vec<Vec<u32>>>> {
    let pairs = symmetry.blocks.windows(2);
    pairs.map(|two| exchange(index, &two[0], &two[1])).collect()
}

/// The images of all choices when blocks `one` and `two` are exchanged, if it is a symmetry.
fn exchange(index: &Index, one: &Block, two: &Block) -> Option<Vec<Vec<u32>>> {
    let problem = index.problem;
    let lengths = one.resources.len() == two.resources.len();
    if !lengths || one.budgets.len() != two.budgets.len() {
        return None;
    }
    let mut budgets = one.budgets.iter().zip(&two.budgets);
    if !budgets.all(|(&a, &b)| problem.budgets[a as usize] == problem.budgets[b as usize]) {
        return None;
    }
    let mut images = Vec::new();
    for task in &problem.tasks {
        let mut free: Vec<bool> = vec![true; task.choices.len()];
        let mut mine = Vec::new();
        for choice in &task.choices {
            let image = exchanged(choice, one, two);
            let found = (0..free.len()).find(|&c| free[c] && alike(&image, &task.choices[c]))?;
            free[found] = false;
            mine.push(found as u32);
        }
        images.push(mine);
    }
    for (e, edge) in problem.edges.iter().enumerate() {
        for pair in &edge.pairs {
            let a = images[edge.from as usize][pair.from_choice as usize];
            let b = images[edge.to as usize][pair.to_choice as usize];
            let loads = swap(&pair.loads, &one.resources, &two.resources);
            let image: &Pair = index.pair(e, a, b)?;
            if !close(pair.cost, image.cost) || !same(&loads, &image.loads) {
                return None;
            }
        }
    }
    Some(images)
}

fn exchanged(choice: &Choice, one: &Block, two: &Block) -> Choice {
    Choice {
        loads: swap(&choice.loads, &one.resources, &two.resources),
        uses: swap(&choice.uses, &one.budgets, &two.budgets),
        ..*choice
    }
}

fn swap(list: &[(u32, f64)], one: &[u32], two: &[u32]) -> Vec<(u32, f64)> {
    let other = |id: u32| {
        let mut pairs = one.iter().zip(two);
        pairs
            .find_map(|(&a, &b)| match id {
                _ if id == a => Some(b),
                _ if id == b => Some(a),
                _ => None,
            })
            .unwrap_or(id)
    };
    list.iter().map(|&(id, value)| (other(id), value)).collect()
}

fn alike(a: &Choice, b: &Choice) -> bool {
    close(a.cost, b.cost)
        && close(a.latency, b.latency)
        && close(a.fill, b.fill)
        && same(&a.loads, &b.loads)
        && same(&a.uses, &b.uses)
}

/// Equal up to order and zeros.
fn same(a: &[(u32, f64)], b: &[(u32, f64)]) -> bool {
    let value = |list: &[(u32, f64)], id: u32| -> f64 {
        let mine = list.iter().filter(|&&(other, _)| other == id);
        mine.map(|&(_, value)| value).sum()
    };
    let agree = |&(id, _): &(u32, f64)| close(value(a, id), value(b, id));
    a.iter().all(agree) && b.iter().all(agree)
}

/// Equal up to the rounding of the caller's sums.
fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
}
