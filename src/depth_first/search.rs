//! Fuse depth by search: the best cuts into stacks, and of each stack the best tile and mode.
//!
//! A stack is any range of consecutive layers of which only the last is read from outside. Energy and
//! latency add up over stacks, so one dynamic programme ([`front`]) over all ranges, tile sizes and modes
//! is exact: the result is never worse than any rule that cuts with one tile and mode for all stacks.

use super::network::{Network, Source};
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
    let ranges = (0..stages).flat_map(|start| (start + 1..=stages).map(move |end| start..end));
    let ranges: Vec<Range<usize>> = ranges.filter(|range| is_closed(study.network(), range)).collect();
    let ways: Vec<(TileSize, Overlap)> =
        tiles.iter().flat_map(|tile| overlaps.iter().map(move |overlap| (*tile, *overlap))).collect();
    let jobs: Vec<(usize, TileSize, Overlap)> = (0..ranges.len())
        .flat_map(|at| ways.iter().map(move |(tile, overlap)| (at, *tile, *overlap)))
        .collect();
    let points: Vec<Result<Point, PointError>> = (jobs.par_iter())
        .map(|(at, tile, overlap)| study.stack_point(ranges[*at].clone(), *tile, *overlap))
        .collect();
    let mut choices: BTreeMap<(usize, usize), Vec<Choice<usize>>> = BTreeMap::new();
    for (job, point) in points.iter().enumerate() {
        let range = &ranges[jobs[job].0];
        if let Ok(point) = point {
            let choice = Choice { costs: [point.energy_pj, point.latency_cycles], what: job };
            choices.entry((range.start, range.end)).or_default().push(choice);
        }
    }
    choices.values_mut().for_each(|all| *all = undominated(std::mem::take(all), |choice| choice.costs));
    let paths = front(stages, |range| choices.get(&(range.start, range.end)).cloned().unwrap_or_default());
    let figure = |path: &Path<usize>| match objective {
        Objective::Energy => path.costs[0],
        Objective::Latency => path.costs[1],
        Objective::Edp => path.costs[0] * path.costs[1],
    };
    match paths.iter().min_by(|a, b| figure(a).total_cmp(&figure(b))) {
        Some(best) => Ok(Schedule {
            energy_pj: best.costs[0],
            latency_cycles: best.costs[1],
            stacks: best.segments.iter().filter_map(|(_, job)| points[*job].clone().ok()).collect(),
            front: paths.len(),
        }),
        None => Err(points.into_iter().find_map(Result::err).expect("a network without stages has a path")),
    }
}

/// Whether only the last layer of a range is read from outside.
fn is_closed(network: &Network, range: &Range<usize>) -> bool {
    (network.stages.iter().enumerate()).filter(|(reader, _)| !range.contains(reader)).all(|(_, stage)| {
        let inside = |from: usize| range.contains(&from) && from + 1 != range.end;
        stage.inputs.iter().all(|input| !matches!(input.from, Source::Stage(from) if inside(from)))
    })
}
