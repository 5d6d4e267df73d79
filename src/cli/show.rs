//! `millstream show` and `millstream list`.

use super::input::{self, ReadingArgs};
use super::output::Output;
use super::{Failure, Format};
use crate::cn::TransferUnit;
use crate::cn::refine::refine;
use crate::fusion::stacks::{Stacking, stacks};
use crate::fusion::{LayerTiling, Tiling};
use crate::mapping::Mapping;
use crate::pipeline::Evaluation;
use crate::report::saved::{self, Saved};
use crate::schedule::show::Names;
use crate::{allocation, library};
use clap::{Args, Subcommand};
use serde::Serialize;
use std::fmt::Display;
use std::path::PathBuf;

/// Arguments of `show`.
#[derive(Args)]
pub(super) struct ShowArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Layers, dimensions, operations, precisions.
    #[command(after_help = "Example:\n  millstream show workload my_network.onnx --dim batch=1")]
    Workload {
        /// A shipped network or a file.
        name: String,
        #[command(flatten)]
        reading: ReadingArgs,
    },
    /// Cores, memories, links, pools.
    #[command(after_help = "Example:\n  millstream show accelerator tpu_like_quad_core")]
    Accelerator {
        /// A shipped accelerator or a file.
        name: String,
    },
    /// A mapping file as it was understood.
    #[command(after_help = "Example:\n  millstream show mapping out/mapping.yaml")]
    Mapping {
        /// The file.
        file: PathBuf,
    },
    /// CNs, classes and fragments of a workload cut in rows (one stack per network that fits).
    #[command(after_help = "Example:\n  millstream show cns resnet18 tpu_like_quad_core --rows 4")]
    Cns {
        /// A shipped network or a file.
        workload: String,
        /// A shipped accelerator or a file.
        accelerator: String,
        /// Rows per CN.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
        rows: u64,
        #[command(flatten)]
        reading: ReadingArgs,
    },
    /// Stacks, cuts, ranks and cores of a saved result.
    #[command(after_help = "Example:\n  millstream show candidate out")]
    Candidate {
        /// Folder of the result.
        dir: PathBuf,
    },
    /// The pool of every operand in a saved result.
    #[command(after_help = "Example:\n  millstream show placement out")]
    Placement {
        /// Folder of the result.
        dir: PathBuf,
    },
    /// Times of all CNs, the critical path, use of cores and pools in a saved result.
    #[command(after_help = "Example:\n  millstream show schedule out")]
    Schedule {
        /// Folder of the result.
        dir: PathBuf,
    },
    /// The event log of a saved result, one line per event.
    #[command(after_help = "Example:\n  millstream show events out")]
    Events {
        /// Folder of the result.
        dir: PathBuf,
    },
    /// Where the energy of a saved result goes, count by count.
    #[command(after_help = "Example:\n  millstream show ledger out")]
    Ledger {
        /// Folder of the result.
        dir: PathBuf,
    },
}

/// The parts of a saved result.
fn result(what: &What, format: Format, out: &mut Output) -> Result<(), Failure> {
    let (What::Candidate { dir }
    | What::Placement { dir }
    | What::Schedule { dir }
    | What::Events { dir }
    | What::Ledger { dir }) = what
    else {
        return Ok(());
    };
    let Saved { problem, candidate, graph, evaluation } = saved::load(dir)?;
    let (workload, accelerator) = (&problem.workload, &problem.accelerator);
    let Evaluation { placement, schedule, ledger, .. } = &evaluation;
    let log = schedule.log.clone().unwrap_or_default();
    let names = Names { workload, accelerator, graph: &graph, placement };
    match (what, format) {
        (What::Candidate { .. }, Format::Json) => out.json(&candidate),
        (What::Candidate { .. }, Format::Table) => out.print(candidate.table(workload, accelerator)),
        (What::Placement { .. }, Format::Json) => out.json(placement),
        (What::Placement { .. }, Format::Table) => out.print(placement.table(workload, accelerator)),
        (What::Events { .. }, Format::Json) => out.json(&log),
        (What::Events { .. }, Format::Table) => out.print(log.lines(names)),
        (What::Ledger { .. }, Format::Json) => out.json(ledger),
        (What::Ledger { .. }, Format::Table) => out.print(ledger.table(accelerator)),
        (_, Format::Json) => out.json(schedule),
        (_, Format::Table) => out.print(schedule.table(names)),
    }
}

pub(super) fn show(args: &ShowArgs, format: Format, out: &mut Output) -> Result<(), Failure> {
    match &args.what {
        What::Workload { name, reading } => print(&input::workload(name, reading)?.0, format, out),
        What::Accelerator { name } => print(&input::accelerator(name)?.0, format, out),
        What::Mapping { file } => print(&input::mapping(Some(file), None)?.0, format, out),
        What::Cns { workload, accelerator, rows, reading } => {
            let workload = input::workload(workload, reading)?.0;
            let accelerator = input::accelerator(accelerator)?.0.with_dram()?;
            let stacks = stacks(&workload, &accelerator, Stacking::Auto);
            let intra = allocation::space::intra_cuts(&workload, &Mapping::default(), &stacks, *rows)?;
            let layers = intra.into_iter().map(|intra| LayerTiling { intra, inter: Vec::new() }).collect();
            let graph = refine(&workload, &Tiling { stacks, layers }, TransferUnit::Fragment)?;
            match format {
                Format::Json => out.json(&graph),
                Format::Table => out.print(graph.table(&workload)),
            }
        }
        what => result(what, format, out),
    }
}

fn print<T: Display + Serialize>(value: &T, format: Format, out: &mut Output) -> Result<(), Failure> {
    match format {
        Format::Json => out.json(value),
        Format::Table => out.print(value),
    }
}

pub(super) fn list(out: &mut Output) -> Result<(), Failure> {
    for (position, (heading, files)) in library::sections().into_iter().enumerate() {
        out.line(format_args!("{}{heading}", if position == 0 { "" } else { "\n" }))?;
        let width = files.iter().map(|file| file.name.len()).max().unwrap_or_default();
        for file in files {
            out.line(format_args!("  {:width$}  {}", file.name, file.about))?;
        }
    }
    Ok(())
}
