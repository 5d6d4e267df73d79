//! The surrogate: what policies believe a choice costs, as an assignment problem of the solver.
//!
//! ```text
//! time(stack) = max over cores, links, ports of their load        sum over stacks
//! load(core)  = sum over its parts of tiles * cycles of one inner tile
//! load(link)  = sum over routes of bits / bandwidth of halos, channels and rows that change cores
//! load(DRAM)  = streams of what fits no pool, weights, network inputs and outputs, each once
//! ```
//! Weights of a stack beyond a pool are priced: they are fetched again for every row of tiles. Pipeline
//! fill, contention and eviction of activations are left to the simulation.
//!
//! [`predict`] evaluates the same formula for any candidate, so that `predicted` means the same for
//! every policy.

use super::space::{LayerChoice, Space};
use crate::cn::CnClass;
use crate::cn::refine::class_of_box;
use crate::cost::CostTable;
use crate::fusion::{Cut, LayerTiling, Stack};
use crate::ids::{ClassId, CoreId, LayerId, PoolId, TensorId};
use crate::ledger::NodeCost;
use crate::pipeline::{EvaluateError, Problem};
use crate::placement::{PlacedNode, place_operands};
use crate::workload::region::AxisSet;
use crate::workload::{Layer, MemoryOperand, Origin, layout};
use millstream_solver as solver;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;

/// A predicted latency and energy.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Predicted {
    /// Cycles.
    pub latency_cycles: f64,
    /// Picojoules.
    pub energy_pj: f64,
}

/// The assignment problem of a tiling, and what does not depend on the choices.
pub struct Surrogate {
    /// For the solver.
    pub problem: solver::Problem,
    /// The choices that have a cost.
    pub space: Space,
    /// Their positions in the whole space, per layer.
    positions: Vec<Vec<u32>>,
    /// Energy of compulsory DRAM traffic.
    constant_energy: f64,
}

impl Surrogate {
    /// The choices of a solution as positions in the whole space.
    pub fn original(&self, choices: &[u32]) -> Vec<u32> {
        let position = |(positions, choice): (&Vec<u32>, &u32)| positions[*choice as usize];
        self.positions.iter().zip(choices).map(position).collect()
    }

    /// Latency and energy of a choice per layer.
    pub fn predict(&self, choices: &[u32]) -> Predicted {
        let weights = solver::Weights { time: 1.0, cost: 0.0 };
        let objective = solver::evaluate(&self.problem, &weights, choices);
        Predicted {
            latency_cycles: objective.times.iter().sum::<f64>() + objective.penalty,
            energy_pj: objective.cost + self.constant_energy,
        }
    }
}

/// A part of a layer: the box it covers and its core.
struct Part {
    core: CoreId,
    ranges: Vec<Range<u64>>,
}

/// Whether some choice of a layer has a cost under these cuts in time.
pub fn costable(
    problem: &Problem,
    space: &Space,
    layer: usize,
    intra: &[Vec<Cut>],
    table: &CostTable,
) -> bool {
    let builder = Builder { problem, intra, table, stacks: 1 };
    space.layers[layer].iter().any(|choice| builder.choice(LayerId::from(layer), choice, 0).is_ok())
}

/// Builds the surrogate of a space under stacks and cuts in time. Choices without a cost are left out;
/// a layer without any other is an error.
pub fn build(
    problem: &Problem,
    space: &Space,
    stacks: &[Stack],
    intra: &[Vec<Cut>],
    table: &CostTable,
) -> Result<Surrogate, EvaluateError> {
    let stack_of = stack_of(stacks, space.layers.len());
    let builder = Builder { problem, intra, table, stacks: stacks.len() };
    let kept = (problem.workload.layer_ids().collect::<Vec<_>>().into_par_iter())
        .map(|layer| builder.task(layer, &space.layers[layer.index()], stack_of[layer.index()]))
        .collect::<Result<Vec<_>, _>>()?;
    let (tasks, positions): (Vec<_>, Vec<Vec<u32>>) = kept.into_iter().unzip();
    let left = |(choices, positions): (&Vec<LayerChoice>, &Vec<u32>)| {
        positions.iter().map(|position| choices[*position as usize].clone()).collect()
    };
    let space = Space { layers: space.layers.iter().zip(&positions).map(left).collect() };
    let edges = builder.edges(&space);
    let budgets = builder.budgets();
    Ok(Surrogate {
        space,
        positions,
        problem: solver::Problem {
            resources: problem.accelerator.cores.len() + problem.accelerator.resources.len(),
            groups: stacks.len(),
            tasks,
            edges,
            budgets,
            symmetric: builder.symmetric(),
        },
        constant_energy: builder.compulsory_energy(),
    })
}

/// The surrogate's value of one candidate.
pub fn predict(
    problem: &Problem,
    candidate: &super::Candidate,
    table: &CostTable,
) -> Result<Predicted, EvaluateError> {
    let layers = (candidate.tiling.layers.iter().zip(&candidate.cores))
        .map(|(tiling, cores)| vec![LayerChoice { inter: tiling.inter.clone(), cores: cores.clone() }])
        .collect();
    let intra: Vec<Vec<Cut>> = candidate.tiling.layers.iter().map(|tiling| tiling.intra.clone()).collect();
    let space = Space { layers };
    let surrogate = build(problem, &space, &candidate.tiling.stacks, &intra, table)?;
    Ok(surrogate.predict(&vec![0; candidate.cores.len()]))
}

fn stack_of(stacks: &[Stack], layers: usize) -> Vec<u32> {
    let mut of = vec![0; layers];
    for (stack, members) in stacks.iter().enumerate() {
        members.layers.iter().for_each(|layer| of[layer.index()] = stack as u32);
    }
    of
}

struct Builder<'a> {
    problem: &'a Problem,
    intra: &'a [Vec<Cut>],
    table: &'a CostTable,
    stacks: usize,
}

impl Builder<'_> {
    fn resource(&self, index: usize) -> u32 {
        (self.problem.accelerator.cores.len() + index) as u32
    }

    /// Budget of the weights of a stack in a pool.
    fn budget(&self, stack: u32, pool: PoolId) -> u32 {
        stack * self.problem.accelerator.pools.len() as u32 + pool.0
    }

    fn budgets(&self) -> Vec<solver::Budget> {
        let mut budgets = Vec::new();
        let dram = self.dram_bandwidth();
        let tiles = |cuts: &Vec<Cut>, layer: &Layer| -> u64 {
            cuts.iter().map(|cut| layer.dims[cut.dim].size.div_ceil(cut.tile)).product()
        };
        let rounds = (self.intra.iter().zip(&self.problem.workload.layers))
            .map(|(cuts, layer)| tiles(cuts, layer))
            .max()
            .unwrap_or(1);
        for _ in 0..self.stacks {
            budgets.extend(self.problem.accelerator.pools.iter().map(|pool| solver::Budget {
                capacity: if pool.dram { 1e18 } else { pool.size.0 as f64 },
                overflow: solver::Overflow::Priced(rounds as f64 / dram),
            }));
        }
        budgets
    }

    /// Cores of one kind with what is theirs alone. The solver checks the claim: on a mesh, where
    /// links tell cores apart, it does not hold and is ignored.
    fn symmetric(&self) -> Vec<solver::Symmetry> {
        let accelerator = &self.problem.accelerator;
        let block = |core: CoreId| {
            let own = (accelerator.pools.iter().enumerate()).filter(|(_, pool)| pool.core == core);
            let own: Vec<PoolId> = own.map(|(pool, _)| PoolId::from(pool)).collect();
            let ports = own.iter().flat_map(|pool| {
                let pool = accelerator.pool(*pool);
                [pool.read_port, pool.write_port].map(|port| self.resource(port.index()))
            });
            let mut resources = vec![core.0];
            resources.extend(ports);
            resources.sort_unstable();
            resources.dedup();
            let stacks = 0..self.stacks as u32;
            let budgets = stacks.flat_map(|stack| own.iter().map(move |pool| self.budget(stack, *pool)));
            solver::Block { resources, budgets: budgets.collect() }
        };
        (0..accelerator.kinds.len())
            .map(|kind| {
                let alike =
                    accelerator.compute_cores().filter(|core| accelerator.core(*core).kind.index() == kind);
                solver::Symmetry { blocks: alike.map(block).collect() }
            })
            .filter(|symmetry| symmetry.blocks.len() > 1)
            .collect()
    }

    fn dram_bandwidth(&self) -> f64 {
        let accelerator = &self.problem.accelerator;
        let pools = accelerator.pools.iter().filter(|pool| pool.dram);
        pools
            .map(|pool| accelerator.resources[pool.read_port.index()].bandwidth.0 as f64)
            .sum::<f64>()
            .max(1.0)
    }

    /// The task of a layer, and which choices it has.
    fn task(
        &self,
        id: LayerId,
        choices: &[LayerChoice],
        stack: u32,
    ) -> Result<(solver::Task, Vec<u32>), EvaluateError> {
        let (mut kept, mut positions, mut failure) = (Vec::new(), Vec::new(), None);
        for (position, choice) in choices.iter().enumerate() {
            match self.choice(id, choice, stack) {
                Ok(choice) => {
                    kept.push(choice);
                    positions.push(position as u32);
                }
                Err(error) => {
                    failure.get_or_insert(error);
                }
            }
        }
        match failure {
            Some(failure) if kept.is_empty() => Err(failure),
            _ => Ok((solver::Task { group: stack, choices: kept }, positions)),
        }
    }

    fn choice(&self, id: LayerId, choice: &LayerChoice, stack: u32) -> Result<solver::Choice, EvaluateError> {
        let layer = self.problem.workload.layer(id);
        let mut loads: BTreeMap<u32, f64> = BTreeMap::new();
        let mut uses: BTreeMap<u32, f64> = BTreeMap::new();
        let mut energy = 0.0;
        for part in parts(layer, choice) {
            let (representative, tiles) = self.representative(id, &part.ranges);
            let class = class_of_box(&self.problem.workload, layer, &representative);
            let (node, cost) = self.cost(id, &class, part.core)?;
            *loads.entry(part.core.0).or_default() += tiles * cost.cycles.0 as f64;
            energy += tiles * cost.cost.energy.0;
            self.stream_loads(&mut loads, &cost, part.core, tiles);
            let whole = class_of_box(&self.problem.workload, layer, &part.ranges);
            for (operand, place) in node.operands.iter().enumerate() {
                if let (Some(pool), true, false) =
                    (place.pool, class.nest.operands[operand].constant, place.streamed)
                {
                    *uses.entry(self.budget(stack, pool)).or_default() += whole.operand_bits[operand] as f64;
                }
            }
        }
        self.compulsory_loads(id, &mut loads);
        let latency = loads.range(..self.problem.accelerator.cores.len() as u32).map(|(_, load)| *load);
        Ok(solver::Choice {
            latency: latency.fold(0.0, f64::max),
            loads: loads.into_iter().collect(),
            fill: 0.0,
            cost: energy,
            uses: uses.into_iter().collect(),
        })
    }

    /// An inner tile of a part, and how many of its size the part holds.
    fn representative(&self, id: LayerId, part: &[Range<u64>]) -> (Vec<Range<u64>>, f64) {
        let mut ranges = part.to_vec();
        let mut tiles = 1.0;
        for cut in &self.intra[id.index()] {
            let all: Vec<Range<u64>> = cut.tiles(part[cut.dim].clone()).collect();
            let inner = all[all.len() / 2].clone();
            tiles *= (part[cut.dim].end - part[cut.dim].start) as f64 / (inner.end - inner.start) as f64;
            ranges[cut.dim] = inner;
        }
        (ranges, tiles)
    }

    fn cost(
        &self,
        layer: LayerId,
        class: &CnClass,
        core: CoreId,
    ) -> Result<(PlacedNode, NodeCost), EvaluateError> {
        let problem = self.problem;
        let operands = place_operands(&problem.workload, &problem.accelerator, layer, class, core)?;
        let node = PlacedNode { layer, class: ClassId(0), core, operands };
        Ok(problem.costing().node(class, node, self.table)?)
    }

    fn stream_loads(&self, loads: &mut BTreeMap<u32, f64>, cost: &NodeCost, core: CoreId, tiles: f64) {
        let problem = self.problem;
        let dram = problem.routes.serving_dram(core);
        for streamed in &cost.cost.streamed {
            let Some(pool) = problem.accelerator.top_pool(core, streamed.operand) else { continue };
            for (from, to, bits) in [(dram, pool, streamed.read), (pool, dram, streamed.write)] {
                self.route_load(loads, from, to, bits as f64 * tiles);
            }
        }
    }

    /// Adds the time `bits` occupy every resource between two pools.
    fn route_load(&self, loads: &mut BTreeMap<u32, f64>, from: PoolId, to: PoolId, bits: f64) {
        if from == to || bits <= 0.0 {
            return;
        }
        let Some(route) = self.problem.routes.route(from, to) else { return };
        for resource in &route.resources {
            let bandwidth = self.problem.accelerator.resources[resource.index()].bandwidth.0;
            *loads.entry(self.resource(resource.index())).or_default() += bits / bandwidth as f64;
        }
    }

    /// Weights and network inputs of a layer through the DRAM port, once.
    fn compulsory_loads(&self, id: LayerId, loads: &mut BTreeMap<u32, f64>) {
        let problem = self.problem;
        let bits = compulsory_bits(problem, id);
        let Some(pool) = problem.accelerator.pools.iter().find(|pool| pool.dram) else { return };
        *loads.entry(self.resource(pool.read_port.index())).or_default() += bits / self.dram_bandwidth();
    }

    fn compulsory_energy(&self) -> f64 {
        let accelerator = &self.problem.accelerator;
        let Some(pool) = accelerator.pools.iter().position(|pool| pool.dram).map(PoolId::from) else {
            return 0.0;
        };
        let port = accelerator.resources[accelerator.pool(pool).read_port.index()].bandwidth.0 as f64;
        let bits: f64 = self.problem.workload.layer_ids().map(|id| compulsory_bits(self.problem, id)).sum();
        bits / port * accelerator.memory(pool).read_cost.0
    }

    /// Transfers between the parts of producers and consumers, for every pair of choices.
    fn edges(&self, space: &Space) -> Vec<solver::Edge> {
        let mut links: Vec<(LayerId, LayerId, usize)> = Vec::new();
        for id in self.problem.workload.layer_ids() {
            for (position, operand) in self.problem.workload.layer(id).operands.iter().enumerate().skip(1) {
                for producer in operand.tensor.map(|tensor| self.producers(tensor)).unwrap_or_default() {
                    links.push((producer, id, position));
                }
            }
        }
        let mut edges: BTreeMap<(u32, u32), BTreeMap<(u32, u32), Transfers>> = BTreeMap::new();
        let found: Vec<_> =
            (links.par_iter()).map(|(from, to, operand)| self.pairs(space, *from, *to, *operand)).collect();
        for ((from, to, _), pairs) in links.iter().zip(found) {
            let edge = edges.entry((from.0, to.0)).or_default();
            for (key, transfers) in pairs {
                let sum = edge.entry(key).or_default();
                sum.energy += transfers.energy;
                transfers.loads.into_iter().for_each(|(r, load)| *sum.loads.entry(r).or_default() += load);
            }
        }
        let pair = |((from_choice, to_choice), transfers): ((u32, u32), Transfers)| solver::Pair {
            from_choice,
            to_choice,
            loads: transfers.loads.into_iter().collect(),
            cost: transfers.energy,
        };
        (edges.into_iter())
            .map(|((from, to), pairs)| solver::Edge {
                from,
                to,
                pairs: pairs.into_iter().map(pair).collect(),
            })
            .collect()
    }

    /// Layers whose outputs a tensor shows.
    fn producers(&self, tensor: TensorId) -> Vec<LayerId> {
        let workload = &self.problem.workload;
        match workload.tensor(tensor).origin {
            Origin::Layer(layer) => vec![layer],
            Origin::Layout(at) => {
                let inputs = workload.layouts[at as usize].inputs.iter();
                let mut all: Vec<LayerId> = inputs.flat_map(|input| self.producers(*input)).collect();
                all.sort_unstable();
                all.dedup();
                all
            }
            Origin::Input | Origin::Constant => Vec::new(),
        }
    }

    fn pairs(
        &self,
        space: &Space,
        from: LayerId,
        to: LayerId,
        operand: usize,
    ) -> BTreeMap<(u32, u32), Transfers> {
        let workload = &self.problem.workload;
        let (producer, consumer) = (workload.layer(from), workload.layer(to));
        let made: Vec<Vec<(CoreId, Vec<AxisSet>)>> = (space.layers[from.index()].iter())
            .map(|choice| {
                let parts = parts(producer, choice).into_iter();
                parts.map(|part| (part.core, sets(self.problem, producer, 0, &part.ranges))).collect()
            })
            .collect();
        let root = producer.output().tensor;
        let memory = consumer.operands[operand].memory;
        let mut pairs = BTreeMap::new();
        for (to_choice, choice) in space.layers[to.index()].iter().enumerate() {
            for part in parts(consumer, choice) {
                let tensor = consumer.operands[operand].tensor.expect("an edge has a tensor");
                let region = sets(self.problem, consumer, operand, &part.ranges);
                let pieces = layout::resolve(workload, tensor, &region);
                for (from_choice, producers) in made.iter().enumerate() {
                    let sum: &mut Transfers =
                        pairs.entry((from_choice as u32, to_choice as u32)).or_default();
                    for (core, output) in producers {
                        let shared: u64 = (pieces.iter().filter(|piece| Some(piece.tensor) == root))
                            .map(|piece| overlap(&piece.axes, output))
                            .sum();
                        let bits = (shared * producer.output().bits) as f64;
                        self.transfer(sum, *core, part.core, memory, bits);
                    }
                }
            }
        }
        pairs.retain(|_, transfers| !transfers.loads.is_empty());
        pairs
    }

    fn transfer(&self, sum: &mut Transfers, from: CoreId, to: CoreId, memory: MemoryOperand, bits: f64) {
        let accelerator = &self.problem.accelerator;
        let pools = (accelerator.top_pool(from, MemoryOperand::O), accelerator.top_pool(to, memory));
        let (Some(source), Some(target)) = pools else { return };
        if source == target || bits <= 0.0 {
            return;
        }
        self.route_load(&mut sum.loads, source, target, bits);
        let per_bit = |pool: PoolId, cost: f64, port: crate::ids::ResourceId| {
            cost / accelerator.port(pool, port).map_or(1.0, |port| port.bandwidth_max.0 as f64)
        };
        let read =
            per_bit(source, accelerator.memory(source).read_cost.0, accelerator.pool(source).read_port);
        let write =
            per_bit(target, accelerator.memory(target).write_cost.0, accelerator.pool(target).write_port);
        sum.energy += bits * (read + write);
    }
}

/// Loads and energy of the transfers between two choices.
#[derive(Default)]
struct Transfers {
    loads: BTreeMap<u32, f64>,
    energy: f64,
}

/// Bits of a layer's weights, network inputs and network outputs.
fn compulsory_bits(problem: &Problem, id: LayerId) -> f64 {
    let workload = &problem.workload;
    let layer = workload.layer(id);
    let bits = |tensor: TensorId| workload.tensor(tensor).elements() * workload.tensor(tensor).element_bits;
    let read: u64 = (layer.inputs().iter())
        .filter_map(|operand| operand.tensor)
        .filter(|tensor| matches!(workload.tensor(*tensor).origin, Origin::Input | Origin::Constant))
        .map(bits)
        .sum();
    let output = layer.output().tensor.filter(|tensor| workload.outputs.contains(tensor));
    (read + output.map_or(0, bits)) as f64
}

fn sets(problem: &Problem, layer: &Layer, operand: usize, ranges: &[Range<u64>]) -> Vec<AxisSet> {
    let operand = &layer.operands[operand];
    let shape = operand.tensor.map_or(&[][..], |tensor| &problem.workload.tensor(tensor).shape);
    operand.axes.iter().zip(shape).map(|(axis, extent)| axis.set(ranges, *extent)).collect()
}

/// Elements two boxes share, by the intervals that span their sets.
fn overlap(a: &[AxisSet], b: &[AxisSet]) -> u64 {
    (a.iter().zip(b))
        .map(|(a, b)| match (a.0.first(), a.0.last(), b.0.first(), b.0.last()) {
            (Some(a0), Some(a1), Some(b0), Some(b1)) => {
                let start = a0.start.max(b0.start);
                (a1.last().min(b1.last()) + 1).saturating_sub(start).min(a.count())
            }
            _ => 0,
        })
        .product()
}

/// The parts of a choice.
fn parts(layer: &Layer, choice: &LayerChoice) -> Vec<Part> {
    let whole: Vec<Range<u64>> = layer.dims.iter().map(|dim| 0..dim.size).collect();
    let mut boxes = vec![whole];
    let tiling = LayerTiling { intra: Vec::new(), inter: choice.inter.clone() };
    let mut cuts = tiling.inter;
    cuts.sort_by_key(|cut| cut.dim); // parts are numbered row-major over the dimensions
    for cut in cuts {
        boxes = (boxes.into_iter())
            .flat_map(|ranges| {
                let tiles: Vec<Range<u64>> = cut.tiles(ranges[cut.dim].clone()).collect();
                tiles.into_iter().map(move |tile| {
                    let mut ranges = ranges.clone();
                    ranges[cut.dim] = tile;
                    ranges
                })
            })
            .collect();
    }
    boxes.into_iter().zip(&choice.cores).map(|(ranges, core)| Part { core: *core, ranges }).collect()
}
