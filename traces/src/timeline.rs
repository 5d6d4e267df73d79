//! The value that every picture starts from: what happened on which track, from when to when.
//!
//! Times are integers in one unit that the timeline names. A slice occupies the half-open interval `[start, end)`.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Everything that happened between time 0 and `end`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// First line of the picture.
    pub title: String,
    /// Second line, smaller; may be empty.
    pub subtitle: String,
    /// Unit of all times, in the plural: `cycles`.
    pub time_unit: String,
    /// End of the time axis; no slice and no sample lies beyond it.
    pub end: u64,
    /// What colours mean, in the order of the palette; slices refer to them by index.
    pub categories: Vec<Category>,
    /// Rows, from top to bottom. Tracks of one group are drawn together, where the group first appears.
    pub tracks: Vec<Track>,
    /// Quantities over time.
    pub counters: Vec<Counter>,
    /// Arrows from one track to another.
    pub flows: Vec<Flow>,
}

/// One colour and its entry in the legend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Category {
    /// Text of the legend.
    pub name: String,
}

/// One row: a resource, or anything else that is worth a row, such as a critical path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Track {
    /// Label of the row.
    pub name: String,
    /// Heading that the row stands under; may be empty.
    pub group: String,
    /// What happened, in any order. Slices may overlap where a resource is shared.
    pub slices: Vec<Slice>,
}

/// Something that took from `start` to `end`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    /// First instant.
    pub start: u64,
    /// First instant after it; at least `start`.
    pub end: u64,
    /// What is written into the slice where there is room.
    pub name: String,
    /// Index into [`Timeline::categories`]; grey if `None`.
    pub category: Option<u32>,
    /// Further facts (name, value), for viewers and tables.
    pub arguments: Vec<(String, String)>,
}

impl Slice {
    /// A slice without arguments.
    pub fn new(start: u64, end: u64, name: impl Into<String>, category: Option<u32>) -> Slice {
        Slice { start, end, name: name.into(), category, arguments: Vec::new() }
    }

    /// Time that the slice takes.
    pub fn duration(&self) -> u64 {
        self.end - self.start
    }
}

/// A quantity that changes in steps; 0 before the first sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counter {
    /// Label of the panel.
    pub name: String,
    /// Heading that the panel stands under; may be empty.
    pub group: String,
    /// Unit of the values. `bits` and `bytes` are shown as KiB, MiB …, others as they are.
    pub unit: String,
    /// What the values should not exceed, if there is such a bound.
    pub capacity: Option<u64>,
    /// (time, value from then on), by ascending time; of several at one time the last holds.
    pub samples: Vec<(u64, u64)>,
}

impl Counter {
    /// Highest value; 0 without samples.
    pub fn peak(&self) -> u64 {
        self.samples.iter().map(|&(_, value)| value).max().unwrap_or(0)
    }
}

/// An arrow from a slice to a slice that it made possible.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Index into [`Timeline::tracks`] of the arrow's tail.
    pub from_track: u32,
    /// Time of the tail, usually the end of a slice.
    pub from_time: u64,
    /// Index into [`Timeline::tracks`] of the arrow's head.
    pub to_track: u32,
    /// Time of the head, usually the start of a slice.
    pub to_time: u64,
    /// What flows.
    pub name: String,
}

/// A timeline that contradicts itself.
#[derive(Debug, Error, PartialEq)]
pub enum TimelineError {
    /// A slice ends before it starts.
    #[error("slice '{slice}' of track '{track}' starts at {start} and ends earlier, at {end}")]
    SliceReversed {
        /// Name of the track.
        track: String,
        /// Name of the slice.
        slice: String,
        /// Its start.
        start: u64,
        /// Its end.
        end: u64,
    },
    /// A slice outlasts the timeline.
    #[error("slice '{slice}' of track '{track}' ends at {end}, after the timeline's end {bound}")]
    SliceBeyondEnd {
        /// Name of the track.
        track: String,
        /// Name of the slice.
        slice: String,
        /// Its end.
        end: u64,
        /// The timeline's end.
        bound: u64,
    },
    /// A slice refers to a category that does not exist.
    #[error("slice '{slice}' of track '{track}' has category {category}, of {count}")]
    CategoryUnknown {
        /// Name of the track.
        track: String,
        /// Name of the slice.
        slice: String,
        /// The index.
        category: u32,
        /// Number of categories.
        count: usize,
    },
    /// A counter's samples go back in time, or beyond the end.
    #[error("counter '{counter}' has a sample at {time}, which lies before {after} or after {bound}")]
    SampleMisplaced {
        /// Name of the counter.
        counter: String,
        /// Time of the sample.
        time: u64,
        /// Time of the sample before it.
        after: u64,
        /// The timeline's end.
        bound: u64,
    },
    /// A flow refers to a track that does not exist.
    #[error("flow '{flow}' refers to track {track}, of {count}")]
    TrackUnknown {
        /// Name of the flow.
        flow: String,
        /// The index.
        track: u32,
        /// Number of tracks.
        count: usize,
    },
}

impl Timeline {
    /// What the writers rely on; each of them calls it first.
    ///
    /// # Errors
    /// The first contradiction, in the order tracks, counters, flows.
    pub fn check(&self) -> Result<(), TimelineError> {
        for track in &self.tracks {
            for slice in &track.slices {
                self.check_slice(track, slice)?;
            }
        }
        self.counters.iter().try_for_each(|c| self.check_samples(c))?;
        self.flows.iter().try_for_each(|flow| self.check_flow(flow))
    }

    fn check_slice(&self, track: &Track, slice: &Slice) -> Result<(), TimelineError> {
        let names = || (track.name.clone(), slice.name.clone());
        let count = self.categories.len();
        if slice.end < slice.start {
            let (track, name) = names();
            return Err(TimelineError::SliceReversed {
                track,
                slice: name,
                start: slice.start,
                end: slice.end,
            });
        }
        if slice.end > self.end {
            let (track, name) = names();
            return Err(TimelineError::SliceBeyondEnd {
                track,
                slice: name,
                end: slice.end,
                bound: self.end,
            });
        }
        match slice.category.filter(|&c| c as usize >= count) {
            Some(category) => {
                let (track, name) = names();
                Err(TimelineError::CategoryUnknown { track, slice: name, category, count })
            }
            None => Ok(()),
        }
    }

    fn check_samples(&self, counter: &Counter) -> Result<(), TimelineError> {
        let mut after = 0;
        for &(time, _) in &counter.samples {
            if time < after || time > self.end {
                return Err(TimelineError::SampleMisplaced {
                    counter: counter.name.clone(),
                    time,
                    after,
                    bound: self.end,
                });
            }
            after = time;
        }
        Ok(())
    }

    fn check_flow(&self, flow: &Flow) -> Result<(), TimelineError> {
        let count = self.tracks.len();
        match [flow.from_track, flow.to_track].into_iter().find(|&track| track as usize >= count) {
            Some(track) => Err(TimelineError::TrackUnknown { flow: flow.name.clone(), track, count }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn one_slice(slice: Slice) -> Timeline {
        Timeline {
            end: 10,
            tracks: vec![Track { name: "machine".into(), group: String::new(), slices: vec![slice] }],
            ..Timeline::default()
        }
    }

    fn refused(timeline: &Timeline, message: Expect) {
        message.assert_eq(&timeline.check().unwrap_err().to_string());
    }

    #[test]
    fn contradictions_are_named() {
        assert_eq!(one_slice(Slice::new(3, 10, "a", None)).check(), Ok(()));
        refused(
            &one_slice(Slice::new(3, 2, "a", None)),
            expect!["slice 'a' of track 'machine' starts at 3 and ends earlier, at 2"],
        );
        refused(
            &one_slice(Slice::new(3, 11, "a", None)),
            expect!["slice 'a' of track 'machine' ends at 11, after the timeline's end 10"],
        );
        refused(
            &one_slice(Slice::new(3, 4, "a", Some(0))),
            expect!["slice 'a' of track 'machine' has category 0, of 0"],
        );
    }

    #[test]
    fn samples_ascend_and_flows_exist() {
        let mut timeline = one_slice(Slice::new(0, 1, "a", None));
        timeline.flows.push(Flow { from_track: 0, from_time: 1, to_track: 1, to_time: 2, name: "f".into() });
        refused(&timeline, expect!["flow 'f' refers to track 1, of 1"]);
        timeline.counters.push(Counter {
            name: "fill".into(),
            group: String::new(),
            unit: "bits".into(),
            capacity: None,
            samples: vec![(2, 1), (2, 4), (1, 0)],
        });
        refused(&timeline, expect!["counter 'fill' has a sample at 1, which lies before 2 or after 10"]);
        assert_eq!(timeline.counters[0].peak(), 4);
    }

    #[test]
    fn a_timeline_survives_json() {
        let timeline = one_slice(Slice::new(3, 10, "a", None));
        let text = serde_json::to_string(&timeline).unwrap();
        assert_eq!(serde_json::from_str::<Timeline>(&text).unwrap(), timeline);
    }
}
