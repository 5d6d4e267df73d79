//! The command line (DESIGN.md section 6): arguments, exit codes, what is printed where.
//!
//! Exit codes: 0 done; 1 the user's input is wrong or the case infeasible; 2 usage; 3 `check` found
//! violations. Results go to stdout, logs and errors to stderr.

mod check;
mod compare;
mod cost;
mod fuse;
mod input;
mod line;
mod output;
mod run;
mod schema;
mod search;
mod show;

use clap::{Args, Parser, Subcommand, ValueEnum};
use output::{Output, complain, reader_left};
use std::io;
use std::process::ExitCode;

/// Multi-core layer-fusion scheduler and simulator for DNN accelerators.
#[derive(Parser)]
#[command(
    name = "millstream",
    version,
    about,
    max_term_width = 100,
    after_help = "Example:\n  millstream run -w resnet18 -a tpu_like_quad_core -o out"
)]
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
    #[command(after_help = "Example:\n  millstream run -w resnet18 -a tpu_like_quad_core -o out")]
    Run(Box<run::RunArgs>),
    /// Intra-core cost of every layer on every kind of core that may run it.
    #[command(after_help = "Example:\n  millstream cost -w resnet18 -a tpu_like --explain layer1.0.conv1")]
    Cost(Box<cost::CostArgs>),
    /// Depth-first study of one core: tile sizes and overlap modes (DeFiNES's job).
    #[command(
        after_help = "Example:\n  millstream fuse -w fsrcnn -a meta_prototype_df --reference --tile 4x72,16x18,60x72,full"
    )]
    Fuse(Box<fuse::FuseArgs>),
    /// Policies side by side on the same costs: a table, and a chart of latency against energy.
    #[command(
        after_help = "Example:\n  millstream compare -w resnet18 -a tpu_like_quad_core --policies greedy,ilp -o out_compare"
    )]
    Compare(Box<compare::CompareArgs>),
    /// Verify a saved result from its inputs and event log.
    #[command(after_help = "Example:\n  millstream check out")]
    Check(check::CheckArgs),
    /// Print a workload, an accelerator, a mapping, CNs, or a part of a saved result.
    #[command(after_help = "Example:\n  millstream show accelerator tpu_like_quad_core")]
    Show(show::ShowArgs),
    /// List the networks and accelerators that are compiled in.
    #[command(after_help = "Example:\n  millstream list")]
    List,
    /// Print the JSON Schema of an input format, for editors and validators.
    #[command(after_help = "Example:\n  millstream schema accelerator > accelerator.schema.json")]
    Schema(schema::SchemaArgs),
}

/// Why a command ends with code 1 or 3.
enum Failure {
    /// The input is wrong or the case infeasible.
    Input(String),
    /// `check` found violations.
    Violations(String),
    /// Results cannot be written.
    Output(io::Error),
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
    let mut out = Output::new();
    let done = execute(&cli, &mut out).and_then(|()| out.flush());
    exit(done, &mut out)
}

fn execute(cli: &Cli, out: &mut Output) -> Result<(), Failure> {
    let format = cli.global.format;
    match &cli.command {
        Command::Run(args) => run::run(args, format, cli.global.quiet, out),
        Command::Compare(args) => compare::run(args, format, out),
        Command::Cost(args) => cost::cost(args, format, out),
        Command::Fuse(args) => fuse::fuse(args, format, out),
        Command::Check(args) => check::check(args, out),
        Command::Show(args) => show::show(args, format, out),
        Command::List => show::list(out),
        Command::Schema(args) => schema::schema(args, out),
    }
}

fn exit(done: Result<(), Failure>, out: &mut Output) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Input(message)) => {
            let prefix = if message.starts_with("error") { "" } else { "error: " };
            complain(&format!("{prefix}{}", message.trim_end()));
            ExitCode::from(1)
        }
        Err(Failure::Violations(report)) => {
            match out.line(report.trim_end()).and_then(|()| out.flush()) {
                Ok(()) => ExitCode::from(3),
                // The verdict does not depend on who reads the report.
                Err(Failure::Output(error)) if reader_left(&error) => ExitCode::from(3),
                failed => exit(failed, out),
            }
        }
        Err(Failure::Output(error)) if reader_left(&error) => ExitCode::SUCCESS,
        Err(Failure::Output(error)) => {
            complain(&format!("error: cannot write to standard output: {error}"));
            ExitCode::from(1)
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
