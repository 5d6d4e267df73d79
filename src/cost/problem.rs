//! A loop nest on a hierarchy, in flat indices: what the rest of the model reads.
//!
//! Relevance of a loop to an operand (MODEL.md 1.2): an operand with a derived index has as
//! *relevant* loops its indices outside all relations, as *irrelevant* ones the loops neither in its
//! indices nor in a relation, and every relation of the nest is *partial*; any other operand has its
//! indices as relevant and all remaining loops as irrelevant. Loops of size 1 are never irrelevant.
//!
//! Size of a derived dimension `p = s*a + d*b` for extents A of a and B of b (1.3), g = gcd(s, d):
//!
//! ```text
//! N(A,B) = A*B - max(0, B - s/g) * (A - d/g)        size = min(N, real extent of p)
//! ```
//!
//! Where A < d/g this is the span and may exceed A*B (14.4), and fractional extents are truncated. With
//! [`Model::Millstream`] the number of distinct indices takes its place, over fractional extents their
//! mean, and no extent exceeds its dimension:
//!
//! ```text
//! N(A,B) = A*B - max(0, B - s/g) * max(0, A - d/g)
//! ```
//!
//! The size of a tensor is the product of the extents of its relevant dimensions and the sizes of
//! its partial ones. Memories are visited in topological order: by generations of the graph in which
//! a memory follows, for each operand it holds, the memory below (section 2).
//!
//! Assumption: the output has no derived index (no layer of the reference has one).

use super::{CostError, Hierarchy, Model};
use crate::accelerator::Direction;
use crate::workload::nest::{LoopNest, NestOperand, Relation};
use crate::workload::{Dim, MemoryOperand};
use smallvec::{SmallVec, smallvec};

/// Extents of all dimensions of the nest; fractional where spatial factors are.
pub(super) type Extents = SmallVec<[f64; 10]>;

/// A nest on a hierarchy.
#[derive(Clone, Debug)]
pub(super) struct Problem<'a> {
    /// Rules of all that follows.
    pub model: Model,
    pub nest: &'a LoopNest,
    pub hierarchy: &'a Hierarchy,
    /// Derived dimensions.
    pub partials: Vec<Partial>,
    /// Operands in the order of the nest, the output first.
    pub operands: Vec<Operand>,
    /// Memories in topological order, those that hold no operand of the nest left out.
    pub visits: Vec<Visit>,
    /// Interfaces of all operands and levels in the order operand, level, direction.
    pub interfaces: Vec<Interface>,
    /// Positions in `interfaces` in the order memory, operand (as the memory lists them), direction.
    pub by_memory: Vec<usize>,
    /// Ports with the interfaces that use them.
    pub ports: Vec<PortUse>,
}

/// A derived dimension `p = s*a + d*b`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Partial {
    /// Position of `a`, if the nest has it.
    pub a: Option<usize>,
    /// Position of `b`, if the nest has it.
    pub b: Option<usize>,
    /// `s / gcd(s, d)`.
    pub s: i64,
    /// `d / gcd(s, d)`.
    pub d: i64,
    /// Real extent of `p`.
    pub total: i64,
}

/// What a loop means to an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relevance {
    /// Indexes the operand.
    Relevant,
    /// Leaves the operand's element unchanged.
    Irrelevant,
    /// Enters a derived index.
    Partial,
    /// A loop of size 1 outside the indices.
    Neutral,
}

/// An operand of the nest.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub memory: MemoryOperand,
    /// Positions of the memories that hold it, lowest first.
    pub levels: Vec<usize>,
    /// Position of its first interface; level `l`, direction `d` is at `first + 4*l + d`.
    pub first: usize,
    /// Relevant dimensions in the order of its indices.
    pub relevant: SmallVec<[usize; 6]>,
    /// Meaning of each dimension of the nest.
    pub relevance: Vec<Relevance>,
    /// Every relation of the nest is partially relevant to it.
    pub sliding: bool,
    /// Bits of a final element.
    pub bits: u64,
    /// Bits of a partial sum.
    pub partial_bits: u64,
    pub output: bool,
}

/// A memory as the allocation visits it.
#[derive(Clone, Debug)]
pub(super) struct Visit {
    /// Position in the hierarchy.
    pub memory: usize,
    /// Operands of the nest it holds, with their level there, in the order of the memory's list.
    pub operands: SmallVec<[(usize, usize); 3]>,
}

/// One direction of one operand at one of its levels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interface {
    pub operand: usize,
    pub level: usize,
    pub direction: Direction,
    pub memory: usize,
    /// Position in [`Problem::ports`]; none where no port of the memory allows the movement.
    pub port: Option<usize>,
    pub bandwidth_min: u64,
    pub bandwidth_max: u64,
    /// Picojoules per word.
    pub word_cost: f64,
}

/// A port with the interfaces of this nest that use it.
#[derive(Clone, Debug)]
pub(super) struct PortUse {
    pub memory: usize,
    /// Position among the memory's ports.
    pub port: usize,
    pub bandwidth_max: u64,
    /// The port serves both I1 and I2.
    pub shared_inputs: bool,
    /// Interfaces, in the order operand of the memory's list, direction.
    pub interfaces: Vec<usize>,
}

impl<'a> Problem<'a> {
    /// Lays out the nest on the hierarchy. `core` is named in errors.
    pub fn new(
        nest: &'a LoopNest,
        hierarchy: &'a Hierarchy,
        core: &str,
        model: Model,
    ) -> Result<Self, CostError> {
        let mut operands = Vec::with_capacity(nest.operands.len());
        let mut first = 0;
        for (position, operand) in nest.operands.iter().enumerate() {
            let flat = Operand::new(nest, operand, position == 0, first, hierarchy);
            if flat.levels.is_empty() {
                return Err(CostError::NoMemory {
                    operand: operand.name.clone(),
                    memory: operand.memory,
                    core: core.to_owned(),
                });
            }
            if let Some(other) = nest.operands[..position].iter().find(|other| other.memory == operand.memory)
            {
                return Err(CostError::OperandTwice {
                    first: other.name.clone(),
                    second: operand.name.clone(),
                    memory: operand.memory,
                });
            }
            first += 4 * flat.levels.len();
            operands.push(flat);
        }
        let mut problem = Self {
            model,
            nest,
            hierarchy,
            partials: nest.relations.iter().map(|relation| Partial::new(nest, relation)).collect(),
            visits: visits(hierarchy, &operands, model),
            operands,
            interfaces: Vec::with_capacity(first),
            by_memory: Vec::with_capacity(first),
            ports: Vec::new(),
        };
        problem.lay_out_interfaces();
        Ok(problem)
    }

    /// Elements of an operand's tile with these extents (MODEL.md 1.3).
    pub fn tensor_size(&self, operand: &Operand, extents: &Extents) -> f64 {
        let mut size = 1.0;
        match self.model {
            Model::Zigzag => {
                for dim in &operand.relevant {
                    size *= extents[*dim];
                }
                for partial in self.partials.iter().filter(|_| operand.sliding) {
                    size *= partial.size(extents) as f64;
                }
            }
            Model::Millstream => {
                let inside = |dim: usize| extents[dim].min(self.dim_size(dim) as f64);
                for dim in &operand.relevant {
                    size *= inside(*dim);
                }
                for partial in self.partials.iter().filter(|_| operand.sliding) {
                    size *= partial.distinct(partial.a.map_or(1.0, inside), partial.b.map_or(1.0, inside));
                }
            }
        }
        size
    }

    /// Extents of one iteration.
    pub fn unit_extents(&self) -> Extents {
        smallvec![1.0; self.nest.dims.len()]
    }

    /// Extents of the whole nest.
    pub fn full_extents(&self) -> Extents {
        self.nest.dims.iter().map(|(_, size)| *size as f64).collect()
    }

    /// Position of a dimension.
    pub fn position(&self, dim: &Dim) -> Option<usize> {
        self.nest.dims.iter().position(|(name, _)| name == dim)
    }

    /// Size of a dimension.
    pub fn dim_size(&self, dim: usize) -> u64 {
        self.nest.dims[dim].1
    }

    fn lay_out_interfaces(&mut self) {
        for (position, operand) in self.operands.iter().enumerate() {
            for (level, memory) in operand.levels.iter().enumerate() {
                let description = &self.hierarchy.memories[*memory];
                for direction in Direction::ALL {
                    let cost =
                        if direction.is_read() { description.read_cost } else { description.write_cost };
                    self.interfaces.push(Interface {
                        operand: position,
                        level,
                        direction,
                        memory: *memory,
                        port: None,
                        bandwidth_min: 1,
                        bandwidth_max: 1,
                        word_cost: cost.0,
                    });
                }
            }
        }
        for memory in 0..self.hierarchy.memories.len() {
            self.lay_out_ports(memory);
        }
    }

    fn lay_out_ports(&mut self, memory: usize) {
        let description = &self.hierarchy.memories[memory];
        let base = self.ports.len();
        for (position, port) in description.ports.iter().enumerate() {
            let serves = |wanted| port.allocation.iter().any(|(operand, _)| *operand == wanted);
            self.ports.push(PortUse {
                memory,
                port: position,
                bandwidth_max: port.bandwidth_max.0,
                shared_inputs: serves(MemoryOperand::I1) && serves(MemoryOperand::I2),
                interfaces: Vec::new(),
            });
        }
        for wanted in &description.operands {
            for position in 0..self.interfaces.len() {
                let interface = &mut self.interfaces[position];
                if interface.memory != memory || self.operands[interface.operand].memory != *wanted {
                    continue;
                }
                self.by_memory.push(position);
                let movement = (*wanted, interface.direction);
                let Some(port) =
                    description.ports.iter().position(|port| port.allocation.contains(&movement))
                else {
                    continue;
                };
                interface.port = Some(base + port);
                interface.bandwidth_min = description.ports[port].bandwidth_min.0;
                interface.bandwidth_max = description.ports[port].bandwidth_max.0;
                self.ports[base + port].interfaces.push(position);
            }
        }
    }
}

impl Operand {
    fn new(
        nest: &LoopNest,
        operand: &NestOperand,
        output: bool,
        first: usize,
        hierarchy: &Hierarchy,
    ) -> Self {
        let in_relation = |dim: &Dim| {
            (nest.relations.iter()).any(|relation| {
                relation.derived == *dim || relation.terms.iter().any(|(term, _)| term == dim)
            })
        };
        let position = |dim: &Dim| nest.dims.iter().position(|(name, _)| name == dim);
        let sliding = (operand.indices.iter())
            .any(|dim| nest.relations.iter().any(|relation| relation.derived == *dim));
        let relevant: SmallVec<_> = (operand.indices.iter())
            .filter(|dim| !(sliding && in_relation(dim)))
            .filter_map(position)
            .collect();
        let relevance = (nest.dims.iter().enumerate())
            .map(|(dim, (name, size))| {
                if relevant.contains(&dim) {
                    Relevance::Relevant
                } else if sliding && in_relation(name) {
                    Relevance::Partial
                } else if *size == 1 {
                    Relevance::Neutral
                } else {
                    Relevance::Irrelevant
                }
            })
            .collect();
        Self {
            memory: operand.memory,
            levels: (0..hierarchy.memories.len())
                .filter(|level| hierarchy.memories[*level].operands.contains(&operand.memory))
                .collect(),
            first,
            relevant,
            relevance,
            sliding,
            bits: operand.bits,
            partial_bits: if output { operand.partial_bits } else { operand.bits },
            output,
        }
    }

    /// Whether a loop over `dim` leaves the operand's element unchanged.
    pub fn is_irrelevant(&self, dim: usize) -> bool {
        self.relevance[dim] == Relevance::Irrelevant
    }

    /// Position of its highest level.
    pub fn top(&self) -> usize {
        self.levels.len() - 1
    }
}

impl Partial {
    fn new(nest: &LoopNest, relation: &Relation) -> Self {
        let position = |dim: &Dim| nest.dims.iter().position(|(name, _)| name == dim);
        let [(a, s), (b, d)] = &relation.terms;
        let divisor = gcd(*s, *d);
        Self {
            a: position(a),
            b: position(b),
            s: (s / divisor) as i64,
            d: (d / divisor) as i64,
            total: relation.extent as i64,
        }
    }

    /// Indices of the derived dimension that a tile covers.
    pub fn size(&self, extents: &Extents) -> i64 {
        let extent = |dim: Option<usize>| dim.map_or(1, |dim| extents[dim] as i64);
        let (a, b) = (extent(self.a), extent(self.b));
        (a * b - (b - self.s).max(0) * (a - self.d)).min(self.total)
    }

    /// Distinct indices that extents `a` and `b` touch; their mean where extents are fractional.
    fn distinct(&self, a: f64, b: f64) -> f64 {
        let twice = (b - self.s as f64).max(0.0) * (a - self.d as f64).max(0.0);
        (a * b - twice).min(self.total as f64)
    }
}

/// Greatest common divisor; that of (0, x) is x, and never 0.
fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a.max(1) } else { gcd(b, a % b) }
}

/// Memories by generations: a memory is freed when all memories right below it (one per operand it
/// holds) are visited, and those freed while one generation is scanned form the next.
///
/// [`Model::Zigzag`] breaks ties by the order in which a memory lists its operands (14.11),
/// [`Model::Millstream`] by their order in the nest.
fn visits(hierarchy: &Hierarchy, operands: &[Operand], model: Model) -> Vec<Visit> {
    let below = predecessors(hierarchy);
    let mut waiting: Vec<usize> = below.iter().map(Vec::len).collect();
    let mut order: Vec<usize> = (0..below.len()).filter(|memory| below[*memory].is_empty()).collect();
    let mut next = 0;
    while let Some(memory) = order.get(next).copied() {
        next += 1;
        for above in 0..below.len() {
            if below[above].contains(&memory) {
                waiting[above] -= 1;
                if waiting[above] == 0 {
                    order.push(above);
                }
            }
        }
    }
    (order.into_iter())
        .map(|memory| {
            let mut held: SmallVec<[(usize, usize); 3]> = (hierarchy.memories[memory].operands.iter())
                .filter_map(|wanted| {
                    let operand = operands.iter().position(|operand| operand.memory == *wanted)?;
                    let level = operands[operand].levels.iter().position(|level| *level == memory)?;
                    Some((operand, level))
                })
                .collect();
            if model == Model::Millstream {
                held.sort_unstable();
            }
            Visit { memory, operands: held }
        })
        .filter(|visit| !visit.operands.is_empty())
        .collect()
}

/// Per memory, the distinct memories right below it for any operand it holds, whether the nest has
/// that operand or not.
pub(super) fn predecessors(hierarchy: &Hierarchy) -> Vec<Vec<usize>> {
    (hierarchy.memories.iter().enumerate())
        .map(|(position, memory)| {
            let mut below: Vec<usize> = (memory.operands.iter())
                .filter_map(|operand| {
                    (0..position).rev().find(|lower| hierarchy.memories[*lower].operands.contains(operand))
                })
                .collect();
            below.sort_unstable();
            below.dedup();
            below
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(s: i64, d: i64, total: i64, a: f64, b: f64) -> i64 {
        Partial { a: Some(0), b: Some(1), s, d, total }.size(&smallvec![a, b])
    }

    #[test]
    fn a_window_of_three_over_four_outputs_covers_six_inputs() {
        assert_eq!(size(1, 1, 99, 4.0, 3.0), 6);
        // Stride 2: outputs 0..4 touch 0..=8.
        assert_eq!(size(2, 1, 99, 4.0, 3.0), 9);
        // Stride 4 with a window of 3 leaves gaps: no reuse.
        assert_eq!(size(4, 1, 99, 4.0, 3.0), 12);
        // Padding is no data.
        assert_eq!(size(1, 1, 5, 4.0, 3.0), 5);
        // Extents are truncated first.
        assert_eq!(size(1, 1, 99, 4.9, 3.9), 6);
    }

    #[test]
    fn the_span_is_charged_where_a_dilated_window_skips_inputs() {
        // MODEL.md 14.4: one output, three taps two apart touch 3 inputs, the formula says 5.
        assert_eq!(size(1, 2, 99, 1.0, 3.0), 5);
        let dilated = Partial { a: Some(0), b: Some(1), s: 1, d: 2, total: 99 };
        assert_eq!(dilated.distinct(1.0, 3.0), 3.0);
        // Two outputs: 0, 2, 4 and 1, 3, 5; three: 0..=6.
        assert_eq!(dilated.distinct(2.0, 3.0), 6.0);
        assert_eq!(dilated.distinct(3.0, 3.0), 7.0);
    }

    #[test]
    fn distinct_indices_are_those_that_are_counted() {
        for (s, d) in [(1, 1), (1, 2), (2, 1), (3, 2), (2, 5), (4, 3)] {
            let partial = Partial { a: Some(0), b: Some(1), s, d, total: i64::MAX };
            for (a, b) in (1..8).flat_map(|a| (1..8).map(move |b| (a, b))) {
                let touched = (0..a).flat_map(|x| (0..b).map(move |y| s * x + d * y));
                let touched: std::collections::BTreeSet<i64> = touched.collect();
                assert_eq!(partial.distinct(a as f64, b as f64), touched.len() as f64, "{s} {d} {a} {b}");
            }
        }
    }
}
