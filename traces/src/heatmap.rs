//! Heat maps of one quantity over two parameters, side by side, as SVG and PNG.
//!
//! Colours are logarithmic in the value and common to all panels, dark where it is least. The least
//! value of all is framed.

use crate::gantt::GanttError;
use crate::gantt::render::{bitmap, svg};
use crate::gantt::scene::{Anchor, Scene, TextStyle};
use crate::palette::{ramp, text_color};
use crate::png;
use crate::quantity::short;

/// What is drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heatmap {
    /// Above everything.
    pub title: String,
    /// Name of the horizontal parameter.
    pub x: String,
    /// Name of the vertical parameter.
    pub y: String,
    /// Values of the horizontal parameter.
    pub columns: Vec<String>,
    /// Values of the vertical parameter.
    pub rows: Vec<String>,
    /// Maps.
    pub panels: Vec<Panel>,
}

/// One map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    /// Above it.
    pub name: String,
    /// Row by row; what is absent stays empty.
    pub cells: Vec<Option<f64>>,
}

/// Width and height of a cell in pixels.
const CELL: (i32, i32) = (62, 34);
/// Space around everything and between panels.
const GAP: i32 = 24;
/// Space left of each panel for the values of its rows.
const LEFT: i32 = 64;
/// Space above panels for the title and their names.
const TOP: i32 = 76;

/// The maps as an SVG document.
///
/// # Errors
/// If there is nothing to draw, or plotters fails.
pub fn draw_svg(heatmap: &Heatmap) -> Result<String, GanttError> {
    svg(&scene(heatmap)?)
}

/// The maps as a PNG file, twice as large as the SVG.
///
/// # Errors
/// If there is nothing to draw, or plotters fails.
pub fn draw_png(heatmap: &Heatmap) -> Result<Vec<u8>, GanttError> {
    let scene = scene(heatmap)?;
    let pixels = bitmap(&scene, 2)?;
    Ok(png::encode(&pixels, 2 * scene.width, 2 * scene.height))
}

fn scene(heatmap: &Heatmap) -> Result<Scene, GanttError> {
    let (columns, rows) = (heatmap.columns.len() as i32, heatmap.rows.len() as i32);
    let values = heatmap.panels.iter().flat_map(|panel| &panel.cells).flatten();
    let (least, most) = values
        .fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), value| (least.min(*value), most.max(*value)));
    if !(least > 0.0 && least <= most) {
        return Err(GanttError::Drawing("a heat map without positive values".to_owned()));
    }
    let shade = |value: f64| if most > least { (value / least).ln() / (most / least).ln() } else { 0.0 };
    let width = LEFT + columns * CELL.0 + GAP;
    let mut scene = Scene::new((GAP + width * heatmap.panels.len() as i32) as u32);
    scene.height = (TOP + rows * CELL.1 + 64) as u32;
    scene.text((GAP, 26), Anchor::Left, TextStyle::new(16.0), &heatmap.title);
    for (at, panel) in heatmap.panels.iter().enumerate() {
        let left = GAP + at as i32 * width + LEFT;
        scene.text((left, TOP - 16), Anchor::Left, TextStyle::new(13.0), &panel.name);
        for (row, name) in heatmap.rows.iter().enumerate() {
            let y = TOP + row as i32 * CELL.1 + CELL.1 / 2;
            scene.text((left - 8, y), Anchor::Right, TextStyle::new(12.0), name);
        }
        let below = TOP + rows * CELL.1;
        for (column, name) in heatmap.columns.iter().enumerate() {
            let x = left + column as i32 * CELL.0 + CELL.0 / 2;
            scene.text((x, below + 14), Anchor::Middle, TextStyle::new(12.0), name);
        }
        scene.text(
            (left + columns * CELL.0 / 2, below + 38),
            Anchor::Middle,
            TextStyle::new(12.0),
            &heatmap.x,
        );
        scene.text((left - 8, TOP - 16), Anchor::Right, TextStyle::new(12.0), &heatmap.y);
        for (cell, value) in panel.cells.iter().enumerate() {
            let Some(value) = value else {
                continue;
            };
            let (x, y) = (left + cell as i32 % columns * CELL.0, TOP + cell as i32 / columns * CELL.1);
            let color = ramp(shade(*value));
            let best = *value <= least;
            let frame = if best { 4 } else { 0 };
            scene.rectangle((x, y), (x + CELL.0 - 1, y + CELL.1 - 1), BEST);
            scene.rectangle((x + frame, y + frame), (x + CELL.0 - 1 - frame, y + CELL.1 - 1 - frame), color);
            let style = TextStyle { color: text_color(color), ..TextStyle::new(11.0) };
            scene.text((x + CELL.0 / 2, y + CELL.1 / 2), Anchor::Middle, style, short(*value));
        }
    }
    Ok(scene)
}

/// Frame of the least value: Okabe and Ito's vermilion.
const BEST: crate::palette::Color = (213, 94, 0);

#[cfg(test)]
mod tests {
    use super::*;

    fn two_by_two() -> Heatmap {
        Heatmap {
            title: "energy, mJ".to_owned(),
            x: "Tx".to_owned(),
            y: "Ty".to_owned(),
            columns: vec!["1".to_owned(), "4".to_owned()],
            rows: vec!["1".to_owned(), "72".to_owned()],
            panels: vec![Panel {
                name: "cached".to_owned(),
                cells: vec![Some(4.0), Some(2.0), None, Some(1.5)],
            }],
        }
    }

    #[test]
    fn every_value_stands_in_its_cell() {
        let svg = draw_svg(&two_by_two()).unwrap();
        for text in ["energy, mJ", "Tx", "Ty", "72", "cached", "1.5"] {
            assert!(svg.contains(text), "{text}");
        }
        // The background, and two rectangles for each value.
        assert_eq!(svg.matches("<rect").count(), 1 + 2 * 3);
    }

    #[test]
    fn a_png_is_a_png() {
        assert_eq!(&draw_png(&two_by_two()).unwrap()[..8], b"\x89PNG\r\n\x1a\n");
    }

    #[test]
    fn an_empty_map_is_an_error() {
        assert!(draw_svg(&Heatmap::default()).is_err());
    }
}
