//! The pair variables of one edge between two free tasks, as a transport problem.
//!
//! ```text
//! dense:   Σ_b y_ab = x_a,  Σ_a y_ab = x_b
//! sparse:  x_a - Σ_{b not in L(a)} x_b ≤ Σ_{b in L(a)} y_ab ≤ x_a,   the same with a, b exchanged
//! ```
//! L(a) are the choices b whose pair with a is listed. For integral x either form gives
//! y_ab = x_a x_b on the listed pairs: with x_a = x_b = 1, row a demands a sum of 1, and every
//! other column of it is limited by its x = 0.

use crate::model::{Cell, Column, Form, Row, Rows, loads_and_cost};
use good_lp::{Variable, variable};

/// Adds the pair variables of edge `e` and their rows.
pub(crate) fn write(form: &Form, rows: &mut Rows, e: usize, cells: &[Cell]) {
    let (p, t) = form.edge_tasks(e);
    let group = form.index.problem.tasks[t].group as usize;
    let mut from = vec![Side::default(); rows.x[p].len()];
    let mut to = vec![Side::default(); rows.x[t].len()];
    for cell in cells {
        let y = rows.variables.add(variable().min(0.0));
        from[cell.from].add(y, cell.to);
        to[cell.to].add(y, cell.from);
        if let Some(pair) = cell.pair {
            loads_and_cost(form, rows, group, &pair.loads, pair.cost, Some(y));
        }
    }
    let (from_x, to_x) = (rows.x[p].clone(), rows.x[t].clone());
    close(rows, from, &from_x, &to_x);
    close(rows, to, &to_x, &from_x);
}

/// Σ y of one row or column of the edge's table, and the other ends that it lists.
#[derive(Debug, Clone, Default)]
struct Side {
    sum: Row,
    listed: Vec<usize>,
}

impl Side {
    fn add(&mut self, y: Variable, other: usize) {
        self.sum.add(1.0, Some(y));
        self.listed.push(other);
    }
}

/// Ties the sums of one side to its own choices `own`.
fn close(rows: &mut Rows, sides: Vec<Side>, own: &[Column], others: &[Column]) {
    for (side, x) in sides.into_iter().zip(own) {
        if side.listed.is_empty() {
            continue;
        }
        let mut difference = side.sum;
        difference.add(-1.0, Some(x.variable));
        if side.listed.len() == others.len() {
            rows.equal.push(difference);
            continue;
        }
        let mut lower = difference.negated();
        for (other, x) in others.iter().enumerate() {
            if !side.listed.contains(&other) {
                lower.add(-1.0, Some(x.variable));
            }
        }
        rows.at_most.push(difference);
        rows.at_most.push(lower);
    }
}
