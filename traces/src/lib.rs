//! Timelines and their pictures: tracks of slices, counters and flows, written as SVG and PNG Gantt charts, as a trace
//! for Perfetto, and as CSV.
//!
//! The crate knows time, rows and colours, nothing of what the rows stand for:
//!
//! ```text
//! Timeline ─┬─> gantt::draw_svg, gantt::draw_png     a picture for a paper
//!           ├─> perfetto::write                      a trace to zoom into (ui.perfetto.dev, chrome://tracing)
//!           └─> csv::slices                          a table for scripts
//! Scatter  ───> scatter::draw_svg, scatter::draw_png   points and fronts of two quantities
//! Heatmap  ───> heatmap::draw_svg, heatmap::draw_png   one quantity over two parameters
//! ```
//!
//! Each arrow is a pure function of a [`Timeline`]; callers write the files. Same timeline, same bytes out, on every
//! machine: the font is compiled in.
//!
//! ```
//! use millstream_traces::{Category, Slice, Timeline, Track, gantt};
//!
//! let timeline = Timeline {
//!     title: "Two tasks".into(),
//!     time_unit: "cycles".into(),
//!     end: 100,
//!     categories: vec![Category { name: "first".into() }, Category { name: "second".into() }],
//!     tracks: vec![Track {
//!         name: "machine 0".into(),
//!         group: "machines".into(),
//!         slices: vec![Slice::new(0, 40, "a", Some(0)), Slice::new(40, 100, "b", Some(1))],
//!     }],
//!     ..Timeline::default()
//! };
//! let svg = gantt::draw_svg(&timeline, &gantt::GanttOptions::default())?;
//! assert!(svg.starts_with("<svg"));
//! # Ok::<(), gantt::GanttError>(())
//! ```

mod busy;
mod columns;
pub mod csv;
mod font;
pub mod gantt;
pub mod heatmap;
mod lanes;
mod palette;
pub mod perfetto;
mod png;
mod quantity;
pub mod scatter;
mod ticks;
mod timeline;

pub use timeline::{Category, Counter, Flow, Slice, Timeline, TimelineError, Track};
