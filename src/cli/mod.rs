//! The command line (DESIGN.md section 6): arguments, exit codes, what is printed where.
//!
//! Exit codes: 0 done; 1 the user's input is wrong or the case infeasible; 2 usage; 3 `check` found
//! violations. Results go to stdout, logs and errors to stderr.

mod check;
mod cost;
mod input;
mod run;
mod show;

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::process::ExitCode;

/// Multi-core layer-fusion scheduler and simulator for DNN accelerators.
#[derive(Parser)]
#[command(name = "millstream", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    global: Global,
}

/// Options of every command.
#[derive(Args)]
struct Global {
    /// Say more on stderr: -v the stages, -vv their details.
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    verbose: u8,
    /// Say nothing on stderr but errors.
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Threads; default: all cores. Results do not depend on it.
    #[arg(long, global = true, value_name = "N")]
    threads: Option<usize>,
    /// How results are printed on stdout.
    #[arg(long, global = true, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// How results are printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table for people.
    Table,
    /// Exactly one JSON document.
    Json,
}

#[derive(Subcommand)]
enum Command {
    /// The main job: tile, allocate, cost, simulate, verify, report.
    Run(Box<run::RunArgs>),
    /// Intra-core cost of every layer on every kind of core that may run it.
    Cost(Box<cost::CostArgs>),
    /// Verify a saved result from its inputs and event log.
    Check(check::CheckArgs),
    /// Print a workload, an accelerator, a mapping or the CNs of a workload.
    Show(show::ShowArgs),
    /// List the networks and accelerators that are compiled in.
    List,
}

/// Why a command ends with code 1 or 3.
enum Failure {
    /// The input is wrong or the case infeasible.
    Input(String),
    /// `check` found violations.
    Violations(String),
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Input(error.to_string())
    }
}

/// Parses the arguments, runs the command, returns the exit code.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    start_logging(&cli.global);
    if let Some(threads) = cli.global.threads {
        // Fails only if a pool exists already, which then serves as well.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    }
    let done = match &cli.command {
        Command::Run(args) => run::run(args, cli.global.format, cli.global.quiet),
        Command::Cost(args) => cost::cost(args, cli.global.format),
        Command::Check(args) => check::check(args),
        Command::Show(args) => show::show(args, cli.global.format),
        Command::List => show::list(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Input(message)) => {
            let prefix = if message.starts_with("error") { "" } else { "error: " };
            eprintln!("{prefix}{}", message.trim_end());
            ExitCode::from(1)
        }
        Err(Failure::Violations(report)) => {
            println!("{}", report.trim_end());
            ExitCode::from(3)
        }
    }
}

fn start_logging(global: &Global) {
    let level = match (global.quiet, global.verbose) {
        (true, _) => "error",
        (false, 0) => "warn",
        (false, 1) => "info",
        (false, 2) => "debug",
        (false, _) => "trace",
    };
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::new(format!("millstream={level}")))
        .with_span_events(tracing_subscriber::fmt::format::FmtSpan::CLOSE)
        .with_writer(std::io::stderr)
        .with_target(false)
        .init();
}
