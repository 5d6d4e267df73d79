//! `millstream compare`: policies on the same problem and the same costs.

use super::input::InputArgs;
use super::line::{Given, LineArgs};
use super::output::Output;
use super::run::prepare;
use super::{Failure, Format};
use crate::allocation::policy::Policy;
use crate::cost::CostTable;
use crate::pipeline::run::run_with;
use crate::report::comparison::{Comparison, compare};
use clap::Args;
use std::path::PathBuf;
use std::time::Instant;

/// Arguments of `compare`.
#[derive(Args)]
pub(super) struct CompareArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Folder for `compare.csv`, `compare.json`, `pareto.svg` and `pareto.png`.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Policies, in the order of the table.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "greedy,ilp,genetic,random",
        value_name = "P,.."
    )]
    policies: Vec<Policy>,
    #[command(flatten)]
    line: LineArgs,
}

pub(super) fn run(args: &CompareArgs, format: Format, out: &mut Output) -> Result<(), Failure> {
    let Given { problem, .. } = args.line.problem(&args.input)?;
    if let Some(dir) = &args.output {
        prepare(dir)?;
    }
    let table = CostTable::new();
    let repeated = problem.repeated(args.line.inferences);
    let mut comparison = Comparison::new(&repeated, &args.line.options(Policy::default()));
    for policy in &args.policies {
        let start = Instant::now();
        let outcome = run_with(&problem, &args.line.options(*policy), &table);
        comparison.add(*policy, outcome, start.elapsed().as_secs_f64());
    }
    if let Some(dir) = &args.output {
        compare(&comparison, dir)?;
    }
    match format {
        Format::Json => out.json(&comparison)?,
        Format::Table => out.print(&comparison)?,
    }
    match comparison.failure() {
        Some(message) => Err(Failure::Input(message)),
        None => Ok(()),
    }
}
