//! Whether the inputs of a schedule fit one another: lengths, numbering, cores, pools.
//!
//! The replay indexes by ids without looking; here is where their ranges are established.

use super::{Case, Claims, Report, Violation};
use crate::cn::LayerGrid;
use crate::ids::{CnId, LayerId};
use crate::workload::Layer;

/// Checks that inputs and claims have the shapes of one another.
pub(super) fn check(case: &Case<'_>, claims: &Claims<'_>, report: &mut Report) {
    lengths(case, claims, report);
    if !report.is_clean() {
        return;
    }
    let mut first = 0;
    for (index, layer) in case.workload.layers.iter().enumerate() {
        tiles(LayerId::from(index), layer, &case.graph.layers[index], first, report);
        first += u64::from(case.graph.layers[index].count);
    }
    if first != case.graph.cns() as u64 {
        report.add(Violation::Shape { what: "CNs", found: case.graph.cns() as u64, expected: first });
    }
    if report.is_clean() {
        nodes(case, report);
        cores(case, report);
    }
}

fn lengths(case: &Case<'_>, claims: &Claims<'_>, report: &mut Report) {
    let (graph, schedule) = (case.graph, claims.schedule);
    let (layers, cns) = (case.workload.layers.len(), graph.cns());
    let (pools, cores) = (case.accelerator.pools.len(), case.accelerator.cores.len());
    let resources = case.accelerator.resources.len();
    let lengths = [
        ("grids of CNs", graph.layers.len(), layers),
        ("grids of fragments", graph.tensors.len(), case.workload.tensors.len()),
        ("tensors of fragments", graph.tensor_of.len(), graph.bits.len()),
        ("layers with cores in the candidate", case.candidate.cores.len(), layers),
        ("placed CNs", case.placement.node_of.len(), cns),
        ("cores of CNs", case.placement.core_of.len(), cns),
        ("costs", case.costs.nodes.len(), case.placement.nodes.len()),
        ("times of CNs", schedule.cns.len(), cns),
        ("busy cores", schedule.busy.len(), cores),
        ("peaks of pools", schedule.peak.len(), pools),
        ("pools read", schedule.traffic.read_words.len(), pools),
        ("pools written", schedule.traffic.write_words.len(), pools),
        ("active resources", schedule.traffic.active.len(), resources),
        ("resources with bits", schedule.traffic.bits.len(), resources),
    ];
    for (what, found, expected) in lengths {
        if found != expected {
            report.add(Violation::Shape { what, found: found as u64, expected: expected as u64 });
        }
    }
}

/// Tiles partition every dimension, and CN numbers enumerate their product.
fn tiles(id: LayerId, layer: &Layer, grid: &LayerGrid, first: u64, report: &mut Report) {
    let mut strides: Vec<(u64, u64)> = Vec::new();
    for (dim, (tiles, size)) in grid.dims.iter().zip(layer.dims.iter().map(|dim| dim.size)).enumerate() {
        let mut end = 0;
        let joined = tiles.tiles.iter().all(|tile| {
            let joins = tile.start == end && tile.end > tile.start;
            end = tile.end;
            joins
        });
        if !joined || end != size || tiles.part.len() != tiles.tiles.len() || tiles.stride == 0 {
            report.add(Violation::Tiles { layer: id, dim });
        }
        if tiles.tiles.len() > 1 {
            strides.push((u64::from(tiles.stride), tiles.tiles.len() as u64));
        }
    }
    strides.sort_unstable();
    let mut count = 1;
    let enumerates = strides.iter().all(|(stride, tiles)| {
        let next = *stride == count;
        count *= tiles;
        next
    });
    let complete = grid.dims.len() == layer.dims.len() && count == u64::from(grid.count);
    if !enumerates || !complete || u64::from(grid.first.0) != first {
        report.add(Violation::Numbering { layer: id });
    }
}

/// Placed nodes name operands as their layers have them, and pools that serve their cores.
fn nodes(case: &Case<'_>, report: &mut Report) {
    for (node, cost) in case.placement.nodes.iter().zip(&case.costs.nodes) {
        let operands = case.workload.layers.get(node.layer.index()).map_or(0, |layer| layer.operands.len());
        let found = node.operands.len().min(cost.stream_tiles.len());
        if found != operands || node.core.index() >= case.accelerator.cores.len() {
            let (found, expected) = (found as u64, operands as u64);
            report.add(Violation::Shape { what: "operands of a placed node", found, expected });
            continue;
        }
        if case.routes.nearest_dram(node.core).is_none() {
            report.add(Violation::NoDram { core: node.core });
        }
        for (operand, place) in node.operands.iter().enumerate() {
            let Some(pool) = place.pool else { continue };
            let users = case.accelerator.pools.get(pool.index()).map_or(&[][..], |pool| &pool.users);
            if !users.contains(&(node.core, place.memory)) {
                let (layer, core) = (node.layer, node.core);
                report.add(Violation::WrongPool { layer, operand, core, pool });
            }
        }
    }
}

/// Every CN sits on the candidate's core, in a node of its own layer, class and core.
fn cores(case: &Case<'_>, report: &mut Report) {
    for (index, grid) in case.graph.layers.iter().enumerate() {
        let layer = LayerId::from(index);
        for offset in 0..grid.count {
            let cn = CnId(grid.first.0 + offset);
            let part: usize = (grid.dims.iter())
                .map(|dim| dim.part[(offset / dim.stride) as usize % dim.tiles.len()] as usize)
                .sum();
            let core = case.placement.core_of[cn.index()];
            match case.candidate.cores[index].get(part) {
                Some(expected) if *expected == core => {}
                Some(expected) => {
                    report.add(Violation::WrongCore { cn, layer, part, core, expected: *expected });
                }
                None => report.add(Violation::Numbering { layer }),
            }
            let node = case.placement.nodes.get(case.placement.node_of[cn.index()] as usize);
            let class = case.graph.class_of[cn.index()];
            let same = node.is_some_and(|node| (node.layer, node.class, node.core) == (layer, class, core));
            if !same || class.index() >= case.graph.classes.len() || case.graph.layer_of[cn.index()] != layer
            {
                report.add(Violation::WrongNode { cn });
            }
        }
    }
}
