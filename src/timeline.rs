//! Schedule to Timeline: what the `traces` crate draws.
//!
//! Tracks: cores (CNs), links and buses, DRAM ports (transfers), the critical path. Colours are
//! layers. Counters: occupancy of each pool on chip, re-played from the event log. Everything is
//! read from the log; nothing is simulated again.

use crate::accelerator::ResourceKind;
use crate::cn::CnGraph;
use crate::ids::{CnId, CoreId, PoolId, ResourceId};
use crate::pipeline::Problem;
use crate::pipeline::run::Outcome;
use crate::schedule::log::{Event, Purpose};
use crate::schedule::{CriticalKind, CriticalStep};
use millstream_traces::{Category, Counter, Flow, Slice, Timeline, Track};
use std::collections::BTreeMap;

/// The timeline of an outcome.
pub fn timeline(problem: &Problem, outcome: &Outcome, title: String, subtitle: String) -> Timeline {
    let mut builder = Builder { problem, outcome, resources: BTreeMap::new(), tracks: Vec::new() };
    builder.cores();
    let flows = builder.transfers();
    builder.critical();
    Timeline {
        title,
        subtitle,
        time_unit: "cycles".to_owned(),
        end: outcome.evaluation.schedule.latency.0.max(last_event(outcome)),
        categories: (problem.workload.layers[..problem.workload.layers_per_inference()].iter())
            .map(|layer| Category { name: format!("{} {}", layer.operator, layer.name) })
            .collect(),
        counters: builder.counters(),
        tracks: builder.tracks,
        flows,
    }
}

fn events(outcome: &Outcome) -> &[Event] {
    outcome.evaluation.schedule.log.as_ref().map_or(&[], |log| &log.0)
}

fn last_event(outcome: &Outcome) -> u64 {
    events(outcome).last().map_or(0, time)
}

fn time(event: &Event) -> u64 {
    match event {
        Event::Admit { time, .. }
        | Event::Request { time, .. }
        | Event::Transfer { time, .. }
        | Event::Drop { time, .. }
        | Event::Start { time, .. }
        | Event::End { time, .. } => time.0,
    }
}

/// `layer1.0.conv1 K 0..16 OY 3..4`: a CN by its layer and the ranges that are cut.
pub fn cn_name(problem: &Problem, graph: &CnGraph, cn: CnId) -> String {
    let layer = problem.workload.layer(graph.layer(cn));
    let mut name = layer.name.clone();
    for (dim, range) in layer.dims.iter().zip(graph.ranges(cn)) {
        if range.end - range.start < dim.size {
            name.push_str(&format!(" {} {}..{}", dim.dim, range.start, range.end));
        }
    }
    name
}

struct Builder<'a> {
    problem: &'a Problem,
    outcome: &'a Outcome,
    /// Track of each resource drawn.
    resources: BTreeMap<ResourceId, usize>,
    tracks: Vec<Track>,
}

impl Builder<'_> {
    /// The layer as a category: copies of other inferences look like those of the first.
    fn category(&self, cn: CnId) -> u32 {
        (self.outcome.graph.layer(cn).index() % self.problem.workload.layers_per_inference()) as u32
    }

    fn cores(&mut self) {
        let accelerator = &self.problem.accelerator;
        for core in 0..accelerator.cores.len() {
            let id = CoreId::from(core);
            let name = match accelerator.kind(id).memory_only {
                true => continue,
                false => format!("core {} {}", accelerator.core(id).number, accelerator.kind(id).name),
            };
            self.tracks.push(Track { name, group: "cores".to_owned(), slices: Vec::new() });
        }
        let tracks: Vec<CoreId> = accelerator.compute_cores().collect();
        for (index, times) in self.outcome.evaluation.schedule.cns.iter().enumerate() {
            let cn = CnId::from(index);
            let core = self.outcome.evaluation.placement.core(cn);
            let track = tracks.iter().position(|id| *id == core).expect("CNs run on compute cores");
            let node = &self.outcome.evaluation.costs.nodes
                [self.outcome.evaluation.placement.node_of[index] as usize];
            let name = cn_name(self.problem, &self.outcome.graph, cn);
            let mut slice = Slice::new(times.start.0, times.end.0, name, Some(self.category(cn)));
            slice.arguments = vec![
                ("cn".to_owned(), cn.to_string()),
                ("released (cycle)".to_owned(), times.released.0.to_string()),
                ("admitted (cycle)".to_owned(), times.admitted.0.to_string()),
                ("ideal (cycles)".to_owned(), node.cost.ideal.0.to_string()),
                ("stall (cycles)".to_owned(), node.cost.stall.0.to_string()),
                (
                    "on-load + off-load (cycles)".to_owned(),
                    (node.cost.onload.0 + node.cost.offload.0).to_string(),
                ),
                ("energy (pJ)".to_owned(), node.cost.energy.0.to_string()),
            ];
            self.tracks[track].slices.push(slice);
        }
    }

    /// Transfers on links, buses and DRAM ports; returns arrows from sources to the CNs they feed.
    fn transfers(&mut self) -> Vec<Flow> {
        for (index, resource) in self.problem.accelerator.resources.iter().enumerate() {
            let group = match resource.kind {
                ResourceKind::Link { .. } | ResourceKind::Bus { .. } => "links",
                ResourceKind::Port { pool, .. } if self.problem.accelerator.pool(pool).dram => "DRAM",
                ResourceKind::Port { .. } => continue,
            };
            self.resources.insert(ResourceId::from(index), self.tracks.len());
            let (name, group) = (resource.name.clone(), group.to_owned());
            self.tracks.push(Track { name, group, slices: Vec::new() });
        }
        let mut flows = Vec::new();
        for event in events(self.outcome) {
            let Event::Transfer { transfer, fragment, cn, from, to, bits, segments, purpose, .. } = event
            else {
                continue;
            };
            let what = match fragment {
                Some(fragment) => {
                    let tensor = self.outcome.graph.tensor_of[fragment.index()];
                    format!("{} {fragment}", self.problem.workload.tensor(tensor).name)
                }
                None => format!("stream of {cn}"),
            };
            let pool = |id: &PoolId| self.problem.accelerator.pool(*id).name.clone();
            let targets: Vec<String> = to.iter().map(pool).collect();
            let arguments = vec![
                ("transfer".to_owned(), transfer.to_string()),
                ("purpose".to_owned(), format!("{purpose:?}").to_lowercase()),
                ("from".to_owned(), pool(from)),
                ("to".to_owned(), targets.join(", ")),
                ("bits".to_owned(), bits.0.to_string()),
                ("for".to_owned(), cn.to_string()),
            ];
            for resource in route(self.problem, *from, to) {
                let Some(track) = self.resources.get(&resource).copied() else { continue };
                for (start, end) in segments {
                    let mut slice = Slice::new(start.0, end.0, what.clone(), Some(self.category(*cn)));
                    slice.arguments = arguments.clone();
                    self.tracks[track].slices.push(slice);
                }
            }
            flows.extend(self.arrow(*cn, *from, to, segments.last().map_or(0, |(_, end)| end.0), *purpose));
        }
        flows
    }

    /// From the last resource of a fetch to the CN it was fetched for.
    fn arrow(&self, cn: CnId, from: PoolId, to: &[PoolId], end: u64, purpose: Purpose) -> Option<Flow> {
        if !matches!(purpose, Purpose::Fetch | Purpose::Prefetch) {
            return None;
        }
        let track =
            route(self.problem, from, to).into_iter().find_map(|r| self.resources.get(&r).copied())?;
        let core = self.outcome.evaluation.placement.core(cn);
        let target = self.problem.accelerator.compute_cores().position(|id| id == core)?;
        let start = self.outcome.evaluation.schedule.cns[cn.index()].start.0;
        (start >= end).then(|| Flow {
            from_track: track as u32,
            from_time: end,
            to_track: target as u32,
            to_time: start,
            name: "arrives for".to_owned(),
        })
    }

    fn critical(&mut self) {
        let slices = (self.outcome.evaluation.schedule.critical.iter())
            .map(|CriticalStep { start, end, kind }| {
                let (what, cn) = match kind {
                    CriticalKind::Cn(cn) => ("runs", cn),
                    CriticalKind::Transfer(cn) => ("waits for a transfer:", cn),
                    CriticalKind::Dram(cn) => ("waits for DRAM:", cn),
                    CriticalKind::Memory(cn, _) => ("waits for space:", cn),
                };
                let category = matches!(kind, CriticalKind::Cn(_)).then_some(self.category(*cn));
                let name = format!("{what} {}", cn_name(self.problem, &self.outcome.graph, *cn));
                Slice::new(start.0, end.0, name, category)
            })
            .collect();
        let (name, group) = ("critical path".to_owned(), "why".to_owned());
        self.tracks.push(Track { name, group, slices });
    }

    /// Occupancy of the pools on chip, from the log.
    fn counters(&self) -> Vec<Counter> {
        let mut usage = occupancy(self.problem, self.outcome);
        (self.problem.accelerator.pools.iter().enumerate())
            .filter(|(_, pool)| !pool.dram)
            .map(|(index, pool)| Counter {
                name: pool.name.clone(),
                group: "memory".to_owned(),
                unit: "bits".to_owned(),
                capacity: Some(pool.size.0),
                samples: std::mem::take(&mut usage[index]),
            })
            .collect()
    }
}

/// Union of the routes of a transfer.
fn route(problem: &Problem, from: PoolId, to: &[PoolId]) -> Vec<ResourceId> {
    let routes = to.iter().filter_map(|to| problem.routes.route(from, *to));
    let mut resources: Vec<ResourceId> = routes.flat_map(|route| route.resources.iter().copied()).collect();
    resources.sort_unstable();
    resources.dedup();
    resources
}

/// Bits in use over time, per pool: (time, bits from then on).
pub fn occupancy(problem: &Problem, outcome: &Outcome) -> Vec<Vec<(u64, u64)>> {
    let graph = &outcome.graph;
    let placement = &outcome.evaluation.placement;
    let mut used = vec![0u64; problem.accelerator.pools.len()];
    let mut samples: Vec<Vec<(u64, u64)>> = vec![vec![(0, 0)]; used.len()];
    let mut reserved: BTreeMap<CnId, Vec<(PoolId, u64)>> = BTreeMap::new();
    for event in events(outcome) {
        let mut changes: Vec<(PoolId, i64)> = Vec::new();
        match event {
            Event::Admit { cn, reserved: bits, .. } => {
                changes.extend(bits.iter().map(|(pool, bits)| (*pool, bits.0 as i64)));
                reserved.insert(*cn, bits.iter().map(|(pool, bits)| (*pool, bits.0)).collect());
            }
            Event::Request { fragment, to, .. } => changes.push((*to, graph.bits(*fragment) as i64)),
            Event::Drop { fragment, pool, .. } => changes.push((*pool, -(graph.bits(*fragment) as i64))),
            Event::End { cn, .. } => {
                let freed = reserved.remove(cn).unwrap_or_default();
                changes.extend(freed.into_iter().map(|(pool, bits)| (pool, -(bits as i64))));
                let output = placement.node(*cn).operands[0];
                if let (Some(pool), false) = (output.pool, output.streamed) {
                    changes.extend(graph.outputs(*cn).map(|f| (pool, graph.bits(f) as i64)));
                }
            }
            Event::Transfer { .. } | Event::Start { .. } => {}
        }
        for (pool, change) in changes {
            let bits = used[pool.index()].saturating_add_signed(change);
            used[pool.index()] = bits;
            match samples[pool.index()].last_mut() {
                Some(last) if last.0 == time(event) => last.1 = bits,
                _ => samples[pool.index()].push((time(event), bits)),
            }
        }
    }
    samples
}
