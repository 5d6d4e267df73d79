//! Which tracks and counters are drawn, and how busy the tracks are.

use std::cmp::Reverse;

use super::GanttOptions;
use crate::busy::busy_time;
use crate::lanes::{Lanes, assign_lanes};
use crate::{Counter, Timeline};

/// What is drawn, from top to bottom.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// Groups in the order of their first track.
    pub groups: Vec<RowGroup>,
    /// Number of tracks left out.
    pub tracks_left_out: usize,
    /// Busy time of the busiest of them.
    pub busiest_left_out: u64,
    /// Indices of counters, in the timeline's order.
    pub counters: Vec<usize>,
    /// Number of counters left out.
    pub counters_left_out: usize,
}

/// Rows under one heading.
#[derive(Clone, Debug, PartialEq)]
pub struct RowGroup {
    pub name: String,
    pub rows: Vec<Row>,
}

/// One track to draw.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Index of the track.
    pub track: usize,
    /// Time during which at least one slice runs.
    pub busy: u64,
    pub lanes: Lanes,
}

impl Selection {
    /// All rows, from top to bottom.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.groups.iter().flat_map(|group| &group.rows)
    }
}

/// The busiest tracks and the fullest counters, as many as the options allow.
pub fn select(timeline: &Timeline, options: &GanttOptions) -> Selection {
    let busy: Vec<u64> = timeline.tracks.iter().map(|t| busy_time(&t.slices)).collect();
    let drawn = highest(timeline.tracks.len(), options.tracks, |i| busy[i]);
    let mut groups: Vec<RowGroup> = Vec::new();
    for &track in &drawn {
        let name = &timeline.tracks[track].group;
        let row = Row { track, busy: busy[track], lanes: assign_lanes(&timeline.tracks[track].slices) };
        match groups.iter_mut().find(|group| group.name == *name) {
            Some(group) => group.rows.push(row),
            None => groups.push(RowGroup { name: name.clone(), rows: vec![row] }),
        }
    }
    let left_out = (0..busy.len()).filter(|i| drawn.binary_search(i).is_err());
    let busiest_left_out = left_out.map(|i| busy[i]).max().unwrap_or(0);
    let fill = |i: usize| fill(&timeline.counters[i]);
    let counters = highest(timeline.counters.len(), options.counters, fill);
    Selection {
        groups,
        tracks_left_out: timeline.tracks.len() - drawn.len(),
        busiest_left_out,
        counters_left_out: timeline.counters.len() - counters.len(),
        counters,
    }
}

/// Peak in millionths of the capacity; a counter without capacity comes after all that have one.
fn fill(counter: &Counter) -> (bool, u128) {
    let peak = u128::from(counter.peak());
    match counter.capacity {
        Some(capacity) => (true, peak * 1_000_000 / u128::from(capacity.max(1))),
        None => (false, peak),
    }
}

/// The `most` indices with the highest `key`, of equals the first ones, in ascending order.
fn highest<K: Ord>(count: usize, most: usize, key: impl Fn(usize) -> K) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..count).collect();
    indices.sort_by_key(|&i| Reverse(key(i)));
    indices.truncate(most);
    indices.sort_unstable();
    indices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_in_their_order() {
        let keys = [5, 9, 1, 9, 5];
        assert_eq!(highest(5, 3, |i| keys[i]), [0, 1, 3]);
        assert_eq!(highest(5, 9, |i| keys[i]), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn fullness_is_peak_by_capacity() {
        let counter = |peak, capacity| Counter {
            name: String::new(),
            group: String::new(),
            unit: "bits".into(),
            capacity,
            samples: vec![(0, peak), (1, 0)],
        };
        assert_eq!(fill(&counter(50, Some(100))), (true, 500_000));
        assert!(fill(&counter(1, Some(100))) > fill(&counter(1_000, None)));
    }
}
