//! What is written: help with examples, results into pipes that close, results nobody can take.

use super::{fails, folder, millstream, run, text};
use expect_test::expect;
use std::process::{Command, Stdio};

/// Every command and `show`'s parts.
const COMMANDS: [&str; 18] = [
    "",
    "run",
    "cost",
    "fuse",
    "compare",
    "check",
    "show",
    "show workload",
    "show accelerator",
    "show mapping",
    "show cns",
    "show candidate",
    "show placement",
    "show schedule",
    "show events",
    "show ledger",
    "list",
    "schema",
];

#[test]
fn every_help_has_an_example_of_its_command() {
    let dir = folder(&[]);
    for command in COMMANDS {
        let output = run(dir.path(), &format!("{command} --help"));
        assert_eq!(output.status.code(), Some(0));
        let help = text(&output.stdout);
        let (_, example) = help.split_once("Example:\n").unwrap_or_else(|| panic!("{command}: {help}"));
        assert!(example.trim_start().starts_with(format!("millstream {command}").trim_end()), "{example}");
    }
    let listed = text(&run(dir.path(), "--help").stdout);
    let listed = listed.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let commands: Vec<_> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(commands, ["run", "cost", "fuse", "compare", "check", "show", "list", "schema", "help"]);
}

#[test]
fn the_examples_run() {
    let dir = folder(&[("my_network.onnx", &super::model::small())]);
    let lines = [
        "run -w my_network.onnx -a testing_two_core -o out",
        "cost -w my_network.onnx -a tpu_like --explain y",
        "fuse -w my_network.onnx -a tpu_like_df --tile 4x4,full",
        "fuse -w my_network.onnx -a tpu_like_df --tile 2x2,4x4 --overlap cached --reference --plot out_fuse",
        "fuse -w my_network.onnx -a tpu_like_df --tile 2x2,4x4 --stacks auto",
        "check out",
        "compare -w my_network.onnx -a testing_two_core -o out_compare",
        "show accelerator tpu_like_quad_core",
        "show workload my_network.onnx",
        "show mapping out/mapping.yaml",
        "show cns my_network.onnx tpu_like_quad_core --rows 4",
        "show candidate out",
        "show placement out",
        "show schedule out",
        "show events out",
        "show ledger out",
        "list",
        "schema accelerator",
    ];
    for line in lines {
        let output = run(dir.path(), line);
        assert_eq!(output.status.code(), Some(0), "{line}\n{}", text(&output.stderr));
        assert!(!output.stdout.is_empty(), "{line}");
    }
}

/// Starts a command and closes its standard output before it can write.
fn into_closed_pipe(line: &str) -> (Option<i32>, String) {
    let dir = folder(&[("small.onnx", &super::model::small())]);
    let mut child: Command = millstream(dir.path());
    child.args(line.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    (output.status.code(), text(&output.stderr))
}

#[test]
fn a_reader_that_leaves_ends_the_command_quietly() {
    for line in [
        "list",
        "schema core",
        "show accelerator tpu_like_quad_core",
        "show workload resnet18 --format json",
        "show cns resnet18 tpu_like_quad_core",
        "cost -w small.onnx -a tpu_like",
        "cost -w small.onnx -a tpu_like --format json",
        "cost -w small.onnx -a tpu_like --explain y",
        "run -w small.onnx -a testing_two_core",
        "run -w small.onnx -a testing_two_core -o out",
        "--help",
    ] {
        assert_eq!(into_closed_pipe(line), (Some(0), String::new()), "{line}");
    }
}

#[test]
fn standard_error_may_be_closed_too() {
    let dir = folder(&[]);
    let mut child = millstream(dir.path());
    child.args(["show", "workload", "nothing"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error() {
    let dir = folder(&[]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = millstream(dir.path()).arg("list").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    expect![[r#"
        error: cannot write to standard output: No space left on device (os error 28)
    "#]]
    .assert_eq(&text(&output.stderr));
}

#[test]
fn folders_of_results() {
    let dir = folder(&[("small.onnx", &super::model::small()), ("taken", b"")]);
    fails(
        dir.path(),
        "run -w small.onnx -a testing_two_core -o taken",
        1,
        expect![[r#"
        error: -o taken: this is a file
         |
         = help: name a folder: the result has many files
    "#]],
    );
    fails(
        dir.path(),
        "run -w small.onnx -a testing_two_core -o taken/below",
        1,
        expect![[r#"
        error: -o taken/below: cannot make the folder: Not a directory (os error 20)
    "#]],
    );
    fails(
        dir.path(),
        "check missing",
        1,
        expect![[r#"
        error: missing/inputs/workload.json: No such file or directory (os error 2); `check` needs the folder that `run -o DIR` wrote
    "#]],
    );
    fails(
        dir.path(),
        "check .",
        1,
        expect![[r#"
        error: ./inputs/workload.json: No such file or directory (os error 2); `check` needs the folder that `run -o DIR` wrote
    "#]],
    );
}

/// Rule (model).
#[test]
fn faults_that_matter_are_told_unless_they_are_repaired() {
    let dir = folder(&[]);
    let cost = |model: &str| text(&run(dir.path(), &format!("cost -w resnet18 -a tpu_like {model}")).stdout);
    let note = "note: faults of ZigZag's cost model move by more than 5 % the latency of 9 of 31 layers";
    assert!(cost("").contains(note), "{}", cost(""));
    assert!(!cost("--model millstream").contains("faults"));
}
