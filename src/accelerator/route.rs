//! Routes between pools over links and buses.
//!
//! Rule (links): least latency, then fewest hops, then fewest buses, then the widest bottleneck, then the
//! lowest ids. A bus is shared by all its cores (and usually by DRAM), so that of two equally short ways
//! the one over a link of its own is taken even where the bus is wider.
//! A flow occupies the read port of its source, every link and bus on its way, and the write port of
//! its destination, all at once. Pools on one core are joined by their ports alone. A route passes
//! through cores but never through a DRAM core: a memory controller is no router.
//!
//! Labels (latency, hops, buses, bottleneck, path) are settled in lexicographic order, Dijkstra's algorithm:
//! latency, hops and buses add up and a bottleneck only narrows, so no later label improves a settled one.

use super::{Accelerator, LinkKind, ResourceKind};
use crate::ids::{CoreId, PoolId, ResourceId};
use crate::units::BitsPerCycle;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A way from one pool to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Read port of the source, links and buses in order, write port of the destination; no repeats.
    pub resources: Vec<ResourceId>,
    /// Cycles that the hops add to a transfer.
    pub latency: u64,
    /// Bandwidth of the narrowest resource.
    pub bandwidth: BitsPerCycle,
    /// Links and buses crossed.
    pub hops: u32,
}

/// The routes of all ordered pairs of pools.
#[derive(Clone, Debug)]
pub struct Routes {
    /// By source, then destination.
    routes: Vec<Vec<Option<Route>>>,
    /// By core.
    nearest: Vec<Option<PoolId>>,
}

/// One step from a core to another.
#[derive(Clone, Copy, Debug)]
struct Hop {
    resource: ResourceId,
    latency: u64,
    bandwidth: BitsPerCycle,
    bus: bool,
}

/// Order of preference of a way to a core: smaller is better.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Label {
    latency: u64,
    hops: u32,
    buses: u32,
    bottleneck: Reverse<u64>,
    path: Vec<ResourceId>,
}

impl Label {
    const START: Self =
        Self { latency: 0, hops: 0, buses: 0, bottleneck: Reverse(u64::MAX), path: Vec::new() };

    fn then(&self, hop: Hop) -> Self {
        let mut path = self.path.clone();
        path.push(hop.resource);
        Self {
            latency: self.latency + hop.latency,
            hops: self.hops + 1,
            buses: self.buses + u32::from(hop.bus),
            bottleneck: Reverse(self.bottleneck.0.min(hop.bandwidth.0)),
            path,
        }
    }
}

impl Routes {
    /// All routes of an accelerator.
    pub fn new(accelerator: &Accelerator) -> Self {
        let interconnect = interconnect(accelerator);
        let routes: Vec<Vec<Option<Route>>> = (0..accelerator.pools.len())
            .map(|from| routes_from(accelerator, &interconnect, PoolId::from(from)))
            .collect();
        let nearest = (0..accelerator.cores.len())
            .map(|core| nearest(accelerator, &routes, CoreId::from(core)))
            .collect();
        Self { routes, nearest }
    }

    /// The route from a pool to another; none between a pool and itself or where no path exists.
    pub fn route(&self, from: PoolId, to: PoolId) -> Option<&Route> {
        self.routes[from.index()][to.index()].as_ref()
    }

    /// The DRAM pool that is nearest to a core by the order of routes, then by id; a DRAM core's own
    /// for itself.
    pub fn nearest_dram(&self, core: CoreId) -> Option<PoolId> {
        self.nearest[core.index()]
    }

    /// The nearest DRAM of a core of an accelerator with DRAM, where the reader refuses cores
    /// without a way to it.
    pub fn serving_dram(&self, core: CoreId) -> PoolId {
        self.nearest_dram(core).expect("every core of an accelerator with DRAM has a way to it")
    }
}

/// Cores as nodes in the order of their ids; every direction of a link and every pair on a bus as an
/// edge.
fn interconnect(accelerator: &Accelerator) -> DiGraph<CoreId, Hop> {
    let mut graph = DiGraph::new();
    for core in 0..accelerator.cores.len() {
        graph.add_node(CoreId::from(core));
    }
    for (position, resource) in accelerator.resources.iter().enumerate() {
        let index = match resource.kind {
            ResourceKind::Link { link, .. } | ResourceKind::Bus { link } => link as usize,
            ResourceKind::Port { .. } => continue,
        };
        let link = &accelerator.links[index];
        let hop = Hop {
            resource: ResourceId::from(position),
            latency: link.latency,
            bandwidth: link.bandwidth,
            bus: link.kind == LinkKind::Bus,
        };
        let mut add = |from: CoreId, to: CoreId| {
            graph.add_edge(NodeIndex::new(from.index()), NodeIndex::new(to.index()), hop);
        };
        match (link.kind, resource.kind) {
            (LinkKind::Link, ResourceKind::Link { forward: true, .. }) => add(link.cores[0], link.cores[1]),
            (LinkKind::Link, _) => add(link.cores[1], link.cores[0]),
            (LinkKind::Bus, _) => {
                for from in &link.cores {
                    link.cores.iter().filter(|to| *to != from).for_each(|to| add(*from, *to));
                }
            }
        }
    }
    graph
}

fn routes_from(
    accelerator: &Accelerator,
    interconnect: &DiGraph<CoreId, Hop>,
    from: PoolId,
) -> Vec<Option<Route>> {
    let labels = labels_from(accelerator, interconnect, &cores_of(accelerator, from));
    (0..accelerator.pools.len())
        .map(PoolId::from)
        .map(|to| {
            let cores = cores_of(accelerator, to);
            let label = cores.iter().filter_map(|core| labels[core.index()].as_ref()).min()?;
            (to != from).then(|| route(accelerator, from, to, label))
        })
        .collect()
}

fn route(accelerator: &Accelerator, from: PoolId, to: PoolId, label: &Label) -> Route {
    let mut resources = vec![accelerator.pool(from).read_port];
    resources.extend(&label.path);
    resources.push(accelerator.pool(to).write_port);
    let bandwidth = (resources.iter())
        .map(|resource| accelerator.resources[resource.index()].bandwidth)
        .min()
        .unwrap_or_default();
    let mut seen = Vec::new();
    resources.retain(|resource| {
        let new = !seen.contains(resource);
        seen.push(*resource);
        new
    });
    Route { resources, latency: label.latency, bandwidth, hops: label.hops }
}

/// The cores at which a pool can be reached: all that use it.
fn cores_of(accelerator: &Accelerator, pool: PoolId) -> Vec<CoreId> {
    let mut cores: Vec<_> = accelerator.pool(pool).users.iter().map(|(core, _)| *core).collect();
    cores.sort_unstable();
    cores.dedup();
    cores
}

/// The best label of every core from any of the given ones.
fn labels_from(
    accelerator: &Accelerator,
    interconnect: &DiGraph<CoreId, Hop>,
    starts: &[CoreId],
) -> Vec<Option<Label>> {
    let mut settled: Vec<Option<Label>> = vec![None; accelerator.cores.len()];
    let mut queue: BinaryHeap<Reverse<(Label, CoreId)>> =
        starts.iter().map(|core| Reverse((Label::START, *core))).collect();
    while let Some(Reverse((label, core))) = queue.pop() {
        if settled[core.index()].is_some() {
            continue;
        }
        if label.hops == 0 || !accelerator.dram.contains(&core) {
            for edge in interconnect.edges(NodeIndex::new(core.index())) {
                let next = interconnect[edge.target()];
                if settled[next.index()].is_none() {
                    queue.push(Reverse((label.then(*edge.weight()), next)));
                }
            }
        }
        settled[core.index()] = Some(label);
    }
    settled
}

fn nearest(accelerator: &Accelerator, routes: &[Vec<Option<Route>>], core: CoreId) -> Option<PoolId> {
    let drams = || (0..accelerator.pools.len()).map(PoolId::from).filter(|pool| accelerator.pool(*pool).dram);
    let own: Vec<PoolId> = accelerator.core(core).pools.iter().flatten().copied().collect();
    if let Some(dram) = own.iter().find(|pool| accelerator.pool(**pool).dram) {
        return Some(*dram);
    }
    drams()
        .filter_map(|dram| {
            let ways = own.iter().map(|pool| routes[pool.index()][dram.index()].as_ref());
            // Every pool of the core must reach it; the farthest one counts.
            let ways: Option<Vec<&Route>> = ways.collect();
            let key = ways?.iter().map(|way| (way.latency, way.hops, Reverse(way.bandwidth))).max()?;
            Some((key, dram))
        })
        .min()
        .map(|(_, dram)| dram)
}
