//! Rows of tracks under the headings of their groups.
//!
//! A track whose slices overlap up to four times is drawn in as many lanes, one above the other. With more overlap,
//! or where most slices are too narrow to see lanes, the row is a profile: full height is the greatest overlap.

use super::axis::draw_grid;
use super::frame::{Frame, MARGIN};
use super::scene::{Anchor, LINE, Scene, Shape, Steps, TextStyle};
use super::select::{Row, Selection};
use crate::columns::{Bar, LEVELS, Run, SINGLE_WIDTH, Strip, profile, strip};
use crate::font::{shorten, text_width};
use crate::palette::{Color, category_color, edge_color, text_color};
use crate::quantity::percentage;
use crate::{Slice, Timeline};

/// Height of a group's heading.
const HEADING: i32 = 19;
/// Most lanes of a row.
const MOST_LANES: u32 = 4;
/// Most runs and bars of all rows, about two megabytes of SVG; beyond, columns become wider.
const MOST_SHAPES: usize = 20_000;
/// Least width of slices that show in lanes.
const LANE_COLUMNS: u32 = 3;
/// Grey of the line under a row.
const LANE_LINE: Color = (225, 225, 225);
/// Least width of a name that is not whole.
const LEAST_SHORT_NAME: i32 = 54;

/// Draws all rows; returns where the next part begins.
pub fn draw(scene: &mut Scene, frame: &Frame, timeline: &Timeline, selection: &Selection, y: i32) -> i32 {
    let mut strips = merge(frame, timeline, selection).into_iter();
    let mut y = y;
    for (index, group) in selection.groups.iter().enumerate() {
        y = draw_heading(scene, frame, y, &group.name, if index == 0 { "busy" } else { "" });
        let height: i32 = group.rows.iter().map(|row| row_height(frame, timeline, row)).sum();
        draw_grid(scene, frame, y, y + height);
        for (row, strips) in group.rows.iter().zip(&mut strips) {
            draw_row(scene, frame, timeline, row, &strips, y);
            y += row_height(frame, timeline, row);
        }
    }
    if selection.tracks_left_out > 0 {
        let note = format!(
            "not drawn: {} of {} rows, each busy {} of the time at most",
            selection.tracks_left_out,
            timeline.tracks.len(),
            percentage(selection.busiest_left_out, timeline.end)
        );
        scene.text((frame.left, y + 9), Anchor::Left, TextStyle::faint(frame.row_em), note);
        y += HEADING;
    }
    y + 3
}

/// A heading at the left, a line, and what the right column shows; returns the top of the first row.
pub fn draw_heading(scene: &mut Scene, frame: &Frame, y: i32, name: &str, right: &str) -> i32 {
    let style = TextStyle::faint(11.0);
    let line = y + HEADING - 2;
    scene.text((MARGIN, y + HEADING / 2), Anchor::Left, style, name);
    scene.text((frame.right + 8, y + HEADING / 2), Anchor::Left, style, right);
    scene.rectangle((MARGIN, line), (frame.outer_right, line + 1), LINE);
    y + HEADING
}

/// The rows in pixels, lane by lane, in the finest columns that keep the picture small.
fn merge(frame: &Frame, timeline: &Timeline, selection: &Selection) -> Vec<Vec<Strip>> {
    let mut column = 1;
    loop {
        let strips: Vec<Vec<Strip>> =
            selection.rows().map(|row| merge_row(frame, timeline, row, column)).collect();
        let shapes: usize = strips.iter().flatten().map(|s| s.runs.len() + s.bars.len()).sum();
        if shapes <= MOST_SHAPES || column as i32 >= frame.right - frame.left {
            return strips;
        }
        column += column.div_ceil(2);
    }
}

/// Number of lanes to draw, or `None` for a profile.
fn lanes_of(frame: &Frame, timeline: &Timeline, row: &Row) -> Option<u32> {
    let slices = &timeline.tracks[row.track].slices;
    let raster = frame.raster(1);
    let wide = slices.iter().filter(|s| raster.covers(s, LANE_COLUMNS));
    match row.lanes.count {
        1 => Some(1),
        count if count <= MOST_LANES && 2 * wide.count() >= slices.len() => Some(count),
        _ => None,
    }
}

/// Rows with lanes are higher, by a third of a row for each further lane; a profile takes one and a half rows.
fn row_height(frame: &Frame, timeline: &Timeline, row: &Row) -> i32 {
    match lanes_of(frame, timeline, row) {
        Some(lanes) => frame.row_height + (lanes as i32 - 1) * frame.row_height / 3,
        None => frame.row_height * 3 / 2,
    }
}

fn merge_row(frame: &Frame, timeline: &Timeline, row: &Row, column: u32) -> Vec<Strip> {
    let slices = &timeline.tracks[row.track].slices;
    let raster = frame.raster(column);
    let lanes = &row.lanes;
    let Some(count) = lanes_of(frame, timeline, row) else {
        return vec![profile(slices, lanes.count, raster)];
    };
    (0..count)
        .map(|lane| {
            let in_lane = |&&i: &&usize| lanes.lane[i] == lane;
            let indices: Vec<usize> = lanes.order.iter().filter(in_lane).copied().collect();
            strip(slices, &indices, raster)
        })
        .collect()
}

fn draw_row(scene: &mut Scene, frame: &Frame, timeline: &Timeline, row: &Row, strips: &[Strip], top: i32) {
    let track = &timeline.tracks[row.track];
    let bottom = top + row_height(frame, timeline, row);
    let middle = (top + bottom) / 2;
    frame.draw_label(scene, middle, &track.name);
    let style = TextStyle::new(frame.row_em);
    let share = percentage(row.busy, timeline.end);
    scene.text((frame.right + 8, middle), Anchor::Left, style, share);
    let inner = (top + 2, bottom - 2);
    let height = inner.1 - inner.0;
    let count = strips.len() as i32;
    for (lane, strip) in strips.iter().enumerate() {
        let lane = lane as i32;
        let band = Band {
            left: frame.left,
            top: inner.0 + height * lane / count,
            bottom: inner.0 + height * (lane + 1) / count - i32::from(lane + 1 < count),
            categories: timeline.categories.len(),
        };
        draw_runs(scene, band, &strip.runs);
        draw_bars(scene, band, &strip.bars, &track.slices);
    }
    scene.rectangle((frame.left, inner.1), (frame.right, inner.1 + 1), LANE_LINE);
}

/// Where a lane is drawn.
#[derive(Clone, Copy)]
struct Band {
    left: i32,
    top: i32,
    bottom: i32,
    categories: usize,
}

impl Band {
    fn color(&self, category: Option<u32>) -> Color {
        category_color(category, self.categories)
    }
}

/// Neighbours of one category are one curve, which takes far less space in SVG than rectangles.
fn draw_runs(scene: &mut Scene, band: Band, runs: &[Run]) {
    let height = band.bottom - band.top;
    for curve in runs.chunk_by(|a, b| a.right == b.left && a.category == b.category) {
        let points = curve.iter().map(|run| {
            let raised = (height * run.level as i32).div_euclid(LEVELS as i32).max(1);
            (band.left + run.left, band.bottom - raised)
        });
        scene.shapes.push(Shape::Steps(Steps {
            base: band.bottom,
            points: points.collect(),
            right: band.left + curve[curve.len() - 1].right,
            color: band.color(curve[0].category),
        }));
    }
}

fn draw_bars(scene: &mut Scene, band: Band, bars: &[Bar], slices: &[Slice]) {
    let mut before: Option<&Bar> = None;
    for bar in bars {
        let color = band.color(bar.category);
        let (left, right) = (band.left + bar.left, band.left + bar.right);
        scene.rectangle((left, band.top), (right, band.bottom), color);
        let divided = before.is_some_and(|before| {
            let narrower = (bar.right - bar.left).min(before.right - before.left);
            before.right == bar.left && before.category == bar.category && narrower >= SINGLE_WIDTH
        });
        if divided {
            scene.rectangle((left, band.top), (left + 1, band.bottom), edge_color(color));
        }
        if let Some(slice) = bar.slice {
            draw_name(scene, band, (left, right), &slices[slice].name, color);
        }
        before = Some(bar);
    }
}

/// The name in the middle of its bar, if the bar is high and wide enough to read it.
fn draw_name(scene: &mut Scene, band: Band, (left, right): (i32, i32), name: &str, color: Color) {
    let height = band.bottom - band.top;
    let room = right - left - 6;
    if height < 10 || room < 6 {
        return;
    }
    let em = f64::from(height - 2).min(10.5);
    let whole = text_width(name, em) <= room;
    if !whole && room < LEAST_SHORT_NAME {
        return;
    }
    let style = TextStyle { em, color: text_color(color) };
    let place = ((left + right) / 2, (band.top + band.bottom) / 2);
    scene.text(place, Anchor::Middle, style, shorten(name, em, room));
}
