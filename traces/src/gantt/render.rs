//! Scenes through plotters' backends: SVG and a bitmap in memory.

use std::fmt::Display;

use plotters::backend::{BitMapBackend, DrawingBackend, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{RGBColor, TextStyle};

use super::GanttError;
use super::scene::{Anchor, Rectangle, Scene, Shape, Steps, Text};
use crate::font::{BITMAP_SIZE_PER_EM, SVG_SIZE_PER_EM, font};
use crate::palette::Color;

/// What differs between the backends.
#[derive(Clone, Copy)]
enum Medium {
    /// Shapes stay shapes.
    Vector,
    /// Everything is this many times as large, and curves of steps become rectangles, which plotters fills exactly.
    Bitmap(i32),
}

/// The scene as an SVG document.
pub fn svg(scene: &Scene) -> Result<String, GanttError> {
    let mut text = String::new();
    let mut backend = SVGBackend::with_string(&mut text, (scene.width, scene.height));
    paint(scene, &mut backend, Medium::Vector)?;
    drop(backend);
    // Rectangles that touch must not show a seam when the picture is scaled.
    Ok(text.replacen("<svg ", "<svg shape-rendering=\"crispEdges\" ", 1))
}

/// The scene as RGB bytes, row by row, `scale` times as large.
pub fn bitmap(scene: &Scene, scale: u32) -> Result<Vec<u8>, GanttError> {
    let size = (scene.width * scale, scene.height * scale);
    let mut pixels = vec![255; 3 * size.0 as usize * size.1 as usize];
    let mut backend = BitMapBackend::with_buffer(&mut pixels, size);
    paint(scene, &mut backend, Medium::Bitmap(scale as i32))?;
    drop(backend);
    Ok(pixels)
}

fn paint<B: DrawingBackend>(scene: &Scene, backend: &mut B, medium: Medium) -> Result<(), GanttError> {
    let canvas = Rectangle { left: 0, top: 0, right: scene.width as i32, bottom: scene.height as i32 };
    rectangle(backend, canvas, (255, 255, 255), medium)?;
    for shape in &scene.shapes {
        match shape {
            Shape::Rectangle { area, color } => rectangle(backend, *area, *color, medium)?,
            Shape::Steps(steps) => match medium {
                Medium::Vector => polygon(backend, steps)?,
                Medium::Bitmap(_) => bars(backend, steps, medium)?,
            },
            Shape::Text(text) => write(backend, text, medium)?,
        }
    }
    backend.present().map_err(failed)
}

fn rectangle<B: DrawingBackend>(
    backend: &mut B,
    area: Rectangle,
    color: Color,
    medium: Medium,
) -> Result<(), GanttError> {
    let scale = medium.scale();
    let upper_left = (area.left * scale, area.top * scale);
    let lower_right = (area.right * scale, area.bottom * scale);
    backend.draw_rect(upper_left, lower_right, &rgb(color), true).map_err(failed)
}

fn polygon<B: DrawingBackend>(backend: &mut B, steps: &Steps) -> Result<(), GanttError> {
    let mut corners = Vec::with_capacity(2 * steps.points.len() + 2);
    for (left, right, height) in steps.pieces() {
        if corners.is_empty() {
            corners.push((left, steps.base));
        }
        corners.extend([(left, height), (right, height)]);
    }
    corners.push((steps.right, steps.base));
    backend.fill_polygon(corners, &rgb(steps.color)).map_err(failed)
}

fn bars<B: DrawingBackend>(backend: &mut B, steps: &Steps, medium: Medium) -> Result<(), GanttError> {
    steps.pieces().try_for_each(|(left, right, top)| {
        let area = Rectangle { left, top, right, bottom: steps.base };
        rectangle(backend, area, steps.color, medium)
    })
}

/// Puts the middle of capital letters (0.73 em high) at the middle of the line. plotters' SVG puts the base line half
/// an x-height (0.55 em) below the point given, its bitmaps 0.113 em (from the middle of the font's box).
fn write<B: DrawingBackend>(backend: &mut B, text: &Text, medium: Medium) -> Result<(), GanttError> {
    let horizontal = match text.anchor {
        Anchor::Left => HPos::Left,
        Anchor::Middle => HPos::Center,
        Anchor::Right => HPos::Right,
    };
    let (size, drop) = match medium {
        Medium::Vector => (SVG_SIZE_PER_EM, 0.365 - 0.273),
        Medium::Bitmap(_) => (BITMAP_SIZE_PER_EM, 0.365 - 0.113),
    };
    let scale = medium.scale();
    let em = text.em * f64::from(scale);
    let color = rgb(text.color);
    let style = TextStyle::from(font(em * size)).pos(Pos::new(horizontal, VPos::Center)).color(&color);
    let y = text.y * scale + (drop * em).round() as i32;
    // Control characters are not allowed in XML, and have no glyph.
    let letters = text.text.replace(char::is_control, " ");
    backend.draw_text(&letters, &style, (text.x * scale, y)).map_err(failed)
}

impl Medium {
    fn scale(self) -> i32 {
        match self {
            Medium::Vector => 1,
            Medium::Bitmap(scale) => scale,
        }
    }
}

fn rgb(color: Color) -> RGBColor {
    RGBColor(color.0, color.1, color.2)
}

fn failed(error: impl Display) -> GanttError {
    GanttError::Drawing(error.to_string())
}
