//! Each value of the line as text, on one case that a reader can follow by hand.
//!
//! Two pointwise convolutions (4 -> 8 -> 4 channels on 2 rows of 4) on the two testing cores, the first
//! on core 0, the second on core 1, a CN per row: four CNs, `a` feeds `b` row by row over the link.

use crate::fixture::{Network, Window};
use expect_test::{ExpectFile, expect_file};
use millstream::accelerator::yaml as hardware;
use millstream::allocation::policy::Policy;
use millstream::mapping::yaml as mappings;
use millstream::pipeline::Problem;
use millstream::pipeline::run::{Outcome, RunOptions, run};
use millstream::schedule::show::Names;
use millstream::timeline::timeline;
use millstream_traces::csv;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

const MAPPING: &str = "\
- name: a
  core_allocation: [0]
  intra_core_tiling: ['OY, all']
  inter_core_tiling: []
- name: b
  core_allocation: [1]
  intra_core_tiling: ['OY, all']
  inter_core_tiling: []
";

fn case() -> (Problem, Outcome) {
    let mut network = Network::new();
    let input = network.input([4, 2, 4]);
    let a = network.conv("a", input, Window::POINT, 1, 8).unwrap();
    let b = network.conv("b", a, Window::POINT, 1, 4).unwrap();
    let accelerator = hardware::find("testing_two_core").unwrap();
    let mapping = mappings::parse("m.yaml", MAPPING, Some(&accelerator)).unwrap();
    let problem = Problem::new(network.finish(&[b]), accelerator, mapping).unwrap();
    let options = RunOptions { policy: Policy::Fixed, ..RunOptions::default() };
    let outcome = run(&problem, &options).unwrap();
    (problem, outcome)
}

fn check(text: &str, golden: ExpectFile) {
    golden.assert_eq(text);
}

/// Written as JSON and read back, a value is the same.
fn survives_json<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let text = serde_json::to_string(value).unwrap();
    assert_eq!(&serde_json::from_str::<T>(&text).unwrap(), value);
}

#[test]
fn every_value_of_the_line_as_text() {
    let (problem, outcome) = case();
    let (workload, accelerator) = (&problem.workload, &problem.accelerator);
    let Outcome { candidate, graph, evaluation, bound, .. } = &outcome;
    let placement = &evaluation.placement;
    let names = Names { workload, accelerator, graph, placement };
    check(&candidate.table(workload, accelerator), expect_file!["golden/candidate.txt"]);
    check(&placement.table(workload, accelerator), expect_file!["golden/placement.txt"]);
    check(&evaluation.costs.table(workload, accelerator, placement), expect_file!["golden/costs.txt"]);
    check(&evaluation.schedule.table(names), expect_file!["golden/schedule.txt"]);
    check(&evaluation.schedule.log.as_ref().unwrap().lines(names), expect_file!["golden/events.txt"]);
    check(&evaluation.ledger.table(accelerator), expect_file!["golden/ledger.txt"]);
    check(&bound.to_string(), expect_file!["golden/bound.txt"]);
    let timeline = timeline(&problem, &outcome, "case".to_owned(), String::new());
    let mut slices = Vec::new();
    csv::slices(&timeline, &mut slices).unwrap();
    check(&String::from_utf8(slices).unwrap(), expect_file!["golden/timeline.csv"]);
    survives_json(candidate);
    survives_json(placement);
    survives_json(graph);
    survives_json(&evaluation.schedule);
    survives_json(&evaluation.ledger);
    survives_json(bound);
    survives_json(&timeline);
}
