//! `millstream run`.

use super::cost::parse_limit;
use super::input::{self, InputArgs};
use super::{Failure, Format};
use crate::allocation::policy::Policy;
use crate::cost::{Division, Model, Objective};
use crate::fusion::stacks::Stacking;
use crate::overrides::CostOverrides;
use crate::pipeline::Problem;
use crate::pipeline::run::{Mode, RunOptions, run as pipeline};
use crate::report::{Run, summary, write, write_timing};
use crate::schedule::{Contention, Priority};
use crate::units::Bits;
use clap::Args;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Arguments of `run`.
#[derive(Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Folder for the result's files; none: the summary only.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Feed layers tile by tile, or layer by layer.
    #[arg(long, value_enum, default_value_t)]
    mode: Mode,
    /// How layers are gathered in fused stacks (unless the mapping says).
    #[arg(long, value_enum, default_value_t)]
    stacks: Stacking,
    /// Rows per CN to try in fused mode, where the mapping leaves it open.
    #[arg(long, value_delimiter = ',', default_value = "1,2,4", value_name = "N,..", value_parser = clap::value_parser!(u64).range(1..))]
    rows: Vec<u64>,
    /// Who allocates.
    #[arg(long, value_enum, default_value_t)]
    policy: Policy,
    /// What is minimised.
    #[arg(long, value_enum, default_value_t)]
    objective: Objective,
    /// Which admissible CN goes first on a core.
    #[arg(long, value_enum, default_value_t)]
    priority: Priority,
    /// How concurrent transfers share links and ports.
    #[arg(long, value_enum, default_value_t)]
    contention: Contention,
    /// CNs a core admits ahead of the running one; 0: no transfer overlaps computation.
    #[arg(long, default_value_t = 1, value_name = "N")]
    prefetch: u32,
    /// Bits after which an exclusive transfer queues again.
    #[arg(long, default_value_t = 65_536, value_name = "BITS", value_parser = clap::value_parser!(u64).range(1..))]
    packet: u64,
    /// CSV of costs that override the model (columns as in costs.csv).
    #[arg(long, value_name = "FILE")]
    costs: Option<PathBuf>,
    /// Rules of the intra-core cost model.
    #[arg(long, value_enum, default_value_t)]
    model: Model,
    /// Most loops of an ordering in the intra-core search, or `none` with the optimal allocator.
    #[arg(long, default_value = "6", value_name = "N|none", value_parser = parse_limit)]
    lpf_limit: usize,
    /// How the intra-core search divides loops among memories.
    #[arg(long, value_enum, default_value_t)]
    allocator: Division,
    /// Spatial mappings the generator offers per CN, where the mapping or the core leaves it open.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = parse_count)]
    spatial_mappings: usize,
    /// Let the generator unroll several loop dimensions over one array dimension.
    #[arg(long)]
    mix: bool,
    /// Limit on the solver's time; the result is then marked and may differ between machines.
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    time_limit: Option<Duration>,
}

fn parse_count(text: &str) -> Result<usize, String> {
    text.parse::<usize>()
        .ok()
        .filter(|count| *count > 0)
        .ok_or_else(|| "expected a whole number above zero".to_owned())
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0);
    let seconds = seconds.ok_or("expected a number of seconds above zero")?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

pub(super) fn run(args: &RunArgs, format: Format, quiet: bool) -> Result<(), Failure> {
    let start = Instant::now();
    let (workload, workload_file) = input::workload(&args.input.workload, &args.input.reading)?;
    let (accelerator, accelerator_file) = input::accelerator(&args.input.accelerator)?;
    let (mapping, mapping_file) = input::mapping(args.input.mapping.as_deref(), Some(&accelerator))?;
    let mut inputs = vec![workload_file, accelerator_file];
    inputs.extend(mapping_file);
    let mut problem = Problem::new(workload, accelerator.with_dram()?, mapping)?;
    if let Some(path) = &args.costs {
        problem.overrides = CostOverrides::load(path)?;
        problem.overrides.check_layers(&path.display().to_string(), &problem.workload)?;
        inputs.push(input::file("costs", path)?);
    }
    problem.search.objective = args.objective;
    problem.search.model = args.model;
    problem.search.lpf_limit = args.lpf_limit;
    problem.search.allocator = args.allocator;
    problem.search.mix = args.mix;
    problem.search.spatial_mappings = args.spatial_mappings;
    problem.schedule.contention = args.contention;
    problem.schedule.priority = args.priority;
    problem.schedule.prefetch = args.prefetch;
    problem.schedule.packet = Bits(args.packet);
    let options = RunOptions {
        mode: args.mode,
        stacking: args.stacks,
        rows: args.rows.clone(),
        policy: args.policy,
        objective: args.objective,
        time_limit: args.time_limit,
    };
    let parse = start.elapsed().as_secs_f64();
    let outcome = pipeline(&problem, &options)?;
    let mut seconds = outcome.seconds.clone();
    seconds.insert("parse", parse);
    let report = Instant::now();
    let run =
        Run { problem: &problem, options: &options, outcome: &outcome, inputs: &inputs, seconds: &seconds };
    let summary = summary(&run);
    if let Some(dir) = &args.output {
        write(&run, dir)?;
        let mut seconds = seconds.clone();
        seconds.insert("report", report.elapsed().as_secs_f64());
        seconds.insert("total", start.elapsed().as_secs_f64());
        write_timing(&Run { seconds: &seconds, ..run }, dir)?;
    }
    match format {
        Format::Json => {
            println!("{}", serde_json::to_string_pretty(&summary).expect("plain data serialises"))
        }
        Format::Table => print!("{summary}"),
    }
    if let (Some(dir), Format::Table, false) = (&args.output, format, quiet) {
        println!(
            "files       {}: gantt.png, gantt.svg, trace.json (ui.perfetto.dev), summary.json, *.csv",
            dir.display()
        );
    }
    Ok(())
}
