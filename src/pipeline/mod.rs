//! The pipeline: the only place that orders the stages.
//!
//! ```text
//! Problem + Candidate -> refine -> place -> cost -> simulate -> book -> Evaluation
//! ```
//! [`evaluate`] is pure: the same problem and candidate give the same evaluation, whatever else the
//! shared cost table holds. [`run`](run::run) orders everything around it: policy, evaluation,
//! bound, verification.

pub mod run;

use crate::accelerator::Accelerator;
use crate::accelerator::route::Routes;
use crate::allocation::Candidate;
use crate::allocation::space::{Space, SpaceError};
use crate::cn::CnGraph;
use crate::cn::refine::{RefineError, refine};
use crate::cost::{CostTable, SearchOptions};
use crate::costing::{Costing, CostingError, cost};
use crate::ledger::{Costs, EnergySplit, Ledger, book};
use crate::mapping::{self, Mapping};
use crate::overrides::CostOverrides;
use crate::placement::{Placement, PlacementError, place};
use crate::schedule::{Case, Record, Schedule, ScheduleError, ScheduleOptions, simulate};
use crate::workload::Workload;

/// What is given: everything but the candidate.
pub struct Problem {
    /// Network.
    pub workload: Workload,
    /// Accelerator with DRAM.
    pub accelerator: Accelerator,
    /// Its routes.
    pub routes: Routes,
    /// Mapping; empty if none was given.
    pub mapping: Mapping,
    /// Rows of `--costs`.
    pub overrides: CostOverrides,
    /// Intra-core search.
    pub search: SearchOptions,
    /// Simulation.
    pub schedule: ScheduleOptions,
    /// Choices of every layer within the mapping.
    pub space: Space,
}

/// Any stage's failure.
#[derive(Debug, thiserror::Error)]
pub enum EvaluateError {
    /// Tiling.
    #[error(transparent)]
    Refine(#[from] RefineError),
    /// Placement.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// Cost.
    #[error(transparent)]
    Cost(#[from] CostingError),
    /// Simulation.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
}

/// A judged candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Pools of all operands.
    pub placement: Placement,
    /// Costs of all placed nodes.
    pub costs: Costs,
    /// Times.
    pub schedule: Schedule,
    /// Energy.
    pub ledger: Ledger,
    /// Energy by kind of component.
    pub energy: EnergySplit,
}

impl Evaluation {
    /// Energy-delay product, in pJ x cycles.
    pub fn edp(&self) -> f64 {
        self.energy.total * self.schedule.latency.0 as f64
    }
}

impl Problem {
    /// Gathers the inputs; checks the mapping against them.
    pub fn new(
        mut workload: Workload,
        accelerator: Accelerator,
        mapping: Mapping,
    ) -> Result<Self, SpaceError> {
        let mapping = mapping::resolve(mapping, &workload);
        mapping::link(&mut workload, &mapping);
        let space = Space::new(&workload, &accelerator, &mapping)?;
        Ok(Self {
            routes: Routes::new(&accelerator),
            workload,
            accelerator,
            mapping,
            overrides: CostOverrides::default(),
            search: SearchOptions::default(),
            schedule: ScheduleOptions::default(),
            space,
        })
    }

    /// The problem of several independent inferences under the same mapping.
    pub fn repeated(&self, inferences: u32) -> Self {
        let layers = self.space.layers.iter().cycle().take(self.space.layers.len() * inferences as usize);
        Self {
            workload: self.workload.repeated(inferences),
            accelerator: self.accelerator.clone(),
            routes: Routes::new(&self.accelerator),
            mapping: self.mapping.clone(),
            overrides: self.overrides.clone(),
            search: self.search.clone(),
            schedule: self.schedule.clone(),
            space: Space { layers: layers.cloned().collect() },
        }
    }

    /// What costing reads.
    pub fn costing(&self) -> Costing<'_> {
        Costing {
            workload: &self.workload,
            accelerator: &self.accelerator,
            routes: &self.routes,
            mapping: &self.mapping,
            options: &self.search,
            overrides: &self.overrides,
        }
    }
}

/// Builds the CN graph of a candidate.
pub fn graph(problem: &Problem, candidate: &Candidate) -> Result<CnGraph, EvaluateError> {
    let _span = tracing::info_span!("refine").entered();
    Ok(refine(&problem.workload, &candidate.tiling, problem.schedule.transfer)?)
}

/// Places, costs, simulates and books one candidate.
pub fn evaluate(
    problem: &Problem,
    graph: &CnGraph,
    candidate: &Candidate,
    table: &CostTable,
    record: Record,
) -> Result<Evaluation, EvaluateError> {
    let mut placement = place(&problem.workload, &problem.accelerator, graph, candidate)?;
    let costs = {
        let _span = tracing::debug_span!("cost").entered();
        cost(&problem.costing(), graph, &mut placement, table)?
    };
    let case = Case {
        workload: &problem.workload,
        accelerator: &problem.accelerator,
        routes: &problem.routes,
        graph,
        candidate,
        placement: &placement,
        costs: &costs,
        options: &problem.schedule,
    };
    let schedule = {
        let _span = tracing::debug_span!("schedule").entered();
        simulate(&case, record)?
    };
    let ledger = book(&problem.accelerator, &problem.routes, &placement, &costs, &schedule.traffic);
    let energy = ledger.split(&problem.accelerator);
    Ok(Evaluation { placement, costs, schedule, ledger, energy })
}
