//! Names of tensors, the order of nodes and Identity nodes change no byte of a result.

use crate::fixture::wire::{renamed, reversed, with_identities};
use millstream::accelerator::yaml as hardware;
use millstream::library;
use millstream::mapping::Mapping;
use millstream::pipeline::Problem;
use millstream::pipeline::run::{Mode, RunOptions, run};
use millstream::report::{self, Run};
use millstream::workload::Workload;
use millstream::workload::onnx::{ReadOptions, parse};
use std::collections::BTreeMap;
use std::path::Path;

fn read(model: &[u8]) -> Workload {
    parse("network", model, &ReadOptions::default()).unwrap()
}

/// A name that sorts in another order than the tensor's own.
fn other_name(name: &str) -> String {
    name.chars().rev().chain("'".chars()).collect()
}

/// Files that say the same as this one.
fn variants(model: &[u8]) -> [(&'static str, Vec<u8>); 4] {
    let all = renamed(&reversed(&with_identities(model)), other_name);
    [
        ("renamed", renamed(model, other_name)),
        ("reversed", reversed(model)),
        ("identities", with_identities(model)),
        ("all three", all),
    ]
}

/// The workload with its tensors' names, and those of steps between layout operators, left out.
fn nameless(mut workload: Workload) -> Workload {
    for tensor in &mut workload.tensors {
        tensor.name.clear();
    }
    workload
}

#[test]
fn every_shipped_network_reads_the_same() {
    for name in library::workloads().filter(|name| !library::is_text(name)) {
        let model = library::workload(name).unwrap();
        let given = nameless(read(model));
        for (how, variant) in variants(model) {
            assert_ne!(variant, model, "{name} {how}: nothing was changed");
            assert!(nameless(read(&variant)) == given, "{name}, {how}, is another workload");
        }
    }
}

/// The files of a result by their paths.
fn result(workload: Workload, accelerator: &str, mode: Mode) -> BTreeMap<String, Vec<u8>> {
    let problem = Problem::new(workload, hardware::find(accelerator).unwrap(), Mapping::default()).unwrap();
    let options = RunOptions { mode, rows: vec![8], ..RunOptions::default() };
    let outcome = run(&problem, &options).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let seconds = BTreeMap::new();
    let run = Run { problem: &problem, options: &options, outcome: &outcome, inputs: &[], seconds: &seconds };
    report::write(&run, dir.path()).unwrap();
    let mut files = BTreeMap::new();
    collect(dir.path(), "", &mut files);
    files
}

fn collect(folder: &Path, prefix: &str, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            collect(&path, &format!("{name}/"), files);
        } else {
            files.insert(name, std::fs::read(&path).unwrap());
        }
    }
}

/// Files that quote names of tensors, as labels.
const QUOTING: [&str; 6] =
    ["inputs/workload.json", "transfers.csv", "trace.json", "gantt.svg", "gantt.png", "report.html"];

/// Runs the file and all its variants. Every file is the same but those that quote a tensor's name;
/// the order of nodes changes not even these.
fn check(network: &str, accelerator: &str, mode: Mode) {
    let model = library::workload(network).unwrap();
    let given = result(read(model), accelerator, mode);
    assert!(given.contains_key("schedule.csv") && given.contains_key("mapping.yaml"));
    for (how, variant) in variants(model) {
        let other = result(read(&variant), accelerator, mode);
        assert!(given.keys().eq(other.keys()), "{network}, {how}");
        for (file, contents) in &given {
            let quotes = how != "reversed" && QUOTING.contains(&file.as_str());
            let exempt = quotes || file == "timing.json";
            assert!(exempt || *contents == other[file], "{network}, {how}: {file} differs");
        }
    }
}

#[test]
fn resnet8_fused_gives_the_same_bytes() {
    check("resnet8", "hetero_quad_core", Mode::Fused);
}

#[test]
fn branches_and_concatenations_give_the_same_bytes() {
    check("squeezenet", "testing_two_core", Mode::LayerByLayer);
}

#[test]
fn attention_with_a_cache_gives_the_same_bytes() {
    check("gpt2_decode", "tpu_like_quad_core", Mode::Fused);
}
