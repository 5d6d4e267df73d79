//! The main job: tilings, policy, simulation, bound, verification.
//!
//! ```text
//! for each tiling:  surrogate -> policy -> proposals -> evaluate each (totals)
//! best by objective -> evaluate (full record) -> bound -> verify -> Outcome
//! ```

use super::{EvaluateError, Evaluation, Problem, evaluate, graph};
use crate::allocation::Candidate;
use crate::allocation::policy::{Policy, PolicyError, Proposal, SolverReport, propose};
use crate::allocation::space::{SpaceError, intra_cuts};
use crate::allocation::surrogate::{Predicted, build, predict};
use crate::bound::{Bound, bound};
use crate::cn::CnGraph;
use crate::cn::refine::check_count;
use crate::cost::{CostTable, Objective};
use crate::fusion::stacks::{Stacking, from_names, stacks};
use crate::fusion::{Cut, Stack};
use crate::schedule::Record;
use crate::verify::{Case, Claims, Report, verify};
use rayon::prelude::*;
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
    /// Limit on the solver; the result is then marked `time_limited`.
    pub time_limit: Option<Duration>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            stacking: Stacking::default(),
            rows: vec![1, 2, 4],
            policy: Policy::default(),
            objective: Objective::default(),
            time_limit: None,
        }
    }
}

/// The best candidate found, with everything known about it.
pub struct Outcome {
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
    /// The mapping.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// The policy.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A stage of the evaluation.
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
    /// The mapping's fused groups.
    #[error("{0}")]
    Stacks(String),
    /// The checker found violations: a fault of Millstream.
    #[error(
        "the schedule does not pass its own verification; this is a fault of Millstream, please report it with the inputs:\n{0}"
    )]
    Unverified(String),
}

/// Stacks and cuts in time of one tiling to try.
struct Base {
    stacks: Vec<Stack>,
    intra: Vec<Vec<Cut>>,
}

/// A simulated proposal.
struct Tried {
    candidate: Candidate,
    proposal: Proposal,
    value: f64,
}

/// Runs the main job.
pub fn run(problem: &Problem, options: &RunOptions) -> Result<Outcome, RunError> {
    let table = CostTable::new();
    let mut seconds = BTreeMap::new();
    let mut evaluations = 0;
    let mut best: Option<Tried> = None;
    let mut failed: Option<RunError> = None;
    let start = Instant::now();
    for base in bases(problem, options)? {
        match attempt(problem, options, &base, &table, &mut seconds) {
            Ok(tried) => {
                evaluations += tried.len() as u64;
                for tried in tried {
                    if best.as_ref().is_none_or(|best| tried.value < best.value) {
                        best = Some(tried);
                    }
                }
            }
            Err(error) => {
                failed.get_or_insert(error);
            }
        }
    }
    let Some(best) = best else {
        return Err(failed.expect("at least one tiling is tried"));
    };
    seconds.insert("allocate", start.elapsed().as_secs_f64() - seconds.get("cost").copied().unwrap_or(0.0));
    finish(problem, best, &table, seconds, evaluations)
}

/// Records, bounds and verifies the winner.
fn finish(
    problem: &Problem,
    best: Tried,
    table: &CostTable,
    mut seconds: BTreeMap<&'static str, f64>,
    evaluations: u64,
) -> Result<Outcome, RunError> {
    let Tried { candidate, proposal, .. } = best;
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
        candidate,
        graph,
        evaluation,
        bound,
        report,
        predicted,
        source: proposal.source.to_owned(),
        solver: proposal.solver,
        evaluations: evaluations + 1,
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

/// The tilings to try: one, or one per number of rows where the mapping leaves that open.
fn bases(problem: &Problem, options: &RunOptions) -> Result<Vec<Base>, RunError> {
    let (workload, mapping) = (&problem.workload, &problem.mapping);
    if options.mode == Mode::LayerByLayer {
        let stacks = stacks(workload, &problem.accelerator, Stacking::None);
        return Ok(vec![Base { stacks, intra: vec![Vec::new(); workload.layers.len()] }]);
    }
    let stacks = match mapping.stacks.is_empty() {
        true => stacks(workload, &problem.accelerator, options.stacking),
        false => from_names(workload, &mapping.stacks).map_err(RunError::Stacks)?,
    };
    let mut bases: Vec<Base> = Vec::new();
    for rows in &options.rows {
        let intra = intra_cuts(workload, mapping, &stacks, *rows)?;
        if bases.iter().all(|base| base.intra != intra) {
            bases.push(Base { stacks: stacks.clone(), intra });
        }
    }
    Ok(bases)
}

/// Allocates under one tiling and simulates every proposal.
fn attempt(
    problem: &Problem,
    options: &RunOptions,
    base: &Base,
    table: &CostTable,
    seconds: &mut BTreeMap<&'static str, f64>,
) -> Result<Vec<Tried>, RunError> {
    let _span = tracing::info_span!("allocate", stacks = base.stacks.len()).entered();
    let start = Instant::now();
    check_count(&problem.workload, &base.intra).map_err(EvaluateError::Refine)?;
    let surrogate = build(problem, &problem.space, &base.stacks, &base.intra, table)?;
    *seconds.entry("cost").or_default() += start.elapsed().as_secs_f64();
    let proposals = propose(
        &problem.workload,
        &problem.space,
        &surrogate,
        options.policy,
        options.objective,
        options.time_limit,
    )?;
    let solver = proposals[0].solver.clone();
    let tried: Vec<Result<Tried, EvaluateError>> = (proposals.into_par_iter())
        .map(|proposal| {
            let candidate = problem.space.candidate(&base.stacks, &base.intra, &proposal.choices);
            let graph = graph(problem, &candidate)?;
            let evaluation = evaluate(problem, &graph, &candidate, table, Record::Totals)?;
            let value = match options.objective {
                Objective::Latency => evaluation.schedule.latency.0 as f64,
                Objective::Energy => evaluation.energy.total,
                Objective::Edp => evaluation.edp(),
            };
            tracing::info!(source = proposal.source, latency = evaluation.schedule.latency.0, value);
            let proposal = Proposal { solver: solver.clone(), ..proposal };
            Ok(Tried { candidate, proposal, value })
        })
        .collect();
    let (good, bad): (Vec<_>, Vec<_>) = tried.into_iter().partition(Result::is_ok);
    match (good.is_empty(), bad.into_iter().find_map(Result::err)) {
        (true, Some(error)) => Err(error.into()),
        _ => Ok(good.into_iter().flatten().collect()),
    }
}
