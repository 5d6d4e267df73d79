//! Gantt charts as SVG and PNG.
//!
//! ```text
//! Timeline ─> Selection ─> Frame ─> Scene ─> plotters' SVG or bitmap backend
//! ```
//!
//! The selection says which tracks and counters are drawn, the frame where their columns stand, the scene holds
//! rectangles, step curves and texts in pixels. The number of shapes is bounded by pixels, whatever the number of
//! slices (see `columns`).

mod axis;
mod frame;
mod legend;
mod panels;
pub(crate) mod render;
mod rows;
pub(crate) mod scene;
mod select;

use thiserror::Error;

use crate::{Timeline, TimelineError, png};
use frame::Frame;
use scene::Scene;

/// How a chart looks.
#[derive(Clone, Debug, PartialEq)]
pub struct GanttOptions {
    /// Width of the picture in pixels, labels included; at least 480.
    pub width: u32,
    /// Height of a row in pixels, from 10 to 200; `None` makes rows lower the more there are.
    pub row_height: Option<u32>,
    /// Most tracks drawn; of more the idlest are left out, and counted below the rows.
    pub tracks: usize,
    /// Most counters drawn; of more those with the lowest peak (by capacity, where known) are left out and counted.
    pub counters: usize,
    /// Most entries of the legend; 0 for no legend.
    pub legend_entries: usize,
    /// Pixels of a PNG per pixel of the layout: 2 for print and dense screens.
    pub png_scale: u32,
}

impl Default for GanttOptions {
    fn default() -> GanttOptions {
        GanttOptions {
            width: 1400,
            row_height: None,
            tracks: 120,
            counters: 8,
            legend_entries: 80,
            png_scale: 2,
        }
    }
}

/// Why a chart could not be drawn.
#[derive(Debug, Error)]
pub enum GanttError {
    /// The timeline contradicts itself.
    #[error(transparent)]
    Timeline(#[from] TimelineError),
    /// No room for labels and bars.
    #[error("a chart of {width} pixels is too narrow: it takes at least {least}")]
    TooNarrow {
        /// Width asked for.
        width: u32,
        /// Least width.
        least: u32,
    },
    /// The bitmap would not fit a sensible memory.
    #[error(
        "a bitmap of {width} x {height} pixels is too large: at most {most} pixels in all; lower png_scale or tracks"
    )]
    TooLarge {
        /// Width of the bitmap.
        width: u64,
        /// Height of the bitmap.
        height: u64,
        /// Most pixels.
        most: u64,
    },
    /// plotters failed.
    #[error("cannot draw: {0}")]
    Drawing(String),
}

/// Least width in pixels.
const LEAST_WIDTH: u32 = 480;
/// Most pixels of a bitmap (three bytes each).
const MOST_PIXELS: u64 = 200_000_000;

/// The chart as an SVG document. Texts stay texts, in `sans-serif`.
///
/// # Errors
/// If the timeline contradicts itself, the options leave no room, or plotters fails.
pub fn draw_svg(timeline: &Timeline, options: &GanttOptions) -> Result<String, GanttError> {
    render::svg(&compose(timeline, options)?)
}

/// The chart as a PNG file, `png_scale` times as large as the SVG.
///
/// # Errors
/// If the timeline contradicts itself, the options leave no room or ask for too many pixels, or plotters fails.
pub fn draw_png(timeline: &Timeline, options: &GanttOptions) -> Result<Vec<u8>, GanttError> {
    let scene = compose(timeline, options)?;
    let scale = options.png_scale.max(1);
    let (width, height) =
        (u64::from(scene.width) * u64::from(scale), u64::from(scene.height) * u64::from(scale));
    if width * height > MOST_PIXELS {
        return Err(GanttError::TooLarge { width, height, most: MOST_PIXELS });
    }
    let pixels = render::bitmap(&scene, scale)?;
    Ok(png::encode(&pixels, width as u32, height as u32))
}

/// The chart from top to bottom; each part returns where the next one begins.
fn compose(timeline: &Timeline, options: &GanttOptions) -> Result<Scene, GanttError> {
    timeline.check()?;
    if options.width < LEAST_WIDTH {
        return Err(GanttError::TooNarrow { width: options.width, least: LEAST_WIDTH });
    }
    let selection = select::select(timeline, options);
    let frame = Frame::new(timeline, &selection, options);
    let mut scene = Scene::new(options.width);
    let mut y = frame.draw_heading(&mut scene, timeline);
    y = rows::draw(&mut scene, &frame, timeline, &selection, y);
    y = axis::draw_labels(&mut scene, &frame, y);
    y = panels::draw(&mut scene, &frame, timeline, &selection, y);
    y = axis::draw_name(&mut scene, &frame, timeline, y);
    y = legend::draw(&mut scene, &frame, timeline, options, y);
    scene.height = (y + frame::MARGIN) as u32;
    Ok(scene)
}

#[cfg(test)]
mod tests;
