//! Where a fault of ZigZag's model matters (Rule (model)).
//!
//! Each cost is set beside the cost of the same mapping (order and division of the loops, spatial
//! unrolling) under [`Model::Millstream`], which repairs them (docs/cost-models.md).

use super::Costing;
use crate::cn::CnClass;
use crate::cost::{CostError, Model, evaluate_divided};
use crate::ids::LayerId;
use crate::ledger::NodeCost;
use crate::placement::PlacedNode;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// A fault matters where it moves a figure by more than this share of the repaired one.
const MATTERS: f64 = 0.05;

/// How far the faults move a cost: shares of the repaired figures, positive where they overstate.
#[derive(Clone, Copy, Debug, Default)]
struct Moved {
    latency: f64,
    energy: f64,
}

/// A sentence for the user if faults of ZigZag's model matter, by layer, in the costs of these nodes.
pub fn note<'a>(
    costing: &Costing,
    nodes: impl IntoParallelIterator<Item = (&'a PlacedNode, &'a CnClass, &'a NodeCost)>,
) -> Option<String> {
    if costing.options.model != Model::Zigzag {
        return None;
    }
    let nodes = nodes.into_par_iter().filter(|(_, _, cost)| !cost.cost.temporal_mapping.is_empty());
    let all: Vec<_> =
        nodes.map(|(node, class, cost)| (node.layer, moved(costing, node, class, cost))).collect();
    let mut worst: BTreeMap<LayerId, Moved> = BTreeMap::new();
    let mut unfit: BTreeSet<LayerId> = BTreeSet::new();
    for (layer, moved) in all {
        let worst = worst.entry(layer).or_default();
        match moved {
            Ok(Moved { latency, energy }) => {
                worst.latency = farther(worst.latency, latency);
                worst.energy = farther(worst.energy, energy);
            }
            Err(_) => drop(unfit.insert(layer)),
        }
    }
    let layers = worst.len();
    let name = |layer: LayerId| &costing.workload.layer(layer).name;
    let mut matters = Vec::new();
    for (what, figure) in
        [("latency", (|moved| moved.latency) as fn(&Moved) -> f64), ("energy", |moved| moved.energy)]
    {
        let beyond: Vec<(LayerId, f64)> = (worst.iter().map(|(layer, moved)| (*layer, figure(moved))))
            .filter(|(_, share)| share.abs() > MATTERS)
            .collect();
        if let Some((layer, share)) = beyond.iter().max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs())) {
            let way = if *share > 0.0 { "high" } else { "low" };
            let (count, percent) = (beyond.len(), 100.0 * share.abs());
            matters.push(format!(
                "the {what} of {count} of {layers} layers (most: {}, {percent:.0} % too {way})",
                name(*layer)
            ));
        }
    }
    if let Some(first) = unfit.first() {
        let count = unfit.len();
        matters.push(format!(
            "the room that {count} of {layers} layers need (first: {} does not fit)",
            name(*first)
        ));
    }
    (!matters.is_empty()).then(|| {
        format!(
            "faults of ZigZag's cost model move by more than {:.0} % {}; --model millstream repairs them",
            100.0 * MATTERS,
            matters.join(", ")
        )
    })
}

/// The one farther from zero.
fn farther(a: f64, b: f64) -> f64 {
    if b.abs() > a.abs() { b } else { a }
}

fn moved(costing: &Costing, node: &PlacedNode, class: &CnClass, cost: &NodeCost) -> Result<Moved, CostError> {
    let cost = &cost.cost;
    let order = cost.temporal_mapping[0].levels.concat();
    let ends: Vec<Vec<usize>> = (cost.temporal_mapping.iter())
        .map(|operand| {
            let lengths = operand.levels.iter().map(Vec::len);
            lengths
                .scan(0, |end, length| {
                    *end += length;
                    Some(*end)
                })
                .collect()
        })
        .collect();
    let repaired = evaluate_divided(
        &class.nest,
        &costing.hierarchy(node),
        &costing.accelerator.kind(node.core).name,
        &cost.spatial,
        &order,
        &ends,
        Model::Millstream,
    )?
    .cost;
    let share = |theirs: f64, repaired: f64| if repaired > 0.0 { theirs / repaired - 1.0 } else { 0.0 };
    Ok(Moved {
        latency: share(cost.latency.0, repaired.latency.0),
        energy: share(cost.energy.0, repaired.energy.0),
    })
}
