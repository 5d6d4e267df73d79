//! `millstream run`.

use super::input::InputArgs;
use super::line::{Given, LineArgs};
use super::output::Output;
use super::{Failure, Format};
use crate::allocation::policy::Policy;
use crate::diagnostic::Diagnostic;
use crate::pipeline::run::run as pipeline;
use crate::report::{Run, summary, write, write_timing};
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Arguments of `run`.
#[derive(Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Folder for the result's files; none: the summary only.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Who allocates.
    #[arg(long, value_enum, default_value_t)]
    policy: Policy,
    #[command(flatten)]
    line: LineArgs,
}

/// Makes the folder of the result before the work starts.
pub(super) fn prepare(dir: &Path) -> Result<(), Failure> {
    let name = dir.display();
    if dir.exists() && !dir.is_dir() {
        let error = Diagnostic::new(format!("-o {name}: this is a file"));
        return Err(error.help("name a folder: the result has many files").into());
    }
    std::fs::create_dir_all(dir)
        .map_err(|error| Diagnostic::new(format!("-o {name}: cannot make the folder: {error}")).into())
}

pub(super) fn run(args: &RunArgs, format: Format, quiet: bool, out: &mut Output) -> Result<(), Failure> {
    let start = Instant::now();
    let Given { problem, inputs } = args.line.problem(&args.input)?;
    if let Some(dir) = &args.output {
        prepare(dir)?;
    }
    let options = args.line.options(args.policy);
    let parse = start.elapsed().as_secs_f64();
    let outcome = pipeline(&problem, &options)?;
    let mut seconds = outcome.seconds.clone();
    seconds.insert("parse", parse);
    let report = Instant::now();
    let run = Run {
        problem: outcome.problem(&problem),
        options: &options,
        outcome: &outcome,
        inputs: &inputs,
        seconds: &seconds,
    };
    let summary = summary(&run);
    if let Some(dir) = &args.output {
        write(&run, dir)?;
        let mut seconds = seconds.clone();
        seconds.insert("report", report.elapsed().as_secs_f64());
        seconds.insert("total", start.elapsed().as_secs_f64());
        write_timing(&Run { seconds: &seconds, ..run }, dir)?;
    }
    match format {
        Format::Json => out.json(&summary)?,
        Format::Table => out.print(&summary)?,
    }
    if let (Some(dir), Format::Table, false) = (&args.output, format, quiet) {
        out.line(format_args!(
            "files       {}: gantt.png, gantt.svg, trace.json (ui.perfetto.dev), summary.json, *.csv",
            dir.display()
        ))?;
    }
    Ok(())
}
