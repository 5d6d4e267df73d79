//! The main job: search, simulation, bound, verification.
//!
//! ```text
//! policy searches:  proposals, simulations (totals) -> best by objective
//! best -> evaluate (full record) -> bound -> verify -> Outcome
//! ```

use super::{EvaluateError, Evaluation, Problem, evaluate, graph};
use crate::allocation::Candidate;
use crate::allocation::policy::{Policy, SolverReport};
use crate::allocation::search::{Found, FrontPoint, SearchError, SearchPlan, search};
use crate::allocation::surrogate::{Predicted, predict};
use crate::bound::{Bound, bound};
use crate::cn::CnGraph;
use crate::cost::{CostTable, Objective};
use crate::fusion::stacks::Stacking;
use crate::schedule::Record;
use crate::schedule::log::{Event, Purpose};
use crate::verify::{Case, Claims, Report, verify};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Whether layers feed one another tile by tile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Layers of a stack are cut in rows and run interleaved.
    #[default]
    Fused,
    /// Every layer as a whole (per part).
    LayerByLayer,
}

/// What the main job decides by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunOptions {
    /// Fused or layer by layer.
    pub mode: Mode,
    /// How stacks are formed in fused mode.
    pub stacking: Stacking,
    /// Rows per CN tried in fused mode, where the mapping does not say.
    pub rows: Vec<u64>,
    /// Policy.
    pub policy: Policy,
    /// What is minimised.
    pub objective: Objective,
    /// Simulations of the search beyond its proposals; none: the policy's own budget.
    #[serde(default)]
    pub simulations: Option<usize>,
    /// Seed of the searches.
    #[serde(default)]
    pub seed: u64,
    /// Independent inputs in flight.
    #[serde(default = "one")]
    pub inferences: u32,
    /// Limit on the solver; the result is then marked `time_limited`.
    pub time_limit: Option<Duration>,
}

impl RunOptions {
    fn plan(&self) -> SearchPlan {
        SearchPlan {
            policy: self.policy,
            objective: self.objective,
            stacking: (self.mode == Mode::Fused).then_some(self.stacking),
            rows: self.rows.clone(),
            simulations: self.simulations,
            seed: self.seed,
            inferences: self.inferences,
            time_limit: self.time_limit,
        }
    }
}

fn one() -> u32 {
    1
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            stacking: Stacking::default(),
            rows: vec![1, 2, 4],
            policy: Policy::default(),
            objective: Objective::default(),
            simulations: None,
            seed: 0,
            inferences: 1,
            time_limit: None,
        }
    }
}

/// The best candidate found, with everything known about it.
pub struct Outcome {
    /// The problem of all inferences, if there are several: all else here is about it.
    pub repeated: Option<Problem>,
    /// The candidate.
    pub candidate: Candidate,
    /// Its CN graph.
    pub graph: CnGraph,
    /// Its evaluation with the full record.
    pub evaluation: Evaluation,
    /// Lower bounds.
    pub bound: Bound,
    /// Findings of the checker.
    pub report: Report,
    /// The surrogate's value of the candidate.
    pub predicted: Predicted,
    /// Which proposal won.
    pub source: String,
    /// What the solver said about its tiling.
    pub solver: SolverReport,
    /// All simulated candidates that none dominates, by latency.
    pub front: Vec<FrontPoint>,
    /// Simulations.
    pub evaluations: u64,
    /// Distinct costs.
    pub distinct_costs: u64,
    /// Seconds per stage; goes into timing.json only.
    pub seconds: BTreeMap<&'static str, f64>,
}

/// A job that gives no schedule.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The search found nothing.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// A stage of the evaluation.
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
    /// The checker found violations: a fault of Millstream.
    #[error(
        "the schedule does not pass its own verification; this is a fault of Millstream, please report it with the inputs:\n{0}"
    )]
    Unverified(String),
}

/// Runs the main job.
pub fn run(problem: &Problem, options: &RunOptions) -> Result<Outcome, RunError> {
    run_with(problem, options, &CostTable::new())
}

/// Runs the main job on a table of costs that other jobs may share.
pub fn run_with(problem: &Problem, options: &RunOptions, table: &CostTable) -> Result<Outcome, RunError> {
    let start = Instant::now();
    let found = search(problem, &options.plan(), table)?;
    let allocate = start.elapsed().as_secs_f64() - found.cost_seconds;
    let seconds = BTreeMap::from([("cost", found.cost_seconds), ("allocate", allocate)]);
    finish(problem, found, options.inferences, table, seconds)
}

/// Records, bounds and verifies the winner.
fn finish(
    problem: &Problem,
    found: Found,
    inferences: u32,
    table: &CostTable,
    mut seconds: BTreeMap<&'static str, f64>,
) -> Result<Outcome, RunError> {
    let repeated = (inferences > 1).then(|| problem.repeated(inferences));
    let problem = repeated.as_ref().unwrap_or(problem);
    let candidate = found.candidate.repeated(inferences);
    let start = Instant::now();
    let graph = graph(problem, &candidate)?;
    seconds.insert("refine", start.elapsed().as_secs_f64());
    let start = Instant::now();
    let evaluation = evaluate(problem, &graph, &candidate, table, Record::Full)?;
    seconds.insert("schedule", start.elapsed().as_secs_f64());
    let predicted = predict(problem, &candidate, table)?;
    let bound = bound(problem);
    let start = Instant::now();
    let report = check(problem, &graph, &candidate, &evaluation, &bound);
    seconds.insert("verify", start.elapsed().as_secs_f64());
    if !report.is_clean() {
        return Err(RunError::Unverified(report.to_string()));
    }
    Ok(Outcome {
        repeated,
        candidate,
        graph,
        evaluation,
        bound,
        report,
        predicted,
        source: found.source.to_owned(),
        solver: found.solver,
        front: found.front,
        evaluations: found.simulations + 1,
        distinct_costs: table.distinct() as u64,
        seconds,
    })
}

/// Verifies an evaluation with a full record.
pub fn check(
    problem: &Problem,
    graph: &CnGraph,
    candidate: &Candidate,
    evaluation: &Evaluation,
    bound: &Bound,
) -> Report {
    let _span = tracing::info_span!("verify").entered();
    let case = Case {
        workload: &problem.workload,
        accelerator: &problem.accelerator,
        routes: &problem.routes,
        graph,
        candidate,
        placement: &evaluation.placement,
        costs: &evaluation.costs,
        options: &problem.schedule,
    };
    let claims = Claims {
        schedule: &evaluation.schedule,
        ledger: &evaluation.ledger,
        bound: Some((bound.latency, bound.energy)),
    };
    verify(&case, &claims)
}

impl Outcome {
    /// What the outcome is about: the problem that was given, or that of all inferences.
    pub fn problem<'a>(&'a self, given: &'a Problem) -> &'a Problem {
        self.repeated.as_ref().unwrap_or(given)
    }

    /// The end of each inference: of the last write of its results to DRAM.
    pub fn ends(&self, given: &Problem) -> Vec<u64> {
        let problem = self.problem(given);
        let mut ends = vec![0; problem.workload.inferences() as usize];
        for event in self.evaluation.schedule.log.iter().flat_map(|log| &log.0) {
            if let Event::Transfer { time, cn, purpose: Purpose::Store | Purpose::StreamOut, .. } = event {
                let inference = problem.workload.layer(self.graph.layer(*cn)).inference as usize;
                ends[inference] = ends[inference].max(time.0);
            }
        }
        ends
    }
}
