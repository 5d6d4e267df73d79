//! Counters: one panel each, a filled curve of steps under the rows.
//!
//! In each pixel column the light area reaches to the highest value, the dark one to the average over time; where a
//! value lasts longer than a pixel they are the same.

use super::axis::{draw_grid, draw_labels};
use super::frame::{Frame, LABEL_EM};
use super::rows::draw_heading;
use super::scene::{Anchor, LINE, Scene, Shape, Steps, TextStyle};
use super::select::Selection;
use crate::columns::Raster;
use crate::palette::Color;
use crate::quantity::{amount, percentage};
use crate::{Counter, Timeline};

const HEIGHT: i32 = 46;
const GAP: i32 = 8;
const PEAK: Color = (174, 199, 221);
const AVERAGE: Color = (88, 134, 173);
const CAPACITY: Color = (190, 60, 40);
/// Length of a dash and of a dash with its gap.
const DASH: (i32, i32) = (7, 12);

/// Draws the selected counters and the time axis below them; returns where the next part begins.
pub fn draw(scene: &mut Scene, frame: &Frame, timeline: &Timeline, selection: &Selection, y: i32) -> i32 {
    if selection.counters.is_empty() {
        return y;
    }
    let mut y = y;
    let mut group = None;
    for &index in &selection.counters {
        let counter = &timeline.counters[index];
        if group != Some(&counter.group) {
            let right = if group.is_none() { "peak" } else { "" };
            y = draw_heading(scene, frame, y, &counter.group, right) + 4;
            group = Some(&counter.group);
        }
        draw_panel(scene, frame, counter, y);
        y += HEIGHT + GAP;
    }
    if selection.counters_left_out > 0 {
        let note = format!(
            "not drawn: {} of {} panels, with lower peaks",
            selection.counters_left_out,
            timeline.counters.len()
        );
        let style = TextStyle::faint(LABEL_EM);
        scene.text((frame.left, y + 4), Anchor::Left, style, note);
        y += 16;
    }
    draw_labels(scene, frame, y)
}

fn draw_panel(scene: &mut Scene, frame: &Frame, counter: &Counter, top: i32) {
    let bottom = top + HEIGHT;
    let peak = counter.peak();
    draw_grid(scene, frame, top, bottom);
    let full = counter.capacity.unwrap_or(peak).max(peak).max(1);
    let height = |value: f64| ((HEIGHT - 3) as f64 * value / full as f64).ceil() as i32;
    let columns = merge(&counter.samples, frame.raster(1));
    for (color, value) in
        [(PEAK, (|c: &Column| c.highest as f64) as fn(&Column) -> f64), (AVERAGE, |c: &Column| c.average)]
    {
        let points = columns.iter().map(|c| (frame.left + c.left, bottom - height(value(c))));
        let mut points: Vec<(i32, i32)> = points.collect();
        points.dedup_by_key(|point| point.1);
        scene.shapes.push(Shape::Steps(Steps { base: bottom, points, right: frame.right, color }));
    }
    if let Some(capacity) = counter.capacity {
        draw_dashes(scene, frame, bottom - height(capacity as f64));
    }
    scene.rectangle((frame.left, bottom), (frame.right, bottom + 1), LINE);
    draw_words(scene, frame, counter, top);
}

fn draw_dashes(scene: &mut Scene, frame: &Frame, y: i32) {
    for x in (frame.left..frame.right).step_by(DASH.1 as usize) {
        let right = (x + DASH.0).min(frame.right);
        scene.rectangle((x, y), (right, y + 1), CAPACITY);
    }
}

/// Name at the left; peak, capacity and their ratio at the right.
fn draw_words(scene: &mut Scene, frame: &Frame, counter: &Counter, top: i32) {
    let middle = top + HEIGHT / 2;
    frame.draw_label(scene, middle, &counter.name);
    let (x, peak) = (frame.right + 8, counter.peak());
    let first = amount(peak, &counter.unit);
    match counter.capacity {
        None => scene.text((x, middle), Anchor::Left, TextStyle::new(LABEL_EM), first),
        Some(capacity) => {
            let first = format!("{first} ({})", percentage(peak, capacity));
            let second = format!("of {}", amount(capacity, &counter.unit));
            scene.text((x, middle - 8), Anchor::Left, TextStyle::new(LABEL_EM), first);
            scene.text((x, middle + 8), Anchor::Left, TextStyle::faint(LABEL_EM), second);
        }
    }
}

/// The curve from a pixel on, until the next one that is listed.
#[derive(Clone, Debug, PartialEq)]
struct Column {
    left: i32,
    highest: u64,
    average: f64,
}

/// Samples per pixel column. Columns without a sample continue the value before and are not listed.
fn merge(samples: &[(u64, u64)], raster: Raster) -> Vec<Column> {
    let end = u128::from(raster.end.max(1));
    let width = u128::from(raster.width);
    // In units of 1 / width of the time unit a column is `end` long.
    let position = |time: u64| u128::from(time) * width;
    let mut columns = vec![Column { left: 0, highest: 0, average: 0.0 }];
    let mut value = 0;
    let mut next = 0;
    while next < samples.len() {
        let at = (position(samples[next].0) / end).min(width - 1);
        let (from, to) = (at * end, (at + 1) * end);
        let (mut since, mut highest, mut sum) = (from, 0, 0.0);
        while next < samples.len() && (position(samples[next].0) < to || at == width - 1) {
            let now = position(samples[next].0);
            if now > since {
                highest = highest.max(value);
                sum += value as f64 * (now - since) as f64;
                since = now;
            }
            value = samples[next].1;
            next += 1;
        }
        if since < to {
            highest = highest.max(value);
            sum += value as f64 * (to - since) as f64;
        }
        columns.push(Column { left: at as i32, highest, average: sum / end as f64 });
        if at + 1 < width {
            columns.push(Column { left: at as i32 + 1, highest: value, average: value as f64 });
        }
    }
    // A column that begins where the one before did replaces it.
    columns.dedup_by(|later, earlier| {
        let same = later.left == earlier.left;
        if same {
            *earlier = later.clone();
        }
        same
    });
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten time units a pixel, ten pixels.
    const RASTER: Raster = Raster { end: 100, width: 10, column: 1 };

    fn curve(samples: &[(u64, u64)]) -> Vec<(i32, u64, f64)> {
        let columns = merge(samples, RASTER);
        columns.iter().map(|c| (c.left, c.highest, c.average)).collect()
    }

    #[test]
    fn long_values_are_steps() {
        let expected = vec![(0, 0, 0.0), (2, 8, 8.0), (3, 8, 8.0), (5, 1, 1.0), (6, 1, 1.0)];
        assert_eq!(curve(&[(20, 8), (50, 1)]), expected);
        assert_eq!(curve(&[]), vec![(0, 0, 0.0)]);
    }

    #[test]
    fn a_short_peak_is_seen_and_weighs_little() {
        // Pixel 4: 10 from 40, 90 during [44, 46), then 20: average (4*10 + 2*90 + 4*20) / 10 = 30.
        let samples = [(0, 10), (44, 90), (46, 20)];
        let expected = vec![(0, 10, 10.0), (1, 10, 10.0), (4, 90, 30.0), (5, 20, 20.0)];
        assert_eq!(curve(&samples), expected);
    }

    #[test]
    fn of_samples_at_one_time_the_last_holds_and_the_end_counts_nothing() {
        assert_eq!(curve(&[(10, 99), (10, 5)])[1], (1, 5, 5.0));
        assert_eq!(curve(&[(95, 4), (100, 50)]), vec![(0, 0, 0.0), (9, 4, 2.0)]);
    }
}
