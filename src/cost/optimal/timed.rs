//! Least latency, or least product of energy and latency, over all loop orders and divisions.
//!
//! Chains of multisets as in the search for energy, depth first, each chain once: between two groups
//! of boundaries loops join in the order of their kinds, within a group boundaries in the order of
//! their operands. Unlike energy, latency depends on the order of the loops between boundaries, by the
//! runs of equal relevance at the outer end of a level (windows, double buffering, MODEL.md 8).
//!
//! What cannot beat the best mapping known, by the bounds of `bounds`, is cut. The orders of a chain
//! that is left are evaluated one by one until one reaches its bound: of each segment those that
//! differ in the runs of any operand at its outer and inner end; what is between them decides nothing.
//!
//! Invariant: a result is better than the incumbent by more than rounding; equals go to the incumbent.

use super::super::access::nestings;
use super::super::allocate::{Ends, settle};
use super::super::evaluate::Score;
use super::super::problem::Relevance;
use super::super::temporal::Loop;
use super::super::{CostError, Objective, ROUNDING, SearchOptions};
use super::bounds::{Bounds, Figures};
use super::chain::{Layout, Step, Used};
use super::{Failure, Found, Space};
use smallvec::SmallVec;

/// Chains cut or extended before the search gives up.
const MOST_STEPS: u64 = 1 << 24;

/// The best mapping by the objective, if it is better than `best`.
pub(super) fn search(space: &Space, options: &SearchOptions, best: Score) -> Result<Option<Found>, Failure> {
    let (bounds, figures) = Bounds::new(space)?;
    let start = Node { set: 0, placed: 0, last: Step::Loop(0), used: space.shares.start(), figures };
    let mut search = Search { space, bounds, options, best, found: None, path: Vec::new(), steps: 0 };
    search.extend(&start)?;
    let steps = search.steps;
    Ok(search.found.map(|found| Found { extended: steps, ..found }))
}

/// A partial mapping.
#[derive(Clone, Debug)]
struct Node {
    set: usize,
    placed: usize,
    last: Step,
    used: Used,
    figures: Figures,
}

struct Search<'a> {
    space: &'a Space<'a>,
    bounds: Bounds<'a>,
    options: &'a SearchOptions,
    best: Score,
    found: Option<Found>,
    path: Vec<Step>,
    steps: u64,
}

impl Search<'_> {
    fn extend(&mut self, node: &Node) -> Result<(), Failure> {
        let chain = &self.space.chain;
        if node.set == chain.lattice.whole() && node.placed + 1 == chain.placements {
            return self.complete(node);
        }
        let mut children: SmallVec<[(Score, Node); 8]> = SmallVec::new();
        let first = if let Step::Boundary(operand) = node.last { operand } else { 0 };
        for operand in first..chain.boundaries.len() {
            children.extend(self.place(node, operand));
        }
        let first = if let Step::Loop(kind) = node.last { kind } else { 0 };
        for (at, kind) in chain.lattice.kinds.iter().enumerate().skip(first) {
            if chain.lattice.count(node.set, kind) < kind.count {
                let child = Node { set: node.set + kind.weight, last: Step::Loop(at), ..node.clone() };
                children.push((self.bound(&child), child));
            }
        }
        children.retain(|(bound, _)| bound.energy.is_finite() && bound.latency.is_finite());
        children
            .sort_by(|(a, _), (b, _)| self.figure(a).partial_cmp(&self.figure(b)).expect("no bound is NaN"));
        for (bound, child) in children {
            self.steps += 1;
            if self.steps > MOST_STEPS {
                return Err(Failure::TooLarge);
            }
            if self.may_beat(&bound) {
                self.path.push(child.last);
                self.extend(&child)?;
                self.path.pop();
            }
        }
        Ok(())
    }

    fn place(&self, node: &Node, operand: usize) -> Option<(Score, Node)> {
        let chain = &self.space.chain;
        let boundary = chain.next(node.placed, operand)?;
        let used = self.space.shares.with(&node.used, boundary, node.set)?;
        let child = Node {
            set: node.set,
            placed: node.placed + chain.weights[operand],
            last: Step::Boundary(operand),
            used,
            figures: self.bounds.with(&node.figures, node.set, node.placed, operand),
        };
        Some((self.bound(&child), child))
    }

    fn bound(&self, node: &Node) -> Score {
        self.bounds.of(&node.figures, node.set, node.placed)
    }

    /// What is compared, most important first.
    fn figure(&self, score: &Score) -> (f64, f64) {
        match self.options.objective {
            Objective::Latency => (score.latency, score.energy),
            Objective::Energy => (score.energy, score.latency),
            Objective::Edp => (score.energy * score.latency, score.energy),
        }
    }

    /// Better than the best by more than rounding.
    fn may_beat(&self, bound: &Score) -> bool {
        let (bound, best) = (self.figure(bound), self.figure(&self.best));
        let less = |a: f64, b: f64| a < b * (1.0 - ROUNDING);
        less(bound.0, best.0) || (bound.0 <= best.0 && less(bound.1, best.1))
    }

    /// Evaluates the orders of a complete chain.
    fn complete(&mut self, node: &Node) -> Result<(), Failure> {
        let bound = self.bound(node);
        let Layout { segments, ends } = self.space.chain.layout(&self.path);
        let choices: Vec<Vec<Vec<Loop>>> = segments.iter().map(|segment| self.distinct(segment)).collect();
        let mut chosen = vec![0; choices.len()];
        loop {
            if !self.may_beat(&bound) {
                return Ok(());
            }
            let order: Vec<Loop> =
                choices.iter().zip(&chosen).flat_map(|(choices, at)| choices[*at].iter().copied()).collect();
            self.evaluate(&order, &ends)?;
            self.steps += 1;
            if self.steps > MOST_STEPS {
                return Err(Failure::TooLarge);
            }
            let Some(next) = (0..chosen.len()).find(|at| chosen[*at] + 1 < choices[*at].len()) else {
                return Ok(());
            };
            chosen[next] += 1;
            chosen[..next].fill(0);
        }
    }

    fn evaluate(&mut self, order: &[Loop], ends: &Ends) -> Result<(), CostError> {
        let mapped = self.space.chain.mapped;
        let mut settled = ends.clone();
        settle(mapped.problem, order, &mut settled);
        let priced = mapped.price(order, &settled, nestings(mapped.problem, order, &settled))?;
        let score = Score { energy: priced.energy, latency: priced.latency().total() };
        if self.may_beat(&score) {
            self.best = score;
            self.found = Some(Found { order: order.to_vec(), ends: ends.clone(), extended: 0 });
        }
        Ok(())
    }

    /// Orders of a segment that differ in the runs at its ends.
    fn distinct(&self, segment: &[Loop]) -> Vec<Vec<Loop>> {
        let operands = &self.space.chain.mapped.problem.operands;
        // A run of equal relevance goes on at the outer end.
        let outer = |fixed: &[Loop]| {
            operands.iter().any(|operand| {
                let mut kinds = fixed.iter().map(|(dim, _)| operand.relevance[*dim]);
                let outermost = kinds.next();
                outermost != Some(Relevance::Partial) && kinds.all(|kind| Some(kind) == outermost)
            })
        };
        // Stationary loops at the inner end belong to the level below.
        let inner = |fixed: &[Loop]| {
            operands.iter().any(|operand| fixed.iter().all(|(dim, _)| operand.is_irrelevant(*dim)))
        };
        let mut all = Vec::new();
        for (rest, outermost) in ends(segment, &outer) {
            for (rest, innermost) in ends(&rest, &inner) {
                let inside = innermost.into_iter().chain(rest);
                all.push(inside.chain(outermost.iter().rev().copied()).collect());
            }
        }
        all
    }
}

/// All choices of loops from `loops`, one after the other while `open`, with what is left.
fn ends(loops: &[Loop], open: &impl Fn(&[Loop]) -> bool) -> Vec<(Vec<Loop>, Vec<Loop>)> {
    let mut all = Vec::new();
    let mut stack = vec![(loops.to_vec(), Vec::new())];
    while let Some((rest, fixed)) = stack.pop() {
        if rest.is_empty() || !open(&fixed) {
            all.push((rest, fixed));
            continue;
        }
        for at in (0..rest.len()).filter(|at| !rest[..*at].contains(&rest[*at])) {
            let (mut rest, mut fixed) = (rest.clone(), fixed.clone());
            fixed.push(rest.remove(at));
            stack.push((rest, fixed));
        }
    }
    all
}
