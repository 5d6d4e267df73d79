//! The time axis: lines behind the rows, labels below them.

use super::frame::{Frame, LABEL_EM};
use super::scene::{Anchor, GRID, LINE, Scene, TextStyle};
use crate::Timeline;

/// Height of the labels.
const LABELS: i32 = 24;
/// Height of the axis' name.
const NAME: i32 = 16;

/// Lines at the ticks, from `top` to `bottom`.
pub fn draw_grid(scene: &mut Scene, frame: &Frame, top: i32, bottom: i32) {
    for tick in &frame.ticks {
        let x = frame.left + frame.raster(1).pixel(tick.time);
        scene.rectangle((x, top), (x + 1, bottom), GRID);
    }
}

/// The axis with ticks and their labels; returns where the next part begins.
pub fn draw_labels(scene: &mut Scene, frame: &Frame, y: i32) -> i32 {
    scene.rectangle((frame.left, y), (frame.right, y + 1), LINE);
    for tick in &frame.ticks {
        let x = frame.left + frame.raster(1).pixel(tick.time);
        scene.rectangle((x, y), (x + 1, y + 5), LINE);
        let style = TextStyle::new(LABEL_EM);
        scene.text((x, y + 14), Anchor::Middle, style, tick.label.as_str());
    }
    y + LABELS
}

/// What the axis counts, below its labels; returns where the next part begins.
pub fn draw_name(scene: &mut Scene, frame: &Frame, timeline: &Timeline, y: i32) -> i32 {
    let name = match timeline.time_unit.as_str() {
        "" => "time".to_owned(),
        unit => format!("time ({unit})"),
    };
    let middle = (frame.left + frame.right) / 2;
    scene.text((middle, y + 5), Anchor::Middle, TextStyle::faint(LABEL_EM), name);
    y + NAME
}
