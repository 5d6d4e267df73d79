//! One loop order with one spatial mapping on one core: everything the model says about it.
//!
//! `(LoopNest, Hierarchy, spatial mapping, loop order) -> Evaluation` is the chain spatial factors,
//! allocation, traffic, energy, stall, loading (MODEL.md 3.2, 5 to 9):
//!
//! ```text
//! energy  = operation energy * operations + sum(words * cost per word)
//! ideal   = ceil(operations / array size)          temporal = product of the temporal loops
//! latency = temporal + stall + onload + offload + drain
//! ```

use super::access::{Nesting, Traffic, memory_energy, nestings, words};
use super::allocate::{Allocation, Allocator, Ends, Rejection, settle};
use super::imc;
use super::latency::{Buffering, double_buffering, port_stalls, stall};
use super::load::{Loading, drain, loading};
use super::problem::Problem;
use super::spatial::{lookup, named};
use super::temporal::{Loop, temporal_sizes};
use super::unroll::{Mapping, Unrolling, Version};
use super::{Cost, CostError, Hierarchy, Model, OperandLoops, StreamedBits, WordAccess};
use crate::accelerator::{ArrayMapping, Direction};
use crate::units::{FractionalCycles, Picojoules};
use crate::workload::Dim;
use crate::workload::nest::LoopNest;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// A cost with the quantities behind it, for comparison and for explanations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The result.
    pub cost: Cost,
    /// Temporal size of every dimension that has one.
    pub temporal_sizes: Vec<(Dim, u64)>,
    /// Loops per operand and level as allocated, before stationary loops moved down.
    pub allocated: Vec<OperandLoops>,
    /// Words per operand of the nest, level, direction (tl, fl, th, fh).
    pub words: Vec<Vec<[u64; 4]>>,
    /// Elements held per operand and arch level, with fractional spatial factors.
    pub elements: Vec<Vec<u64>>,
    /// Double-buffering flag per operand and arch level.
    pub double_buffering: Vec<Vec<bool>>,
}

/// A spatial mapping in the form the chain needs; depends on no loop order.
#[derive(Clone, Debug)]
pub(super) struct Mapped<'a> {
    pub problem: &'a Problem<'a>,
    pub mapping: Mapping,
    pub fractional: Unrolling,
    /// None where it equals `fractional`.
    pub integer: Option<Unrolling>,
    /// Picojoules of all operations.
    operation_energy: f64,
    drain: f64,
}

/// The two figures a search compares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Score {
    pub energy: f64,
    pub latency: f64,
}

/// An allocated loop order with its traffic and energy; latency is computed on demand.
pub(super) struct Priced<'a> {
    mapped: &'a Mapped<'a>,
    nestings: SmallVec<[Nesting; 3]>,
    traffic: Traffic,
    integer: Option<Traffic>,
    words: Vec<u64>,
    pub energy: f64,
}

/// The parts of the latency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Latency {
    pub temporal: u64,
    pub stall: u64,
    pub loading: Loading,
    pub drain: f64,
}

/// Evaluates a loop order (innermost loop first) with a final spatial mapping.
///
/// # Errors
/// [`CostError`] where the nest, the mapping and the hierarchy do not go together, or the order does
/// not fit the memories.
pub fn evaluate(
    nest: &LoopNest,
    hierarchy: &Hierarchy,
    core_name: &str,
    spatial: &[ArrayMapping],
    order: &[(Dim, u64)],
    allocation: Allocation,
    model: Model,
) -> Result<Evaluation, CostError> {
    let problem = Problem::new(nest, hierarchy, core_name, model)?;
    let mapped = Mapped::new(&problem, lookup(&problem, core_name, spatial)?);
    let order: Vec<Loop> = (order.iter())
        .filter_map(|(dim, factor)| problem.position(dim).map(|position| (position, *factor)))
        .collect();
    let allocated = Allocator::new(&problem, mapped.held(), allocation)
        .allocate(&order)
        .map_err(|rejection| rejection.error(&problem))?;
    mapped.evaluation(&order, &allocated)
}

/// Evaluates a loop order (innermost first) divided among memories as given: per operand of the nest
/// and memory level, lowest first, the number of loops at or below it, ascending; at the top all.
///
/// # Errors
/// As [`evaluate`]; a division fits where every memory holds the tiles of all operands.
pub fn evaluate_divided(
    nest: &LoopNest,
    hierarchy: &Hierarchy,
    core_name: &str,
    spatial: &[ArrayMapping],
    order: &[(Dim, u64)],
    ends: &[Vec<usize>],
    model: Model,
) -> Result<Evaluation, CostError> {
    let problem = Problem::new(nest, hierarchy, core_name, model)?;
    let mapped = Mapped::new(&problem, lookup(&problem, core_name, spatial)?);
    let order: Vec<Loop> = (order.iter())
        .filter_map(|(dim, factor)| problem.position(dim).map(|position| (position, *factor)))
        .collect();
    let ends: Ends = ends.iter().map(|ends| ends.iter().copied().collect()).collect();
    mapped.check(&order, &ends)?;
    mapped.evaluation(&order, &ends)
}

impl<'a> Mapped<'a> {
    /// Every memory holds the tiles of a division, stationary loops moved down.
    fn check(&self, order: &[Loop], ends: &Ends) -> Result<(), CostError> {
        let mut ends = ends.clone();
        settle(self.problem, order, &mut ends);
        let nestings = nestings(self.problem, order, &ends);
        let traffic = Traffic::new(self.problem, self.held(), order, &ends, &nestings);
        for visit in &self.problem.visits {
            let bits = |(operand, level): &(usize, usize)| traffic.contents[*operand].bits(level + 1);
            let needed: u64 = visit.operands.iter().map(bits).sum();
            if needed > self.problem.hierarchy.memories[visit.memory].size.0 {
                let operands = visit.operands.iter().map(|(operand, _)| *operand).collect();
                let rejection =
                    Rejection { memory: visit.memory, operands, needed: needed as f64, top: false };
                return Err(rejection.error(self.problem));
            }
        }
        Ok(())
    }

    /// Prepares a spatial mapping.
    pub fn new(problem: &'a Problem<'a>, mapping: Mapping) -> Self {
        let fractional = Unrolling::new(problem, &mapping, Version::Fractional);
        let integer = Unrolling::new(problem, &mapping, Version::Integer);
        let integer = (integer != fractional).then_some(integer);
        let drain = drain(problem, &mapping);
        let array = &problem.hierarchy.array;
        let operation_energy = match array.imc {
            Some(imc) => imc::energy(problem, &mapping, imc).total(),
            None => array.unit_energy.0 * problem.nest.operations() as f64,
        };
        Self { problem, mapping, fractional, integer, operation_energy, drain }
    }

    /// The factors that latency follows.
    pub fn integer(&self) -> &Unrolling {
        self.integer.as_ref().unwrap_or(&self.fractional)
    }

    /// The factors whose tiles the memories must hold: the mean's, or the busiest unit's.
    pub fn held(&self) -> &Unrolling {
        match self.problem.model {
            Model::Zigzag => &self.fractional,
            Model::Millstream => self.integer(),
        }
    }

    /// All spatial factors are whole numbers.
    pub fn is_whole(&self) -> bool {
        let levels = self.fractional.operands.iter().flat_map(|unrolled| &unrolled.levels);
        levels.flatten().all(|(_, factor)| factor.fract() == 0.0)
    }

    /// Picojoules of all operations.
    pub fn operation_energy(&self) -> f64 {
        self.operation_energy
    }

    /// Cycles of the systolic array dimensions.
    pub fn drain(&self) -> f64 {
        self.drain
    }

    /// A lower bound of the latency of every order: no stall, no loading.
    pub fn least_latency(&self, loops: &[Loop]) -> f64 {
        let total: u64 = loops.iter().map(|(_, factor)| factor).product();
        (total * self.problem.hierarchy.array.cycles_per_operation()) as f64 + self.drain
    }

    /// Traffic and energy of an order cut at `ends`, stationary loops already moved down.
    pub fn price(
        &self,
        order: &[Loop],
        ends: &Ends,
        nestings: SmallVec<[Nesting; 3]>,
    ) -> Result<Priced<'_>, CostError> {
        let problem = self.problem;
        let traffic = Traffic::new(problem, &self.fractional, order, ends, &nestings);
        let integer =
            (self.integer.as_ref()).map(|integer| Traffic::new(problem, integer, order, ends, &nestings));
        let words = words(problem, &self.fractional, &traffic)?;
        let energy = self.operation_energy + memory_energy(problem, &words);
        Ok(Priced { mapped: self, nestings, traffic, integer, words, energy })
    }

    /// Everything about an order cut at `allocated`.
    pub fn evaluation(&self, order: &[Loop], allocated: &Ends) -> Result<Evaluation, CostError> {
        let mut ends = allocated.clone();
        settle(self.problem, order, &mut ends);
        let priced = self.price(order, &ends, nestings(self.problem, order, &ends))?;
        let buffering = priced.buffering();
        Ok(Evaluation {
            cost: priced.cost(order, &ends),
            temporal_sizes: (temporal_sizes(self.problem, &self.fractional).iter())
                .map(|(dim, size)| (self.problem.nest.dims[*dim].0.clone(), *size))
                .collect(),
            allocated: self.loops(order, allocated),
            words: (self.problem.operands.iter())
                .map(|operand| {
                    let words = &priced.words[operand.first..operand.first + 4 * operand.levels.len()];
                    words.chunks_exact(4).map(|four| [four[0], four[1], four[2], four[3]]).collect()
                })
                .collect(),
            elements: (priced.traffic.contents.iter())
                .map(|held| held.elements.iter().map(|elements| elements.most()).collect())
                .collect(),
            double_buffering: buffering.iter().map(|flags| flags.to_vec()).collect(),
        })
    }

    /// The cost of an order that fits.
    pub fn cost(&self, order: &[Loop]) -> Result<Cost, CostError> {
        let mut ends = Allocator::new(self.problem, self.held(), Allocation::Uneven)
            .allocate(order)
            .map_err(|rejection| rejection.error(self.problem))?;
        settle(self.problem, order, &mut ends);
        Ok(self.price(order, &ends, nestings(self.problem, order, &ends))?.cost(order, &ends))
    }

    fn loops(&self, order: &[Loop], ends: &Ends) -> Vec<OperandLoops> {
        let name = |(dim, factor): &Loop| (self.problem.nest.dims[*dim].0.clone(), *factor);
        (self.problem.nest.operands.iter().zip(ends))
            .map(|(operand, ends)| {
                let starts = std::iter::once(0).chain(ends.iter().copied());
                let levels =
                    starts.zip(ends).map(|(start, end)| order[start..*end].iter().map(name).collect());
                OperandLoops {
                    operand: operand.name.clone(),
                    memory: operand.memory,
                    levels: levels.collect(),
                }
            })
            .collect()
    }
}

impl Priced<'_> {
    /// A lower bound of the latency: no stall, no loading.
    pub fn least_latency(&self) -> f64 {
        self.temporal() as f64 + self.mapped.drain
    }

    /// Cycles of the temporal loops.
    fn temporal(&self) -> u64 {
        self.nestings[0].total() * self.mapped.problem.hierarchy.array.cycles_per_operation()
    }

    /// The traffic that latency follows.
    fn timed(&self) -> &Traffic {
        self.integer.as_ref().unwrap_or(&self.traffic)
    }

    fn buffering(&self) -> Buffering {
        let held = match self.mapped.problem.model {
            Model::Zigzag => &self.traffic,
            Model::Millstream => self.timed(),
        };
        double_buffering(self.mapped.problem, held, &self.nestings)
    }

    /// The parts of the latency.
    pub fn latency(&self) -> Latency {
        let problem = self.mapped.problem;
        let traffic = self.timed();
        let stall = stall(problem, traffic, &self.buffering());
        let temporal = self.temporal();
        let loading = loading(problem, traffic, &self.nestings, temporal + stall);
        Latency { temporal, stall, loading, drain: self.mapped.drain }
    }

    fn cost(&self, order: &[Loop], ends: &Ends) -> Cost {
        let problem = self.mapped.problem;
        let latency = self.latency();
        let operations = problem.nest.operations();
        let array = &problem.hierarchy.array;
        Cost {
            latency: FractionalCycles(latency.total()),
            ideal: FractionalCycles(
                (operations.div_ceil(array.size()) * array.cycles_per_operation()) as f64,
            ),
            temporal: FractionalCycles(latency.temporal as f64),
            stall: FractionalCycles(latency.stall as f64),
            onload: FractionalCycles(latency.loading.onload),
            offload: FractionalCycles(latency.loading.offload),
            drain: FractionalCycles(latency.drain),
            operations,
            operation_energy: match array.imc {
                Some(_) => Picojoules(self.mapped.operation_energy / operations as f64),
                None => array.unit_energy,
            },
            accesses: self.accesses(),
            energy: Picojoules(self.energy),
            ports: port_stalls(problem, self.timed(), &self.buffering()),
            streamed: self.streamed(),
            spatial: named(problem, &self.mapped.mapping),
            temporal_mapping: self.mapped.loops(order, ends),
            evaluated: 1,
            pruned: 0,
        }
    }

    fn accesses(&self) -> Vec<WordAccess> {
        let problem = self.mapped.problem;
        (problem.by_memory.iter())
            .filter(|at| self.words[**at] > 0)
            .map(|at| {
                let interface = &problem.interfaces[*at];
                WordAccess {
                    memory: interface.memory,
                    operand: problem.operands[interface.operand].memory,
                    direction: interface.direction,
                    words: self.words[*at],
                }
            })
            .collect()
    }

    /// Demand on DRAM: the model's, and every element at least once (truncated spatial factors lose some,
    /// MODEL.md 14.2).
    fn streamed(&self) -> Vec<StreamedBits> {
        let problem = self.mapped.problem;
        let traffic = self.timed();
        (problem.operands.iter().zip(&traffic.contents))
            .filter(|(operand, _)| problem.hierarchy.dram == Some(operand.levels[operand.top()]))
            .map(|(operand, contents)| {
                let bits = |direction: Direction| {
                    let transfer = &traffic.transfers[operand.first + 4 * operand.top() + direction as usize];
                    transfer.bits() * transfer.moves
                };
                let whole = problem.tensor_size(operand, &problem.full_extents()) as u64 * operand.bits;
                let (read, write) = if operand.output { (0, whole) } else { (whole, 0) };
                StreamedBits {
                    operand: operand.memory,
                    read: bits(Direction::ToLow).max(read),
                    write: bits(Direction::FromLow).max(write),
                    tile: contents.bits(operand.top()),
                }
            })
            .collect()
    }
}

impl Latency {
    /// `latency_total2`.
    pub fn total(&self) -> f64 {
        self.temporal as f64 + self.stall as f64 + self.loading.onload + self.loading.offload + self.drain
    }
}

impl Rejection {
    /// The rejection by names.
    pub fn error(&self, problem: &Problem) -> CostError {
        let memory = &problem.hierarchy.memories[self.memory];
        let names: Vec<&str> =
            self.operands.iter().map(|operand| problem.nest.operands[*operand].name.as_str()).collect();
        let (operand, memory, available) = (names.join(" + "), memory.name.clone(), memory.size.0);
        let needed = self.needed.ceil() as u64;
        if self.top {
            CostError::TopTooSmall { operand, memory, needed, available }
        } else {
            CostError::DoesNotFit { operand, memory, needed, available }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accelerator::{Array, Memory, Port, PortKind};
    use crate::units::{Bits, BitsPerCycle};
    use crate::workload::MemoryOperand;
    use crate::workload::nest::NestOperand;

    fn operand(name: &str, memory: MemoryOperand, indices: &[&str]) -> NestOperand {
        NestOperand {
            name: name.to_owned(),
            memory,
            indices: indices.iter().map(|dim| Dim::new(dim)).collect(),
            bits: 8,
            partial_bits: 8,
            constant: false,
        }
    }

    /// A dot product of four: O += I[c] * W[c].
    fn dot_product() -> LoopNest {
        LoopNest {
            operator: "Gemm".to_owned(),
            dims: vec![(Dim::new("C"), 4)],
            relations: Vec::new(),
            operands: vec![
                operand("O", MemoryOperand::O, &[]),
                operand("I", MemoryOperand::I1, &["C"]),
                operand("W", MemoryOperand::I2, &["C"]),
            ],
        }
    }

    /// One unit fed by one memory with a read and a write port of 8 bits.
    fn one_unit(size: u64) -> Hierarchy {
        use MemoryOperand::{I1, I2, O};
        let port = |name: &str, kind, allocation| Port {
            name: name.to_owned(),
            kind,
            bandwidth_min: BitsPerCycle(8),
            bandwidth_max: BitsPerCycle(8),
            allocation,
        };
        let low = Direction::ToLow;
        Hierarchy {
            array: Array {
                dims: vec![("D1".to_owned(), 1)],
                unit_energy: Picojoules(1.0),
                unit_area: 0.0,
                systolic: Vec::new(),
                imc: None,
            },
            memories: vec![Memory {
                name: "sram".to_owned(),
                size: Bits(size),
                read_cost: Picojoules(2.0),
                write_cost: Picojoules(3.0),
                operands: vec![I1, I2, O],
                ports: vec![
                    port("r", PortKind::Read, vec![(I1, low), (I2, low), (O, low)]),
                    port("w", PortKind::Write, vec![(O, Direction::FromLow)]),
                ],
                served: vec![0],
                double_buffering: false,
                area: 0.0,
                latency: 1,
                shared_instance: None,
            }],
            dram: None,
        }
    }

    #[test]
    fn a_dot_product_of_four() {
        let order = [(Dim::new("C"), 4)];
        let evaluation =
            evaluate(&dot_product(), &one_unit(1024), "unit", &[], &order, Allocation::Uneven, Model::Zigzag)
                .unwrap();
        // Four reads of I and W; four writes of O and, partial sums, four reads.
        assert_eq!(evaluation.words, [[[4, 4, 0, 0]], [[4, 0, 0, 0]], [[4, 0, 0, 0]]]);
        // 4 operations, 12 reads of 2 pJ, 4 writes of 3 pJ.
        assert_eq!(evaluation.cost.energy, Picojoules(4.0 + 24.0 + 12.0));
        // Three reads per cycle on one port: windows of 3 cycles each (all but the first period)
        // need 9, the union offers 4.
        assert_eq!(evaluation.cost.stall, FractionalCycles(5.0));
        assert_eq!(evaluation.cost.latency, FractionalCycles(9.0));
    }

    #[test]
    fn what_does_not_fit_is_told_in_bits() {
        let order = [(Dim::new("C"), 4)];
        let error = |size| {
            let memory = one_unit(size);
            evaluate(&dot_product(), &memory, "unit", &[], &order, Allocation::Uneven, Model::Zigzag)
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            error(24),
            "sram is the highest memory of I: its part of the tensor has 32 bits, one instance holds 24"
        );
        assert_eq!(
            error(40),
            "no loop order fits the memories: even the smallest tile of I + W + O needs 72 bits in sram of 40 bits; \
             enlarge the memory or keep the layer off the core (`core_allocation`)"
        );
    }

    #[test]
    fn operands_have_memory_operands_of_their_own() {
        let mut nest = dot_product();
        nest.operands[2].memory = MemoryOperand::I1;
        let order = [(Dim::new("C"), 4)];
        let error = evaluate(&nest, &one_unit(1024), "unit", &[], &order, Allocation::Uneven, Model::Zigzag);
        assert_eq!(
            error.unwrap_err().to_string(),
            "operands I and W are both linked to I1: link them to different memory operands"
        );
    }

    #[test]
    fn a_missing_port_is_named() {
        let mut hierarchy = one_unit(1024);
        hierarchy.memories[0].ports.pop();
        let order = [(Dim::new("C"), 4)];
        let error =
            evaluate(&dot_product(), &hierarchy, "unit", &[], &order, Allocation::Uneven, Model::Zigzag);
        assert_eq!(
            error.unwrap_err().to_string(),
            "memory sram has no port for O fl: add it to the allocation of a port"
        );
    }
}
