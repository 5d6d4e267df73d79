//! Search over loop orders and spatial mappings (MODEL.md 4).
//!
//! Every distinct order of the loops is evaluated for every spatial mapping; the best by the
//! objective wins, first over the orders, then over the mappings: energy (ties: latency), latency
//! (ties: energy), or energy times latency (first found). Orders that do not fit are skipped.
//!
//! The result is that of the plain enumeration, ties included. It is reached faster because an order
//! whose lower bound of energy (`optimal`) exceeds that of an order known to fit is skipped
//! before it is allocated, because orders with the same tiles at the same boundaries cost the same
//! and are scored once, and because the latency is only computed where energy and
//! `temporal + drain`, a lower bound of it, do not already lose.
//!
//! A loop order that the mapping gives whole is the only one; one that it gives in part filters the
//! enumeration (MODEL.md 4).
//!
//! With the optimal allocator the best division of all orders (`optimal`) is compared with that
//! search at ZigZag's default limit; the better one wins.

use super::access::{Nesting, nestings};
use super::allocate::{Allocation, Allocator, Ends, Rejection, settle};
use super::evaluate::{Mapped, Score};
use super::optimal::{self, Failure, Floor, Space};
use super::problem::Problem;
use super::temporal::{Imposed, Loop, Orders, loops, temporal_sizes};
use super::{
    Cost, CostError, Division, Hierarchy, MappingConstraint, Model, Objective, OrderEntry, ROUNDING,
    SearchOptions,
};
use crate::workload::nest::LoopNest;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

/// The best cost of a nest on a hierarchy.
///
/// # Errors
/// [`CostError`]: an operand without memory, a mapping over array dimensions the core lacks, a
/// missing port, or no order that fits.
pub fn search(
    nest: &LoopNest,
    hierarchy: &Hierarchy,
    core_name: &str,
    constraint: &MappingConstraint,
    options: &SearchOptions,
) -> Result<Cost, CostError> {
    check(options)?;
    let problem = Problem::new(nest, hierarchy, core_name, options.model)?;
    let imposed = Imposed::new(&problem, &constraint.order);
    if !imposed.is_empty() && options.allocator == Division::Optimal {
        return Err(CostError::OrderForZigzagOnly);
    }
    let mut best: Option<(Score, Cost)> = None;
    let mut rejected: Option<CostError> = None;
    let (mut evaluated, mut pruned) = (0, 0);
    for mapping in super::spatial::mappings(&problem, core_name, constraint, options.spatial_mappings)? {
        let mapped = Mapped::new(&problem, mapping);
        let found = orders(&mapped, &imposed, options)?;
        evaluated += found.evaluated;
        pruned += found.pruned;
        match found.best {
            Ok((score, order)) => {
                if best.as_ref().is_none_or(|(least, _)| options.prefers(&score, least)) {
                    best = Some((score, mapped.cost(&order)?));
                }
            }
            Err(Some(rejection)) => {
                rejected.get_or_insert_with(|| rejection.error(&problem));
            }
            Err(None) => {
                rejected.get_or_insert_with(|| no_such_order(&mapped, &constraint.order));
            }
        }
        if options.allocator == Division::Optimal {
            let incumbent = best.as_ref().map(|(score, _)| *score);
            for (score, cost) in divided(&mapped, options, incumbent)? {
                evaluated += cost.evaluated;
                if best.as_ref().is_none_or(|(least, _)| options.prefers(&score, least)) {
                    best = Some((score, cost));
                }
            }
        }
    }
    match (best, rejected) {
        (Some((_, cost)), _) => Ok(Cost { evaluated, pruned, ..cost }),
        (None, Some(error)) => Err(error),
        (None, None) => Err(CostError::NoSpatialMapping { core: core_name.to_owned() }),
    }
}

/// Refuses what is not built.
fn check(options: &SearchOptions) -> Result<(), CostError> {
    match options {
        SearchOptions { allocator: Division::Zigzag, lpf_limit: MOST_LOOPS.., .. } => {
            Err(CostError::UnlimitedGreedy)
        }
        _ => Ok(()),
    }
}

/// Orders of this many loops are not enumerated.
const MOST_LOOPS: usize = 13;

/// Mappings without a greedy allocator that may be better than `best`; the last one is the best there
/// is, unless `best` is. None where nothing fits.
fn divided(
    mapped: &Mapped,
    options: &SearchOptions,
    best: Option<Score>,
) -> Result<Vec<(Score, Cost)>, CostError> {
    let loops = loops(&temporal_sizes(mapped.problem, &mapped.fractional), options.lpf_limit);
    let scored = |found: optimal::Found| -> Result<(Score, Cost), CostError> {
        let cost = mapped.evaluation(&found.order, &found.ends)?.cost;
        let score = Score { energy: cost.energy.0, latency: cost.latency.0 };
        Ok((score, Cost { evaluated: found.extended, ..cost }))
    };
    let found = || -> Result<Vec<(Score, Cost)>, Failure> {
        let space = Space::new(mapped, &loops)?;
        let (score, cost) = scored(space.least_energy()?)?;
        if options.objective == Objective::Energy {
            return Ok(vec![(score, cost)]);
        }
        let incumbent = best.filter(|best| !options.prefers(&score, best)).unwrap_or(score);
        let timed = space.least_latency(options, incumbent)?.map(scored).transpose()?;
        Ok([(score, cost)].into_iter().chain(timed).collect())
    };
    match found() {
        Ok(all) => Ok(all),
        Err(Failure::DoesNotFit) => Ok(Vec::new()),
        Err(Failure::TooLarge) => Err(CostError::TooManyTiles),
        Err(Failure::Cost(error)) => Err(error),
    }
}

/// What the enumeration of one spatial mapping found.
struct Found {
    /// Without a rejection the mapping admits no order.
    best: Result<(Score, Vec<Loop>), Option<Rejection>>,
    evaluated: u64,
    pruned: u64,
}

fn no_such_order(mapped: &Mapped, given: &[OrderEntry]) -> CostError {
    let problem = mapped.problem;
    let sizes = temporal_sizes(problem, &mapped.fractional);
    let loops = sizes.iter().map(|(dim, size)| format!("{} {size}", problem.nest.dims[*dim].0));
    CostError::NoSuchOrder {
        given: given.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        loops: loops.collect::<Vec<_>>().join(", "),
    }
}

fn orders(mapped: &Mapped, imposed: &Imposed, options: &SearchOptions) -> Result<Found, CostError> {
    let problem = mapped.problem;
    // Beside the optimal allocator the greedy one at ZigZag's default limit breaks ties.
    let limit = match options.allocator {
        Division::Zigzag => options.lpf_limit,
        Division::Optimal => options.lpf_limit.min(6),
    };
    let sizes = temporal_sizes(problem, &mapped.fractional);
    let loops = loops(&sizes, limit);
    let mut given = imposed.complete(&sizes);
    let complete = given.is_some();
    let mut sequence = Orders::new(&problem.nest.dims, &loops);
    let mut allocator = Allocator::new(problem, mapped.held(), Allocation::Uneven);
    let mut seen = Seen::new(mapped, &loops);
    let mut order = Vec::with_capacity(loops.len());
    let mut best: Option<(Score, Vec<Loop>)> = None;
    let mut rejected: Option<Rejection> = None;
    let (mut evaluated, mut pruned) = (0, 0);
    let mut bar = match imposed.is_empty() {
        true => Bar::new(mapped, &loops, options.objective, &mut allocator)?,
        false => None,
    };
    loop {
        match given.take() {
            Some(given) => order = given,
            None if complete || !sequence.next_into(&mut order) => break,
            None if !imposed.admits(&order) => continue,
            None => {}
        }
        if bar.as_ref().is_some_and(|bar| bar.excludes(&order)) {
            pruned += 1;
            continue;
        }
        let mut ends = match allocator.allocate(&order) {
            Ok(ends) => ends,
            Err(rejection) => {
                pruned += 1;
                if rejected.as_ref().is_none_or(|least| rejection.needed < least.needed) {
                    rejected = Some(rejection);
                }
                continue;
            }
        };
        settle(problem, &order, &mut ends);
        evaluated += 1;
        let nestings = nestings(problem, &order, &ends);
        if !seen.is_new(&order, &ends, &nestings) {
            continue;
        }
        let priced = mapped.price(&order, &ends, nestings)?;
        let wins = |latency| {
            let score = Score { energy: priced.energy, latency };
            best.as_ref().is_none_or(|(least, _)| options.prefers(&score, least))
        };
        if !wins(priced.least_latency()) {
            continue;
        }
        let score = Score { energy: priced.energy, latency: priced.latency().total() };
        if wins(score.latency) {
            best = Some((score, order.clone()));
            if let Some(bar) = &mut bar {
                bar.lower(&score);
            }
        }
    }
    let best = match (best, rejected) {
        (Some(best), _) => Ok(best),
        (None, rejected) => Err(rejected),
    };
    Ok(Found { best, evaluated, pruned })
}

/// What an order must not exceed: the figure of an order known to fit.
///
/// Orders are compared by a lower bound of their energy ([`Floor`]) and, for the product, the
/// latency without stalls. Only what is worse by more than rounding is excluded, never an equal: the
/// first of equals in the sequence still wins.
struct Bar<'a> {
    floor: Floor<'a>,
    least_latency: f64,
    objective: Objective,
    figure: f64,
}

impl<'a> Bar<'a> {
    /// None where there is no bound: for latency, or with fractional spatial factors.
    fn new(
        mapped: &'a Mapped<'a>,
        loops: &[Loop],
        objective: Objective,
        allocator: &mut Allocator,
    ) -> Result<Option<Self>, CostError> {
        if objective == Objective::Latency {
            return Ok(None);
        }
        let Some(floor) = Floor::new(mapped, loops) else {
            return Ok(None);
        };
        let least_latency = mapped.least_latency(loops);
        let start = floor.promising();
        let mut bar = Self { floor, least_latency, objective, figure: f64::INFINITY };
        if let Some((order, Ok(mut ends))) = start.map(|order| {
            let ends = allocator.allocate(&order);
            (order, ends)
        }) {
            settle(mapped.problem, &order, &mut ends);
            let priced = mapped.price(&order, &ends, nestings(mapped.problem, &order, &ends))?;
            bar.lower(&Score { energy: priced.energy, latency: priced.latency().total() });
        }
        Ok(Some(bar))
    }

    fn lower(&mut self, score: &Score) {
        let figure = match self.objective {
            Objective::Edp => score.energy * score.latency,
            Objective::Energy | Objective::Latency => score.energy,
        };
        self.figure = self.figure.min(figure);
    }

    fn excludes(&self, order: &[Loop]) -> bool {
        let energy = self.floor.of(order);
        let least = match self.objective {
            Objective::Edp => energy * self.least_latency,
            Objective::Energy | Objective::Latency => energy,
        };
        least > self.figure * (1.0 + ROUNDING)
    }
}

/// Most signatures remembered, so that long searches stay small.
const MOST_SIGNATURES: usize = 1 << 16;

/// Signatures of the orders already scored: an order of equal signature costs the same, and a later
/// equal never wins.
///
/// The signature is all that the cost depends on: what each level of each operand holds (the loops
/// before its end, as a multiset) and the runs at its borders. Invariant: only used where all
/// spatial factors are whole numbers, so that products do not depend on the order of factors.
struct Seen {
    signatures: FxHashSet<SmallVec<[u64; 36]>>,
    /// Every distinct loop with its digit in the mixed-radix code of a multiset of loops; none where
    /// codes would overflow or factors are fractional.
    digits: Option<Vec<(Loop, u64)>>,
}

impl Seen {
    fn new(mapped: &Mapped, loops: &[Loop]) -> Self {
        let mut distinct = loops.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let mut digit = Some(1_u64);
        let mut digits = Vec::with_capacity(distinct.len());
        for one in distinct {
            let count = loops.iter().filter(|other| **other == one).count() as u64;
            digits.push((one, digit.unwrap_or(0)));
            digit = digit.and_then(|digit| digit.checked_mul(count + 1));
        }
        let usable = digit.is_some() && mapped.is_whole();
        Self { signatures: FxHashSet::default(), digits: usable.then_some(digits) }
    }

    /// Whether no order of this signature was scored before.
    fn is_new(&mut self, order: &[Loop], ends: &Ends, nestings: &[Nesting]) -> bool {
        let Some(digits) = &self.digits else {
            return true;
        };
        let mut codes: SmallVec<[u64; 24]> = SmallVec::from_slice(&[0]);
        let mut code = 0;
        for one in order {
            code += digits.iter().find(|(other, _)| other == one).map_or(0, |(_, digit)| *digit);
            codes.push(code);
        }
        let mut signature = SmallVec::new();
        for (ends, nesting) in ends.iter().zip(nestings) {
            signature.extend(ends.iter().map(|end| codes[*end]));
            signature.push(nesting.cycles[0]);
            signature.extend(nesting.top_relevant.iter().chain(&nesting.top_irrelevant).copied());
        }
        if self.signatures.len() >= MOST_SIGNATURES {
            return !self.signatures.contains(&signature);
        }
        self.signatures.insert(signature)
    }
}

impl SearchOptions {
    /// Whether `score` is strictly better than `least`.
    fn prefers(&self, score: &Score, least: &Score) -> bool {
        let product = |score: &Score| score.energy * score.latency;
        match (self.objective, self.model) {
            (Objective::Energy, _) => (score.energy, score.latency) < (least.energy, least.latency),
            (Objective::Latency, _) => (score.latency, score.energy) < (least.latency, least.energy),
            (Objective::Edp, Model::Zigzag) => product(score) < product(least),
            // MODEL.md 14.17: what comes first does not decide.
            (Objective::Edp, Model::Millstream) => {
                (product(score), score.energy) < (product(least), least.energy)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equal_products_the_lower_energy_wins() {
        // MODEL.md 14.17: the reference keeps whichever came first.
        let prefers = |model| {
            let options = SearchOptions { objective: Objective::Edp, model, ..SearchOptions::default() };
            let score = |energy, latency| Score { energy, latency };
            options.prefers(&score(2.0, 6.0), &score(3.0, 4.0))
        };
        assert!(!prefers(Model::Zigzag) && prefers(Model::Millstream));
    }
}
