//! `millstream fuse`: depth-first study of one core over tile sizes and overlap modes.

use super::input::{self, InputArgs};
use super::output::Output;
use super::run::prepare;
use super::search::SearchArgs;
use super::{Failure, Format};
use crate::cost::{CostTable, Objective};
use crate::depth_first::network::Network;
use crate::depth_first::search::best_stacks;
use crate::depth_first::stacks::{Cuts, cuts};
use crate::depth_first::study::{Point, PointError, Study};
use crate::depth_first::{Machine, Overlap, Rules, TileSize};
use crate::report::depth_first::{Heatmaps, print_points, print_schedule};
use clap::Args;
use rayon::prelude::*;
use std::path::PathBuf;

/// Arguments of `fuse`.
#[derive(Args)]
pub(super) struct FuseArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Tiles of every stack's last map, columns x rows, or `full` (layer by layer).
    #[arg(long, value_delimiter = ',', required = true, value_name = "TXxTY,..")]
    tile: Vec<TileSize>,
    /// What happens to what neighbouring tiles both need.
    #[arg(long, value_delimiter = ',', default_value = "all", value_name = "MODE,..")]
    overlap: Vec<OverlapArg>,
    /// Where the network is cut into stacks.
    #[arg(long, value_enum, default_value_t)]
    stacks: StacksArg,
    /// DeFiNES's conventions: no padding, sizes from the last map back, the remainder tile first, results sent
    /// away for free.
    #[arg(long)]
    reference: bool,
    /// What the search over mappings of each layer of a tile minimises.
    #[arg(long, value_enum, default_value_t = Objective::Energy)]
    objective: Objective,
    #[command(flatten)]
    search: SearchArgs,
    /// Folder for heat maps of energy and latency over a grid of tiles.
    #[arg(long, value_name = "DIR")]
    plot: Option<PathBuf>,
}

/// `--stacks`.
#[derive(Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum StacksArg {
    /// Where the weights of a stack would exceed the largest weight memory on chip.
    #[default]
    Weights,
    /// Nowhere.
    All,
    /// After every layer.
    None,
    /// Where it is best, each stack with its own tile and mode of those given.
    Auto,
}

/// `--overlap`.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum OverlapArg {
    /// Compute it again.
    Recompute,
    /// Keep columns, compute rows again.
    HCached,
    /// Keep columns and rows.
    Cached,
    /// All three.
    All,
}

impl FuseArgs {
    fn modes(&self) -> Vec<Overlap> {
        let chosen = |overlap: &Overlap| {
            let same = match overlap {
                Overlap::Recompute => OverlapArg::Recompute,
                Overlap::HCached => OverlapArg::HCached,
                Overlap::Cached => OverlapArg::Cached,
            };
            self.overlap.iter().any(|arg| *arg == OverlapArg::All || *arg == same)
        };
        Overlap::ALL.into_iter().filter(chosen).collect()
    }
}

pub(super) fn fuse(args: &FuseArgs, format: Format, out: &mut Output) -> Result<(), Failure> {
    let rules = if args.reference { Rules::Reference } else { Rules::Padded };
    let (workload, _) = input::workload(&args.input.workload, &args.input.reading)?;
    let (accelerator, _) = input::accelerator(&args.input.accelerator)?;
    let (mapping, _) = input::mapping(args.input.mapping.as_deref(), Some(&accelerator))?;
    let search = args.search.options(args.objective, !args.reference);
    let machine = Machine::new(&accelerator)?;
    let network = Network::new(&workload, &machine.kind, &mapping, search.mix, rules)?;
    let table = CostTable::new();
    let study = Study::new(&network, &machine, &search, &table, rules);
    let rule = match args.stacks {
        StacksArg::Weights => Cuts::Weights,
        StacksArg::All => Cuts::All,
        StacksArg::None => Cuts::None,
        StacksArg::Auto => return best(args, &study, format, out),
    };
    let cuts = cuts(&network, &machine, rule);
    let jobs: Vec<(TileSize, Overlap)> = args
        .modes()
        .into_iter()
        .flat_map(|overlap| args.tile.iter().map(move |tile| (*tile, overlap)))
        .collect();
    let points: Result<Vec<Point>, PointError> =
        jobs.par_iter().map(|(tile, overlap)| study.point(&cuts, *tile, *overlap)).collect();
    let points = points?;
    if let Some(dir) = &args.plot {
        prepare(dir)?;
        let title = format!("{} on {}", workload.name, accelerator.name);
        Heatmaps { title: &title, jobs: &jobs, points: &points }.write(dir)?;
    }
    match format {
        Format::Json => out.json(&points),
        Format::Table => {
            print_points(&points, |line| out.line(line))?;
            out.line(format_args!("{} points, {} distinct costs", points.len(), table.distinct()))
        }
    }
}

/// The best cuts, and of each stack the best tile and mode.
fn best(args: &FuseArgs, study: &Study, format: Format, out: &mut Output) -> Result<(), Failure> {
    if args.plot.is_some() {
        return Err(Failure::Input(
            "--plot draws a grid of tiles; `--stacks auto` chooses among them".to_owned(),
        ));
    }
    let best = best_stacks(study, &args.tile, &args.modes(), args.objective)?;
    match format {
        Format::Json => out.json(&best.stacks),
        Format::Table => print_schedule(&best, |line| out.line(line)),
    }
}
