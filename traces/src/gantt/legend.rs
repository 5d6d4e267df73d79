//! The legend: categories that occur, column by column.

use std::collections::BTreeSet;

use super::GanttOptions;
use super::frame::{Frame, MARGIN};
use super::scene::{Anchor, Scene, TextStyle};
use crate::Timeline;
use crate::font::{shorten, text_width};
use crate::palette::{Color, category_color};

const EM: f64 = 11.0;
const LINE_HEIGHT: i32 = 17;
const SWATCH: i32 = 12;
/// Swatch, and the space before and after the text.
const AROUND_TEXT: i32 = SWATCH + 6 + 18;
const WIDEST_TEXT: i32 = 190;

/// Draws the legend; returns where it ends.
pub fn draw(scene: &mut Scene, frame: &Frame, timeline: &Timeline, options: &GanttOptions, y: i32) -> i32 {
    let entries = entries(timeline, options.legend_entries);
    let Some(widest) = entries.iter().map(|(name, _)| text_width(name, EM)).max() else {
        return y;
    };
    let room = frame.outer_right - MARGIN;
    let column_width = widest.min(WIDEST_TEXT) + AROUND_TEXT;
    let columns = (room / column_width).max(1);
    let lines = (entries.len() as i32 + columns - 1) / columns;
    let top = y + 6;
    for (index, (name, color)) in entries.iter().enumerate() {
        let x = MARGIN + index as i32 / lines * column_width;
        let middle = top + index as i32 % lines * LINE_HEIGHT + LINE_HEIGHT / 2;
        if let Some(color) = color {
            let swatch = (x + SWATCH, middle + SWATCH / 2);
            scene.rectangle((x, middle - SWATCH / 2), swatch, *color);
        }
        let name = shorten(name, EM, WIDEST_TEXT);
        scene.text((x + SWATCH + 6, middle), Anchor::Left, TextStyle::new(EM), name);
    }
    top + lines * LINE_HEIGHT
}

/// Name and colour of every category that a slice has; what exceeds `most` is counted in a last entry without colour.
fn entries(timeline: &Timeline, most: usize) -> Vec<(String, Option<Color>)> {
    if most == 0 {
        return Vec::new();
    }
    let slices = timeline.tracks.iter().flat_map(|track| &track.slices);
    let used: BTreeSet<u32> = slices.filter_map(|slice| slice.category).collect();
    let count = timeline.categories.len();
    let mut entries: Vec<(String, Option<Color>)> = used
        .iter()
        .take(most)
        .map(|&c| {
            let name = timeline.categories[c as usize].name.clone();
            (name, Some(category_color(Some(c), count)))
        })
        .collect();
    if used.len() > most {
        entries.push((format!("and {} more", used.len() - most), None));
    }
    entries
}
