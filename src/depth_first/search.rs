//! Fuse depth by search: the best cuts into stacks, and of each stack the best tile and mode.
//!
//! A stack is any range of consecutive layers of which only the last is read from outside. Energy and
//! latency add up over stacks, so one dynamic programme ([`front`]) over all ranges, tile sizes and modes
//! is exact: the result is never worse than any rule that cuts with one tile and mode for all stacks.
//!
//! A map between two stacks may stay on chip as a whole, if both leave it the room. The programme then runs over
//! twice as many places: place 2k lies behind k layers with their map in DRAM, 2k + 1 with it on chip.

use super::network::{Network, Source};
use super::stacks::Keep;
use super::study::{Point, PointError, Study};
use super::{Overlap, TileSize};
use crate::cost::Objective;
use crate::fusion::cuts::{Choice, Path, front, undominated};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;

/// The best way to run a network depth first.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Sum over the stacks, in picojoules.
    pub energy_pj: f64,
    /// Sum over the stacks, in cycles.
    pub latency_cycles: f64,
    /// The stacks in order, each with its tile and mode.
    pub stacks: Vec<Point>,
    /// Schedules that no other is at least as good as in both energy and latency.
    pub front: usize,
}

/// Searches all cuts with these tiles and modes for the least energy, latency or product.
///
/// # Errors
/// [`PointError`] if some layer fits in no tile.
pub fn best_stacks(
    study: &Study,
    tiles: &[TileSize],
    overlaps: &[Overlap],
    objective: Objective,
) -> Result<Schedule, PointError> {
    let stages = study.network().stages.len();
    let keeps =
        [false, true].iter().flat_map(|input| [false, true].map(|output| Keep { input: *input, output }));
    let keeps: Vec<Keep> = keeps.filter(|keep| study.may_keep() || *keep == Keep::default()).collect();
    let mut jobs: Vec<Job> = Vec::new();
    for start in 0..stages {
        for end in (start + 1..=stages).filter(|end| is_closed(study.network(), &(start..*end))) {
            let ways = ways(study.map(end - 1), tiles, overlaps);
            for keep in
                keeps.iter().filter(|keep| (!keep.input || start > 0) && (!keep.output || end < stages))
            {
                let job = |(tile, overlap)| Job { stages: start..end, tile, overlap, keep: *keep };
                jobs.extend(ways.iter().copied().map(job));
            }
        }
    }
    let points: Vec<Result<Option<Point>, PointError>> = (jobs.par_iter())
        .map(|job| study.stack_point(job.stages.clone(), job.tile, job.overlap, job.keep))
        .collect();
    let mut choices: BTreeMap<(usize, usize), Vec<Choice<usize>>> = BTreeMap::new();
    for (at, (job, point)) in jobs.iter().zip(&points).enumerate() {
        if let Ok(Some(point)) = point {
            let choice = Choice { costs: [point.energy_pj, point.latency_cycles], what: at };
            choices.entry(job.places()).or_default().push(choice);
        }
    }
    choices.values_mut().for_each(|all| *all = undominated(std::mem::take(all), |choice| choice.costs));
    let paths =
        front(2 * stages, |range| choices.get(&(range.start, range.end)).cloned().unwrap_or_default());
    let figure = |path: &Path<usize>| match objective {
        Objective::Energy => path.costs[0],
        Objective::Latency => path.costs[1],
        Objective::Edp => path.costs[0] * path.costs[1],
    };
    match paths.iter().min_by(|a, b| figure(a).total_cmp(&figure(b))) {
        Some(best) => Ok(Schedule {
            energy_pj: best.costs[0],
            latency_cycles: best.costs[1],
            stacks: best.segments.iter().filter_map(|(_, job)| points[*job].clone().ok().flatten()).collect(),
            front: paths.len(),
        }),
        None => Err(points.into_iter().find_map(Result::err).expect("some layer has no point")),
    }
}

/// Tiles and modes that differ on a map: larger tiles than it are alike, and one tile has nothing to keep.
fn ways(map: [u64; 2], tiles: &[TileSize], overlaps: &[Overlap]) -> Vec<(TileSize, Overlap)> {
    let mut ways: Vec<(TileSize, Overlap)> = Vec::new();
    for tile in tiles {
        let size = tile.within(map);
        let modes = if size == map { &overlaps[..overlaps.len().min(1)] } else { overlaps };
        if ways.iter().all(|(known, _)| known.within(map) != size) {
            ways.extend(modes.iter().map(|overlap| (*tile, *overlap)));
        }
    }
    ways
}

/// A stack to be evaluated.
struct Job {
    stages: Range<usize>,
    tile: TileSize,
    overlap: Overlap,
    keep: Keep,
}

impl Job {
    /// Places of the dynamic programme in front of the stack and behind it.
    fn places(&self) -> (usize, usize) {
        let Keep { input, output } = self.keep;
        (2 * self.stages.start + usize::from(input), 2 * self.stages.end + usize::from(output))
    }
}

/// Whether only the last layer of a range is read from outside.
fn is_closed(network: &Network, range: &Range<usize>) -> bool {
    (network.stages.iter().enumerate()).filter(|(reader, _)| !range.contains(reader)).all(|(_, stage)| {
        let inside = |from: usize| range.contains(&from) && from + 1 != range.end;
        stage.inputs.iter().all(|input| !matches!(input.from, Source::Stage(from) if inside(from)))
    })
}
