//! The results of a depth-first study: a table of points, and heat maps over a grid of tiles.

use super::summary::grouped;
use super::{ReportError, json, put};
use crate::depth_first::search::Schedule;
use crate::depth_first::study::Point;
use crate::depth_first::{Overlap, TileSize};
use crate::table::Table;
use millstream_traces::heatmap::{Heatmap, Panel, draw_png, draw_svg};
use std::collections::BTreeSet;
use std::path::Path;

/// Prints a row per point, the best marked, and how the network was cut.
pub fn print_points<E>(points: &[Point], mut line: impl FnMut(String) -> Result<(), E>) -> Result<(), E> {
    let least = |figure: fn(&Point) -> f64| points.iter().map(figure).fold(f64::INFINITY, f64::min);
    let (energy, latency) = (least(|point| point.energy_pj), least(|point| point.latency_cycles));
    let best = |point: &Point| match (point.energy_pj <= energy, point.latency_cycles <= latency) {
        (true, true) => "energy, latency",
        (true, false) => "energy",
        (false, true) => "latency",
        (false, false) => "",
    };
    line(table(points, "best", |point| best(point).to_owned()))?;
    let stacks = points.iter().take(1).flat_map(|point| point.stacks.iter().map(|layers| span(layers)));
    line(format!("stacks: {}", stacks.collect::<Vec<_>>().join(" | ")))
}

/// Prints a row per stack of a schedule, and its sums.
pub fn print_schedule<E>(best: &Schedule, mut line: impl FnMut(String) -> Result<(), E>) -> Result<(), E> {
    let stack = |point: &Point| {
        let layers: String = point.stacks.iter().map(|layers| span(layers)).collect();
        layers + if point.output_on_chip { " (map stays on chip)" } else { "" }
    };
    line(table(&best.stacks, "stack", stack))?;
    line(format!(
        "{} stacks: {:.3} mJ, {} cycles; {} schedules are not dominated in both",
        best.stacks.len(),
        best.energy_pj / 1e9,
        grouped(best.latency_cycles.round() as u64),
        best.front
    ))
}

fn span(layers: &[String]) -> String {
    match layers {
        [] => String::new(),
        [one] => one.clone(),
        [first, .., last] => format!("{first} .. {last}"),
    }
}

fn table(points: &[Point], last: &str, of: impl Fn(&Point) -> String) -> String {
    let heading =
        ["tile", "overlap", "mJ", "cycles", "copies mJ", "copy cycles", "peak KiB", "tiles", "types", last];
    let mut table = Table::new(&heading);
    for point in points {
        table.row(vec![
            point.tile.clone(),
            point.overlap.to_string(),
            format!("{:.3}", point.energy_pj / 1e9),
            grouped(point.latency_cycles.round() as u64),
            format!("{:.3}", point.copy_energy_pj / 1e9),
            grouped(point.copy_cycles),
            format!("{:.0}", point.peak_alive_bits as f64 / 8192.0),
            grouped(point.tiles),
            point.tile_types.to_string(),
            of(point),
        ]);
    }
    table.to_string().trim_end().to_owned()
}

/// Heat maps of a study.
pub struct Heatmaps<'a> {
    /// Above the maps.
    pub title: &'a str,
    /// What each point was asked for.
    pub jobs: &'a [(TileSize, Overlap)],
    /// The points.
    pub points: &'a [Point],
}

impl Heatmaps<'_> {
    /// Writes `energy` and `latency` as SVG and PNG, and all points as `points.json`.
    ///
    /// # Errors
    /// If a file cannot be written, or if no tile size has columns and rows.
    pub fn write(&self, dir: &Path) -> Result<(), ReportError> {
        for (name, unit, figure) in [
            ("energy", "mJ", (|point| point.energy_pj / 1e9) as fn(&Point) -> f64),
            ("latency", "cycles", |point| point.latency_cycles),
        ] {
            let map = self.map(&format!("{}: {name}, {unit}", self.title), figure);
            put(dir, &format!("{name}.svg"), draw_svg(&map)?.as_bytes())?;
            put(dir, &format!("{name}.png"), &draw_png(&map)?)?;
        }
        put(dir, "points.json", json(&self.points).as_bytes())
    }

    fn map(&self, title: &str, figure: impl Fn(&Point) -> f64) -> Heatmap {
        let axis = |pick: fn(u64, u64) -> u64| -> BTreeSet<u64> {
            let sizes = self.jobs.iter().filter_map(|(tile, _)| match tile {
                TileSize::Of(x, y) => Some(pick(*x, *y)),
                TileSize::Full => None,
            });
            sizes.collect()
        };
        let (columns, rows) = (axis(|x, _| x), axis(|_, y| y));
        let text = |sizes: &BTreeSet<u64>| sizes.iter().map(u64::to_string).collect();
        let modes: BTreeSet<Overlap> = self.jobs.iter().map(|(_, overlap)| *overlap).collect();
        let panels = modes.into_iter().map(|mode| {
            let cell = |x: u64, y: u64| {
                let at = self.jobs.iter().position(|job| *job == (TileSize::Of(x, y), mode))?;
                Some(figure(&self.points[at]))
            };
            let cells = rows.iter().flat_map(|y| columns.iter().map(move |x| cell(*x, *y)));
            Panel { name: mode.to_string(), cells: cells.collect() }
        });
        Heatmap {
            title: title.to_owned(),
            x: "tile columns".to_owned(),
            y: "rows".to_owned(),
            columns: text(&columns),
            rows: text(&rows),
            panels: panels.collect(),
        }
    }
}
