//! Lower bounds on simulated latency and energy over all Candidates within the mapping's choices.
//!
//! ```text
//! load     max over sets S of cores: operations of layers that run only on S / peak rate of S
//! dram     compulsory reads (weights, inputs) and writes (outputs), each once, over ports and links
//! path     a layer whose every output needs the whole input starts after everything before it
//! latency  >= max(load, dram, path)
//! energy   >= operations * least unit energy + compulsory DRAM accesses
//! edp      >= latency bound * energy bound
//! ```
//! The load bound is the optimum of the fluid assignment LP: machine rates do not depend on the
//! layer (`ideal` cycles are operations over array size), so its dual is attained on unions of
//! eligible sets. With `--costs` the table's minima replace ideal cycles and energy (Rule (bound)).

use crate::accelerator::ResourceKind;
use crate::ids::{CoreId, LayerId, ResourceId, TensorId};
use crate::pipeline::Problem;
use crate::units::{Cycles, Picojoules};
use crate::workload::{Layer, Origin};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

/// Lower bounds and what each is made of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// The largest of the latency bounds below.
    pub latency: Cycles,
    /// Core load.
    pub load: Cycles,
    /// Compulsory DRAM traffic.
    pub dram: Cycles,
    /// Critical path of layers.
    pub path: Cycles,
    /// Energy.
    pub energy: Picojoules,
}

impl Bound {
    /// Bound on the energy-delay product.
    pub fn edp(&self) -> f64 {
        self.energy.0 * self.latency.0 as f64
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { latency, load, dram, path, energy } = self;
        writeln!(f, "latency >= {latency}: load {load}, DRAM traffic {dram}, path {path}")?;
        writeln!(f, "energy  >= {energy}")
    }
}

/// What a layer needs at least.
struct Need {
    cores: BTreeSet<CoreId>,
    /// Operations; with overriding costs, core cycles instead.
    work: f64,
    /// Whether `work` is in cycles of one core.
    in_cycles: bool,
}

/// Computes the bounds.
pub fn bound(problem: &Problem) -> Bound {
    let needs: Vec<Need> = problem.workload.layer_ids().map(|layer| need(problem, layer)).collect();
    let load = load(problem, &needs);
    let dram = dram(problem);
    let path = path(problem, &needs);
    let latency = load.max(dram).max(path);
    Bound {
        latency: Cycles(latency),
        load: Cycles(load),
        dram: Cycles(dram),
        path: Cycles(path),
        energy: energy(problem, &needs),
    }
}

fn need(problem: &Problem, id: LayerId) -> Need {
    let layer = problem.workload.layer(id);
    let choices = &problem.space.layers[id.index()];
    let cores = choices.iter().flat_map(|choice| choice.cores.iter().copied()).collect();
    match problem.overrides.minimum(&layer.name) {
        // A layer has at least one CN, and no row is cheaper.
        Some((latency, _)) => Need { cores, work: latency.ceil(), in_cycles: true },
        None => Need { cores, work: layer.operations() as f64, in_cycles: false },
    }
}

fn rate(problem: &Problem, core: CoreId) -> f64 {
    problem.accelerator.kind(core).array.size().max(1) as f64
}

/// Time for a set of layers on a set of cores, all perfectly balanced.
fn fluid<'a>(problem: &Problem, needs: impl Iterator<Item = &'a Need>, cores: &BTreeSet<CoreId>) -> f64 {
    let peak: f64 = cores.iter().map(|core| rate(problem, *core)).sum();
    needs.map(|need| if need.in_cycles { need.work / cores.len() as f64 } else { need.work / peak }).sum()
}

/// Most distinct eligible sets whose unions are all tried.
const SETS: usize = 10;

fn load(problem: &Problem, needs: &[Need]) -> u64 {
    let distinct: BTreeSet<&BTreeSet<CoreId>> = needs.iter().map(|need| &need.cores).collect();
    let distinct: Vec<_> = distinct.into_iter().take(SETS).collect();
    let mut most = 0.0f64;
    for subset in 1u32..1 << distinct.len() {
        let members = (0..distinct.len()).filter(|at| subset >> at & 1 == 1);
        let union: BTreeSet<CoreId> = members.flat_map(|at| distinct[at].iter().copied()).collect();
        let inside = needs.iter().filter(|need| need.cores.is_subset(&union));
        most = most.max(fluid(problem, inside, &union));
    }
    // Sums of quotients may come out an epsilon high; an integer time is at least the floor plus
    // what is certain.
    (most - 1e-6 * most.max(1.0)).ceil().max(0.0) as u64
}

/// Bits that must be read from and written to DRAM.
fn compulsory(problem: &Problem) -> (u64, u64) {
    let workload = &problem.workload;
    let mut read = vec![0u64; workload.tensors.len()];
    for layer in &workload.layers {
        for operand in layer.inputs() {
            let Some(tensor) = operand.tensor else { continue };
            if matches!(workload.tensor(tensor).origin, Origin::Input | Origin::Constant) {
                let ranges: Vec<Range<u64>> = layer.dims.iter().map(|dim| 0..dim.size).collect();
                let shape = &workload.tensor(tensor).shape;
                let counts = operand.axes.iter().zip(shape).map(|(axis, n)| axis.set(&ranges, *n).count());
                let bits = counts.product::<u64>() * workload.tensor(tensor).element_bits;
                read[tensor.index()] = read[tensor.index()].max(bits);
            }
        }
    }
    let outputs: BTreeSet<TensorId> = workload.outputs.iter().copied().collect();
    let written = |tensor: &TensorId| {
        let tensor = workload.tensor(*tensor);
        match tensor.origin {
            Origin::Layer(_) => tensor.elements() * tensor.element_bits,
            // A view may show a padded or repeated part of what is written.
            _ => 0,
        }
    };
    (read.iter().sum(), outputs.iter().map(written).sum())
}

fn dram(problem: &Problem) -> u64 {
    let (read, written) = compulsory(problem);
    let accelerator = &problem.accelerator;
    let bandwidth = |resources: &BTreeSet<ResourceId>| -> u64 {
        resources.iter().map(|resource| accelerator.resources[resource.index()].bandwidth.0).sum()
    };
    let pools = || accelerator.pools.iter().filter(|pool| pool.dram);
    let reads: BTreeSet<ResourceId> = pools().map(|pool| pool.read_port).collect();
    let writes: BTreeSet<ResourceId> = pools().map(|pool| pool.write_port).collect();
    let both: BTreeSet<ResourceId> = reads.union(&writes).copied().collect();
    let ports = [(read, &reads), (written, &writes), (read + written, &both)];
    let port_time = ports.iter().map(|(bits, set)| bits.div_ceil(bandwidth(set).max(1))).max();
    let (mut out, mut into, mut any) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for (index, resource) in accelerator.resources.iter().enumerate() {
        let id = ResourceId::from(index);
        let dram = |core: &CoreId| accelerator.dram.contains(core);
        match resource.kind {
            ResourceKind::Link { link, forward } => {
                let cores = &accelerator.links[link as usize].cores;
                let (from, to) = if forward { (cores[0], cores[1]) } else { (cores[1], cores[0]) };
                if dram(&from) && !dram(&to) {
                    out.insert(id);
                    any.insert(id);
                }
                if dram(&to) && !dram(&from) {
                    into.insert(id);
                    any.insert(id);
                }
            }
            ResourceKind::Bus { link } if accelerator.links[link as usize].cores.iter().any(dram) => {
                out.insert(id);
                into.insert(id);
                any.insert(id);
            }
            _ => {}
        }
    }
    let links = [(read, &out), (written, &into), (read + written, &any)];
    let link_time = links.iter().map(|(bits, set)| bits.div_ceil(bandwidth(set).max(1))).max();
    port_time.max(link_time).unwrap_or(0)
}

/// Earliest end of each layer: everything before a layer whose every output needs its whole input
/// is done when it starts; other layers end after their predecessors.
fn path(problem: &Problem, needs: &[Need]) -> u64 {
    let workload = &problem.workload;
    let all: BTreeSet<CoreId> = problem.accelerator.compute_cores().collect();
    let mut ends = vec![0.0f64; workload.layers.len()];
    let mut before: Vec<BTreeSet<usize>> = Vec::with_capacity(workload.layers.len());
    for (id, layer) in workload.layers.iter().enumerate() {
        let producers: BTreeSet<usize> = layer
            .inputs()
            .iter()
            .filter_map(|operand| operand.tensor)
            .flat_map(|t| roots(problem, t))
            .collect();
        let mut ancestors = producers.clone();
        producers.iter().for_each(|producer| ancestors.extend(&before[*producer]));
        let ready = producers.iter().map(|producer| ends[*producer]).fold(0.0, f64::max);
        let own = fluid(problem, std::iter::once(&needs[id]), &needs[id].cores);
        let own = if needs_everything(problem, layer) { own } else { 0.0 };
        let load = fluid(problem, ancestors.iter().chain([&id]).map(|layer| &needs[*layer]), &all);
        ends[id] = (ready + own).max(load);
        before.push(ancestors);
    }
    let most = ends.into_iter().fold(0.0, f64::max);
    (most - 1e-6 * most.max(1.0)).ceil().max(0.0) as u64
}

fn roots(problem: &Problem, tensor: TensorId) -> Vec<usize> {
    match problem.workload.tensor(tensor).origin {
        Origin::Layer(layer) => vec![layer.index()],
        Origin::Layout(at) => {
            let inputs = &problem.workload.layouts[at as usize].inputs;
            inputs.iter().flat_map(|input| roots(problem, *input)).collect()
        }
        Origin::Input | Origin::Constant => Vec::new(),
    }
}

/// Whether one output element reads every element of every activation.
fn needs_everything(problem: &Problem, layer: &Layer) -> bool {
    let one: Vec<Range<u64>> = (0..layer.dims.len())
        .map(|dim| if layer.is_reduction(dim) { 0..layer.dims[dim].size } else { 0..1 })
        .collect();
    (layer.inputs().iter()).filter(|operand| !operand.constant).all(|operand| {
        let shape = operand.tensor.map_or(&[][..], |tensor| &problem.workload.tensor(tensor).shape);
        operand.axes.iter().zip(shape).all(|(axis, extent)| axis.set(&one, *extent).count() == *extent)
    })
}

fn energy(problem: &Problem, needs: &[Need]) -> Picojoules {
    let accelerator = &problem.accelerator;
    let mut total = 0.0;
    for (need, layer) in needs.iter().zip(&problem.workload.layers) {
        total += match problem.overrides.minimum(&layer.name) {
            Some((_, energy)) => energy,
            None => {
                let unit = need.cores.iter().map(|core| accelerator.kind(*core).array.unit_energy.0);
                layer.operations() as f64 * unit.fold(f64::INFINITY, f64::min)
            }
        };
    }
    let (read, written) = compulsory(problem);
    let cheapest = |write: bool| {
        let per_bit = (0..accelerator.pools.len()).map(crate::ids::PoolId::from).filter_map(|id| {
            let pool = accelerator.pool(id);
            let port = accelerator.port(id, if write { pool.write_port } else { pool.read_port })?;
            let memory = accelerator.memory(id);
            let cost = if write { memory.write_cost.0 } else { memory.read_cost.0 };
            pool.dram.then_some(cost / port.bandwidth_max.0 as f64)
        });
        per_bit.fold(f64::INFINITY, f64::min)
    };
    for (bits, write) in [(read, false), (written, true)] {
        let per_bit = cheapest(write);
        if per_bit.is_finite() {
            total += bits as f64 * per_bit;
        }
    }
    Picojoules(total)
}
