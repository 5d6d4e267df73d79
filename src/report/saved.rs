//! A saved result, read back and verified.
//!
//! `inputs/` gives the problem and the candidate, from which the CN graph, placement and costs are
//! built again; `events.jsonl` and `claims.json` are claims about their execution.

use crate::accelerator::Accelerator;
use crate::accelerator::route::Routes;
use crate::allocation::Candidate;
use crate::allocation::space::{Space, SpaceError};
use crate::bound::bound;
use crate::cn::CnGraph;
use crate::cost::{CostTable, SearchOptions};
use crate::costing::cost;
use crate::ledger::Ledger;
use crate::mapping::Mapping;
use crate::overrides::{CostOverrides, OverrideError};
use crate::pipeline::run::check as check_evaluation;
use crate::pipeline::{EvaluateError, Evaluation, Problem, graph};
use crate::placement::place;
use crate::schedule::log::{Event, Log};
use crate::schedule::{Schedule, ScheduleOptions};
use crate::verify::Report;
use crate::workload::Workload;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What a result claims beside its log: `claims.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedClaims {
    /// The schedule without its log.
    pub schedule: Schedule,
    /// The energy.
    pub ledger: Ledger,
}

/// The options a result was made with: `inputs/options.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedOptions {
    /// Decisions of the main job.
    pub run: crate::pipeline::run::RunOptions,
    /// Intra-core search.
    pub search: SearchOptions,
    /// Simulation.
    pub schedule: ScheduleOptions,
}

/// A result that cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    /// A file is missing or broken.
    #[error("{path}: {reason}; `check` needs the folder that `run -o DIR` wrote")]
    File {
        /// File.
        path: PathBuf,
        /// Reason.
        reason: String,
    },
    /// The saved mapping does not fit the saved inputs.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// The saved costs.
    #[error(transparent)]
    Overrides(#[from] OverrideError),
    /// The candidate cannot be built.
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
}

/// A result, read back.
pub struct Saved {
    /// Its inputs.
    pub problem: Problem,
    /// Its candidate.
    pub candidate: Candidate,
    /// The CN graph, built again.
    pub graph: CnGraph,
    /// Placement and costs, built again; schedule and energy as claimed.
    pub evaluation: Evaluation,
}

/// Verifies the result in `dir`.
pub fn check(dir: &Path) -> Result<Report, SavedError> {
    let Saved { problem, candidate, graph, evaluation } = load(dir)?;
    Ok(check_evaluation(&problem, &graph, &candidate, &evaluation, &bound(&problem)))
}

/// Reads the result in `dir`.
pub fn load(dir: &Path) -> Result<Saved, SavedError> {
    let workload: Workload = json(dir, "inputs/workload.json")?;
    let accelerator: Accelerator = json(dir, "inputs/accelerator.json")?;
    let mapping: Mapping = json(dir, "inputs/mapping.json")?;
    let candidate: Candidate = json(dir, "inputs/candidate.json")?;
    let options: SavedOptions = json(dir, "inputs/options.json")?;
    let claims: SavedClaims = json(dir, "claims.json")?;
    let overrides = match dir.join("inputs/costs.csv") {
        path if path.exists() => CostOverrides::load(&path)?,
        _ => CostOverrides::default(),
    };
    let problem = Problem {
        space: Space::new(&workload, &accelerator, &mapping)?,
        routes: Routes::new(&accelerator),
        workload,
        accelerator,
        mapping,
        overrides,
        search: options.search,
        schedule: options.schedule,
    };
    let graph = graph(&problem, &candidate)?;
    let mut placement = place(&problem.workload, &problem.accelerator, &graph, &candidate)
        .map_err(EvaluateError::Placement)?;
    let costs =
        cost(&problem.costing(), &graph, &mut placement, &CostTable::new()).map_err(EvaluateError::Cost)?;
    let schedule = Schedule { log: Some(log(dir)?), ..claims.schedule };
    let energy = claims.ledger.split(&problem.accelerator);
    let evaluation = Evaluation { placement, costs, schedule, ledger: claims.ledger, energy };
    Ok(Saved { problem, candidate, graph, evaluation })
}

fn text(dir: &Path, name: &str) -> Result<String, SavedError> {
    let path = dir.join(name);
    std::fs::read_to_string(&path).map_err(|error| SavedError::File { path, reason: error.to_string() })
}

fn json<T: DeserializeOwned>(dir: &Path, name: &str) -> Result<T, SavedError> {
    let text = text(dir, name)?;
    let path = dir.join(name);
    serde_json::from_str(&text).map_err(|error| SavedError::File { path, reason: error.to_string() })
}

fn log(dir: &Path) -> Result<Log, SavedError> {
    let text = text(dir, "events.jsonl")?;
    let parse = |(at, line): (usize, &str)| {
        serde_json::from_str::<Event>(line).map_err(|error| SavedError::File {
            path: dir.join("events.jsonl"),
            reason: format!("line {}: {error}", at + 1),
        })
    };
    Ok(Log(text.lines().enumerate().map(parse).collect::<Result<_, _>>()?))
}
