//! Draws a made-up timeline: `made_up SLICES PREFIX [MACHINES [PARTS]]` writes `PREFIX.svg`, `PREFIX.png`, `PREFIX.json` and `PREFIX.csv`.

use std::error::Error;
use std::fs;

use millstream_traces::{Category, Counter, Flow, Slice, Timeline, Track, csv, gantt, perfetto};

/// Numbers without a pattern, the same in every run (Knuth's linear congruential generator).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

const USAGE: &str = "usage: made_up SLICES PREFIX [MACHINES [PARTS]]";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let slices: usize = arguments.next().ok_or(USAGE)?.parse()?;
    let prefix = arguments.next().ok_or(USAGE)?;
    let machines = arguments.next().map_or(Ok(6), |text| text.parse())?;
    let parts = arguments.next().map_or(Ok(20), |text| text.parse())?;
    let timeline = timeline(slices, machines, parts);
    let options = gantt::GanttOptions::default();
    fs::write(format!("{prefix}.svg"), gantt::draw_svg(&timeline, &options)?)?;
    fs::write(format!("{prefix}.png"), gantt::draw_png(&timeline, &options)?)?;
    let json = fs::File::create(format!("{prefix}.json"))?;
    perfetto::write(&timeline, std::io::BufWriter::new(json))?;
    let table = fs::File::create(format!("{prefix}.csv"))?;
    csv::slices(&timeline, std::io::BufWriter::new(table))?;
    Ok(())
}

fn timeline(slices: usize, machines: usize, parts: usize) -> Timeline {
    let wires = 2 * machines;
    let mut numbers = Numbers(7);
    let mut tracks: Vec<Track> = Vec::new();
    for i in 0..machines {
        tracks.push(track(format!("machine {i}"), "machines"));
    }
    for i in 0..wires {
        tracks.push(track(format!("wire {} → {}", i / 2, (i / 2 + 1 + i % 2) % machines), "wires"));
    }
    tracks.push(track("store port".into(), "store"));
    let mut flows = Vec::new();
    let mut counters: Vec<Counter> = (0..machines).map(counter).collect();
    let mut free = vec![0_u64; machines];
    let mut wire_free = vec![0_u64; wires];
    let mut store_free = 0_u64;
    let computations = slices / 2;
    for step in 0..computations {
        let part = step * parts / computations;
        let window = (part / 4 * 2) % machines;
        let machine = (window + numbers.below(3) as usize) % machines;
        let length = 200 + numbers.below(900) + 400 * (part as u64 % 3);
        let start = free[machine] + if numbers.below(3) == 0 { numbers.below(700) } else { 0 };
        let end = start + length;
        free[machine] = end;
        let mut slice = Slice::new(start, end, format!("part{part}.{step}"), Some(part as u32));
        slice.arguments = vec![("work".into(), (length * 64).to_string())];
        tracks[machine].slices.push(slice);
        let samples = &mut counters[machine].samples;
        samples.push((start, 8 * 1024 * (100 + numbers.below(300))));
        let wire = machine * 2 + numbers.below(2) as usize;
        let sent = end.max(wire_free[wire]);
        let arrived = sent + 60 + numbers.below(300);
        wire_free[wire] = arrived;
        tracks[machines + wire].slices.push(Slice::new(sent, arrived, format!("t{step}"), Some(part as u32)));
        flows.push(Flow {
            from_track: machine as u32,
            from_time: end,
            to_track: (machines + wire) as u32,
            to_time: sent,
            name: format!("t{step}"),
        });
        if step % 5 == 0 {
            let sent = sent.max(store_free.saturating_sub(200 * (step as u64 % 3)));
            let loaded = sent + 300 + numbers.below(500);
            store_free = loaded;
            let slice =
                Slice::new(sent, loaded, format!("load {step}"), (step % 10 != 0).then_some(part as u32));
            tracks[machines + wires].slices.push(slice);
        }
    }
    let end = tracks.iter().flat_map(|t| &t.slices).map(|s| s.end).max().unwrap_or(0);
    Timeline {
        title: format!("A made-up network on six machines: {slices} slices"),
        subtitle: format!("latency {end} cycles · made-up figures × 1.0 ≥ nothing"),
        time_unit: "cycles".into(),
        end,
        categories: (0..parts)
            .map(|i| Category { name: format!("/stage{}/part{i}/Operator", i / 4) })
            .collect(),
        tracks,
        counters,
        flows,
    }
}

fn track(name: String, group: &str) -> Track {
    Track { name, group: group.into(), slices: Vec::new() }
}

fn counter(machine: usize) -> Counter {
    Counter {
        name: format!("memory {machine}"),
        group: "memory".into(),
        unit: "bits".into(),
        capacity: Some(8 * 1024 * if machine == 5 { 4096 } else { 512 }),
        samples: vec![(0, 0)],
    }
}
