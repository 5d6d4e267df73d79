//! The command line, through the binary: what it prints where, and its exit codes.

mod bad_files;
mod bad_networks;
mod bad_requests;
mod mistakes;
mod model;
mod output;

use expect_test::Expect;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// The binary, to be run in `dir`, so that messages show the paths that were typed.
pub(crate) fn millstream(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_millstream"));
    command.current_dir(dir).env_remove("RUST_BACKTRACE").env("COLUMNS", "100");
    command
}

/// A folder with these files.
pub(crate) fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, contents) in files {
        std::fs::write(dir.path().join(name), contents).unwrap();
    }
    dir
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Runs the words of a line in `dir`.
pub(crate) fn run(dir: &Path, line: &str) -> Output {
    millstream(dir).args(line.split_whitespace()).output().unwrap()
}

/// The line fails with this code and this text on stderr, and prints nothing on stdout.
#[track_caller]
pub(crate) fn fails(dir: &Path, line: &str, code: i32, expected: Expect) {
    let output = run(dir, line);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "millstream {line}\n{stderr}");
    assert_eq!(text(&output.stdout), "", "millstream {line}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    expected.assert_eq(&stderr);
}

/// The line with this one file fails with code 1.
#[track_caller]
pub(crate) fn refuses(name: &str, contents: impl AsRef<[u8]>, line: &str, expected: Expect) {
    let dir = folder(&[(name, contents.as_ref())]);
    fails(dir.path(), line, 1, expected);
}
