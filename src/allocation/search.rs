//! The search of a policy: proposals, simulations, improvement.
//!
//! ```text
//! fixed       the mapping's allocation
//! greedy      layer by layer, least marginal surrogate
//! ilp         greedy, ILP and uniform proposals for every tiling, then local search on the simulator
//! genetic     NSGA-II on latency and energy, seeded by what ilp starts from
//! random      uniform genomes
//! exhaustive  every genome: the oracle, for small spaces
//! ```
//! All of them judge by simulation, so the best of several tilings is known, not predicted. Budgets
//! count simulations.

use super::Candidate;
use super::genome::{Genes, Genome, given_stacks};
use super::improve::{Effort, improve};
use super::judge::{Judge, Score};
use super::oracle;
use super::policy::{Policy, PolicyError, Proposal, SolverReport, propose};
use super::surrogate::{Surrogate, build, costable};
use super::vary::Variation;
use crate::cn::refine::check_count;
use crate::cost::{CostTable, Objective};
use crate::fusion::Stack;
use crate::fusion::stacks::{Stacking, stacks as stacks_of};
use crate::pipeline::{EvaluateError, Problem};
use millstream_solver as solver;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// What is searched, and how far.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchPlan {
    /// Policy.
    pub policy: Policy,
    /// What is minimised.
    pub objective: Objective,
    /// How stacks are formed; none: layer by layer.
    pub stacking: Option<Stacking>,
    /// Rows per CN that may be chosen.
    pub rows: Vec<u64>,
    /// Simulations beyond the proposals; none: the policy's own budget.
    pub simulations: Option<usize>,
    /// Seed.
    pub seed: u64,
    /// Inferences that are simulated: what is minimised is of all of them.
    pub inferences: u32,
    /// Limit on the solver.
    pub time_limit: Option<Duration>,
}

/// The best candidate found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The candidate.
    pub candidate: Candidate,
    /// Where it comes from: `ilp`, `greedy`, `channels`, `rows`, `local search`, `genetic`, ….
    pub source: &'static str,
    /// The solver's report.
    pub solver: SolverReport,
    /// Simulations made.
    pub simulations: u64,
    /// All simulated candidates that none dominates, by latency.
    pub front: Vec<FrontPoint>,
    /// Seconds spent on surrogates, which fill most of the cost table.
    pub cost_seconds: f64,
}

/// A point of a front.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrontPoint {
    /// Cycles.
    pub latency_cycles: u64,
    /// Picojoules.
    pub energy_pj: f64,
}

/// A search that found nothing.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The policy.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The mapping.
    #[error(transparent)]
    Space(#[from] super::space::SpaceError),
    /// No candidate can be scheduled.
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
    /// The mapping's fused groups.
    #[error("{0}")]
    Stacks(String),
    /// A space beyond the oracle.
    #[error(
        "--policy exhaustive would simulate {count:.3e} candidates, more than {limit}: fix more in the mapping, or raise --simulations"
    )]
    TooLarge {
        /// Number of genomes.
        count: f64,
        /// Most simulations.
        limit: usize,
    },
}

/// A genome with its score and source.
struct Best {
    genome: Genome,
    score: Score,
    source: &'static str,
    solver: SolverReport,
}

/// Simulations of the local search from a candidate of so many CNs and edges: large graphs get fewer, so
/// that the default answers in seconds.
fn local(size: usize) -> usize {
    (LOCAL_SIZE / size.max(1)).clamp(16, 1024)
}

/// CNs and edges simulated by the local search in all, within its limits.
const LOCAL_SIZE: usize = 2_000_000;

/// Searches with a policy.
pub fn search(problem: &Problem, plan: &SearchPlan, table: &CostTable) -> Result<Found, SearchError> {
    let _span = tracing::info_span!("allocate").entered();
    let given = given_stacks(problem).map_err(SearchError::Stacks)?;
    let stacking = plan.stacking.unwrap_or(Stacking::None);
    let free = plan.stacking == Some(Stacking::Auto) && given.is_none();
    let rows = if plan.stacking.is_some() { plan.rows.as_slice() } else { &[] };
    let genes = Genes::new(problem, rows, free)?;
    let stacks = match given.filter(|_| plan.stacking.is_some()) {
        Some(given) => given,
        None => stacks_of(&problem.workload, &problem.accelerator, stacking),
    };
    let mut search = Search {
        plan,
        judge: Judge::new(problem, &genes, plan.inferences, table),
        table,
        failure: None,
        cost_seconds: 0.0,
    };
    let best = search.run(&stacks)?;
    let mut front: solver::Front<()> = solver::Front::default();
    search.judge.seen().for_each(|(_, score)| {
        front.offer(score.values(), ());
    });
    let point = |(values, ()): &(solver::Values, ())| FrontPoint {
        latency_cycles: values[0] as u64,
        energy_pj: values[1],
    };
    Ok(Found {
        candidate: genes.candidate(&best.genome),
        source: best.source,
        solver: best.solver,
        simulations: search.judge.simulations() as u64,
        front: front.members.iter().map(point).collect(),
        cost_seconds: search.cost_seconds,
    })
}

struct Search<'a> {
    plan: &'a SearchPlan,
    judge: Judge<'a>,
    table: &'a CostTable,
    failure: Option<SearchError>,
    cost_seconds: f64,
}

impl Search<'_> {
    fn run(&mut self, stacks: &[Stack]) -> Result<Best, SearchError> {
        let (problem, genes) = (self.judge.problem, self.judge.genes);
        let budget = |default| self.plan.simulations.unwrap_or(default);
        match self.plan.policy {
            Policy::Fixed | Policy::Greedy => self.proposed(stacks).map(|(best, _)| best),
            Policy::Ilp => {
                let (best, _) = self.proposed(stacks)?;
                let effort = Effort { simulations: budget(local(best.score.size)), seed: self.plan.seed };
                let variation = Variation::new(problem, genes);
                let start = (best.genome.clone(), best.score);
                let objective = self.plan.objective;
                let (genome, score) = improve(&mut self.judge, &variation, start, objective, effort);
                let better = score.value(objective) < best.score.value(objective);
                let source = if better { "local search" } else { best.source };
                Ok(Best { genome, score, source, ..best })
            }
            Policy::Genetic => {
                let evaluations = budget(2048);
                self.genetic(stacks, evaluations)
            }
            Policy::Random => {
                let count = budget(256);
                self.random(stacks, count)
            }
            Policy::Exhaustive => {
                let limit = budget(100_000);
                self.exhaustive(stacks, limit)
            }
        }
    }

    /// The best proposal over all rows, and all proposals.
    fn proposed(&mut self, stacks: &[Stack]) -> Result<(Best, Vec<Genome>), SearchError> {
        let (problem, genes) = (self.judge.problem, self.judge.genes);
        let fewest = genes.rows.len().min(1) as u8;
        // Costs for surrogates fill most of the table.
        let start = Instant::now();
        let choices = vec![0; genes.space.layers.len()];
        let mut bases: Vec<Genome> = (fewest..=genes.rows.len() as u8)
            .map(|rows| self.cut_what_does_not_fit(genes.genome(stacks, rows, &choices), rows))
            .collect();
        if genes.stacks {
            let alone = stacks_of(&problem.workload, &problem.accelerator, Stacking::None);
            bases.push(self.cut_what_does_not_fit(genes.genome(&alone, 0, &choices), fewest));
            bases.dedup();
        }
        let surrogates: Vec<_> = bases.par_iter().map(|base| self.surrogate(base)).collect();
        self.cost_seconds = start.elapsed().as_secs_f64();
        let proposed: Vec<_> =
            surrogates.into_par_iter().map(|surrogate| self.proposals(&surrogate?)).collect();
        let mut best: Option<Best> = None;
        let mut seeds = Vec::new();
        for (base, proposals) in bases.iter().zip(proposed) {
            let proposals = match proposals {
                Ok(proposals) => proposals,
                Err(error) => {
                    self.failure.get_or_insert(error);
                    continue;
                }
            };
            let genomes: Vec<Genome> = (proposals.iter())
                .map(|proposal| Genome { choices: proposal.choices.clone(), ..base.clone() })
                .collect();
            let scores = self.judge.judge(&genomes);
            let solver = proposals.first().map(|proposal| proposal.solver.clone());
            for ((genome, score), proposal) in genomes.iter().zip(scores).zip(&proposals) {
                let Some(score) = score else { continue };
                tracing::info!(source = proposal.source, latency = score.latency, energy = score.energy);
                let value = score.value(self.plan.objective);
                if best.as_ref().is_none_or(|best| value < best.score.value(self.plan.objective)) {
                    let solver = solver.clone().unwrap_or_else(SolverReport::none);
                    best = Some(Best { genome: genome.clone(), score, source: proposal.source, solver });
                }
            }
            seeds.extend(genomes);
        }
        let best = best.ok_or_else(|| self.nothing())?;
        Ok((best, seeds))
    }

    /// Cuts the layers alone in their stack that fit no core whole.
    fn cut_what_does_not_fit(&self, mut genome: Genome, rows: u8) -> Genome {
        let (problem, genes) = (self.judge.problem, self.judge.genes);
        let intra = genes.intra(&genome);
        let unfit = |layer: &usize| !costable(problem, genes.space, *layer, &intra, self.table);
        let whole = (0..genome.rows.len()).filter(|layer| genome.rows[*layer] == 0);
        let unfit: Vec<usize> = whole.collect::<Vec<_>>().into_par_iter().filter(unfit).collect();
        unfit.into_iter().for_each(|layer| genome.rows[layer] = rows);
        genes.canonical(genome)
    }

    fn surrogate(&self, base: &Genome) -> Result<Surrogate, SearchError> {
        let (problem, genes) = (self.judge.problem, self.judge.genes);
        let intra = genes.intra(base);
        check_count(&problem.workload, &intra).map_err(EvaluateError::Refine)?;
        Ok(build(problem, genes.space, &genes.stacks(base), &intra, self.table)?)
    }

    fn proposals(&self, surrogate: &Surrogate) -> Result<Vec<Proposal>, SearchError> {
        let (problem, plan) = (self.judge.problem, self.plan);
        let space = self.judge.genes.space;
        Ok(propose(&problem.workload, space, surrogate, plan.policy, plan.objective, plan.time_limit)?)
    }

    /// The reason why nothing is feasible.
    fn nothing(&mut self) -> SearchError {
        let failed = self.judge.failure.take().map(SearchError::from);
        failed.or(self.failure.take()).expect("a search without a result has failed somewhere")
    }

    fn genetic(&mut self, stacks: &[Stack], evaluations: usize) -> Result<Best, SearchError> {
        let (best, seeds) = self.proposed(stacks)?;
        let variation = Variation::new(self.judge.problem, self.judge.genes);
        let breeding = solver::Breeding { population: 64, evaluations, seed: self.plan.seed };
        let child = |mother: &Genome, father: &Genome, sequence: &mut solver::Sequence| {
            variation.child(mother, father, sequence)
        };
        let judge = &mut self.judge;
        let evaluate = |genomes: &[Genome]| {
            judge.judge(genomes).into_iter().map(|score| score.map(|score| score.values())).collect()
        };
        solver::nsga2(&seeds, &breeding, child, evaluate);
        Ok(self.seen_better(best, "genetic"))
    }

    fn random(&mut self, stacks: &[Stack], count: usize) -> Result<Best, SearchError> {
        let genes = self.judge.genes;
        let variation = Variation::new(self.judge.problem, genes);
        let like = genes.genome(stacks, 0, &vec![0; genes.space.layers.len()]);
        let mut sequence = solver::Sequence::new(self.plan.seed);
        let genomes: Vec<Genome> =
            (0..count.max(1)).map(|_| variation.random(&like, &mut sequence)).collect();
        self.judge.judge(&genomes);
        self.best_seen("random")
    }

    fn exhaustive(&mut self, stacks: &[Stack], limit: usize) -> Result<Best, SearchError> {
        let genomes = oracle::genomes(self.judge.genes, stacks, limit)?;
        self.judge.judge(&genomes);
        self.best_seen("exhaustive")
    }

    fn best_seen(&mut self, source: &'static str) -> Result<Best, SearchError> {
        let objective = self.plan.objective;
        let best = (self.judge.seen())
            .min_by(|a, b| a.1.value(objective).total_cmp(&b.1.value(objective)))
            .map(|(genome, score)| (genome.clone(), score));
        let (genome, score) = best.ok_or_else(|| self.nothing())?;
        Ok(Best { genome, score, source, solver: SolverReport::none() })
    }

    /// `best`, or what the simulations found that is better.
    fn seen_better(&mut self, best: Best, source: &'static str) -> Best {
        let objective = self.plan.objective;
        match self.best_seen(source) {
            Ok(seen) if seen.score.value(objective) < best.score.value(objective) => {
                Best { solver: best.solver, ..seen }
            }
            _ => best,
        }
    }
}
