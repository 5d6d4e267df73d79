//! Points and fronts of two quantities, as SVG and PNG: latency against energy, say.
//!
//! A series is drawn as points, and as a staircase where it is a front: what it reaches dominates all above
//! and right of the stairs. Logarithmic axes where the values span more than a factor of [`DECADE`]. Bounds
//! are lines along both axes.

use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use crate::font::{BITMAP_SIZE_PER_EM, SVG_SIZE_PER_EM, font};
use crate::gantt::GanttError;
use crate::palette::category_color;
use crate::png;
use crate::quantity::short;

/// Values that span more than this factor get a logarithmic axis.
const DECADE: f64 = 10.0;

/// What is drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scatter {
    /// Above the chart.
    pub title: String,
    /// Name and unit of the horizontal axis.
    pub x: String,
    /// Name and unit of the vertical axis.
    pub y: String,
    /// Points by series.
    pub series: Vec<Series>,
    /// Lower bounds of x and y, drawn as lines.
    pub bound: Option<(f64, f64)>,
}

/// Points of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// In the legend.
    pub name: String,
    /// Points that belong to the staircase, ascending in x.
    pub front: Vec<(f64, f64)>,
    /// The point that counts, drawn large.
    pub best: Option<(f64, f64)>,
}

/// Width and height of the picture in pixels.
const SIZE: (u32, u32) = (900, 620);

/// The chart as an SVG document.
///
/// # Errors
/// If there is nothing to draw, or plotters fails.
pub fn draw_svg(scatter: &Scatter) -> Result<String, GanttError> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        draw(&area, scatter, 1.0, SVG_SIZE_PER_EM)?;
        area.present().map_err(failed)?;
    }
    Ok(text)
}

/// The chart as a PNG file, twice as large as the SVG.
///
/// # Errors
/// If there is nothing to draw, or plotters fails.
pub fn draw_png(scatter: &Scatter) -> Result<Vec<u8>, GanttError> {
    let (width, height) = (2 * SIZE.0, 2 * SIZE.1);
    let mut pixels = vec![0; 3 * width as usize * height as usize];
    {
        let area = BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area();
        draw(&area, scatter, 2.0, BITMAP_SIZE_PER_EM)?;
        area.present().map_err(failed)?;
    }
    Ok(png::encode(&pixels, width, height))
}

fn failed(error: impl std::fmt::Display) -> GanttError {
    GanttError::Drawing(error.to_string())
}

/// Least and greatest of the values with room around them; logarithmic or not.
struct Span {
    from: f64,
    to: f64,
    logarithmic: bool,
}

impl Span {
    fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| value.is_finite()) {
            least = least.min(value);
            most = most.max(value);
        }
        if least > most {
            return None;
        }
        let logarithmic = least > 0.0 && most / least > DECADE;
        let room = if most > least { 0.08 * (most - least) } else { 0.1 * most.abs().max(1.0) };
        Some(match logarithmic {
            true => Self { from: least / 1.2, to: most * 1.2, logarithmic },
            false => Self { from: (least - room).max(0.0), to: most + room, logarithmic },
        })
    }
}

fn draw<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    scatter: &Scatter,
    scale: f64,
    em: f64,
) -> Result<(), GanttError> {
    let points = || {
        let series = scatter.series.iter().flat_map(|series| series.front.iter().chain(&series.best));
        series.copied().chain(scatter.bound)
    };
    let nothing = || GanttError::Drawing("a chart without points".to_owned());
    let x = Span::of(points().map(|point| point.0)).ok_or_else(nothing)?;
    let y = Span::of(points().map(|point| point.1)).ok_or_else(nothing)?;
    area.fill(&WHITE).map_err(failed)?;
    let (xs, ys) = (x.from..x.to, y.from..y.to);
    let chart = Chart { scatter, scale, em };
    match (x.logarithmic, y.logarithmic) {
        (false, false) => chart.draw(area, xs, ys, (x.to, y.to)),
        (true, false) => chart.draw(area, xs.log_scale(), ys, (x.to, y.to)),
        (false, true) => chart.draw(area, xs, ys.log_scale(), (x.to, y.to)),
        (true, true) => chart.draw(area, xs.log_scale(), ys.log_scale(), (x.to, y.to)),
    }
}

struct Chart<'a> {
    scatter: &'a Scatter,
    scale: f64,
    em: f64,
}

impl Chart<'_> {
    fn px(&self, pixels: f64) -> i32 {
        (pixels * self.scale).round() as i32
    }

    fn text(&self, size: f64) -> TextStyle<'static> {
        font(size * self.scale * self.em).color(&BLACK)
    }

    fn draw<B, X, Y>(
        &self,
        area: &DrawingArea<B, Shift>,
        xs: X,
        ys: Y,
        (right, top): (f64, f64),
    ) -> Result<(), GanttError>
    where
        B: DrawingBackend,
        X: AsRangedCoord<Value = f64>,
        Y: AsRangedCoord<Value = f64>,
        X::CoordDescType: ValueFormatter<f64>,
        Y::CoordDescType: ValueFormatter<f64>,
    {
        let mut chart = ChartBuilder::on(area)
            .margin(self.px(16.0))
            .caption(&self.scatter.title, self.text(16.0))
            .x_label_area_size(self.px(48.0))
            .y_label_area_size(self.px(84.0))
            .build_cartesian_2d(xs, ys)
            .map_err(failed)?;
        let label = |value: &f64| short(*value);
        chart
            .configure_mesh()
            .x_desc(&self.scatter.x)
            .y_desc(&self.scatter.y)
            .x_label_formatter(&label)
            .y_label_formatter(&label)
            .label_style(self.text(12.0))
            .axis_desc_style(self.text(13.0))
            .light_line_style(WHITE)
            .bold_line_style(RGBColor(225, 225, 225))
            .draw()
            .map_err(failed)?;
        let grey = RGBColor(110, 110, 110).stroke_width(self.scale as u32);
        if let Some((x, y)) = self.scatter.bound {
            let lines = [vec![(x, y), (x, top)], vec![(x, y), (right, y)]];
            for (at, line) in lines.into_iter().enumerate() {
                let drawn = chart.draw_series(DashedLineSeries::new(line, 6, 4, grey)).map_err(failed)?;
                if at == 0 {
                    let (px, style) = (self.px(16.0), grey);
                    drawn
                        .label("lower bound")
                        .legend(move |(x, y)| PathElement::new([(x, y), (x + px, y)], style));
                }
            }
        }
        let count = self.scatter.series.len().min(7);
        for (at, series) in self.scatter.series.iter().enumerate() {
            let (r, g, b) = category_color(Some(at as u32), count.max(at + 1));
            let color = RGBColor(r, g, b);
            let stairs = stairs(&series.front);
            chart
                .draw_series(LineSeries::new(stairs, color.stroke_width(self.px(1.5) as u32)))
                .map_err(failed)?;
            let dot = self.px(2.5);
            let dots = series.front.iter().map(|point| Circle::new(*point, dot, color.filled()));
            chart.draw_series(dots).map_err(failed)?;
            let large = self.px(6.0);
            let drawn = chart
                .draw_series(series.best.iter().map(|point| Circle::new(*point, large, color.filled())))
                .map_err(failed)?;
            let middle = self.px(8.0);
            drawn
                .label(series.name.clone())
                .legend(move |(x, y)| Circle::new((x + middle, y), large, color.filled()));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .legend_area_size(self.px(22.0))
            .background_style(WHITE.mix(0.85))
            .border_style(RGBColor(200, 200, 200))
            .label_font(self.text(12.0))
            .draw()
            .map_err(failed)
    }
}

/// The corners of a staircase through points ascending in x.
fn stairs(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut corners = Vec::with_capacity(2 * points.len());
    for (at, point) in points.iter().enumerate() {
        if at > 0 {
            corners.push((point.0, points[at - 1].1));
        }
        corners.push(*point);
    }
    corners
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_policies() -> Scatter {
        let series = |name: &str, front: &[(f64, f64)]| Series {
            name: name.to_owned(),
            front: front.to_vec(),
            best: front.first().copied(),
        };
        Scatter {
            title: "resnet18 on quad".to_owned(),
            x: "latency, cycles".to_owned(),
            y: "energy, mJ".to_owned(),
            series: vec![series("ilp", &[(1.6e6, 2.0), (1.9e6, 1.8)]), series("greedy", &[(2.0e6, 2.1)])],
            bound: Some((1.4e6, 1.5)),
        }
    }

    #[test]
    fn every_series_and_axis_is_named() {
        let svg = draw_svg(&two_policies()).unwrap();
        for text in ["resnet18 on quad", "latency, cycles", "energy, mJ", "ilp", "greedy", "lower bound"] {
            assert!(svg.contains(text), "{text}");
        }
        // Front points and best points, and one circle per series in the legend.
        assert_eq!(svg.matches("<circle").count(), 3 + 2 + 2);
    }

    #[test]
    fn a_png_is_a_png() {
        let png = draw_png(&two_policies()).unwrap();
        assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    }

    #[test]
    fn an_empty_chart_is_an_error() {
        assert!(draw_svg(&Scatter::default()).is_err());
    }

    #[test]
    fn stairs_turn_at_every_point() {
        assert_eq!(stairs(&[(1.0, 5.0), (2.0, 3.0)]), [(1.0, 5.0), (2.0, 5.0), (2.0, 3.0)]);
    }
}
