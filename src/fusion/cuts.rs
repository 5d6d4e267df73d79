//! Where to cut a sequence of layers into stacks: one dynamic programme over contiguous segments.
//!
//! ```text
//! front(0) = {nothing}
//! front(j) = undominated of { path + choice : i < j, path in front(i), choice of the segment i..j }
//! ```
//!
//! Costs (energy and latency) add up over segments, so a dominated path is part of no best one: the
//! front at the end is exact, also for the product of both.

use std::ops::Range;

/// A way to run a segment.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice<T> {
    /// Energy and latency.
    pub costs: [f64; 2],
    /// What it stands for.
    pub what: T,
}

/// Segments in order, each with its choice.
#[derive(Clone, Debug, PartialEq)]
pub struct Path<T> {
    /// Sums over the segments.
    pub costs: [f64; 2],
    /// The segments.
    pub segments: Vec<(Range<usize>, T)>,
}

/// A path's last segment: where it starts, which path it continues, its choice.
struct Step<T> {
    costs: [f64; 2],
    start: usize,
    before: usize,
    what: Option<T>,
}

/// All undominated ways to cut `0..length` into segments, by ascending energy; empty if there is none.
pub fn front<T: Clone>(length: usize, choices: impl Fn(Range<usize>) -> Vec<Choice<T>>) -> Vec<Path<T>> {
    let mut fronts: Vec<Vec<Step<T>>> =
        vec![vec![Step { costs: [0.0, 0.0], start: 0, before: 0, what: None }]];
    for end in 1..=length {
        let mut steps = Vec::new();
        for (start, paths) in fronts.iter().enumerate() {
            for choice in choices(start..end) {
                steps.extend(paths.iter().enumerate().map(|(before, path)| Step {
                    costs: [path.costs[0] + choice.costs[0], path.costs[1] + choice.costs[1]],
                    start,
                    before,
                    what: Some(choice.what.clone()),
                }));
            }
        }
        fronts.push(undominated(steps, |step| step.costs));
    }
    (0..fronts[length].len())
        .map(|at| {
            let costs = fronts[length][at].costs;
            let (mut segments, mut end, mut at) = (Vec::new(), length, at);
            while let Step { start, before, what: Some(what), .. } = &fronts[end][at] {
                segments.push((*start..end, what.clone()));
                (end, at) = (*start, *before);
            }
            segments.reverse();
            Path { costs, segments }
        })
        .collect()
}

/// Those that no other is at least as good as in both costs, by ascending first cost; of equals the first.
pub fn undominated<T>(mut all: Vec<T>, costs: impl Fn(&T) -> [f64; 2]) -> Vec<T> {
    all.sort_by(|a, b| costs(a)[0].total_cmp(&costs(b)[0]).then(costs(a)[1].total_cmp(&costs(b)[1])));
    let mut least = f64::INFINITY;
    all.retain(|one| {
        let better = costs(one)[1] < least;
        least = least.min(costs(one)[1]);
        better
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_equals_all_cuts_of_a_small_sequence() {
        // Segment i..j in way w costs (3 + j - i + w, 10 - 3*(j - i) + i - 2*w): long ones are fast.
        let choices = |segment: Range<usize>| {
            let (long, at) = (segment.len() as f64, segment.start as f64);
            let way = |w: f64| Choice { costs: [3.0 + long + w, 10.0 - 3.0 * long + at - 2.0 * w], what: w };
            if segment.len() == 3 { Vec::new() } else { vec![way(0.0), way(1.0)] }
        };
        let paths = front(4, choices);
        let mut all: Vec<[f64; 2]> = Vec::new();
        let mut open = vec![(0, [0.0, 0.0])];
        while let Some((start, costs)) = open.pop() {
            if start == 4 {
                all.push(costs);
            }
            for end in start + 1..=4 {
                for choice in choices(start..end) {
                    open.push((end, [costs[0] + choice.costs[0], costs[1] + choice.costs[1]]));
                }
            }
        }
        let best = undominated(all, |costs| *costs);
        assert_eq!(paths.iter().map(|path| path.costs).collect::<Vec<_>>(), best);
        assert!(best.len() > 1);
        for path in &paths {
            assert_eq!(path.segments.iter().map(|(segment, _)| segment.len()).sum::<usize>(), 4);
        }
    }

    #[test]
    fn without_choices_there_is_no_path() {
        assert!(front::<()>(3, |_| Vec::new()).is_empty());
    }
}
