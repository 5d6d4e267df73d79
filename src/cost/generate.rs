//! Generated spatial mappings (MODEL.md 3.1).
//!
//! For each array dimension the user left open: every divisor of the bound of each hinted loop
//! dimension (all loop dimensions without a hint), descending; with `mix` also every combination of
//! two or more hinted loop dimensions, each with a divisor above 1, whose product fits the array
//! dimension. Of all combinations over the open array dimensions that respect the loop sizes the
//! best by
//!
//! ```text
//! U + U / (largest total factor of a single loop dimension) - 1       U = product of all factors
//! ```
//!
//! are kept, ties in the order of generation (dimensions in the order of the nest). The indicator
//! lies in \[U, 2U - 1\], which bounds the search: a partial mapping whose U, completed by the largest
//! options of the dimensions still open, cannot beat the worst one kept is not extended.
//!
//! [`Model::Millstream`] offers every factor that makes equal rounds, ceil(size / t) for any t, such as 25 of
//! 50 on 32 units (MODEL.md 14.13), and takes for U the units at work on average.

use super::problem::Problem;
use super::spatial::{Bounds, product, total};
use super::unroll::{Factors, Mapping, whole_up};
use super::{MappingConstraint, Model};

/// The best `count` completions of `fixed` over the array dimensions `open`, best first.
pub(super) fn generate(
    problem: &Problem,
    bounds: &Bounds,
    fixed: &Mapping,
    open: &[usize],
    constraint: &MappingConstraint,
    count: usize,
) -> Vec<Mapping> {
    if open.is_empty() {
        return vec![fixed.clone()];
    }
    let options: Vec<Vec<Factors>> =
        open.iter().map(|array_dim| options(problem, bounds, *array_dim, constraint)).collect();
    let mut rest = vec![1.0; open.len() + 1];
    for position in (0..open.len()).rev() {
        rest[position] = rest[position + 1] * options[position].iter().map(product).fold(1.0, f64::max);
    }
    let mut search = Search { problem, open, options, rest, kept: Vec::new(), count: count.max(1) };
    let mut mapping = fixed.clone();
    search.extend(0, &mut mapping);
    search.kept.into_iter().map(|(_, mapping)| mapping).collect()
}

struct Search<'a> {
    problem: &'a Problem<'a>,
    open: &'a [usize],
    /// Per open array dimension.
    options: Vec<Vec<Factors>>,
    /// Largest product of options from each position on.
    rest: Vec<f64>,
    /// Best mappings so far with their indicator, best first.
    kept: Vec<(f64, Mapping)>,
    count: usize,
}

impl Search<'_> {
    fn extend(&mut self, position: usize, mapping: &mut Mapping) {
        let Some(array_dim) = self.open.get(position).copied() else {
            let indicator = self.indicator(mapping, 1.0);
            if self.admits(indicator) {
                let place = self.kept.partition_point(|(better, _)| *better >= indicator);
                self.kept.insert(place, (indicator, mapping.clone()));
                self.kept.truncate(self.count);
            }
            return;
        };
        for option in 0..self.options[position].len() {
            mapping[array_dim] = self.options[position][option].clone();
            let fits = (mapping[array_dim].iter())
                .all(|(dim, _)| total(mapping, *dim) <= self.problem.dim_size(*dim) as f64);
            if fits && self.admits(self.indicator(mapping, self.rest[position + 1])) {
                self.extend(position + 1, mapping);
            }
        }
        mapping[array_dim] = Factors::new();
    }

    /// The indicator, or with `rest` > 1 an upper bound of it over all completions.
    fn indicator(&self, mapping: &Mapping, rest: f64) -> f64 {
        let dims = 0..self.problem.nest.dims.len();
        let (unrolled, largest) = match self.problem.model {
            Model::Zigzag => {
                let largest = dims.map(|dim| total(mapping, dim)).fold(1.0, f64::max);
                (mapping.iter().map(product).product::<f64>(), largest)
            }
            Model::Millstream => {
                let mean = |dim: usize| {
                    let size = self.problem.dim_size(dim) as f64;
                    size / whole_up(size / total(mapping, dim))
                };
                (dims.clone().map(mean).product(), dims.map(mean).fold(1.0, f64::max))
            }
        };
        let unrolled = unrolled * rest;
        unrolled + (unrolled / largest - 1.0)
    }

    fn admits(&self, indicator: f64) -> bool {
        self.kept.len() < self.count || self.kept.last().is_some_and(|(worst, _)| indicator > *worst)
    }
}

/// Options of one array dimension.
fn options(
    problem: &Problem,
    bounds: &Bounds,
    array_dim: usize,
    constraint: &MappingConstraint,
) -> Vec<Factors> {
    let (name, units) = &problem.hierarchy.array.dims[array_dim];
    let hint = constraint.hints.iter().find(|(hinted, _)| hinted == name).map(|(_, dims)| dims);
    let all: Vec<usize> = (0..problem.nest.dims.len()).collect();
    let mut dims: Vec<usize> = match hint {
        Some(hint) => all.iter().copied().filter(|dim| hint.contains(&problem.nest.dims[*dim].0)).collect(),
        None => all.clone(),
    };
    if dims.is_empty() {
        dims = all;
    }
    let divisors = |dim: usize| {
        let bound = bounds[array_dim][dim].max(1);
        let (model, size) = (problem.model, problem.dim_size(dim));
        (1..=bound).rev().filter(move |factor| match model {
            Model::Zigzag => bound.is_multiple_of(*factor),
            Model::Millstream => size.div_ceil(size.div_ceil(*factor)) == *factor,
        })
    };
    let mut options: Vec<Factors> = (dims.iter())
        .flat_map(|dim| divisors(*dim).map(|factor| Factors::from_iter([(*dim, factor as f64)])))
        .collect();
    if constraint.mix {
        let mut mixed = vec![Factors::new()];
        for dim in &dims {
            for position in 0..mixed.len() {
                for factor in divisors(*dim).filter(|factor| *factor > 1) {
                    let mut more = mixed[position].clone();
                    more.push((*dim, factor as f64));
                    if product(&more) <= *units as f64 {
                        mixed.push(more);
                    }
                }
            }
        }
        options.extend(mixed.into_iter().filter(|factors| factors.len() > 1));
    }
    options
}
