//! Policies side by side: a row each, their fronts, which is best.
//!
//! Rows are results of the main job on one problem with one table of costs, each verified. A policy
//! that finds nothing is a row with its reason.

use super::summary::{grouped, millijoules};
use super::{ReportError, json, put};
use crate::allocation::policy::Policy;
use crate::allocation::search::FrontPoint;
use crate::bound::{Bound, bound};
use crate::cost::Objective;
use crate::pipeline::Problem;
use crate::pipeline::run::{Outcome, RunError, RunOptions};
use crate::table::Table;
use millstream_traces::scatter::{Scatter, Series, draw_png, draw_svg};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// Policies on one problem.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Workload.
    pub workload: String,
    /// Accelerator.
    pub accelerator: String,
    /// What is minimised.
    pub objective: Objective,
    /// Lower bounds over all candidates.
    pub bound: Bound,
    /// A row per policy.
    pub rows: Vec<Row>,
}

/// One policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The policy.
    pub policy: Policy,
    /// What it found.
    pub found: Option<FoundRow>,
    /// Why it found nothing.
    pub failure: Option<String>,
    /// Wall-clock seconds, verification included; written to `timing.json` alone.
    #[serde(skip)]
    pub seconds: f64,
}

/// What a policy found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FoundRow {
    /// Cycles.
    pub latency_cycles: u64,
    /// Picojoules.
    pub energy_pj: f64,
    /// pJ x cycles.
    pub edp: f64,
    /// 1 - bound / value of the objective.
    pub gap: f64,
    /// Which proposal or search made it.
    pub source: String,
    /// The surrogate's latency of it.
    pub predicted_cycles: f64,
    /// Candidates simulated.
    pub simulations: u64,
    /// All simulated candidates that none dominates.
    pub front: Vec<FrontPoint>,
}

impl Comparison {
    /// No rows yet.
    pub fn new(problem: &Problem, options: &RunOptions) -> Self {
        Self {
            workload: problem.workload.name.clone(),
            accelerator: problem.accelerator.name.clone(),
            objective: options.objective,
            bound: bound(problem),
            rows: Vec::new(),
        }
    }

    /// Adds a policy's result.
    pub fn add(&mut self, policy: Policy, outcome: Result<Outcome, RunError>, seconds: f64) {
        let (found, failure) = match outcome {
            Ok(outcome) => (Some(self.found(&outcome)), None),
            Err(error) => (None, Some(error.to_string())),
        };
        self.rows.push(Row { policy, found, failure, seconds });
    }

    fn found(&self, outcome: &Outcome) -> FoundRow {
        let latency = outcome.evaluation.schedule.latency.0;
        let energy = outcome.evaluation.energy.total;
        let edp = outcome.evaluation.edp();
        let (least, value) = match self.objective {
            Objective::Latency => (self.bound.latency.0 as f64, latency as f64),
            Objective::Energy => (self.bound.energy.0, energy),
            Objective::Edp => (self.bound.edp(), edp),
        };
        FoundRow {
            latency_cycles: latency,
            energy_pj: energy,
            edp,
            gap: 1.0 - least / value,
            source: outcome.source.clone(),
            predicted_cycles: outcome.predicted.latency_cycles,
            simulations: outcome.evaluations,
            front: outcome.front.clone(),
        }
    }

    /// The row with the least objective.
    pub fn best(&self) -> Option<&Row> {
        let value = |row: &Row| {
            row.found.as_ref().map_or(f64::INFINITY, |found| match self.objective {
                Objective::Latency => found.latency_cycles as f64,
                Objective::Energy => found.energy_pj,
                Objective::Edp => found.edp,
            })
        };
        let found = self.rows.iter().filter(|row| row.found.is_some());
        found.min_by(|a, b| value(a).total_cmp(&value(b)))
    }

    /// The reason, if no policy found anything.
    pub fn failure(&self) -> Option<String> {
        let found = self.rows.iter().any(|row| row.found.is_some());
        let first = self.rows.iter().find_map(|row| row.failure.clone());
        first.filter(|_| !found)
    }

    fn scatter(&self) -> Scatter {
        let found = || self.rows.iter().filter_map(|row| Some((row, row.found.as_ref()?)));
        let most = found().map(|(_, found)| found.energy_pj).fold(self.bound.energy.0, f64::max);
        let (unit, of_unit) = if most < 1e9 { ("µJ", 1e6) } else { ("mJ", 1e9) };
        let point = |latency: u64, energy: f64| (latency as f64, energy / of_unit);
        let series = found().map(|(row, found)| Series {
            name: name(row.policy),
            front: found.front.iter().map(|at| point(at.latency_cycles, at.energy_pj)).collect(),
            best: Some(point(found.latency_cycles, found.energy_pj)),
        });
        Scatter {
            title: format!("{} on {}", self.workload, self.accelerator),
            x: "latency, cycles".to_owned(),
            y: format!("energy, {unit}"),
            series: series.collect(),
            bound: Some(point(self.bound.latency.0, self.bound.energy.0)),
        }
    }

    fn csv(&self) -> String {
        let mut text =
            "policy,latency_cycles,energy_pj,edp,gap,source,predicted_cycles,simulations\n".to_owned();
        for row in &self.rows {
            let cells = match &row.found {
                Some(found) => format!(
                    "{},{},{:e},{:.4},{},{:.0},{}",
                    found.latency_cycles,
                    found.energy_pj,
                    found.edp,
                    found.gap,
                    found.source,
                    found.predicted_cycles,
                    found.simulations
                ),
                None => ",,,,,,".to_owned(),
            };
            text.push_str(&format!("{},{cells}\n", name(row.policy)));
        }
        text
    }
}

fn name(policy: Policy) -> String {
    super::summary::kebab(&policy)
}

/// Writes the comparison's files.
pub fn compare(comparison: &Comparison, dir: &Path) -> Result<(), ReportError> {
    put(dir, "compare.json", json(comparison).as_bytes())?;
    let seconds: BTreeMap<String, f64> =
        comparison.rows.iter().map(|row| (name(row.policy), row.seconds)).collect();
    put(dir, "timing.json", json(&serde_json::json!({ "policy_seconds": seconds })).as_bytes())?;
    put(dir, "compare.csv", comparison.csv().as_bytes())?;
    if comparison.best().is_some() {
        let scatter = comparison.scatter();
        put(dir, "pareto.svg", draw_svg(&scatter)?.as_bytes())?;
        put(dir, "pareto.png", &draw_png(&scatter)?)?;
    }
    Ok(())
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let objective = self.objective;
        writeln!(f, "{} on {}  (objective {objective})", self.workload, self.accelerator)?;
        let bound = &self.bound;
        writeln!(
            f,
            "lower bounds: {} cycles, {}, EDP {:.4e} pJ x cycles\n",
            grouped(bound.latency.0),
            millijoules(bound.energy.0),
            bound.edp()
        )?;
        let headings =
            ["policy", "latency", "energy", "EDP", "gap", "won by", "predicted", "simulations", "s"];
        let mut table = Table::new(&headings);
        for row in &self.rows {
            let seconds = format!("{:.2}", row.seconds);
            table.row(match &row.found {
                Some(found) => vec![
                    name(row.policy),
                    grouped(found.latency_cycles),
                    millijoules(found.energy_pj),
                    format!("{:.4e}", found.edp),
                    format!("{:.1} %", 100.0 * found.gap),
                    found.source.clone(),
                    grouped(found.predicted_cycles as u64),
                    grouped(found.simulations),
                    seconds,
                ],
                None => {
                    let mut cells = vec![name(row.policy)];
                    cells.extend(std::iter::repeat_n("-".to_owned(), 7));
                    cells.push(seconds);
                    cells
                }
            });
        }
        table.write(f)?;
        for row in self.rows.iter().filter(|row| row.failure.is_some()) {
            let failure = row.failure.as_deref().unwrap_or_default();
            writeln!(f, "{}: {failure}", name(row.policy))?;
        }
        match self.best() {
            Some(row) => writeln!(f, "\nbest: {}", name(row.policy)),
            None => Ok(()),
        }
    }
}
