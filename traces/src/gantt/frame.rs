//! Where the columns of the picture stand: labels at the left, time in the middle, shares at the right.

use super::GanttOptions;
use super::scene::{Anchor, Scene, TextStyle};
use super::select::Selection;
use crate::Timeline;
use crate::columns::Raster;
use crate::font::{shorten, text_width};
use crate::ticks::{Tick, choose_ticks};

/// White space around the picture.
pub const MARGIN: i32 = 14;
/// Em size of labels.
pub const LABEL_EM: f64 = 11.5;
/// Widest label at the left.
const WIDEST_LABEL: i32 = 190;
/// Width of a tick's label with the space around it.
const TICK_WIDTH: u32 = 95;
/// Room for shares and peaks at the right.
const RIGHT_COLUMN: i32 = 122;

/// The columns of the picture and the time axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Left edge of the time axis.
    pub left: i32,
    /// Right edge of the time axis.
    pub right: i32,
    /// Right edge of everything.
    pub outer_right: i32,
    /// Height of a row.
    pub row_height: i32,
    /// Em size of the labels of rows.
    pub row_em: f64,
    /// Time at the right edge.
    pub end: u64,
    pub ticks: Vec<Tick>,
}

impl Frame {
    /// The columns that the selection needs.
    pub fn new(timeline: &Timeline, selection: &Selection, options: &GanttOptions) -> Frame {
        let rows = selection.rows().count();
        let row_height = options.row_height.map_or(
            match rows {
                0..=30 => 22,
                31..=60 => 18,
                61..=100 => 15,
                _ => 13,
            },
            |height| (height as i32).clamp(10, 200),
        );
        let row_em = LABEL_EM.min(f64::from(row_height) - 3.0);
        let tracks = selection.rows().map(|row| timeline.tracks[row.track].name.as_str());
        let counters = selection.counters.iter().map(|&i| timeline.counters[i].name.as_str());
        let label = tracks.chain(counters).map(|name| text_width(name, row_em)).max();
        let left = MARGIN + label.unwrap_or(0).clamp(40, WIDEST_LABEL) + 8;
        let outer_right = options.width as i32 - MARGIN;
        let right = outer_right - RIGHT_COLUMN;
        Frame {
            left,
            right,
            outer_right,
            row_height,
            row_em,
            end: timeline.end,
            ticks: choose_ticks(timeline.end, (right - left) as u32 / TICK_WIDTH),
        }
    }

    /// The time axis in pixels, in columns of `column` pixels.
    pub fn raster(&self, column: u32) -> Raster {
        Raster { end: self.end, width: (self.right - self.left) as u32, column }
    }

    /// Title and subtitle; returns where the rows begin.
    pub fn draw_heading(&self, scene: &mut Scene, timeline: &Timeline) -> i32 {
        let width = self.outer_right - MARGIN;
        let mut y = MARGIN;
        for (text, style, height) in
            [(&timeline.title, TextStyle::new(17.0), 24), (&timeline.subtitle, TextStyle::faint(12.0), 18)]
        {
            if !text.is_empty() {
                let text = shorten(text, style.em, width);
                scene.text((MARGIN, y + height / 2 - 2), Anchor::Left, style, text);
                y += height;
            }
        }
        y + 6
    }

    /// `text` at the left of the time axis, shortened to fit.
    pub fn draw_label(&self, scene: &mut Scene, y: i32, text: &str) {
        let text = shorten(text, self.row_em, self.left - 8 - MARGIN);
        scene.text((self.left - 8, y), Anchor::Right, TextStyle::new(self.row_em), text);
    }
}
