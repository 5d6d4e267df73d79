//! Spatial factors as the model uses them: fractional and integer versions, attached to levels.
//!
//! A factor f of loop dimension x (size n) on array dimension D, where D is the first one with the
//! largest factor of x and e is the product of the factors of x on earlier array dimensions
//! (MODEL.md 3.2), becomes
//!
//! ```text
//! t = ceil(n / (f*e))      fractional: n / t / e      integer: trunc(n / t / e)
//! ```
//!
//! so that 50 on 32 units is 25 (two equal rounds) and 27 on 4 units is 27/7. Other array
//! dimensions keep f. Temporal sizes, allocation, unit counts and energy follow the fractional
//! version, latency the integer one.
//!
//! [`Model::Millstream`] rounds the integer version up, so that latency sees the busiest unit (14.2),
//! takes all other array dimensions into e, and quotients that are whole but for rounding as whole (14.3).
//!
//! Attachment (3.3): per operand, the factors of the array dimensions that a memory serves and no
//! lower memory of the operand serves lie below that memory, S\[l\]; the rest above the top, S\[L\].
//! With R and IR the relevant and irrelevant products per level, split as if the spatial loops were
//! alone (1.4):
//!
//! ```text
//! unit_count[v] = round(prod_{k>=v} R[k]*IR[k])     unit_unique[v] = prod_{k>=v} R[k]
//! boost[v]      = round(unit_unique[v] / unit_unique[v+1])   (1 at the top)
//! ```
//!
//! [`Model::Millstream`] keeps unit_count as it is, the mean number of instances at work, and has no
//! boost: `access` counts the distinct elements themselves, the halo of neighbours once (14.10).

use super::Model;
use super::problem::{Operand, Problem};
use smallvec::SmallVec;

/// Loop dimensions with factors on one array dimension.
pub(super) type Factors = SmallVec<[(usize, f64); 3]>;

/// Factors per array dimension of the hierarchy; empty where nothing is unrolled.
pub(super) type Mapping = Vec<Factors>;

/// Which of the two versions of the factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    Fractional,
    Integer,
}

/// The spatial loops of one operand, by arch level (0 = the array, l + 1 = memory level l).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unrolled {
    /// S[v]: loops between arch level v and the memory above it.
    pub levels: Vec<Factors>,
    /// Active instances per arch level.
    pub unit_count: Vec<f64>,
    /// Distinct words the memory above delivers to feed all instances of a level it serves.
    pub boost: Vec<u64>,
}

/// The spatial loops of every operand.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unrolling {
    pub operands: Vec<Unrolled>,
}

impl Unrolling {
    /// Converts the factors and attaches them to levels.
    pub fn new(problem: &Problem, mapping: &Mapping, version: Version) -> Self {
        let converted = convert(problem, mapping, version);
        let operands =
            problem.operands.iter().map(|operand| Unrolled::new(problem, operand, &converted)).collect();
        Self { operands }
    }
}

fn convert(problem: &Problem, mapping: &Mapping, version: Version) -> Mapping {
    let array = &problem.hierarchy.array.dims;
    let limited: Mapping = (mapping.iter().zip(array))
        .map(|(factors, (_, size))| factors.iter().map(|(dim, f)| (*dim, f.min(*size as f64))).collect())
        .collect();
    let factor_on = |factors: &Factors, dim| factors.iter().find(|(x, _)| *x == dim).map(|(_, f)| *f);
    let mut converted: Mapping = Vec::with_capacity(limited.len());
    for (position, factors) in limited.iter().enumerate() {
        let mut kept = Factors::new();
        for (dim, factor) in factors {
            let largest = limited.iter().filter_map(|other| factor_on(other, *dim)).fold(0.0, f64::max);
            let first = limited.iter().position(|other| factor_on(other, *dim) == Some(largest));
            if first != Some(position) {
                kept.push((*dim, *factor));
                continue;
            }
            let size = problem.dim_size(*dim) as f64;
            let earlier: f64 = converted.iter().filter_map(|other| factor_on(other, *dim)).product();
            let later = || limited[position + 1..].iter().filter_map(|other| factor_on(other, *dim));
            let (others, rounds) = match problem.model {
                Model::Zigzag => (earlier, (size / (factor * earlier)).ceil()),
                Model::Millstream => {
                    let others = earlier * later().product::<f64>();
                    (others, whole_up(size / (factor * others)))
                }
            };
            let even = size / rounds / others;
            kept.push(match (version, problem.model) {
                (Version::Fractional, _) => (*dim, even),
                (Version::Integer, Model::Zigzag) => (*dim, even.trunc()),
                (Version::Integer, Model::Millstream) => (*dim, whole_up(even)),
            });
        }
        converted.push(kept);
    }
    converted
}

impl Unrolled {
    fn new(problem: &Problem, operand: &Operand, mapping: &Mapping) -> Self {
        let mut left: Vec<bool> = vec![true; mapping.len()];
        let mut levels = Vec::with_capacity(operand.levels.len() + 1);
        for memory in &operand.levels {
            let mut below = Factors::new();
            for array_dim in 0..mapping.len() {
                if left[array_dim] && problem.hierarchy.memories[*memory].served.contains(&array_dim) {
                    left[array_dim] = false;
                    merge(&mut below, &mapping[array_dim]);
                }
            }
            levels.push(below);
        }
        let mut above = Factors::new();
        for (factors, left) in mapping.iter().zip(left) {
            if left {
                merge(&mut above, factors);
            }
        }
        levels.push(above);
        Self::count(problem, operand, levels)
    }

    fn count(problem: &Problem, operand: &Operand, levels: Vec<Factors>) -> Self {
        let mut extents = problem.unit_extents();
        let mut size = 1.0;
        let mut relevant = Vec::with_capacity(levels.len());
        let mut all = Vec::with_capacity(levels.len());
        for factors in &levels {
            let mut product = 1.0;
            for (dim, factor) in factors {
                extents[*dim] *= factor;
                product *= factor;
            }
            let grown = problem.tensor_size(operand, &extents);
            relevant.push(grown / size);
            all.push(product);
            size = grown;
        }
        let from = |products: &[f64], level: usize| products[level..].iter().product::<f64>();
        let unique: Vec<f64> = (0..levels.len()).map(|level| from(&relevant, level)).collect();
        let top = levels.len() - 1;
        let boost =
            (0..top).map(|v| (unique[v] / unique[v + 1]).round_ties_even() as u64).chain([1]).collect();
        let units = |v: usize| match problem.model {
            Model::Zigzag => from(&all, v).round_ties_even(),
            Model::Millstream => from(&all, v),
        };
        let unit_count = (0..=top).map(units).collect();
        Self { levels, unit_count, boost }
    }
}

/// A quotient rounded up, unless it is whole but for rounding of doubles.
pub(super) fn whole_up(quotient: f64) -> f64 {
    let whole = quotient.round();
    if (quotient - whole).abs() <= 1e-9 * whole.max(1.0) { whole } else { quotient.ceil() }
}

/// Equal loop dimensions of one level merge by multiplication.
fn merge(into: &mut Factors, factors: &Factors) {
    for (dim, factor) in factors {
        match into.iter_mut().find(|(present, _)| present == dim) {
            Some((_, product)) => *product *= factor,
            None => into.push((*dim, *factor)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accelerator::{Array, Direction, Memory, Port, PortKind};
    use crate::cost::Hierarchy;
    use crate::units::{Bits, BitsPerCycle, Picojoules};
    use crate::workload::nest::{LoopNest, NestOperand};
    use crate::workload::{Dim, MemoryOperand};
    use smallvec::smallvec;

    fn nest(k: u64) -> LoopNest {
        let output = NestOperand {
            name: "O".to_owned(),
            memory: MemoryOperand::O,
            indices: vec![Dim::new("K")],
            bits: 8,
            partial_bits: 8,
            constant: false,
        };
        LoopNest {
            operator: "Add".to_owned(),
            dims: vec![(Dim::new("K"), k), (Dim::new("C"), 64)],
            relations: Vec::new(),
            operands: vec![output],
        }
    }

    fn array(units: [u64; 2]) -> Hierarchy {
        let register = Memory {
            name: "register".to_owned(),
            size: Bits(8),
            read_cost: Picojoules(0.0),
            write_cost: Picojoules(0.0),
            operands: vec![MemoryOperand::O],
            ports: vec![Port {
                name: "rw".to_owned(),
                kind: PortKind::ReadWrite,
                bandwidth_min: BitsPerCycle(8),
                bandwidth_max: BitsPerCycle(8),
                allocation: Direction::ALL.map(|direction| (MemoryOperand::O, direction)).to_vec(),
            }],
            served: Vec::new(),
            double_buffering: false,
            area: 0.0,
            latency: 1,
            shared_instance: None,
        };
        let shared = Memory { name: "sram".to_owned(), served: vec![0, 1], ..register.clone() };
        Hierarchy {
            array: Array {
                dims: vec![("D1".to_owned(), units[0]), ("D2".to_owned(), units[1])],
                unit_energy: Picojoules(1.0),
                unit_area: 0.0,
                systolic: Vec::new(),
                imc: None,
            },
            memories: vec![register, shared],
            dram: None,
        }
    }

    fn factor(k: u64, units: u64, wanted: f64, version: Version) -> f64 {
        factor_by(Model::Zigzag, k, units, wanted, version)
    }

    fn factor_by(model: Model, k: u64, units: u64, wanted: f64, version: Version) -> f64 {
        let (nest, hierarchy) = (nest(k), array([units, 1]));
        let problem = Problem::new(&nest, &hierarchy, "core", model).unwrap();
        convert(&problem, &vec![smallvec![(0, wanted)], smallvec![]], version)[0][0].1
    }

    #[test]
    fn rounds_are_made_equal() {
        // 50 on 32 units: two rounds of 25. 27 on 4: seven rounds of 27/7, or 3 whole ones.
        assert_eq!(factor(50, 32, 32.0, Version::Fractional), 25.0);
        assert_eq!(factor(27, 4, 4.0, Version::Fractional), 27.0 / 7.0);
        assert_eq!(factor(27, 4, 4.0, Version::Integer), 3.0);
        assert_eq!(factor(64, 16, 99.0, Version::Fractional), 16.0);
    }

    #[test]
    fn latency_sees_the_busiest_unit() {
        // MODEL.md 14.2: 27 on 4 units; the busiest unit of a round has 4.
        let integer = |model| factor_by(model, 27, 4, 4.0, Version::Integer);
        assert_eq!((integer(Model::Zigzag), integer(Model::Millstream)), (3.0, 4.0));
    }

    #[test]
    fn whole_quotients_stay_whole() {
        // MODEL.md 14.3: 206 in 15 rounds; 206 / (206/15) is a hair above 15.
        let even = factor(206, 14, 14.0, Version::Fractional);
        assert_eq!(((206.0 / even).ceil(), whole_up(206.0 / even)), (16.0, 15.0));
    }

    #[test]
    fn irrelevant_units_share_one_word() {
        let (nest, hierarchy) = (nest(32), array([8, 4]));
        let problem = Problem::new(&nest, &hierarchy, "core", Model::Zigzag).unwrap();
        let mapping = vec![smallvec![(0, 8.0)], smallvec![(1, 4.0)]];
        let unrolling = Unrolling::new(&problem, &mapping, Version::Fractional);
        // 32 registers, one sram. The sram delivers 8 words for 8 outputs, each to 4 units.
        assert_eq!(unrolling.operands[0].unit_count, [32.0, 32.0, 1.0]);
        assert_eq!(unrolling.operands[0].boost, [1, 8, 1]);
    }
}
