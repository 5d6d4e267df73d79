//! Spatial mappings: what the user fixed, cut to the hardware, the rest generated (MODEL.md 3.1).
//!
//! `MappingConstraint -> [Mapping]`. Factor of loop dimension x on array dimension D is bounded by
//! the sizes of both and, for each memory at the bottom, by the words its port delivers at once:
//!
//! ```text
//! bound(D, x) = min(size x, size D, floor(bw_max / precision) per operand x is relevant to)
//! ```
//!
//! Fixed factors are cut to the bounds; loop dimensions are dropped (last named first) where the
//! product exceeds the array dimension or the loop. Every mapping is then cut to the innermost
//! capacities: while capacity / precision < product of the relevant factors over the dimensions the
//! memory serves, the largest factor is lowered by one.

use super::problem::{Problem, Relevance, predecessors};
use super::unroll::{Factors, Mapping};
use super::{CostError, Hierarchy, MappingConstraint, Model};
use crate::accelerator::{ArrayMapping, Direction};
use crate::workload::nest::LoopNest;

/// Upper bounds of factors: per array dimension, per dimension of the nest.
pub(super) type Bounds = Vec<Vec<u64>>;

/// The spatial mappings that a search tries, best first: the fixed one, or the best `count` generated.
///
/// # Errors
/// [`CostError`]: an operand without memory, or an array dimension the core lacks.
pub fn spatial_mappings(
    nest: &LoopNest,
    hierarchy: &Hierarchy,
    core_name: &str,
    constraint: &MappingConstraint,
    count: usize,
    model: Model,
) -> Result<Vec<Vec<ArrayMapping>>, CostError> {
    let problem = Problem::new(nest, hierarchy, core_name, model)?;
    let mappings = mappings(&problem, core_name, constraint, count)?;
    Ok(mappings.iter().map(|mapping| named(&problem, mapping)).collect())
}

/// A mapping by name, array dimensions without factors left out.
pub(super) fn named(problem: &Problem, mapping: &Mapping) -> Vec<ArrayMapping> {
    let name = |factors: &Factors| {
        factors.iter().map(|(dim, factor)| (problem.nest.dims[*dim].0.clone(), *factor)).collect()
    };
    (mapping.iter().zip(&problem.hierarchy.array.dims))
        .filter(|(factors, _)| !factors.is_empty())
        .map(|(factors, (array_dim, _))| ArrayMapping {
            array_dim: array_dim.clone(),
            unrolled: name(factors),
        })
        .collect()
}

/// All mappings a constraint allows, best first: the fixed one, or the best `count` generated.
///
/// # Errors
/// [`CostError::NoSuchArrayDim`].
pub(super) fn mappings(
    problem: &Problem,
    core: &str,
    constraint: &MappingConstraint,
    count: usize,
) -> Result<Vec<Mapping>, CostError> {
    let array = &problem.hierarchy.array.dims;
    let bounds = bounds(problem);
    let mut fixed = lookup(problem, core, &constraint.fixed)?;
    cut(problem, &bounds, &mut fixed);
    let open: Vec<usize> = (0..array.len())
        .filter(|array_dim| !constraint.fixed.iter().any(|entry| entry.array_dim == array[*array_dim].0))
        .collect();
    let mut mappings = super::generate::generate(problem, &bounds, &fixed, &open, constraint, count);
    for mapping in &mut mappings {
        fit_innermost(problem, mapping);
    }
    Ok(mappings)
}

/// Array and loop dimensions by name; loop dimensions the nest lacks are left out.
pub(super) fn lookup(problem: &Problem, core: &str, spatial: &[ArrayMapping]) -> Result<Mapping, CostError> {
    let array = &problem.hierarchy.array.dims;
    let mut mapping: Mapping = vec![Factors::new(); array.len()];
    for entry in spatial {
        let Some(array_dim) = array.iter().position(|(name, _)| *name == entry.array_dim) else {
            let names: Vec<&str> = array.iter().map(|(name, _)| name.as_str()).collect();
            return Err(CostError::NoSuchArrayDim {
                array_dim: entry.array_dim.clone(),
                core: core.to_owned(),
                available: names.join(", "),
            });
        };
        mapping[array_dim].extend(
            (entry.unrolled.iter())
                .filter_map(|(dim, factor)| problem.position(dim).map(|position| (position, *factor))),
        );
    }
    Ok(mapping)
}

/// Upper bounds of every factor.
pub(super) fn bounds(problem: &Problem) -> Bounds {
    let mut bounds: Bounds = (problem.hierarchy.array.dims.iter())
        .map(|(_, units)| problem.nest.dims.iter().map(|(_, size)| *size.min(units)).collect())
        .collect();
    let below = predecessors(problem.hierarchy);
    for interface in &problem.interfaces {
        let operand = &problem.operands[interface.operand];
        let wanted = if operand.output { Direction::FromLow } else { Direction::ToLow };
        if interface.direction != wanted || !below[interface.memory].is_empty() || operand.partial_bits == 0 {
            continue;
        }
        let words = interface.bandwidth_max / operand.partial_bits;
        for array_dim in &problem.hierarchy.memories[interface.memory].served {
            for (dim, relevance) in operand.relevance.iter().enumerate() {
                if *relevance != Relevance::Irrelevant {
                    let bound = &mut bounds[*array_dim][dim];
                    *bound = (*bound).min(words);
                }
            }
        }
    }
    bounds
}

/// Cuts fixed factors to the bounds, array dimensions and loops.
fn cut(problem: &Problem, bounds: &Bounds, mapping: &mut Mapping) {
    for (array_dim, factors) in mapping.iter_mut().enumerate() {
        for (dim, factor) in factors.iter_mut() {
            *factor = factor.min(bounds[array_dim][*dim] as f64);
        }
        let units = problem.hierarchy.array.dims[array_dim].1 as f64;
        while product(factors) > units && !factors.is_empty() {
            factors.pop();
        }
    }
    for dim in 0..problem.nest.dims.len() {
        let size = problem.dim_size(dim) as f64;
        for array_dim in (0..mapping.len()).rev() {
            if total(mapping, dim) <= size {
                break;
            }
            mapping[array_dim].retain(|(present, _)| *present != dim);
        }
    }
}

/// Product of the factors on one array dimension.
pub(super) fn product(factors: &Factors) -> f64 {
    factors.iter().map(|(_, factor)| factor).product()
}

/// Product of the factors of one loop dimension over all array dimensions.
pub(super) fn total(mapping: &Mapping, dim: usize) -> f64 {
    mapping.iter().flatten().filter(|(present, _)| *present == dim).map(|(_, factor)| factor).product()
}

/// Lowers factors until the distinct data below every innermost memory fits it.
fn fit_innermost(problem: &Problem, mapping: &mut Mapping) {
    let below = predecessors(problem.hierarchy);
    for visit in problem.visits.iter().filter(|visit| below[visit.memory].is_empty()) {
        let memory = &problem.hierarchy.memories[visit.memory];
        for (operand, _) in &visit.operands {
            let operand = &problem.operands[*operand];
            if operand.partial_bits == 0 {
                continue;
            }
            let capacity = memory.size.0 as f64 / operand.partial_bits as f64;
            loop {
                let counted = |dim: usize| operand.relevance[dim] != Relevance::Irrelevant;
                let factors = (memory.served.iter())
                    .flat_map(|array_dim| mapping[*array_dim].iter())
                    .filter(|(dim, _)| counted(*dim))
                    .map(|(_, factor)| *factor);
                let largest = factors.clone().fold(0.0, f64::max);
                if factors.product::<f64>() <= capacity || largest <= 1.0 {
                    break;
                }
                // The reference lowers equal factors alike (MODEL.md 14.13).
                let mut lowered = false;
                for array_dim in &memory.served {
                    for (dim, factor) in mapping[*array_dim].iter_mut() {
                        let once = lowered && problem.model == Model::Millstream;
                        if counted(*dim) && *factor == largest && !once {
                            *factor -= 1.0;
                            lowered = true;
                        }
                    }
                }
            }
        }
    }
}
