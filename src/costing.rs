//! Placement to Costs: one cost per placed node, from the shared table.
//!
//! Builds the [`CostKey`] of each node and asks the table. A node whose loop orders all fail at the
//! top memories streams one more operand, from the largest down, until one fits (Stream MODEL.md
//! section 2: the spatially unrolled slice of a streamed operand needs room too).

pub mod faults;

use crate::accelerator::route::Routes;
use crate::accelerator::{Accelerator, CoreKind, Direction, Memory};
use crate::cn::{CnClass, CnGraph};
use crate::cost::{
    Cost, CostError, CostKey, CostTable, Hierarchy, MappingConstraint, SearchOptions, SharedCost, search,
};
use crate::ledger::{Costs, NodeCost};
use crate::mapping::{Mapping, MappingEntry};
use crate::overrides::CostOverrides;
use crate::placement::{PlacedNode, Placement};
use crate::table::Table;
use crate::workload::nest::LoopNest;
use crate::workload::{MemoryOperand, Workload};
use rayon::prelude::*;
use std::sync::Arc;

/// What costing reads besides the placement.
#[derive(Clone, Copy)]
pub struct Costing<'a> {
    /// Layers, for mapping entries and messages.
    pub workload: &'a Workload,
    /// Core descriptions.
    pub accelerator: &'a Accelerator,
    /// Which DRAM serves a core.
    pub routes: &'a Routes,
    /// Spatial mappings.
    pub mapping: &'a Mapping,
    /// Objective and limits of the search.
    pub options: &'a SearchOptions,
    /// Rows of `--costs`.
    pub overrides: &'a CostOverrides,
}

/// A node that no core can run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("layer {layer} on core {core} ({kind}): {source}")]
pub struct CostingError {
    /// Layer name.
    pub layer: String,
    /// Core number.
    pub core: u32,
    /// Core kind.
    pub kind: String,
    /// Why.
    pub source: Box<CostError>,
}

/// Costs every node of a placement, in parallel; nodes that stream more than placement foresaw are
/// corrected in it.
pub fn cost(
    costing: &Costing,
    graph: &CnGraph,
    placement: &mut Placement,
    table: &CostTable,
) -> Result<Costs, CostingError> {
    let costed: Vec<Result<(PlacedNode, NodeCost), CostingError>> = (placement.nodes.par_iter())
        .map(|node| costing.node(&graph.classes[node.class.index()], node.clone(), table))
        .collect();
    let mut costs = Costs { nodes: Vec::with_capacity(costed.len()) };
    for (at, result) in costed.into_iter().enumerate() {
        let (node, cost) = result?;
        placement.nodes[at] = node;
        costs.nodes.push(cost);
    }
    Ok(costs)
}

impl Costing<'_> {
    /// Costs one node.
    pub fn node(
        &self,
        class: &CnClass,
        mut node: PlacedNode,
        table: &CostTable,
    ) -> Result<(PlacedNode, NodeCost), CostingError> {
        let number = self.accelerator.core(node.core).number;
        let layer = self.workload.layer(node.layer);
        if let Some(cost) = self.overrides.cost(&layer.name, number, &class.nest) {
            let stream_tiles = vec![0; node.operands.len()];
            node.operands.iter_mut().for_each(|place| place.streamed = false);
            // A given cost does not say whether partial sums reach the top: room is kept for them.
            let (cycles, output_bits) = (cost.latency.ceil(), class.needed_bits(0));
            return Ok((node, NodeCost { cycles, cost: Arc::new(cost), output_bits, stream_tiles }));
        }
        loop {
            let error = match self.cost(class, &node, table) {
                Ok(cost) => {
                    let stream_tiles = stream_tiles(&node, &cost);
                    let output_bits = self.output_bits(class, &node, &cost);
                    let cycles = cost.latency.ceil();
                    return Ok((node, NodeCost { cycles, cost, output_bits, stream_tiles }));
                }
                Err(error) => error,
            };
            let largest = (0..node.operands.len())
                .filter(|_| self.routes.nearest_dram(node.core).is_some())
                .filter(|operand| !node.operands[*operand].streamed && class.needed_bits(*operand) > 0)
                .max_by_key(|operand| class.needed_bits(*operand));
            match (&*error, largest) {
                (CostError::TopTooSmall { .. } | CostError::DoesNotFit { .. }, Some(largest)) => {
                    node.operands[largest].streamed = true;
                }
                _ => {
                    let kind = self.accelerator.kind(node.core).name.clone();
                    let layer = layer.name.clone();
                    return Err(CostingError {
                        layer,
                        core: number,
                        kind,
                        source: Box::new((*error).clone()),
                    });
                }
            }
        }
    }

    fn cost(&self, class: &CnClass, node: &PlacedNode, table: &CostTable) -> SharedCost {
        let kind = self.accelerator.kind(node.core);
        let dram = self.dram(node);
        let ports = dram.iter().flat_map(|dram| &dram.ports);
        let bandwidth = ports.map(|port| port.bandwidth_max).max().unwrap_or_default();
        let streamed = node.streamed();
        let key = CostKey {
            nest: class.nest.clone(),
            kind: self.accelerator.core(node.core).kind,
            spatial: constraint(
                self.mapping.entry(self.workload.layer(node.layer)),
                kind,
                &class.nest,
                self.options.mix,
            ),
            streamed: streamed.iter().map(|operand| (*operand, bandwidth)).collect(),
            options: self.options.clone(),
        };
        table.get(&key, || {
            let hierarchy = self.hierarchy(node);
            search(&class.nest, &hierarchy, &kind.name, &key.spatial, self.options)
        })
    }

    /// Partial sums reach the output's top memory if the core reads any back from there.
    fn output_bits(&self, class: &CnClass, node: &PlacedNode, cost: &Cost) -> u64 {
        let top = self.accelerator.kind(node.core).levels(node.operands[0].memory).last().copied();
        let partial = cost.accesses.iter().any(|access| {
            Some(access.memory) == top
                && access.operand == node.operands[0].memory
                && access.direction == Direction::ToLow
        });
        if partial { class.needed_bits(0) } else { class.operand_bits[0] }
    }

    fn dram(&self, node: &PlacedNode) -> Option<&Memory> {
        self.routes.nearest_dram(node.core).map(|pool| self.accelerator.memory(pool))
    }

    /// The memories a node sees: its core's, and DRAM for what it streams.
    pub fn hierarchy(&self, node: &PlacedNode) -> Hierarchy {
        Hierarchy::of(self.accelerator.kind(node.core), &node.streamed(), self.dram(node))
    }
}

/// The mapping's spatial unrolling for a layer, else the core's own dataflow; array dimensions
/// whose loop dimensions the nest lacks are left to the generator.
pub fn constraint(
    entry: Option<&MappingEntry>,
    kind: &CoreKind,
    nest: &LoopNest,
    mix: bool,
) -> MappingConstraint {
    let given = entry.filter(|entry| !entry.spatial.is_empty());
    let fixed = given.map_or(&kind.dataflows, |entry| &entry.spatial);
    let known = |array_dim: &str| kind.array.dims.iter().any(|(name, _)| name == array_dim);
    MappingConstraint {
        fixed: (fixed.iter())
            .filter(|mapping| given.is_some() || known(&mapping.array_dim))
            .filter(|mapping| mapping.unrolled.iter().any(|(dim, _)| nest.size(dim) > 1))
            .cloned()
            .collect(),
        hints: entry.map_or_else(Vec::new, |entry| entry.spatial_hints.clone()),
        mix,
        order: entry.map_or_else(Vec::new, |entry| entry.order.clone()),
    }
}

impl Costs {
    /// One row per placed node: what each of its CNs costs.
    pub fn table(&self, workload: &Workload, accelerator: &Accelerator, placement: &Placement) -> String {
        let heading = [
            "layer",
            "core",
            "cycles",
            "ideal",
            "temporal",
            "stall",
            "on-load",
            "off-load",
            "pJ",
            "output bits",
            "unrolled",
        ];
        let mut table = Table::new(&heading);
        for (node, cost) in placement.nodes.iter().zip(&self.nodes) {
            let NodeCost { cost, cycles, output_bits, .. } = cost;
            let unrolled = cost.spatial.iter().map(|mapping| {
                let loops = mapping.unrolled.iter().map(|(dim, factor)| format!("{dim} {factor}"));
                format!("{}: {}", mapping.array_dim, loops.collect::<Vec<_>>().join(" x "))
            });
            let mut row = vec![workload.layer(node.layer).name.clone()];
            row.push(accelerator.core(node.core).number.to_string());
            row.push(cycles.0.to_string());
            let parts = [cost.ideal, cost.temporal, cost.stall, cost.onload, cost.offload];
            row.extend(parts.map(|part| part.0.to_string()));
            row.extend([cost.energy.0.to_string(), output_bits.to_string()]);
            row.push(unrolled.collect::<Vec<_>>().join(", "));
            table.row(row);
        }
        table.to_string()
    }
}

/// Bits of the on-chip tile per operand.
fn stream_tiles(node: &PlacedNode, cost: &Cost) -> Vec<u64> {
    let tile = |memory: MemoryOperand| {
        cost.streamed.iter().find(|streamed| streamed.operand == memory).map_or(0, |streamed| streamed.tile)
    };
    (node.operands.iter()).map(|place| if place.streamed { tile(place.memory) } else { 0 }).collect()
}
