//! Judging genomes by simulation: in parallel, each once, within a budget.

use super::genome::{Genes, Genome};
use crate::cost::{CostTable, Objective};
use crate::pipeline::{EvaluateError, Problem, evaluate, graph};
use crate::schedule::Record;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// What the simulation says of a genome.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// Cycles.
    pub latency: u64,
    /// Picojoules.
    pub energy: f64,
    /// CNs and edges of its graph.
    pub size: usize,
}

impl Score {
    /// The value to be minimised.
    pub fn value(&self, objective: Objective) -> f64 {
        match objective {
            Objective::Latency => self.latency as f64,
            Objective::Energy => self.energy,
            Objective::Edp => self.latency as f64 * self.energy,
        }
    }

    /// Latency and energy as coordinates.
    pub fn values(&self) -> millstream_solver::Values {
        [self.latency as f64, self.energy]
    }
}

/// Simulates genomes and remembers them.
pub struct Judge<'a> {
    /// What is given.
    pub problem: &'a Problem,
    /// The problem of all inferences, if there are several.
    repeated: Option<Problem>,
    /// The alphabet.
    pub genes: &'a Genes<'a>,
    table: &'a CostTable,
    /// Simulated genomes; none: infeasible.
    known: BTreeMap<Genome, Option<Score>>,
    /// The first failure, for the case that nothing is feasible.
    pub failure: Option<EvaluateError>,
}

impl<'a> Judge<'a> {
    /// A judge that has seen nothing.
    pub fn new(problem: &'a Problem, genes: &'a Genes<'a>, inferences: u32, table: &'a CostTable) -> Self {
        let repeated = (inferences > 1).then(|| problem.repeated(inferences));
        Self { problem, repeated, genes, table, known: BTreeMap::new(), failure: None }
    }

    /// Simulations so far.
    pub fn simulations(&self) -> usize {
        self.known.len()
    }

    /// Whether a genome has been simulated.
    pub fn knows(&self, genome: &Genome) -> bool {
        self.known.contains_key(genome)
    }

    /// The feasible genomes seen so far.
    pub fn seen(&self) -> impl Iterator<Item = (&Genome, Score)> {
        self.known.iter().filter_map(|(genome, score)| score.map(|score| (genome, score)))
    }

    /// Scores in the order of `genomes`; none for infeasible ones.
    pub fn judge(&mut self, genomes: &[Genome]) -> Vec<Option<Score>> {
        let new: BTreeSet<&Genome> =
            genomes.iter().filter(|genome| !self.known.contains_key(*genome)).collect();
        let new: Vec<&Genome> = new.into_iter().collect();
        let scores: Vec<_> = new.par_iter().map(|genome| self.simulate(genome)).collect();
        for (genome, score) in new.into_iter().zip(scores) {
            let score = score.map_err(|error| self.failure.get_or_insert(error)).ok();
            self.known.insert(genome.clone(), score);
        }
        genomes.iter().map(|genome| self.known[genome]).collect()
    }

    fn simulate(&self, genome: &Genome) -> Result<Score, EvaluateError> {
        let problem = self.repeated.as_ref().unwrap_or(self.problem);
        let candidate = self.genes.candidate(genome).repeated(problem.workload.inferences());
        let graph = graph(problem, &candidate)?;
        let evaluation = evaluate(problem, &graph, &candidate, self.table, Record::Totals)?;
        Ok(Score {
            latency: evaluation.schedule.latency.0,
            energy: evaluation.energy.total,
            size: graph.cns() + graph.edges as usize,
        })
    }
}
