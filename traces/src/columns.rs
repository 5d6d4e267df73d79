//! From slices to pixels: slices that are wide enough become bars, the others are merged per column of pixels.
//!
//! Time `t` lies at pixel `t * width / end`. A slice at least one column wide is a *bar*, its edges rounded to the
//! nearest pixel; narrow bars of one category that touch are joined. What is narrower is summed per column: the share
//! of the column's time that is busy becomes the height of the column, in eighths (never 0 where anything happened, 8
//! only above 15/16), and the category with most of that time its colour. Equal neighbours are joined. So the number
//! of shapes depends on pixels, not on slices, and the area drawn stays proportional to the time spent.

use std::collections::BTreeMap;

use crate::Slice;

/// Steps of a column's height.
pub const LEVELS: u32 = 8;
/// Pixels from which on a bar is always one slice.
pub const SINGLE_WIDTH: i32 = 6;

/// How time becomes pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Raster {
    /// Time at the right edge.
    pub end: u64,
    /// Pixels from time 0 to the right edge.
    pub width: u32,
    /// Pixels of a column.
    pub column: u32,
}

impl Raster {
    /// Nearest pixel to `time`.
    pub fn pixel(&self, time: u64) -> i32 {
        let end = u128::from(self.end.max(1));
        ((2 * u128::from(time) * u128::from(self.width) + end) / (2 * end)) as i32
    }

    /// Duration of a column, in units of `1 / width` of the time unit, in which pixel edges are integers.
    fn column_time(&self) -> u128 {
        u128::from(self.end.max(1)) * u128::from(self.column)
    }

    /// Whether the slice takes at least `columns` columns.
    pub fn covers(&self, slice: &Slice, columns: u32) -> bool {
        let duration = u128::from(slice.duration()) * u128::from(self.width);
        duration >= u128::from(columns) * self.column_time()
    }
}

/// One wide slice, or narrow ones that touch.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Left edge in pixels.
    pub left: i32,
    /// Right edge in pixels.
    pub right: i32,
    /// Category of the slices.
    pub category: Option<u32>,
    /// Index of the slice, if the bar is only one.
    pub slice: Option<usize>,
}

/// Neighbouring columns of one category and one height.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Left edge in pixels.
    pub left: i32,
    /// Right edge in pixels.
    pub right: i32,
    /// Category with most time.
    pub category: Option<u32>,
    /// Height, of [`LEVELS`].
    pub level: u32,
}

/// One lane in pixels. Bars are drawn over runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Strip {
    /// Merged slices, by their left edge.
    pub runs: Vec<Run>,
    /// Wide slices, in the order given.
    pub bars: Vec<Bar>,
}

/// Bars and runs of the slices with the given indices, which do not overlap and ascend.
pub fn strip(slices: &[Slice], indices: &[usize], raster: Raster) -> Strip {
    let (wide, narrow): (Vec<usize>, Vec<usize>) =
        indices.iter().partition(|&&index| raster.covers(&slices[index], 1));
    let mut columns = Columns::new(raster);
    for &index in &narrow {
        columns.add(&slices[index], Touch::Any);
    }
    let mut bars: Vec<Bar> = Vec::new();
    for &index in &wide {
        let slice = &slices[index];
        columns.add(slice, Touch::Existing);
        let bar = Bar {
            left: raster.pixel(slice.start),
            right: raster.pixel(slice.end),
            category: slice.category,
            slice: Some(index),
        };
        match bars.last_mut() {
            Some(before) if before.absorbs(&bar) => {
                before.right = bar.right;
                before.slice = None;
            }
            _ => bars.push(bar),
        }
    }
    Strip { runs: columns.runs(1), bars }
}

impl Bar {
    fn absorbs(&self, next: &Bar) -> bool {
        let narrow = |bar: &Bar| bar.slice.is_none() || bar.right - bar.left < SINGLE_WIDTH;
        self.right == next.left && self.category == next.category && narrow(self) && narrow(next)
    }
}

/// Runs of slices of which up to `concurrency` overlap: full height means that many at once.
pub fn profile(slices: &[Slice], concurrency: u32, raster: Raster) -> Strip {
    let mut columns = Columns::new(raster);
    slices.iter().for_each(|slice| columns.add(slice, Touch::Any));
    Strip { runs: columns.runs(concurrency), bars: Vec::new() }
}

/// Which columns a slice adds its time to.
#[derive(Clone, Copy, PartialEq)]
enum Touch {
    /// All that it touches.
    Any,
    /// Those that hold a narrow slice already, so that their sum is true.
    Existing,
}

/// Busy time per column and category.
struct Columns {
    raster: Raster,
    times: BTreeMap<u32, BTreeMap<Option<u32>, u128>>,
}

impl Columns {
    fn new(raster: Raster) -> Columns {
        Columns { raster, times: BTreeMap::new() }
    }

    fn add(&mut self, slice: &Slice, touch: Touch) {
        if slice.duration() == 0 {
            return;
        }
        let column = self.raster.column_time();
        let start = u128::from(slice.start) * u128::from(self.raster.width);
        let end = u128::from(slice.end) * u128::from(self.raster.width);
        let (first, last) = ((start / column) as u32, ((end - 1) / column) as u32);
        let share = |at: u32| {
            let left = u128::from(at) * column;
            end.min(left + column) - start.max(left)
        };
        match touch {
            Touch::Any => {
                for at in first..=last {
                    let times = self.times.entry(at).or_default();
                    *times.entry(slice.category).or_default() += share(at);
                }
            }
            Touch::Existing => {
                for (&at, times) in self.times.range_mut(first..=last) {
                    *times.entry(slice.category).or_default() += share(at);
                }
            }
        }
    }

    fn runs(&self, concurrency: u32) -> Vec<Run> {
        let full = self.raster.column_time() * u128::from(concurrency);
        let step = self.raster.column as i32;
        let mut runs: Vec<Run> = Vec::new();
        for (&at, times) in &self.times {
            // The last column may reach beyond the right edge; it is as full as its part inside.
            let left = at as i32 * step;
            let right = (left + step).min(self.raster.width as i32);
            let inside = full * (right - left) as u128 / step as u128;
            let level = level(times.values().sum(), inside);
            let category = majority(times);
            match runs.last_mut() {
                Some(run) if (run.right, run.category, run.level) == (left, category, level) => {
                    run.right = right;
                }
                _ => runs.push(Run { left, right, category, level }),
            }
        }
        runs
    }
}

/// `busy / full` in eighths, rounded to the nearest, at least 1.
fn level(busy: u128, full: u128) -> u32 {
    let levels = u128::from(LEVELS);
    let rounded = (2 * levels * busy + full) / (2 * full).max(1);
    rounded.clamp(1, levels) as u32
}

/// Category with most time; of equals the first.
fn majority(times: &BTreeMap<Option<u32>, u128>) -> Option<u32> {
    let mut best = (None, 0);
    for (&category, &time) in times {
        if time > best.1 {
            best = (category, time);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 time units on 100 pixels: ten units a pixel.
    const RASTER: Raster = Raster { end: 1000, width: 100, column: 1 };

    fn all(slices: &[Slice], raster: Raster) -> Strip {
        strip(slices, &(0..slices.len()).collect::<Vec<_>>(), raster)
    }

    fn run(left: i32, right: i32, category: u32, level: u32) -> Run {
        Run { left, right, category: Some(category), level }
    }

    fn bars(strip: &Strip) -> Vec<(i32, i32, Option<usize>)> {
        let bars = strip.bars.iter();
        bars.map(|bar| (bar.left, bar.right, bar.slice)).collect()
    }

    #[test]
    fn a_pixel_makes_a_bar() {
        let slices = [
            Slice::new(14, 44, "bar", None),
            Slice::new(104, 114, "bar", None),
            Slice::new(201, 210, "no bar", None),
        ];
        let strip = all(&slices, RASTER);
        assert_eq!(bars(&strip), [(1, 4, Some(0)), (10, 11, Some(1))]);
        let runs: Vec<(i32, i32, u32)> = strip.runs.iter().map(|r| (r.left, r.right, r.level)).collect();
        assert_eq!(runs, [(20, 21, 7)]);
    }

    #[test]
    fn narrow_bars_that_touch_are_one() {
        let slices = [
            Slice::new(0, 20, "", Some(0)),
            Slice::new(20, 40, "", Some(0)),
            Slice::new(40, 60, "", Some(0)),
            Slice::new(60, 80, "other category", Some(1)),
            Slice::new(80, 140, "wide", Some(1)),
            Slice::new(150, 170, "apart", Some(1)),
        ];
        assert_eq!(
            bars(&all(&slices, RASTER)),
            [(0, 6, None), (6, 8, Some(3)), (8, 14, Some(4)), (15, 17, Some(5))]
        );
    }

    #[test]
    fn a_column_is_as_high_as_it_is_busy() {
        // Pixel 0: 4 of 10 in category 0, 1 of 10 in category 1; pixel 1: 1 of 10; pixel 2: idle; pixel 3: full.
        let slices = [
            Slice::new(0, 4, "", Some(0)),
            Slice::new(5, 6, "", Some(1)),
            Slice::new(10, 11, "", Some(1)),
            Slice::new(30, 35, "", Some(1)),
            Slice::new(35, 40, "", Some(1)),
        ];
        assert_eq!(all(&slices, RASTER).runs, [run(0, 1, 0, 4), run(1, 2, 1, 1), run(3, 4, 1, 8)]);
    }

    #[test]
    fn equal_neighbours_are_joined() {
        let slices: Vec<Slice> = (0..100).map(|i| Slice::new(5 * i, 5 * i + 5, "", Some(7))).collect();
        assert_eq!(all(&slices, RASTER).runs, [run(0, 50, 7, 8)]);
    }

    #[test]
    fn a_bar_counts_in_the_columns_it_shares() {
        // The bar covers 4 of 10 of pixel 3, beside 6 of 10 of narrow slices: the column is full.
        let slices = [Slice::new(30, 36, "", Some(0)), Slice::new(36, 90, "", Some(1))];
        let strip = all(&slices, RASTER);
        assert_eq!(strip.runs, [run(3, 4, 0, 8)]);
        assert_eq!(bars(&strip), [(4, 9, Some(1))]);
    }

    #[test]
    fn coarse_columns_and_the_cut_last_one() {
        let raster = Raster { column: 8, ..RASTER };
        // Column 12 holds pixels 96 to 99, half a column, of which half is busy.
        let slices = [Slice::new(960, 980, "", Some(0)), Slice::new(0, 40, "", Some(1))];
        assert_eq!(all(&slices, raster).runs, [run(0, 8, 1, 4), run(96, 100, 0, 4)]);
    }

    #[test]
    fn a_profile_shows_how_many_run_at_once() {
        let slices = [
            Slice::new(0, 100, "", Some(0)),
            Slice::new(0, 50, "", Some(0)),
            Slice::new(0, 50, "", Some(0)),
            Slice::new(0, 50, "", Some(0)),
        ];
        assert_eq!(profile(&slices, 4, RASTER).runs, [run(0, 5, 0, 8), run(5, 10, 0, 2)]);
    }

    #[test]
    fn an_instant_is_not_drawn_and_an_empty_timeline_is_safe() {
        assert_eq!(all(&[Slice::new(5, 5, "", None)], RASTER), Strip::default());
        let empty = Raster { end: 0, ..RASTER };
        assert_eq!(all(&[Slice::new(0, 0, "", None)], empty), Strip::default());
    }

    /// Painted eighths of pixels: bars over runs.
    fn painted(strip: &Strip, width: u32) -> u64 {
        let mut heights = vec![0_u64; width as usize];
        for run in &strip.runs {
            heights[run.left as usize..run.right as usize].fill(u64::from(run.level));
        }
        for bar in &strip.bars {
            heights[bar.left as usize..bar.right as usize].fill(u64::from(LEVELS));
        }
        heights.iter().sum()
    }

    #[test]
    fn the_painted_area_is_the_busy_time() {
        // Slices and gaps of lengths without a pattern, on average 0.2, 1, 2 and 20 pixels long.
        let mut state = 1_u64;
        let mut below = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % bound
        };
        for (longest, column) in [(400, 1), (2_000, 1), (4_000, 1), (40_000, 1), (2_000, 3)] {
            let raster = Raster { end: 1_000_000, width: 1_000, column };
            let mut slices = Vec::new();
            let mut start = below(longest);
            while start + longest < raster.end {
                let end = start + 1 + below(longest);
                slices.push(Slice::new(start, end, "", None));
                start = end + below(longest);
            }
            let busy: u64 = slices.iter().map(Slice::duration).sum();
            let expected = busy as f64 * 8.0 / 1000.0;
            let found = painted(&all(&slices, raster), raster.width) as f64;
            let error = (found / expected - 1.0).abs();
            assert!(error < 0.04, "{longest}, {column}: {found} for {expected}");
        }
    }
}
