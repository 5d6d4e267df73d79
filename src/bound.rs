//! Lower bounds on simulated latency and energy over all Candidates within the mapping's choices.
//!
//! ```text
//! load     optimum of: min T, layers in any shares to their cores, time(l, c) = operations * mean of 1 / parallel
//! dram     compulsory reads (weights, inputs) and writes (outputs), each once, over ports and links
//! path     a layer whose every output needs the whole input starts after everything it needs
//! latency  >= max(load, dram, path)
//! energy   >= operations * least unit energy + compulsory DRAM accesses
//! edp      >= latency bound * energy bound
//! ```
//! parallel is the most operations per cycle that a CN can have on a core: per array dimension the loop
//! dimensions its dataflow unrolls there, each at most as often as the CN iterates, or, where the dataflow
//! is open, the longest loop (with `--mix` all of them). A CN takes at least its operations over that
//! (ideal cycles, MODEL.md 5), whatever its loop order and level; the mean is over the tiles of the part
//! of the layer that the core does. The load bound is thus a fractional assignment on unrelated machines,
//! `millstream_solver::fluid`. With `--costs` the table's minima replace ideal cycles and energy (Rule
//! (bound)). Bounds on latency count only what the outputs need ([`live`]); energy counts all that is done.

use crate::accelerator::ResourceKind;
use crate::allocation::genome::channel_cuts_of;
use crate::ids::{CoreId, LayerId, ResourceId, TensorId};
use crate::pipeline::Problem;
use crate::units::{Cycles, Picojoules};
use crate::workload::{Dim, Layer, Origin, Workload};
use live::Live;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

mod live;

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

/// What a layer needs at least: cycles on each core that may run it, if it had to do all of it.
struct Need {
    times: Vec<Option<f64>>,
}

/// Computes the bounds.
pub fn bound(problem: &Problem) -> Bound {
    let workload = &problem.workload;
    let needs: Vec<Need> = workload.layer_ids().map(|layer| need(problem, layer)).collect();
    let live = live::live(workload);
    let load = load(problem, &needs, &live);
    let dram = dram(problem, &live);
    let path = path(problem, &needs, &live);
    let latency = load.max(dram).max(path);
    Bound {
        latency: Cycles(latency),
        load: Cycles(load),
        dram: Cycles(dram),
        path: Cycles(path),
        energy: energy(problem),
    }
}

fn need(problem: &Problem, id: LayerId) -> Need {
    let layer = problem.workload.layer(id);
    let mut times = vec![None; problem.accelerator.cores.len()];
    for core in eligible(problem, id) {
        times[core.index()] = Some(match problem.overrides.minimum(&layer.name) {
            // A layer has at least one CN, and no row is cheaper.
            Some((latency, _)) => latency.ceil(),
            None => time(problem, id, core),
        });
    }
    Need { times }
}

fn eligible(problem: &Problem, id: LayerId) -> BTreeSet<CoreId> {
    let choices = &problem.space.layers[id.index()];
    choices.iter().flat_map(|choice| choice.cores.iter().copied()).collect()
}

/// The least cycles in which the core does the whole layer, in whatever parts and tiles.
///
/// Per array dimension a CN with tile `t` of the unrolled loops takes its operations over `p(t)`; a part
/// of the layer is done at the mean of `1 / p` over its tiles, weighted by their operations. A core does
/// whole parts, so the least mean of any part holds for every share of the layer. Where one loop is
/// unrolled on several array dimensions, both means fall with the same tiles, and the mean of the product
/// is no less than the product of the means (Chebyshev's sum inequality).
fn time(problem: &Problem, id: LayerId, core: CoreId) -> f64 {
    let layer = problem.workload.layer(id);
    let kind = problem.accelerator.kind(core);
    let fixed = problem.mapping.entry(layer).map_or(&[][..], |entry| &entry.spatial);
    let fixed = if fixed.is_empty() { &kind.dataflows } else { fixed };
    let mut time = layer.operations() as f64;
    for (name, units) in &kind.array.dims {
        let mapping = fixed.iter().find(|mapping| mapping.array_dim == *name);
        let unrolled = mapping.map_or(&[][..], |mapping| &mapping.unrolled);
        let tiles = unrolled.iter().map(|(dim, factor)| (parts(problem, id, dim), *factor));
        time *= least_mean(&tiles.collect::<Vec<_>>(), open(layer, problem.search.mix), *units as f64);
    }
    time.max(1.0)
}

/// The largest unrolling on an array dimension that any dataflow may use.
fn open(layer: &Layer, mix: bool) -> f64 {
    let sizes = layer.dims.iter().map(|dim| dim.size as f64);
    if mix { sizes.product() } else { sizes.fold(1.0, f64::max) }
}

/// What CNs may have of a loop dimension.
enum Parts {
    /// Tiles of any size up to this one.
    Any(u64),
    /// The tiles of each part that a core may do.
    Tiles(BTreeSet<Vec<u64>>),
}

/// The least mean of `1 / p` on an array dimension over all choices of parts of its unrolled loops.
///
/// `p` is the product of the unrollings, each at most the tile. A dataflow whose loops the tile shrinks to
/// one iteration leaves the array dimension `open`.
fn least_mean(loops: &[(Parts, f64)], open: f64, units: f64) -> f64 {
    // Sums over the tiles of the loops so far, by (whether one of them holds, their unrolling, their share).
    let mut choices: Vec<Vec<(bool, f64, f64)>> = vec![vec![(false, 1.0, 1.0)]];
    for (parts, factor) in loops {
        let single: BTreeSet<Vec<u64>>;
        let (parts, any) = match parts {
            Parts::Any(size) => {
                single = BTreeSet::from([vec![*size]]);
                (&single, true)
            }
            Parts::Tiles(parts) => (parts, false),
        };
        choices = (choices.iter())
            .flat_map(|tiles| parts.iter().map(move |part| (tiles, part)))
            .map(|(tiles, part)| {
                let total: u64 = part.iter().sum();
                let mut product = Vec::with_capacity(tiles.len() * part.len());
                for (holds, unrolling, share) in tiles {
                    for tile in part {
                        let held = *holds || (!any && *tile > 1);
                        let times = factor.min(*tile as f64).max(1.0);
                        product.push((held, unrolling * times, share * *tile as f64 / total as f64));
                    }
                }
                product
            })
            .collect();
    }
    let most = |holds: bool, unrolling: f64| if holds { unrolling } else { unrolling.max(open) };
    let mean = |tiles: &Vec<(bool, f64, f64)>| -> f64 {
        tiles
            .iter()
            .map(|(holds, unrolling, share)| share / most(*holds, *unrolling).min(units).max(1.0))
            .sum()
    };
    choices.iter().map(mean).fold(f64::INFINITY, f64::min)
}

/// The parts of a loop dimension that a core may do, and their tiles in time.
fn parts(problem: &Problem, id: LayerId, dim: &Dim) -> Parts {
    let layer = problem.workload.layer(id);
    let Some(position) = layer.position(dim) else { return Parts::Tiles(BTreeSet::from([vec![1]])) };
    let size = layer.dims[position].size;
    if layer.is_reduction(position) {
        return Parts::Tiles(BTreeSet::from([vec![size]])); // reduction splits are refused
    }
    let given = problem.mapping.entry(layer).and_then(|entry| entry.intra_core_tiling.as_ref());
    let rows = *dim == Dim::new("OY") || *dim == Dim::new("D");
    let free = given.map_or(rows, |splits| splits.iter().any(|split| split.dim == *dim));
    if free {
        return Parts::Any(size);
    }
    let tiles = |extent: u64, tile: u64| -> Vec<u64> {
        (0..extent).step_by(tile as usize).map(|first| tile.min(extent - first)).collect()
    };
    let choices = problem.space.layers[id.index()].iter().flat_map(|choice| &choice.inter);
    let mut wholes = BTreeSet::from([size]);
    wholes.extend(choices.filter(|cut| cut.dim == position).flat_map(|cut| tiles(size, cut.tile)));
    let mut parts: BTreeSet<Vec<u64>> = wholes.iter().map(|part| vec![*part]).collect();
    if given.is_none() {
        for cut in channel_cuts_of(layer).filter(|cut| cut.dim == position) {
            parts.extend(wholes.iter().map(|part| tiles(*part, cut.tile)));
        }
    }
    Parts::Tiles(parts)
}

/// Time for layers on all cores, in any shares.
fn fluid<'a>(needs: impl Iterator<Item = &'a Need>) -> f64 {
    let times: Vec<Vec<Option<f64>>> = needs.map(|need| need.times.clone()).collect();
    // Without an answer nothing is claimed.
    millstream_solver::fluid(&times).unwrap_or(0.0)
}

fn load(problem: &Problem, needs: &[Need], live: &[Live]) -> u64 {
    let scaled = |((layer, need), live): ((&Layer, &Need), &Live)| {
        // One CN of a measured layer is live if anything is.
        let measured = problem.overrides.minimum(&layer.name).is_some();
        let share = if measured { live.share.ceil() } else { live.share };
        Need { times: need.times.iter().map(|time| time.map(|time| time * share)).collect() }
    };
    let scaled: Vec<Need> = problem.workload.layers.iter().zip(needs).zip(live).map(scaled).collect();
    certain(fluid(scaled.iter()))
}

/// Sums of quotients and a simplex may come out an epsilon high: an integer time is at least what is
/// certain, rounded up.
fn certain(time: f64) -> u64 {
    (time - 1e-6 * time.max(1.0)).ceil().max(0.0) as u64
}

/// Bits that must be read from DRAM, of what the layers read within `ranges`, and written to it.
fn compulsory(workload: &Workload, ranges: impl Fn(LayerId) -> Option<Vec<Range<u64>>>) -> (u64, u64) {
    let mut read = vec![0u64; workload.tensors.len()];
    for (id, layer) in workload.layer_ids().zip(&workload.layers) {
        for piece in ranges(id).map_or(Vec::new(), |ranges| live::reads(workload, layer, &ranges)) {
            let tensor = workload.tensor(piece.tensor);
            if matches!(tensor.origin, Origin::Input | Origin::Constant) {
                let bits = live::elements(&piece) * tensor.element_bits;
                read[piece.tensor.index()] = read[piece.tensor.index()].max(bits);
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

fn dram(problem: &Problem, live: &[Live]) -> u64 {
    let (read, written) = compulsory(&problem.workload, |layer| live[layer.index()].ranges.clone());
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

/// The last live end, where a layer whose every output needs its whole input starts after all that it
/// needs, and any other layer ends after the producers of which it reads all.
fn path(problem: &Problem, needs: &[Need], live: &[Live]) -> u64 {
    let workload = &problem.workload;
    let mut ends = vec![0.0f64; workload.layers.len()];
    let mut before: Vec<BTreeSet<usize>> = Vec::with_capacity(workload.layers.len());
    for (id, layer) in workload.layers.iter().enumerate() {
        let producers = read_whole(workload, layer);
        let mut ancestors = producers.clone();
        producers.iter().for_each(|producer| ancestors.extend(&before[*producer]));
        let ready = producers.iter().map(|producer| ends[*producer]).fold(0.0, f64::max);
        ends[id] = match needs_everything(workload, layer) {
            true => {
                let before = fluid(ancestors.iter().map(|layer| &needs[*layer]));
                ready.max(before) + fluid(std::iter::once(&needs[id]))
            }
            false => ready,
        };
        before.push(ancestors);
    }
    let all_live = ends.iter().zip(live).filter(|(_, live)| live.share == 1.0);
    certain(all_live.fold(0.0, |last, (end, _)| last.max(*end)))
}

/// Layers of whose output a layer reads every element.
fn read_whole(workload: &Workload, layer: &Layer) -> BTreeSet<usize> {
    let mut counts = BTreeMap::new();
    for piece in live::disjoint_reads(workload, layer) {
        *counts.entry(piece.tensor).or_insert(0) += live::elements(&piece);
    }
    let whole = counts.into_iter().filter(|(tensor, count)| workload.tensor(*tensor).elements() == *count);
    let producers = whole.filter_map(|(tensor, _)| match workload.tensor(tensor).origin {
        Origin::Layer(layer) => Some(layer.index()),
        _ => None,
    });
    producers.collect()
}

/// Whether one output element reads every element of every activation.
fn needs_everything(workload: &Workload, layer: &Layer) -> bool {
    let one: Vec<Range<u64>> = (0..layer.dims.len())
        .map(|dim| if layer.is_reduction(dim) { 0..layer.dims[dim].size } else { 0..1 })
        .collect();
    (layer.inputs().iter()).filter(|operand| !operand.constant).all(|operand| {
        let shape = operand.tensor.map_or(&[][..], |tensor| &workload.tensor(tensor).shape);
        operand.axes.iter().zip(shape).all(|(axis, extent)| axis.set(&one, *extent).count() == *extent)
    })
}

fn energy(problem: &Problem) -> Picojoules {
    let accelerator = &problem.accelerator;
    let mut total = 0.0;
    for (id, layer) in problem.workload.layer_ids().zip(&problem.workload.layers) {
        total += match problem.overrides.minimum(&layer.name) {
            Some((_, energy)) => energy,
            None => {
                let cores = eligible(problem, id);
                let unit = cores.iter().map(|core| accelerator.kind(*core).array.unit_energy.0);
                layer.operations() as f64 * unit.fold(f64::INFINITY, f64::min)
            }
        };
    }
    let workload = &problem.workload;
    let (read, written) = compulsory(workload, |layer| Some(live::all(workload.layer(layer))));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn tiles<const N: usize>(parts: [&[u64]; N]) -> Parts {
        Parts::Tiles(parts.into_iter().map(<[u64]>::to_vec).collect())
    }

    /// Nine channels on 32 units: whole 1/9; in tiles of 4 and 1, 8/9 * 1/4 + 1/9 * 1/32 (one channel
    /// leaves the dimension open).
    #[test]
    fn a_remainder_tile_of_one_iteration_weighs_its_share() {
        let mean = |parts| least_mean(&[(parts, 32.0)], 1000.0, 32.0);
        assert_eq!(mean(tiles([&[9], &[4, 4, 1]])), 1.0 / 9.0);
        assert_eq!(mean(tiles([&[4, 4, 1]])), 8.0 / 9.0 / 4.0 + 1.0 / 9.0 / 32.0);
        assert_eq!(mean(Parts::Any(9)), 1.0 / 32.0);
    }

    /// Two loops on one array dimension: the second holds it wherever the first is one iteration.
    #[test]
    fn loops_that_share_an_array_dimension_hold_it_together() {
        let mean = |second| least_mean(&[(tiles([&[4, 1]]), 4.0), (second, 8.0)], 1000.0, 32.0);
        assert_eq!(mean(tiles([&[8]])), 0.8 / 32.0 + 0.2 / 8.0);
        assert_eq!(mean(Parts::Any(8)), 0.8 / 32.0 + 0.2 / 32.0);
    }
}
