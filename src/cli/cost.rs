//! `millstream cost`: intra-core cost of every layer on every kind of core that may run it.

use super::input::{self, InputArgs};
use super::output::Output;
use super::search::SearchArgs;
use super::{Failure, Format};
use crate::cn::CnClass;
use crate::cn::refine::class_of_box;
use crate::cost::{CostTable, Objective};
use crate::costing::faults;
use crate::ids::{ClassId, CoreId, LayerId};
use crate::ledger::NodeCost;
use crate::pipeline::Problem;
use crate::placement::{PlacedNode, place_operands};
use crate::report::notes;
use crate::table::left;
use crate::units::three_digits;
use clap::Args;
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeSet;
use std::ops::Range;

/// Arguments of `cost`.
#[derive(Args)]
pub(super) struct CostArgs {
    #[command(flatten)]
    input: InputArgs,
    /// What the search over mappings minimises.
    #[arg(long, value_enum, default_value_t = Objective::Energy)]
    objective: Objective,
    #[command(flatten)]
    search: SearchArgs,
    /// Print the loop nest and its costs for one layer.
    #[arg(long, value_name = "LAYER")]
    explain: Option<String>,
}

/// One row of the result, as DESIGN.md section 6 has it.
#[derive(Serialize)]
struct Row {
    layer: String,
    core: String,
    energy_pj: f64,
    latency_cycles: f64,
    ideal_cycles: f64,
    stall_cycles: f64,
    onload_cycles: f64,
    offload_cycles: f64,
    spatial: String,
    temporal: String,
    evaluated: u64,
    pruned: u64,
}

pub(super) fn cost(args: &CostArgs, format: Format, out: &mut Output) -> Result<(), Failure> {
    let (workload, _) = input::workload(&args.input.workload, &args.input.reading)?;
    let (accelerator, _) = input::accelerator(&args.input.accelerator)?;
    let (mapping, _) = input::mapping(args.input.mapping.as_deref(), Some(&accelerator))?;
    let mut problem = input::problem(workload, accelerator, mapping, args.input.mapping.as_deref())?;
    problem.search = args.search.options(args.objective, false);
    if let Some(name) = &args.explain
        && !problem.workload.layers.iter().any(|layer| layer.name == *name)
    {
        let names = problem.workload.layers.iter().map(|layer| layer.name.as_str());
        let near = crate::diagnostic::nearest(name, names);
        let hint = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        return Err(Failure::Input(format!("--explain: the workload has no layer `{name}`{hint}")));
    }
    let (costed, distinct) = costs(&problem)?;
    if let Some(name) = &args.explain {
        let named = |node: &PlacedNode| problem.workload.layer(node.layer).name == *name;
        for (node, _, cost) in costed.iter().filter(|(node, _, _)| named(node)) {
            let hierarchy = problem.costing().hierarchy(node);
            let core = core_name(&problem, node.core);
            out.line(format_args!("{name} on core {core}:\n{}", cost.cost.show(&hierarchy)))?;
        }
        return Ok(());
    }
    let rows: Vec<Row> = costed.iter().map(|(node, _, cost)| row(&problem, node, cost)).collect();
    match format {
        Format::Json => out.json(&rows),
        Format::Table => {
            print_table(&rows, out)?;
            out.line(format_args!("{} nests on cores, {distinct} of them distinct", rows.len()))?;
            let nodes: Vec<_> = costed.iter().map(|(node, class, cost)| (node, class, cost)).collect();
            let faults = faults::note(&problem.costing(), nodes);
            let mut notes = notes(&problem).chain(&faults);
            notes.try_for_each(|note| out.line(format_args!("note: {note}")))
        }
    }
}

/// A layer on a core.
type Costed = (PlacedNode, CnClass, NodeCost);

/// Every layer as a whole on one core of each kind that may run it, and how many distinct costs it took.
fn costs(problem: &Problem) -> Result<(Vec<Costed>, usize), Failure> {
    let table = CostTable::new();
    let mut jobs: Vec<(LayerId, CoreId)> = Vec::new();
    for layer in problem.workload.layer_ids() {
        let mut kinds = BTreeSet::new();
        for choice in &problem.space.layers[layer.index()] {
            for core in &choice.cores {
                if kinds.insert(problem.accelerator.core(*core).kind) {
                    jobs.push((layer, *core));
                }
            }
        }
    }
    let costed: Vec<Result<Costed, Failure>> = (jobs.into_par_iter())
        .map(|(layer, core)| {
            let description = problem.workload.layer(layer);
            let whole: Vec<Range<u64>> = description.dims.iter().map(|dim| 0..dim.size).collect();
            let class = class_of_box(&problem.workload, description, &whole);
            let operands = place_operands(&problem.workload, &problem.accelerator, layer, &class, core)?;
            let node = PlacedNode { layer, class: ClassId(0), core, operands };
            let (node, cost) = problem.costing().node(&class, node, &table)?;
            Ok((node, class, cost))
        })
        .collect();
    Ok((costed.into_iter().collect::<Result<_, _>>()?, table.distinct()))
}

fn core_name(problem: &Problem, core: CoreId) -> String {
    problem.accelerator.kind(core).name.clone()
}

fn row(problem: &Problem, node: &PlacedNode, cost: &NodeCost) -> Row {
    let cost = &cost.cost;
    let spatial: Vec<String> = (cost.spatial.iter())
        .map(|mapping| {
            let unrolled: Vec<String> = mapping
                .unrolled
                .iter()
                .map(|(dim, factor)| format!("{dim} {}", three_digits(*factor)))
                .collect();
            format!("{}: {}", mapping.array_dim, unrolled.join(" x "))
        })
        .collect();
    let temporal: Vec<String> = (cost.temporal_mapping.iter())
        .map(|operand| {
            let levels: Vec<String> = (operand.levels.iter())
                .map(|loops| loops.iter().map(|(dim, n)| format!("{dim} {n}")).collect::<Vec<_>>().join(" "))
                .collect();
            format!("{}: {}", operand.operand, levels.join(" | "))
        })
        .collect();
    Row {
        layer: problem.workload.layer(node.layer).name.clone(),
        core: core_name(problem, node.core),
        energy_pj: cost.energy.0,
        latency_cycles: cost.latency.0,
        ideal_cycles: cost.ideal.0,
        stall_cycles: cost.stall.0,
        onload_cycles: cost.onload.0,
        offload_cycles: cost.offload.0,
        spatial: spatial.join("; "),
        temporal: temporal.join("; "),
        evaluated: cost.evaluated,
        pruned: cost.pruned,
    }
}

fn print_table(rows: &[Row], out: &mut Output) -> Result<(), Failure> {
    let width = rows.iter().map(|row| row.layer.chars().count()).max().unwrap_or(5).max(5);
    let core = rows.iter().map(|row| row.core.chars().count()).max().unwrap_or(4).max(4);
    out.line(format_args!(
        "{}  {}  {:>14}  {:>12}  {:>12}  {:>10}  {:>9}  {:>9}  spatial",
        left("layer", width),
        left("core", core),
        "energy pJ",
        "cycles",
        "ideal",
        "stall",
        "on-load",
        "off-load"
    ))?;
    for row in rows {
        out.line(format_args!(
            "{}  {}  {:>14.1}  {:>12}  {:>12}  {:>10}  {:>9}  {:>9}  {}",
            left(&row.layer, width),
            left(&row.core, core),
            row.energy_pj,
            row.latency_cycles,
            row.ideal_cycles,
            row.stall_cycles,
            row.onload_cycles,
            row.offload_cycles,
            row.spatial
        ))?;
    }
    let total = |value: fn(&Row) -> f64| rows.iter().map(value).sum::<f64>();
    out.line(format_args!(
        "{}  {}  {:>14.1}  {:>12}  {:>12}",
        left("total", width),
        left("", core),
        total(|row| row.energy_pj),
        total(|row| row.latency_cycles),
        total(|row| row.ideal_cycles)
    ))
}
