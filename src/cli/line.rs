//! Options that every command of the line shares, and the problem they make.

use super::Failure;
use super::input::{self, InputArgs};
use super::search::SearchArgs;
use crate::allocation::policy::Policy;
use crate::cn::TransferUnit;
use crate::cost::Objective;
use crate::fusion::stacks::Stacking;
use crate::overrides::CostOverrides;
use crate::pipeline::Problem;
use crate::pipeline::run::{Mode, RunOptions};
use crate::report::InputFile;
use crate::schedule::{Contention, Priority};
use crate::units::Bits;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// How the line runs, whoever allocates.
#[derive(Args)]
pub(super) struct LineArgs {
    /// Feed layers tile by tile, or layer by layer.
    #[arg(long, value_enum, default_value_t)]
    pub mode: Mode,
    /// How layers are gathered in fused stacks (unless the mapping says).
    #[arg(long, value_enum, default_value_t)]
    pub stacks: Stacking,
    /// Rows per CN to try in fused mode, where the mapping leaves it open.
    #[arg(long, value_delimiter = ',', default_value = "1,2,4", value_name = "N,..", value_parser = clap::value_parser!(u64).range(1..))]
    pub rows: Vec<u64>,
    /// What is minimised.
    #[arg(long, value_enum, default_value_t)]
    pub objective: Objective,
    /// What mappings inside cores minimise (default: the objective, but EDP for latency: traffic that
    /// one core hides delays the others on links and DRAM).
    #[arg(long, value_enum)]
    pub core_objective: Option<Objective>,
    /// Which admissible CN goes first on a core.
    #[arg(long, value_enum, default_value_t)]
    pub priority: Priority,
    /// How concurrent transfers share links and ports.
    #[arg(long, value_enum, default_value_t)]
    pub contention: Contention,
    /// CNs a core admits ahead of the running one; 0: no transfer overlaps computation.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub prefetch: u32,
    /// Bits after which an exclusive transfer queues again.
    #[arg(long, default_value_t = 65_536, value_name = "BITS", value_parser = clap::value_parser!(u64).range(1..))]
    pub packet: u64,
    /// What moves between cores: what a consumer needs, or whole outputs of CNs as in Stream.
    #[arg(long, value_enum, default_value_t)]
    pub transfer: TransferUnit,
    /// CSV of costs that override the model (columns as in costs.csv).
    #[arg(long, value_name = "FILE")]
    pub costs: Option<PathBuf>,
    #[command(flatten)]
    pub search: SearchArgs,
    /// Simulations of the search beyond its first proposals (default: ilp 1024, fewer for large graphs;
    /// random 256, genetic 2048, exhaustive at most 100000).
    #[arg(long, value_name = "N")]
    pub simulations: Option<usize>,
    /// Seed of the searches.
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// Independent inputs in flight, under the same allocation; the summary has the initiation interval.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub inferences: u32,
    /// Limit on the solver's time; the result is then marked and may differ between machines.
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub time_limit: Option<Duration>,
}

/// What a command of the line works on.
pub(super) struct Given {
    /// The problem.
    pub problem: Problem,
    /// Files it was read from.
    pub inputs: Vec<InputFile>,
}

impl LineArgs {
    /// Reads the inputs.
    pub(super) fn problem(&self, args: &InputArgs) -> Result<Given, Failure> {
        let (workload, workload_file) = input::workload(&args.workload, &args.reading)?;
        let (accelerator, accelerator_file) = input::accelerator(&args.accelerator)?;
        let (mapping, mapping_file) = input::mapping(args.mapping.as_deref(), Some(&accelerator))?;
        let mut inputs = vec![workload_file, accelerator_file];
        inputs.extend(mapping_file);
        let mut problem =
            input::problem(workload, accelerator.with_dram()?, mapping, args.mapping.as_deref())?;
        if let Some(path) = &self.costs {
            problem.overrides = CostOverrides::load(path)?;
            problem.overrides.check_layers(&path.display().to_string(), &problem.workload)?;
            inputs.push(input::file("costs", path)?);
        }
        let core_objective = self.core_objective.unwrap_or(match self.objective {
            Objective::Energy => Objective::Energy,
            Objective::Latency | Objective::Edp => Objective::Edp,
        });
        problem.search = self.search.options(core_objective, true);
        problem.schedule.contention = self.contention;
        problem.schedule.priority = self.priority;
        problem.schedule.prefetch = self.prefetch;
        problem.schedule.packet = Bits(self.packet);
        problem.schedule.transfer = self.transfer;
        Ok(Given { problem, inputs })
    }

    /// The options of a policy.
    pub(super) fn options(&self, policy: Policy) -> RunOptions {
        RunOptions {
            mode: self.mode,
            stacking: self.stacks,
            rows: self.rows.clone(),
            policy,
            objective: self.objective,
            simulations: self.simulations,
            seed: self.seed,
            inferences: self.inferences,
            time_limit: self.time_limit,
        }
    }
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0);
    let seconds = seconds.ok_or("expected a number of seconds above zero")?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}
