//! The linear model, written once for every good_lp backend.
//!
//! ```text
//! x_tc ∈ {0, 1}      task t takes choice c;            Σ_c x_tc = 1
//! y_eab ≥ 0          edge e sees choices a and b;      Σ_b y_eab = x_pa,  Σ_a y_eab = x_tb
//! T_g  ≥ Σ loads on r in g (of x and of y)             for every r
//! T_g  ≥ s_t + Σ_c latency_tc x_tc,   s_t ≥ s_p + Σ_c fill_pc x_pc   (s = 0 without fills)
//! o_b  ≥ Σ uses x - capacity_b        (no o_b: hard)
//! min  w_time Σ T_g + w_cost (Σ cost x + Σ cost y) + Σ price_b o_b
//! ```
//! With x integral, the transport equations force y_eab = x_pa x_tb, so the model is exact; its
//! relaxation is tighter than y ≥ x + x - 1. An edge of which few pairs are listed gets
//! variables for those alone (L(a): the listed b of a), and the equations become
//! ```text
//! x_pa - Σ_{b not in L(a)} x_tb ≤ Σ_{b in L(a)} y_eab ≤ x_pa        and the same with a, b exchanged
//! ```
//! Tasks restricted to one choice are constants: their terms go to right-hand sides, and an
//! edge to them is a term of the other task alone.
//!
//! Scale: time of group g in units of τ_g, its makespan in the incumbent; the objective in
//! units of the incumbent's value; budgets in units of their capacity. Coefficients below
//! `NEGLIGIBLE` after scaling are left out, which only relaxes the model.

use crate::index::Index;
use crate::problem::{Overflow, Pair, Weights};
use crate::transport;
use good_lp::{Expression, ProblemVariables, Solver, SolverModel, Variable, variable};

/// Scaled coefficients below this are left out.
const NEGLIGIBLE: f64 = 1e-9;

/// What the model says about edges between two free tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EdgeTerms {
    /// With variables for pairs of choices.
    Modelled,
    /// Not at all, which is a relaxation: their terms are not negative.
    Dropped,
}

/// What is minimised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aim {
    /// The objective, subject to the hard budgets.
    Objective,
    /// The sum of the hard budgets' relative overflows, nothing else.
    Violation,
}

/// τ_g for the makespans of an incumbent; positive even where those are 0.
pub(crate) fn time_units(index: &Index, times: &[f64]) -> Vec<f64> {
    let groups = index.group_tasks.iter().zip(times);
    groups
        .map(|(tasks, &time)| {
            if time > 0.0 {
                return time;
            }
            let choices = tasks.iter().flat_map(|&t| &index.problem.tasks[t as usize].choices);
            let loads = choices.flat_map(|choice| &choice.loads);
            let largest = loads.map(|&(_, load)| load).fold(0.0, f64::max);
            if largest > 0.0 { largest } else { 1.0 }
        })
        .collect()
}

/// A restriction of the problem, to be written as a linear model.
#[derive(Debug, Clone)]
pub(crate) struct Form<'a> {
    pub index: &'a Index<'a>,
    pub weights: Weights,
    /// Permitted choices per task, never empty; one alone is a constant.
    pub allowed: &'a [Vec<u32>],
    pub edges: EdgeTerms,
    pub aim: Aim,
    /// τ_g, positive.
    pub time_units: &'a [f64],
    /// Unit of the objective, positive.
    pub unit: f64,
    pub integral: bool,
}

/// A choice variable and its position in the order of creation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub variable: Variable,
    pub position: usize,
}

/// A written model and where to find the choices in it.
pub(crate) struct Written<M> {
    pub model: M,
    /// Per task, aligned with `allowed`; empty for constants.
    pub x: Vec<Vec<Column>>,
    /// Number of variables.
    pub columns: usize,
    /// Constant part of the scaled objective, which the model leaves out.
    pub constant: f64,
}

impl Form<'_> {
    /// Whether `t` has a variable for each of its choices.
    pub fn free(&self, t: usize) -> bool {
        self.allowed[t].len() > 1
    }

    pub fn edge_tasks(&self, e: usize) -> (usize, usize) {
        let edge = &self.index.problem.edges[e];
        (edge.from as usize, edge.to as usize)
    }

    /// The cells with a variable, if edge `e` needs any: all, or the listed ones if few.
    pub fn pairs_of(&self, e: usize) -> Option<Vec<Cell<'_>>> {
        let (p, t) = self.edge_tasks(e);
        let wanted = self.edges == EdgeTerms::Modelled && self.aim == Aim::Objective;
        if !wanted || !self.free(p) || !self.free(t) {
            return None;
        }
        let mut cells = Vec::new();
        for (from, &a) in self.allowed[p].iter().enumerate() {
            for (to, &b) in self.allowed[t].iter().enumerate() {
                let pair = self.index.pair(e, a, b);
                cells.push(Cell { from, to, pair });
            }
        }
        let listed = cells.iter().filter(|cell| cell.pair.is_some()).count();
        if 2 * listed < cells.len() {
            cells.retain(|cell| cell.pair.is_some());
        }
        (listed > 0).then_some(cells)
    }
}

/// A pair of permitted choices of an edge's ends, by their positions in `allowed`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell<'a> {
    pub from: usize,
    pub to: usize,
    pub pair: Option<&'a Pair>,
}

/// A left-hand side: terms and a constant.
#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    terms: Vec<(Variable, f64)>,
    constant: f64,
}

impl Row {
    /// Adds `coefficient` times `by` (`None`: times one), unless it is negligible.
    pub fn add(&mut self, coefficient: f64, by: Option<Variable>) {
        match by {
            Some(variable) if coefficient.abs() >= NEGLIGIBLE => {
                self.terms.push((variable, coefficient));
            }
            Some(_) => {}
            None => self.constant += coefficient,
        }
    }

    pub fn negated(&self) -> Self {
        Self { terms: self.terms.iter().map(|&(v, c)| (v, -c)).collect(), constant: -self.constant }
    }

    fn is_trivial(&self) -> bool {
        self.terms.is_empty()
    }

    fn expression(self) -> Expression {
        let mut expression = Expression::with_capacity(self.terms.len());
        for (variable, coefficient) in self.terms {
            expression.add_mul(coefficient, variable);
        }
        expression += self.constant;
        expression
    }
}

/// The model under construction.
pub(crate) struct Rows {
    pub variables: ProblemVariables,
    objective: Row,
    /// Per group and resource: scaled loads, without T_g.
    loads: Vec<Row>,
    makespans: Vec<Variable>,
    /// row ≤ 0
    pub at_most: Vec<Row>,
    /// row = 0
    pub equal: Vec<Row>,
    pub x: Vec<Vec<Column>>,
}

impl Rows {
    /// The variable of the i-th permitted choice of `t`; none if `t` is a constant.
    fn variable(&self, t: usize, i: usize) -> Option<Variable> {
        self.x[t].get(i).map(|column| column.variable)
    }
}

/// Writes `form` for the backend `solver`.
pub(crate) fn write<S: Solver>(form: &Form, solver: S) -> Written<S::Model> {
    let mut rows = start(form);
    for t in 0..form.index.problem.tasks.len() {
        choose(form, &mut rows, t);
    }
    budgets(form, &mut rows);
    if form.aim == Aim::Objective {
        for e in 0..form.index.problem.edges.len() {
            edge(form, &mut rows, e);
        }
        close_loads(form, &mut rows);
        for group in 0..form.index.problem.groups {
            latencies(form, &mut rows, group);
        }
    }
    let columns = rows.variables.len();
    let constant = rows.objective.constant;
    let objective = rows.objective.expression();
    let mut model = rows.variables.minimise(objective).using(solver);
    for row in rows.at_most {
        model.add_constraint(row.expression().leq(0.0));
    }
    for row in rows.equal {
        model.add_constraint(row.expression().eq(0.0));
    }
    Written { model, x: rows.x, columns, constant }
}

fn start(form: &Form) -> Rows {
    let problem = form.index.problem;
    let mut rows = Rows {
        variables: ProblemVariables::new(),
        objective: Row::default(),
        loads: vec![Row::default(); problem.groups * problem.resources],
        makespans: Vec::new(),
        at_most: Vec::new(),
        equal: Vec::new(),
        x: vec![Vec::new(); problem.tasks.len()],
    };
    if form.aim == Aim::Objective {
        for &unit in form.time_units {
            let makespan = rows.variables.add(variable().min(0.0));
            let price = form.weights.time * unit / form.unit;
            rows.objective.add(price, Some(makespan));
            rows.makespans.push(makespan);
        }
    }
    rows
}

/// The variables of task `t`, their equation, loads and costs.
fn choose(form: &Form, rows: &mut Rows, t: usize) {
    let task = &form.index.problem.tasks[t];
    let group = task.group as usize;
    let mut sum = Row::default();
    for &c in &form.allowed[t] {
        let choice = &task.choices[c as usize];
        let x = form.free(t).then(|| {
            let domain = variable().min(0.0).max(1.0);
            let domain = if form.integral { domain.integer() } else { domain };
            let position = rows.variables.len();
            let variable = rows.variables.add(domain);
            rows.x[t].push(Column { variable, position });
            variable
        });
        sum.add(1.0, x);
        loads_and_cost(form, rows, group, &choice.loads, choice.cost, x);
    }
    if form.free(t) {
        sum.add(-1.0, None);
        rows.equal.push(sum);
    }
}

/// Adds loads on a group and a cost, multiplied by `by` (`None`: by one).
pub(crate) fn loads_and_cost(
    form: &Form,
    rows: &mut Rows,
    group: usize,
    loads: &[(u32, f64)],
    cost: f64,
    by: Option<Variable>,
) {
    if form.aim == Aim::Violation {
        return;
    }
    for &(resource, load) in loads {
        let row = &mut rows.loads[group * form.index.problem.resources + resource as usize];
        row.add(load / form.time_units[group], by);
    }
    let cost = form.weights.cost * cost / form.unit;
    rows.objective.add(cost, by);
}

fn budgets(form: &Form, rows: &mut Rows) {
    let problem = form.index.problem;
    for (b, budget) in problem.budgets.iter().enumerate() {
        let scale = if budget.capacity > 0.0 { budget.capacity } else { 1.0 };
        let price = match (budget.overflow, form.aim) {
            (Overflow::Priced(price), Aim::Objective) => Some(price * scale / form.unit),
            (Overflow::Forbidden, Aim::Violation) => Some(1.0),
            (Overflow::Forbidden, Aim::Objective) => None,
            (Overflow::Priced(_), Aim::Violation) => continue,
        };
        let mut sum = Row::default();
        sum.add(-budget.capacity / scale, None);
        for (t, task) in problem.tasks.iter().enumerate() {
            for (i, &c) in form.allowed[t].iter().enumerate() {
                for &(used, amount) in &task.choices[c as usize].uses {
                    if used as usize == b {
                        sum.add(amount / scale, rows.variable(t, i));
                    }
                }
            }
        }
        if let Some(price) = price {
            let over = rows.variables.add(variable().min(0.0));
            rows.objective.add(price, Some(over));
            sum.add(-1.0, Some(over));
        }
        if !sum.is_trivial() {
            rows.at_most.push(sum);
        }
    }
}

/// Edge `e`: a term of its free end, or pair variables between two free ends.
fn edge(form: &Form, rows: &mut Rows, e: usize) {
    let (p, t) = form.edge_tasks(e);
    if form.free(p) && form.free(t) {
        if let Some(cells) = form.pairs_of(e) {
            transport::write(form, rows, e, &cells);
        }
        return;
    }
    let group = form.index.problem.tasks[t].group as usize;
    for (i, &a) in form.allowed[p].iter().enumerate() {
        for (j, &b) in form.allowed[t].iter().enumerate() {
            if let Some(pair) = form.index.pair(e, a, b) {
                let by = rows.variable(p, i).or(rows.variable(t, j));
                loads_and_cost(form, rows, group, &pair.loads, pair.cost, by);
            }
        }
    }
}

/// T_g ≥ loads, for every resource that is loaded at all.
fn close_loads(form: &Form, rows: &mut Rows) {
    let resources = form.index.problem.resources;
    for (at, mut row) in std::mem::take(&mut rows.loads).into_iter().enumerate() {
        if !row.is_trivial() || row.constant > 0.0 {
            row.add(-1.0, Some(rows.makespans[at / resources]));
            rows.at_most.push(row);
        }
    }
}

/// T_g ≥ start + latency of every task of the group.
fn latencies(form: &Form, rows: &mut Rows, group: usize) {
    let index = form.index;
    let fills = index.group_fills[group];
    let mut starts = vec![None; index.problem.tasks.len()];
    for &t in &index.group_tasks[group] {
        let t = t as usize;
        let mut end = Row::default();
        if fills && !index.incoming[t].is_empty() {
            let start = rows.variables.add(variable().min(0.0));
            starts[t] = Some(start);
            follow(form, rows, t, &starts);
            end.add(1.0, Some(start));
        }
        for (i, &c) in form.allowed[t].iter().enumerate() {
            let latency = index.problem.tasks[t].choices[c as usize].latency;
            let by = rows.variable(t, i);
            end.add(latency / form.time_units[group], by);
        }
        if !end.is_trivial() || end.constant > 0.0 {
            end.add(-1.0, Some(rows.makespans[group]));
            rows.at_most.push(end);
        }
    }
}

/// s_t ≥ s_p + fill of every predecessor p in the group.
fn follow(form: &Form, rows: &mut Rows, t: usize, starts: &[Option<Variable>]) {
    let index = form.index;
    let group = index.problem.tasks[t].group;
    for &e in &index.incoming[t] {
        let p = form.edge_tasks(e as usize).0;
        if index.problem.tasks[p].group != group {
            continue;
        }
        let mut row = Row::default();
        for (i, &c) in form.allowed[p].iter().enumerate() {
            let fill = index.problem.tasks[p].choices[c as usize].fill;
            row.add(fill / form.time_units[group as usize], rows.variable(p, i));
        }
        if starts[p].is_some() {
            row.add(1.0, starts[p]);
        }
        row.add(-1.0, starts[t]);
        rows.at_most.push(row);
    }
}
