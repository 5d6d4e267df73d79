//! CSV tables and the event log of a result. Columns are documented in docs/results.md.

use super::Run;
use crate::ids::{CnId, PoolId};
use crate::overrides::shape;
use crate::schedule::log::Event;
use crate::timeline::occupancy;
use std::collections::BTreeSet;

type Table = Result<Vec<u8>, csv::Error>;

fn finish(writer: csv::Writer<Vec<u8>>) -> Table {
    writer.into_inner().map_err(|error| error.into_error().into())
}

/// `schedule.csv`: one row per CN.
pub(super) fn schedule(run: &Run) -> Table {
    let outcome = run.outcome;
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "cn",
        "inference",
        "layer",
        "ranges",
        "part",
        "core",
        "released",
        "admitted",
        "start",
        "end",
        "energy_pj",
    ])?;
    for (index, times) in outcome.evaluation.schedule.cns.iter().enumerate() {
        let cn = CnId::from(index);
        let layer = run.problem.workload.layer(outcome.graph.layer(cn));
        let ranges: Vec<String> = (layer.dims.iter().zip(outcome.graph.ranges(cn)))
            .map(|(dim, range)| format!("{}={}..{}", dim.dim, range.start, range.end))
            .collect();
        let placement = &outcome.evaluation.placement;
        let node = &outcome.evaluation.costs.nodes[placement.node_of[index] as usize];
        let core = run.problem.accelerator.core(placement.core(cn)).number;
        writer.write_record([
            cn.0.to_string(),
            layer.inference.to_string(),
            layer.name.clone(),
            ranges.join(" "),
            outcome.graph.part(cn).to_string(),
            core.to_string(),
            times.released.0.to_string(),
            times.admitted.0.to_string(),
            times.start.0.to_string(),
            times.end.0.to_string(),
            node.cost.energy.0.to_string(),
        ])?;
    }
    finish(writer)
}

/// `transfers.csv`: one row per transfer.
pub(super) fn transfers(run: &Run) -> Table {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "transfer", "purpose", "tensor", "fragment", "cn", "from", "to", "bits", "issued", "start", "end",
        "arrival", "segments",
    ])?;
    let pool = |id: &PoolId| run.problem.accelerator.pool(*id).name.clone();
    for event in run.outcome.evaluation.schedule.log.iter().flat_map(|log| &log.0) {
        let Event::Transfer {
            time, transfer, fragment, cn, from, to, bits, issued, segments, purpose, ..
        } = event
        else {
            continue;
        };
        let tensor = fragment.map(|fragment| run.outcome.graph.tensor_of[fragment.index()]);
        let to: Vec<String> = to.iter().map(pool).collect();
        writer.write_record([
            transfer.0.to_string(),
            format!("{purpose:?}").to_lowercase(),
            tensor.map_or_else(String::new, |tensor| run.problem.workload.tensor(tensor).name.clone()),
            fragment.map_or_else(String::new, |fragment| fragment.0.to_string()),
            cn.0.to_string(),
            pool(from),
            to.join(" "),
            bits.0.to_string(),
            issued.0.to_string(),
            segments.first().map_or(0, |(start, _)| start.0).to_string(),
            segments.last().map_or(0, |(_, end)| end.0).to_string(),
            time.0.to_string(),
            segments.len().to_string(),
        ])?;
    }
    finish(writer)
}

/// `memory.csv`: bits in use of every pool on chip after each change.
pub(super) fn memory(run: &Run) -> Table {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(["pool", "time", "used_bits", "capacity_bits"])?;
    let samples = occupancy(run.problem, run.outcome);
    for (pool, samples) in run.problem.accelerator.pools.iter().zip(samples) {
        if pool.dram {
            continue;
        }
        for (time, bits) in samples {
            writer.write_record([
                pool.name.clone(),
                time.to_string(),
                bits.to_string(),
                pool.size.0.to_string(),
            ])?;
        }
    }
    finish(writer)
}

/// `costs.csv`: one row per layer, shape and core; `run --costs` reads it back.
pub(super) fn costs(run: &Run) -> Table {
    let outcome = run.outcome;
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "layer",
        "core",
        "dims",
        "cns",
        "latency_cycles",
        "ideal_cycles",
        "spatial_loss_cycles",
        "stall_cycles",
        "onload_cycles",
        "offload_cycles",
        "drain_cycles",
        "stalls",
        "energy_pj",
        "streamed",
        "evaluated",
    ])?;
    let placement = &outcome.evaluation.placement;
    let mut counts = vec![0u64; placement.nodes.len()];
    placement.node_of.iter().for_each(|node| counts[*node as usize] += 1);
    let costing = run.problem.costing();
    let mut seen = BTreeSet::new();
    for ((node, cost), count) in placement.nodes.iter().zip(&outcome.evaluation.costs.nodes).zip(counts) {
        let class = &outcome.graph.classes[node.class.index()];
        let layer = run.problem.workload.layer(node.layer).name.clone();
        let core = run.problem.accelerator.core(node.core).number;
        // Border tiles of equal dims read less input; their row would be ambiguous as an override.
        let dims = shape(&class.nest);
        if !seen.insert((layer.clone(), core, dims.clone())) {
            continue;
        }
        let c = &cost.cost;
        let hierarchy = costing.hierarchy(node);
        let stalls = c.stalls(&hierarchy).map(|(port, cycles)| format!("{port} {cycles}"));
        let streamed: Vec<String> = node.streamed().iter().map(ToString::to_string).collect();
        writer.write_record([
            layer,
            core.to_string(),
            dims,
            count.to_string(),
            c.latency.0.to_string(),
            c.ideal.0.to_string(),
            (c.temporal.0 - c.ideal.0).to_string(),
            c.stall.0.to_string(),
            c.onload.0.to_string(),
            c.offload.0.to_string(),
            c.drain.0.to_string(),
            stalls.collect::<Vec<_>>().join("; "),
            c.energy.0.to_string(),
            streamed.join(" "),
            c.evaluated.to_string(),
        ])?;
    }
    finish(writer)
}

/// `events.jsonl`: the event log, one JSON object per line.
pub(super) fn events(run: &Run) -> String {
    let mut text = String::new();
    for event in run.outcome.evaluation.schedule.log.iter().flat_map(|log| &log.0) {
        text.push_str(&serde_json::to_string(event).expect("plain data serialises"));
        text.push('\n');
    }
    text
}
