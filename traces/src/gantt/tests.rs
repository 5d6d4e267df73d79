//! The structure of whole charts.

use expect_test::{Expect, expect};

use super::scene::{Anchor, Shape, Text};
use super::*;
use crate::font::text_width;
use crate::{Category, Counter, Slice, Track};

fn track(name: &str, group: &str, slices: Vec<Slice>) -> Track {
    Track { name: name.into(), group: group.into(), slices }
}

/// Two machines, a shared wire and a counter; 1000 cycles.
fn small() -> Timeline {
    Timeline {
        title: "Small & simple".into(),
        subtitle: "latency 1000 cycles".into(),
        time_unit: "cycles".into(),
        end: 1000,
        categories: ["first", "second", "unused"].map(|name| Category { name: name.into() }).to_vec(),
        tracks: vec![
            track(
                "machine 0",
                "machines",
                vec![Slice::new(0, 400, "a", Some(0)), Slice::new(400, 500, "b", Some(0))],
            ),
            track(
                "wire",
                "wires",
                vec![Slice::new(500, 700, "sent", None), Slice::new(600, 800, "also sent", Some(1))],
            ),
            track("machine 1", "machines", vec![Slice::new(700, 1000, "c", Some(1))]),
        ],
        counters: vec![Counter {
            name: "store".into(),
            group: "memory".into(),
            unit: "bits".into(),
            capacity: Some(8 * 1024 * 100),
            samples: vec![(0, 8 * 1024 * 25), (500, 0)],
        }],
        flows: Vec::new(),
    }
}

/// `tracks` rows of `slices` slices each, of 20 cycles and every second one of 10, in `categories` categories by turns.
fn regular(tracks: u64, slices: u64, categories: u32) -> Timeline {
    let slice = |row: u64, i: u64| {
        let category = ((row + i) % u64::from(categories)) as u32;
        Slice::new(20 * i, 20 * i + 10 + i % 2 * 10, "s", Some(category))
    };
    let row = |row| {
        let slices = (0..slices).map(|i| slice(row, i)).collect();
        track(&format!("machine {row}"), "machines", slices)
    };
    Timeline {
        end: 20 * slices,
        categories: (0..categories).map(|i| Category { name: format!("category {i}") }).collect(),
        tracks: (0..tracks).map(row).collect(),
        ..Timeline::default()
    }
}

fn texts(scene: &Scene) -> Vec<&Text> {
    let texts = scene.shapes.iter().filter_map(|shape| match shape {
        Shape::Text(text) => Some(text),
        _ => None,
    });
    texts.collect()
}

fn words(timeline: &Timeline, expected: Expect) {
    let scene = compose(timeline, &GanttOptions::default()).unwrap();
    let mut listed = String::new();
    let mut y = i32::MIN;
    for text in texts(&scene) {
        listed += if text.y == y { " | " } else { "\n" };
        listed += &text.text;
        y = text.y;
    }
    expected.assert_eq(listed.trim_start());
}

/// Left and right edge.
fn extent(text: &Text) -> (i32, i32) {
    let width = text_width(&text.text, text.em);
    match text.anchor {
        Anchor::Left => (text.x, text.x + width),
        Anchor::Middle => (text.x - width / 2, text.x + width.div_euclid(2) + 1),
        Anchor::Right => (text.x - width, text.x),
    }
}

#[test]
fn words_of_a_small_chart() {
    words(
        &small(),
        expect![[r#"
            Small & simple
            latency 1000 cycles
            machines | busy
            machine 0 | 50 % | a | b
            machine 1 | 30 % | c
            wires
            wire | 30 %
            sent
            also sent
            0 | 100 | 200 | 300 | 400 | 500 | 600 | 700 | 800 | 900 | 1000
            memory | peak
            store
            25 KiB (25 %)
            of 100 KiB
            0 | 100 | 200 | 300 | 400 | 500 | 600 | 700 | 800 | 900 | 1000
            time (cycles)
            first | second"#]],
    );
}

#[test]
fn shapes_of_a_small_chart() {
    let svg = draw_svg(&small(), &GanttOptions::default()).unwrap();
    let count = |text: &str| svg.matches(text).count();
    let colors = ["#0072B2", "#E69F00", "#A0A0A0"].map(|color| count(&format!("fill=\"{color}\"")));
    // Two bars and a swatch; two bars and a swatch; one bar.
    assert_eq!(colors, [3, 3, 1]);
    // Highest and average of the counter.
    assert_eq!(count("<polygon"), 2);
    assert!(svg.contains("font-family=\"sans-serif\""));
    assert!(svg.contains("Small &amp; simple"));
    assert!(svg.ends_with("</svg>\n"));
}

#[test]
fn nothing_is_clipped_and_no_labels_overlap() {
    let mut long = regular(70, 50, 60);
    for (index, track) in long.tracks.iter_mut().enumerate() {
        track.name = format!("a rather long name of machine number {index}");
        track.group = format!("group {}", index / 10);
        track.slices.iter_mut().for_each(|slice| slice.name = "a name that is never short".into());
    }
    for category in &mut long.categories {
        category.name = format!("/a/long/path/that/ends/in/{}", category.name);
    }
    for timeline in [small(), long] {
        for width in [480, 800, 1400] {
            let options = GanttOptions { width, ..GanttOptions::default() };
            let scene = compose(&timeline, &options).unwrap();
            let texts = texts(&scene);
            for (index, text) in texts.iter().enumerate() {
                let (left, right) = extent(text);
                assert!(left >= 0 && right <= width as i32, "{text:?} is clipped");
                assert!(text.y > 0 && text.y < scene.height as i32);
                for other in &texts[..index] {
                    let beside = extent(other).1 <= left || right <= extent(other).0;
                    let distance = f64::from((text.y - other.y).abs());
                    let apart = distance >= 0.9 * text.em.min(other.em);
                    assert!(beside || apart, "{text:?} overlaps {other:?} at {width}");
                }
            }
        }
    }
}

#[test]
fn many_slices_make_a_small_file() {
    // A hundred thousand slices on few rows; then as many as rows and colours can differ.
    let few_rows = draw_svg(&regular(20, 5_000, 30), &GanttOptions::default()).unwrap();
    assert!(few_rows.len() < 2_500_000, "{}", few_rows.len());
    let many_rows = draw_svg(&regular(200, 500, 60), &GanttOptions::default()).unwrap();
    assert!(many_rows.len() < 2_500_000, "{}", many_rows.len());
}

#[test]
fn what_is_left_out_is_told() {
    let mut timeline = regular(5, 10, 4);
    timeline.tracks[3].slices.truncate(2);
    timeline.counters = (0..3)
        .map(|i| Counter {
            name: format!("store {i}"),
            group: "memory".into(),
            unit: "packets".into(),
            capacity: Some(10),
            samples: vec![(0, i)],
        })
        .collect();
    let options = GanttOptions { tracks: 4, counters: 1, legend_entries: 3, ..GanttOptions::default() };
    let scene = compose(&timeline, &options).unwrap();
    let texts: Vec<&str> = texts(&scene).iter().map(|text| text.text.as_str()).collect();
    assert!(!texts.contains(&"machine 3") && texts.contains(&"machine 4"));
    assert!(!texts.contains(&"store 1") && texts.contains(&"store 2"));
    // Machine 3 is busy for 10 + 20 of 200 cycles.
    assert!(texts.contains(&"not drawn: 1 of 5 rows, each busy 15 % of the time at most"));
    assert!(texts.contains(&"not drawn: 2 of 3 panels, with lower peaks"));
    assert!(texts.contains(&"and 1 more"));
}

#[test]
fn an_empty_timeline_is_an_empty_chart() {
    words(
        &Timeline::default(),
        expect![[r#"
        0
        time"#]],
    );
}

#[test]
fn a_png_is_twice_the_size() {
    let options = GanttOptions { width: 500, ..GanttOptions::default() };
    let height = compose(&small(), &options).unwrap().height;
    let png = draw_png(&small(), &options).unwrap();
    assert_eq!(png[16..20], 1000_u32.to_be_bytes());
    assert_eq!(png[20..24], (2 * height).to_be_bytes());
}

#[test]
fn a_bar_is_where_it_should_be_in_the_bitmap() {
    let options = GanttOptions::default();
    let scene = compose(&small(), &options).unwrap();
    let area = scene.shapes.iter().find_map(|shape| match shape {
        Shape::Rectangle { area, color } if *color == (0, 114, 178) => Some(*area),
        _ => None,
    });
    let area = area.unwrap();
    let pixels = render::bitmap(&scene, 2).unwrap();
    let pixel = |x: i32, y: i32| {
        let at = 3 * (y as usize * 2 * scene.width as usize + x as usize);
        (pixels[at], pixels[at + 1], pixels[at + 2])
    };
    assert_eq!(pixel(2 * area.left, 2 * area.top), (0, 114, 178));
    assert_eq!(pixel(2 * area.left + 1, 2 * area.bottom - 1), (0, 114, 178));
    assert_ne!(pixel(2 * area.left - 1, 2 * area.top), (0, 114, 178));
    assert_ne!(pixel(2 * area.left, 2 * area.top - 1), (0, 114, 178));
    assert_ne!(pixel(2 * area.left, 2 * area.bottom), (0, 114, 178));
}

#[test]
fn impossible_sizes_are_refused() {
    let narrow = GanttOptions { width: 100, ..GanttOptions::default() };
    expect!["a chart of 100 pixels is too narrow: it takes at least 480"]
        .assert_eq(&draw_svg(&small(), &narrow).unwrap_err().to_string());
    let large = GanttOptions { png_scale: 50, ..GanttOptions::default() };
    assert!(matches!(draw_png(&small(), &large), Err(GanttError::TooLarge { .. })));
}
