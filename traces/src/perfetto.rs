//! The timeline as a Chrome trace (Trace Event Format), which ui.perfetto.dev and chrome://tracing open.
//!
//! - A group of tracks is a process, a track a thread, both in the order of the timeline.
//! - One unit of time is one nanosecond. Timestamps are in microseconds, written as exact decimals: `12.345`.
//! - Threads must nest, shared resources need not: overlapping slices go to further threads, `name (2)` and so on.
//! - Viewers bind the end of an arrow to the slice that encloses it, and a slice does not enclose its own end. So a
//!   tail at the end of a slice is written one unit earlier.

use std::io::{self, Write};

use serde_json::Value;
use thiserror::Error;

use crate::lanes::{Lanes, assign_lanes};
use crate::{Counter, Flow, Slice, Timeline, TimelineError};

/// Why a trace could not be written.
#[derive(Debug, Error)]
pub enum PerfettoError {
    /// The timeline contradicts itself.
    #[error(transparent)]
    Timeline(#[from] TimelineError),
    /// The output cannot be written to.
    #[error("cannot write the trace: {0}")]
    Write(#[from] io::Error),
}

/// Writes the whole timeline, one event a line. Unbuffered: pass a `BufWriter` for files.
///
/// # Errors
/// If the timeline contradicts itself or `out` fails.
pub fn write(timeline: &Timeline, out: impl Write) -> Result<(), PerfettoError> {
    timeline.check()?;
    let threads = number_threads(timeline);
    let mut events = Events { out, any: false };
    events.open(timeline)?;
    write_names(&mut events, timeline, &threads)?;
    for (track, thread) in timeline.tracks.iter().zip(&threads.tracks) {
        for &index in &thread.lanes.order {
            let slice = &track.slices[index];
            let at = thread.place(thread.lanes.lane[index]);
            events.slice(slice, at, category_name(timeline, slice))?;
        }
    }
    for (counter, &process) in timeline.counters.iter().zip(&threads.counters) {
        events.counter(counter, process)?;
    }
    for (id, flow) in timeline.flows.iter().enumerate() {
        write_flow(&mut events, timeline, &threads, id, flow)?;
    }
    events.close()?;
    Ok(())
}

/// Process and thread of an event.
#[derive(Clone, Copy)]
struct Place {
    process: usize,
    thread: usize,
}

/// The threads of one track: one per lane, numbered on from `first`.
struct Thread {
    process: usize,
    first: usize,
    lanes: Lanes,
}

impl Thread {
    fn place(&self, lane: u32) -> Place {
        Place { process: self.process, thread: self.first + lane as usize }
    }
}

/// All processes and threads, numbered from 1 on.
struct Threads<'a> {
    processes: Vec<&'a str>,
    tracks: Vec<Thread>,
    /// Process of each counter.
    counters: Vec<usize>,
}

fn number_threads(timeline: &Timeline) -> Threads<'_> {
    let mut processes: Vec<&str> = Vec::new();
    let mut number = |group| match processes.iter().position(|&known| known == group) {
        Some(index) => index + 1,
        None => {
            processes.push(group);
            processes.len()
        }
    };
    let mut first = 1;
    let mut tracks = Vec::with_capacity(timeline.tracks.len());
    for track in &timeline.tracks {
        let lanes = assign_lanes(&track.slices);
        let next = first + lanes.count as usize;
        tracks.push(Thread { process: number(&track.group), first, lanes });
        first = next;
    }
    let counters = timeline.counters.iter().map(|c| number(&c.group)).collect();
    Threads { processes, tracks, counters }
}

fn write_names<W: Write>(events: &mut Events<W>, timeline: &Timeline, threads: &Threads) -> io::Result<()> {
    for (index, name) in threads.processes.iter().enumerate() {
        let name = if name.is_empty() { &timeline.title } else { *name };
        let process = Place { process: index + 1, thread: 0 };
        events.name("process", process, name)?;
    }
    for (track, thread) in timeline.tracks.iter().zip(&threads.tracks) {
        for lane in 0..thread.lanes.count {
            let name = match lane {
                0 => track.name.clone(),
                _ => format!("{} ({})", track.name, lane + 1),
            };
            events.name("thread", thread.place(lane), &name)?;
        }
    }
    Ok(())
}

fn write_flow<W: Write>(
    events: &mut Events<W>,
    timeline: &Timeline,
    threads: &Threads,
    id: usize,
    flow: &Flow,
) -> io::Result<()> {
    let end = |track: u32, time: u64, side: Side| {
        let slices = &timeline.tracks[track as usize].slices;
        let thread = &threads.tracks[track as usize];
        match enclosing(slices, &thread.lanes, time, side) {
            Some(index) => {
                let slice = &slices[index];
                let inside = time.min(slice.end.saturating_sub(1)).max(slice.start);
                (thread.place(thread.lanes.lane[index]), inside)
            }
            None => (thread.place(0), time),
        }
    };
    let (place, time) = end(flow.from_track, flow.from_time, Side::Tail);
    events.flow("s", id, flow, place, time)?;
    let (place, time) = end(flow.to_track, flow.to_time, Side::Head);
    events.flow("f", id, flow, place, time)
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Tail,
    Head,
}

/// The slice that an arrow means: for a tail one that ends then, for a head one that starts then, else one that runs
/// then; of several the one that started last.
fn enclosing(slices: &[Slice], lanes: &Lanes, time: u64, side: Side) -> Option<usize> {
    let after = lanes.order.partition_point(|&i| slices[i].start <= time);
    // Without bound, an arrow to an idle instant would walk back over the whole track.
    let near = after.saturating_sub(64 * lanes.count as usize);
    let candidates = || lanes.order[near..after].iter().rev().copied();
    let touching = |&i: &usize| match side {
        Side::Tail => slices[i].end == time,
        Side::Head => slices[i].start == time,
    };
    candidates().find(touching).or_else(|| candidates().find(|&i| slices[i].end > time))
}

fn category_name<'a>(timeline: &'a Timeline, slice: &Slice) -> &'a str {
    match slice.category {
        Some(category) => &timeline.categories[category as usize].name,
        None => "",
    }
}

/// The list of events as it is written.
struct Events<W> {
    out: W,
    any: bool,
}

impl<W: Write> Events<W> {
    fn open(&mut self, timeline: &Timeline) -> io::Result<()> {
        writeln!(
            self.out,
            "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"title\":{},\"subtitle\":{},\"nanoseconds_are\":{}}},\"traceEvents\":[",
            quoted(&timeline.title),
            quoted(&timeline.subtitle),
            quoted(&timeline.time_unit),
        )
    }

    fn close(&mut self) -> io::Result<()> {
        self.out.write_all(b"\n]}\n")?;
        self.out.flush()
    }

    fn separate(&mut self) -> io::Result<()> {
        if self.any {
            self.out.write_all(b",\n")?;
        }
        self.any = true;
        Ok(())
    }

    /// Name and rank of a process or a thread.
    fn name(&mut self, kind: &str, place: Place, name: &str) -> io::Result<()> {
        let Place { process, thread } = place;
        let rank = if kind == "process" { process } else { thread };
        self.separate()?;
        write!(
            self.out,
            "{{\"ph\":\"M\",\"name\":\"{kind}_name\",\"pid\":{process},\"tid\":{thread},\"args\":{{\"name\":{}}}}},\n\
             {{\"ph\":\"M\",\"name\":\"{kind}_sort_index\",\"pid\":{process},\"tid\":{thread},\"args\":{{\"sort_index\":{rank}}}}}",
            quoted(name),
        )
    }

    fn slice(&mut self, slice: &Slice, place: Place, category: &str) -> io::Result<()> {
        self.separate()?;
        write!(
            self.out,
            "{{\"ph\":\"X\",\"name\":{},\"cat\":{},\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{}",
            quoted(&slice.name),
            quoted(category),
            place.process,
            place.thread,
            microseconds(slice.start),
            microseconds(slice.duration()),
        )?;
        for (index, (name, value)) in slice.arguments.iter().enumerate() {
            let opening = if index == 0 { ",\"args\":{" } else { "," };
            write!(self.out, "{opening}{}:{}", quoted(name), quoted(value))?;
        }
        let closing = if slice.arguments.is_empty() { "}" } else { "}}" };
        self.out.write_all(closing.as_bytes())
    }

    fn counter(&mut self, counter: &Counter, process: usize) -> io::Result<()> {
        let (name, unit) = (quoted(&counter.name), quoted(&counter.unit));
        for &(time, value) in &counter.samples {
            self.separate()?;
            write!(
                self.out,
                "{{\"ph\":\"C\",\"name\":{name},\"pid\":{process},\"ts\":{},\"args\":{{{unit}:{value}}}}}",
                microseconds(time),
            )?;
        }
        Ok(())
    }

    fn flow(&mut self, phase: &str, id: usize, flow: &Flow, place: Place, time: u64) -> io::Result<()> {
        let binding = if phase == "f" { ",\"bp\":\"e\"" } else { "" };
        self.separate()?;
        write!(
            self.out,
            "{{\"ph\":\"{phase}\",\"id\":{id},\"name\":{},\"cat\":\"flow\",\"pid\":{},\"tid\":{},\"ts\":{}{binding}}}",
            quoted(&flow.name),
            place.process,
            place.thread,
            microseconds(time),
        )
    }
}

/// `text` as a JSON string.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A time in nanoseconds as exact microseconds.
fn microseconds(time: u64) -> String {
    format!("{}.{:03}", time / 1000, time % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Category, Track};
    use expect_test::expect;

    fn track(name: &str, group: &str, slices: Vec<Slice>) -> Track {
        Track { name: name.into(), group: group.into(), slices }
    }

    fn small() -> Timeline {
        let mut a = Slice::new(0, 1500, "a \"1\"", Some(0));
        a.arguments = vec![("bits".into(), "64".into()), ("by".into(), "b\\n".into())];
        Timeline {
            title: "Small".into(),
            subtitle: "for the test".into(),
            time_unit: "cycles".into(),
            end: 4000,
            categories: vec![Category { name: "first".into() }],
            tracks: vec![
                track("m0", "machines", vec![a]),
                track(
                    "shared",
                    "wires",
                    vec![Slice::new(1500, 3000, "x", None), Slice::new(2000, 4000, "y", None)],
                ),
                track("m1", "machines", vec![Slice::new(3000, 3001, "b", Some(0))]),
            ],
            counters: vec![Counter {
                name: "fill".into(),
                group: "memory".into(),
                unit: "bits".into(),
                capacity: Some(100),
                samples: vec![(0, 10), (3000, 0)],
            }],
            flows: vec![Flow {
                from_track: 0,
                from_time: 1500,
                to_track: 1,
                to_time: 2000,
                name: "t".into(),
            }],
        }
    }

    fn written(timeline: &Timeline) -> String {
        let mut out = Vec::new();
        write(timeline, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn whole_trace() {
        let text = written(&small());
        expect![[r#"
            {"displayTimeUnit":"ns","otherData":{"title":"Small","subtitle":"for the test","nanoseconds_are":"cycles"},"traceEvents":[
            {"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"machines"}},
            {"ph":"M","name":"process_sort_index","pid":1,"tid":0,"args":{"sort_index":1}},
            {"ph":"M","name":"process_name","pid":2,"tid":0,"args":{"name":"wires"}},
            {"ph":"M","name":"process_sort_index","pid":2,"tid":0,"args":{"sort_index":2}},
            {"ph":"M","name":"process_name","pid":3,"tid":0,"args":{"name":"memory"}},
            {"ph":"M","name":"process_sort_index","pid":3,"tid":0,"args":{"sort_index":3}},
            {"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"m0"}},
            {"ph":"M","name":"thread_sort_index","pid":1,"tid":1,"args":{"sort_index":1}},
            {"ph":"M","name":"thread_name","pid":2,"tid":2,"args":{"name":"shared"}},
            {"ph":"M","name":"thread_sort_index","pid":2,"tid":2,"args":{"sort_index":2}},
            {"ph":"M","name":"thread_name","pid":2,"tid":3,"args":{"name":"shared (2)"}},
            {"ph":"M","name":"thread_sort_index","pid":2,"tid":3,"args":{"sort_index":3}},
            {"ph":"M","name":"thread_name","pid":1,"tid":4,"args":{"name":"m1"}},
            {"ph":"M","name":"thread_sort_index","pid":1,"tid":4,"args":{"sort_index":4}},
            {"ph":"X","name":"a \"1\"","cat":"first","pid":1,"tid":1,"ts":0.000,"dur":1.500,"args":{"bits":"64","by":"b\\n"}},
            {"ph":"X","name":"x","cat":"","pid":2,"tid":2,"ts":1.500,"dur":1.500},
            {"ph":"X","name":"y","cat":"","pid":2,"tid":3,"ts":2.000,"dur":2.000},
            {"ph":"X","name":"b","cat":"first","pid":1,"tid":4,"ts":3.000,"dur":0.001},
            {"ph":"C","name":"fill","pid":3,"ts":0.000,"args":{"bits":10}},
            {"ph":"C","name":"fill","pid":3,"ts":3.000,"args":{"bits":0}},
            {"ph":"s","id":0,"name":"t","cat":"flow","pid":1,"tid":1,"ts":1.499},
            {"ph":"f","id":0,"name":"t","cat":"flow","pid":2,"tid":3,"ts":2.000,"bp":"e"}
            ]}
        "#]].assert_eq(&text);
        assert!(serde_json::from_str::<Value>(&text).is_ok());
    }

    #[test]
    fn an_empty_timeline_is_valid_json() {
        let text = written(&Timeline::default());
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["traceEvents"].as_array().map(Vec::len), Some(0));
    }

    #[test]
    fn times_are_exact_decimals() {
        assert_eq!(microseconds(7), "0.007");
        assert_eq!(microseconds(1_000), "1.000");
        assert_eq!(microseconds(u64::MAX), "18446744073709551.615");
    }

    #[test]
    fn arrows_bind_to_the_slice_that_ends_or_starts() {
        let slices =
            [Slice::new(0, 10, "a", None), Slice::new(10, 20, "b", None), Slice::new(30, 40, "c", None)];
        let lanes = assign_lanes(&slices);
        assert_eq!(enclosing(&slices, &lanes, 10, Side::Tail), Some(0));
        assert_eq!(enclosing(&slices, &lanes, 10, Side::Head), Some(1));
        assert_eq!(enclosing(&slices, &lanes, 35, Side::Head), Some(2));
        assert_eq!(enclosing(&slices, &lanes, 25, Side::Head), None);
    }
}
