//! What is drawn, in pixels from the upper left corner, in the order of painting.

use crate::palette::Color;

/// Which point of a text is given; vertically always the middle of the line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Anchor {
    Left,
    Middle,
    Right,
}

/// An area from its upper left corner up to, not including, its lower right one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rectangle {
    pub left: i32,
    pub top: i32,
    pub right: i32,
    pub bottom: i32,
}

/// The area between a base line and a curve of steps above it.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    /// Height of the base line.
    pub base: i32,
    /// (x, height of the curve from there on), by ascending x.
    pub points: Vec<(i32, i32)>,
    /// Where the last step ends.
    pub right: i32,
    pub color: Color,
}

impl Steps {
    /// (left, right, height) of each step.
    pub fn pieces(&self) -> impl Iterator<Item = (i32, i32, i32)> {
        let ends = self.points.iter().skip(1).map(|point| point.0);
        let ends = ends.chain([self.right]);
        let pieces = self.points.iter().zip(ends);
        pieces.map(|(&(left, height), right)| (left, right, height))
    }
}

/// A line of text.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    pub x: i32,
    pub y: i32,
    pub anchor: Anchor,
    pub text: String,
    /// Em size in pixels.
    pub em: f64,
    pub color: Color,
}

/// One thing to paint.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A filled rectangle.
    Rectangle { area: Rectangle, color: Color },
    /// The filled area under a curve of steps.
    Steps(Steps),
    /// A line of text.
    Text(Text),
}

/// A whole picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    pub width: u32,
    pub height: u32,
    pub shapes: Vec<Shape>,
}

/// Grey of lines between things.
pub const LINE: Color = (200, 200, 200);
/// Grey of lines in the background.
pub const GRID: Color = (232, 232, 232);
/// Main text.
pub const TEXT: Color = (30, 30, 30);
/// Text of less weight.
pub const FAINT_TEXT: Color = (100, 100, 100);

impl Scene {
    /// An empty picture.
    pub fn new(width: u32) -> Scene {
        Scene { width, height: 0, shapes: Vec::new() }
    }

    /// A rectangle from `(left, top)` to `(right, bottom)`; nothing if it has no area.
    pub fn rectangle(&mut self, (left, top): (i32, i32), (right, bottom): (i32, i32), color: Color) {
        if left < right && top < bottom {
            let area = Rectangle { left, top, right, bottom };
            self.shapes.push(Shape::Rectangle { area, color });
        }
    }

    /// A line of text; nothing if it is empty.
    pub fn text(&mut self, (x, y): (i32, i32), anchor: Anchor, style: TextStyle, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.shapes.push(Shape::Text(Text { x, y, anchor, text, em: style.em, color: style.color }));
        }
    }
}

/// Size and colour of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextStyle {
    /// Em size in pixels.
    pub em: f64,
    pub color: Color,
}

impl TextStyle {
    /// Text of normal weight at `em` pixels.
    pub const fn new(em: f64) -> TextStyle {
        TextStyle { em, color: TEXT }
    }

    /// The same in grey.
    pub const fn faint(em: f64) -> TextStyle {
        TextStyle { em, color: FAINT_TEXT }
    }
}
