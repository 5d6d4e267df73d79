//! `summary.json` and the summary on the terminal.

use super::movement::{Movement, movement};
use super::{InputFile, Run};
use crate::accelerator::{Accelerator, ResourceKind};
use crate::allocation::search::FrontPoint;
use crate::costing::faults;
use crate::ids::{CoreId, ResourceId};
use crate::ledger::EnergySplit;
use crate::pipeline::Problem;
use crate::schedule::Why;
use crate::units::{Bits, three_digits};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The contents of `summary.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Network.
    pub workload: String,
    /// Accelerator.
    pub accelerator: String,
    /// `fused` or `layer-by-layer`.
    pub mode: String,
    /// End of the last output's write.
    pub latency_cycles: u64,
    /// Energy by kind of component.
    pub energy_pj: EnergySplit,
    /// Energy-delay product, pJ x cycles.
    pub edp: f64,
    /// Lower bounds over all candidates.
    pub bound: BoundSummary,
    /// `1 - bound / value`.
    pub gap: Gap,
    /// Independent inputs in flight.
    pub inferences: u32,
    /// Cycles until the first result is in DRAM.
    pub first_cycles: u64,
    /// Initiation interval: cycles from the first to the last result per inference behind the first; for
    /// one inference its latency.
    pub interval_cycles: f64,
    /// Cores.
    pub cores: Vec<CoreSummary>,
    /// Links, buses and DRAM ports.
    pub resources: Vec<ResourceSummary>,
    /// Energy and time of data movement on chip, between dies and to DRAM.
    pub movement: Movement,
    /// Where the cycles of the latency went.
    pub why: Why,
    /// Sizes of the problem.
    pub counts: Counts,
    /// Policy.
    pub policy: String,
    /// Objective.
    pub objective: String,
    /// What the solver said.
    pub solver: SolverSummary,
    /// All simulated candidates that none dominates, by latency.
    pub front: Vec<FrontPoint>,
    /// What was verified.
    pub verified: Verified,
    /// Version of Millstream.
    pub version: String,
    /// Input files.
    pub inputs: Vec<InputFile>,
    /// Remarks of the readers.
    pub notes: Vec<String>,
}

/// Lower bounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoundSummary {
    /// Cycles.
    pub latency_cycles: u64,
    /// Which bound it is: `core load`, `DRAM traffic`, `critical path`.
    pub latency_by: String,
    /// Picojoules.
    pub energy_pj: f64,
    /// Product.
    pub edp: f64,
}

/// Relative distances to the bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// Of the latency.
    pub latency: f64,
    /// Of the energy.
    pub energy: f64,
    /// Of the EDP.
    pub edp: f64,
}

/// One core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoreSummary {
    /// Number in the file.
    pub id: u32,
    /// Kind.
    pub name: String,
    /// Cycles in which it ran a CN.
    pub busy_cycles: u64,
    /// Share of the latency.
    pub utilisation: f64,
    /// Largest use of its pools together.
    pub peak_memory_bits: u64,
}

/// One link, bus or DRAM port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResourceSummary {
    /// Name.
    pub name: String,
    /// Cycles in which a flow used it.
    pub active_cycles: u64,
    /// Share of the latency.
    pub utilisation: f64,
    /// Bits moved.
    pub bits: u64,
}

/// Sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Layers.
    pub layers: u64,
    /// Fused stacks.
    pub stacks: u64,
    /// CNs.
    pub cns: u64,
    /// Fragments.
    pub fragments: u64,
    /// Data dependencies between CNs.
    pub edges: u64,
    /// Transfers.
    pub transfers: u64,
}

/// The solver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SolverSummary {
    /// Backend.
    pub backend: String,
    /// Status.
    pub status: String,
    /// Which proposal the simulation preferred.
    pub source: String,
    /// Candidates simulated.
    pub simulations: u64,
    /// The surrogate's latency and energy of the result.
    pub predicted: crate::allocation::surrogate::Predicted,
    /// Bound on the surrogate's objective.
    pub bound: Option<f64>,
}

/// What the checker looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// Events re-played.
    pub events: u64,
    /// Violations: always 0 in a written result.
    pub violations: u64,
}

fn interval(ends: &[u64]) -> f64 {
    match ends {
        [first, .., last] => (*last as f64 - *first as f64) / (ends.len() - 1) as f64,
        _ => ends[0] as f64,
    }
}

/// What was ignored or assumed in the inputs, one sentence each.
pub fn notes(problem: &Problem) -> impl Iterator<Item = &String> {
    let Problem { workload, accelerator, mapping, .. } = problem;
    workload.notes.iter().chain(&accelerator.notes).chain(&mapping.notes)
}

/// Gathers the summary of a run.
pub fn summary(run: &Run) -> Summary {
    let outcome = run.outcome;
    let (problem, schedule) = (run.problem, &outcome.evaluation.schedule);
    let latency = schedule.latency.0;
    let share = |cycles: u64| if latency == 0 { 0.0 } else { cycles as f64 / latency as f64 };
    let gap = |bound: f64, value: f64| if value > 0.0 { 1.0 - bound / value } else { 0.0 };
    let energy = outcome.evaluation.energy;
    let ends = outcome.ends(problem);
    let bound = &outcome.bound;
    let (placed, costs) = (&outcome.evaluation.placement.nodes, &outcome.evaluation.costs.nodes);
    let nodes: Vec<_> = (placed.iter().zip(costs))
        .map(|(node, cost)| (node, &outcome.graph.classes[node.class.index()], cost))
        .collect();
    let faults = faults::note(&problem.costing(), nodes);
    let by = if bound.latency == bound.dram {
        "DRAM traffic"
    } else if bound.latency == bound.load {
        "core load"
    } else {
        "critical path"
    };
    Summary {
        workload: problem.workload.name.clone(),
        accelerator: problem.accelerator.name.clone(),
        mode: kebab(&run.options.mode),
        latency_cycles: latency,
        energy_pj: energy,
        edp: outcome.evaluation.edp(),
        bound: BoundSummary {
            latency_cycles: bound.latency.0,
            latency_by: by.to_owned(),
            energy_pj: bound.energy.0,
            edp: bound.edp(),
        },
        gap: Gap {
            latency: gap(bound.latency.0 as f64, latency as f64),
            energy: gap(bound.energy.0, energy.total),
            edp: gap(bound.edp(), outcome.evaluation.edp()),
        },
        inferences: ends.len() as u32,
        first_cycles: ends[0],
        interval_cycles: interval(&ends),
        cores: cores(run, share),
        resources: resources(&problem.accelerator, run, share),
        movement: movement(&problem.accelerator, &outcome.evaluation.ledger, &schedule.traffic),
        why: schedule.why,
        counts: Counts {
            layers: problem.workload.layers.len() as u64,
            stacks: outcome.candidate.tiling.stacks.len() as u64,
            cns: outcome.graph.cns() as u64,
            fragments: outcome.graph.fragments() as u64,
            edges: outcome.graph.edges,
            transfers: schedule.transfers,
        },
        policy: kebab(&run.options.policy),
        objective: run.options.objective.to_string(),
        solver: SolverSummary {
            backend: outcome.solver.backend.clone(),
            status: outcome.solver.status.clone(),
            source: outcome.source.clone(),
            simulations: outcome.evaluations,
            predicted: outcome.predicted,
            bound: outcome.solver.bound,
        },
        front: outcome.front.clone(),
        verified: Verified { events: outcome.report.checked.events, violations: 0 },
        version: env!("CARGO_PKG_VERSION").to_owned(),
        inputs: run.inputs.to_vec(),
        notes: notes(problem).cloned().chain(faults).collect(),
    }
}

fn cores(run: &Run, share: impl Fn(u64) -> f64) -> Vec<CoreSummary> {
    let (accelerator, schedule) = (&run.problem.accelerator, &run.outcome.evaluation.schedule);
    (accelerator.compute_cores())
        .map(|id: CoreId| {
            let pools = accelerator.pools.iter().zip(&schedule.peak);
            let own = pools.filter(|(pool, _)| pool.core == id && !pool.dram);
            let busy = schedule.busy[id.index()].0;
            CoreSummary {
                id: accelerator.core(id).number,
                name: accelerator.kind(id).name.clone(),
                busy_cycles: busy,
                utilisation: share(busy),
                peak_memory_bits: own.map(|(_, peak)| *peak).sum::<Bits>().0,
            }
        })
        .collect()
}

fn resources(accelerator: &Accelerator, run: &Run, share: impl Fn(u64) -> f64) -> Vec<ResourceSummary> {
    let traffic = &run.outcome.evaluation.schedule.traffic;
    (accelerator.resources.iter().enumerate())
        .filter(|(_, resource)| match resource.kind {
            ResourceKind::Port { pool, .. } => accelerator.pool(pool).dram,
            _ => true,
        })
        .map(|(index, resource)| {
            let id = ResourceId::from(index);
            ResourceSummary {
                name: resource.name.clone(),
                active_cycles: traffic.active[id.index()].0,
                utilisation: share(traffic.active[id.index()].0),
                bits: traffic.bits[id.index()].0,
            }
        })
        .collect()
}

/// The name of a plain enum variant as the command line has it.
pub(super) fn kebab<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        _ => String::new(),
    }
}

/// `1 234 567`.
pub(super) fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

pub(super) fn millijoules(picojoules: f64) -> String {
    match picojoules {
        p if p >= 1e9 => format!("{} mJ", three_digits(p / 1e9)),
        p if p >= 1e6 => format!("{} µJ", three_digits(p / 1e6)),
        p => format!("{} nJ", three_digits(p / 1e3)),
    }
}

impl Summary {
    /// Second line of the Gantt chart.
    pub fn subtitle(&self) -> String {
        format!(
            "{}, {} policy: {} cycles (gap to the bound by {}: {:.1} %), {}",
            self.mode,
            self.policy,
            grouped(self.latency_cycles),
            self.bound.latency_by,
            100.0 * self.gap.latency,
            millijoules(self.energy_pj.total),
        )
    }

    /// One sentence: what limits the result.
    pub fn limit(&self) -> String {
        let why = &self.why;
        let parts = [
            (why.compute, "computation"),
            (why.stall, "stalls and loading inside cores"),
            (why.transfer, "transfers between cores"),
            (why.dram, "DRAM"),
            (why.memory, "waiting for space in memories"),
        ];
        let (most, what) = parts.into_iter().max_by_key(|(cycles, _)| *cycles).unwrap_or((0, "nothing"));
        let busiest = (self.resources.iter()).max_by(|a, b| a.utilisation.total_cmp(&b.utilisation));
        let core = (self.cores.iter()).max_by(|a, b| a.utilisation.total_cmp(&b.utilisation));
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        let mut text = format!(
            "{} of the critical path is {what}",
            percent(most as f64 / self.latency_cycles.max(1) as f64)
        );
        if let Some(core) = core {
            text.push_str(&format!(
                "; busiest core: {} {} ({})",
                core.id,
                core.name,
                percent(core.utilisation)
            ));
        }
        if let Some(resource) = busiest {
            text.push_str(&format!(
                "; busiest resource: {} ({})",
                resource.name,
                percent(resource.utilisation)
            ));
        }
        text
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let c = &self.counts;
        writeln!(
            f,
            "{} on {}  ({}, {} policy, objective {})",
            self.workload, self.accelerator, self.mode, self.policy, self.objective
        )?;
        writeln!(
            f,
            "{} layers in {} stacks, {} CNs, {} fragments, {} edges, {} transfers\n",
            c.layers, c.stacks, c.cns, c.fragments, c.edges, c.transfers
        )?;
        writeln!(f, "            {:>16}  {:>16}  {:>8}", "result", "lower bound", "gap")?;
        let gap = |gap: f64| format!("{:.1} %", 100.0 * gap);
        writeln!(
            f,
            "latency     {:>16}  {:>16}  {:>8}  cycles, bound by {}",
            grouped(self.latency_cycles),
            grouped(self.bound.latency_cycles),
            gap(self.gap.latency),
            self.bound.latency_by
        )?;
        writeln!(
            f,
            "energy      {:>16}  {:>16}  {:>8}",
            millijoules(self.energy_pj.total),
            millijoules(self.bound.energy_pj),
            gap(self.gap.energy)
        )?;
        writeln!(
            f,
            "EDP         {:>16.4e}  {:>16.4e}  {:>8}  pJ x cycles\n",
            self.edp,
            self.bound.edp,
            gap(self.gap.edp)
        )?;
        if self.inferences > 1 {
            writeln!(
                f,
                "inferences  {}: the first result after {} cycles, then one every {} (initiation interval); {} each",
                self.inferences,
                grouped(self.first_cycles),
                grouped(self.interval_cycles.round() as u64),
                millijoules(self.energy_pj.total / f64::from(self.inferences))
            )?;
        }
        let total = self.energy_pj.total.max(f64::MIN_POSITIVE);
        let e = &self.energy_pj;
        writeln!(
            f,
            "energy      compute {:.0} %, on-chip memories {:.0} %, links {:.0} %, DRAM {:.0} %",
            100.0 * e.compute / total,
            100.0 * e.memory / total,
            100.0 * e.links / total,
            100.0 * e.dram / total
        )?;
        let m = &self.movement;
        writeln!(
            f,
            "movement    on chip {}, die to die {}, DRAM {}",
            millijoules(m.on_chip.energy_pj),
            millijoules(m.die_to_die.energy_pj),
            millijoules(m.dram.energy_pj)
        )?;
        let latency = self.latency_cycles.max(1) as f64;
        let w = &self.why;
        writeln!(
            f,
            "cycles      compute {:.0} %, stall {:.0} %, transfer {:.0} %, DRAM {:.0} %, memory {:.0} %  (critical path)",
            100.0 * w.compute as f64 / latency,
            100.0 * w.stall as f64 / latency,
            100.0 * w.transfer as f64 / latency,
            100.0 * w.dram as f64 / latency,
            100.0 * w.memory as f64 / latency
        )?;
        for core in self.cores.iter().take(16) {
            writeln!(
                f,
                "core {:<3}    {:<16} busy {:>5.1} %   peak memory {}",
                core.id,
                core.name,
                100.0 * core.utilisation,
                Bits(core.peak_memory_bits).human()
            )?;
        }
        if self.cores.len() > 16 {
            writeln!(f, "            ... {} more cores", self.cores.len() - 16)?;
        }
        writeln!(f, "limit       {}", self.limit())?;
        writeln!(
            f,
            "allocation  {} won in {} simulations; predicted {} cycles, {}; solver {} ({})",
            self.solver.source,
            grouped(self.solver.simulations),
            grouped(self.solver.predicted.latency_cycles as u64),
            millijoules(self.solver.predicted.energy_pj),
            self.solver.status,
            self.solver.backend
        )?;
        writeln!(f, "verified    {} events re-played independently, no violation", self.verified.events)?;
        for note in &self.notes {
            writeln!(f, "note        {note}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_people_read_them() {
        assert_eq!(grouped(1_234_567), "1 234 567");
        assert_eq!(grouped(999), "999");
        assert_eq!(millijoules(2.5468e9), "2.55 mJ");
        assert_eq!(millijoules(12_300_000.0), "12.3 µJ");
    }
}
