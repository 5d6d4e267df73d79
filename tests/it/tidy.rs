//! The house rules that can be read off the sources.

use std::fs;
use std::path::{Path, PathBuf};

/// A source file.
struct Source {
    /// Path from the root of the repository, with slashes.
    name: String,
    text: String,
}

impl Source {
    /// What is compiled into the library: neither comments nor the unit tests at the end.
    fn code(&self) -> String {
        let end = self.text.find("#[cfg(test)]\nmod tests {").unwrap_or(self.text.len());
        let lines = self.text[..end].lines().filter(|line| !line.trim_start().starts_with("//"));
        lines.map(|line| format!("{line}\n")).collect()
    }
}

/// All Rust files below these folders, by name.
fn sources(folders: &[&str]) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pending: Vec<PathBuf> = folders.iter().map(|folder| root.join(folder)).collect();
    let mut sources = Vec::new();
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
            sources.push(Source { name, text: fs::read_to_string(path).unwrap() });
        }
    }
    assert!(sources.len() > 5, "found only {} files below {folders:?}", sources.len());
    sources.sort_by(|a, b| a.name.cmp(&b.name));
    sources
}

/// The library without its unit tests.
fn library() -> Vec<Source> {
    let mut sources = sources(&["src"]);
    sources.retain(|source| !source.name.contains("/tests/"));
    sources
}

/// Lines of code that hold one of the words.
fn mentions(source: &Source, words: &[&str]) -> Vec<String> {
    let found = |line: &&str| words.iter().any(|word| line.contains(word));
    source.code().lines().filter(found).map(|line| format!("{}: {}", source.name, line.trim())).collect()
}

fn all_mentions(folder: &str, words: &[&str]) -> Vec<String> {
    let sources = library().into_iter().filter(|source| source.name.starts_with(folder));
    sources.flat_map(|source| mentions(&source, words)).collect()
}

#[test]
fn every_file_says_what_it_is() {
    let silent: Vec<String> = sources(&["src", "solver/src", "traces/src", "tests"])
        .into_iter()
        .filter(|source| !source.text.starts_with("//!"))
        .map(|source| source.name)
        .collect();
    assert_eq!(silent, [""; 0]);
}

#[test]
fn no_file_is_over_a_thousand_lines() {
    let mut long = Vec::new();
    for source in sources(&["src", "solver/src", "traces/src", "tests"]) {
        let lines = source.text.lines().count();
        if lines > 500 {
            println!("{lines:>5} {}", source.name);
        }
        if lines > 1000 {
            long.push(source.name);
        }
    }
    assert_eq!(long, [""; 0]);
}

#[test]
fn the_cost_model_knows_neither_allocation_nor_schedule() {
    let others = ["crate::allocation", "crate::schedule", "crate::pipeline", "crate::placement"];
    assert_eq!(all_mentions("src/cost/", &others), [""; 0]);
}

#[test]
fn the_schedule_does_not_know_which_policy_ran() {
    assert_eq!(all_mentions("src/schedule/", &["policy", "Policy"]), [""; 0]);
}

/// Types of the claims only: no function and no module of the schedule but its log.
#[test]
fn the_checker_shares_no_code_with_the_schedule() {
    let mut shared = Vec::new();
    for line in all_mentions("src/verify/", &["crate::schedule"]) {
        let (_, path) = line.split_once("crate::schedule").unwrap();
        let words = path.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        let function = |word: &str| word.starts_with(|c: char| c.is_lowercase()) && word != "log";
        if words.into_iter().any(function) || path.contains('*') {
            shared.push(line);
        }
    }
    assert_eq!(shared, [""; 0]);
}

#[test]
fn only_readers_writers_and_the_command_line_touch_files() {
    let may = ["workload", "accelerator", "mapping", "overrides", "report", "cli", "document", "diagnostic"];
    let touching: Vec<String> = library()
        .iter()
        .filter(|source| {
            let module = source.name["src/".len()..].split(['/', '.']).next().unwrap();
            !may.contains(&module)
        })
        .flat_map(|source| mentions(source, &["std::fs", "fs::", "File::", "std::io", "std::env"]))
        .collect();
    assert_eq!(touching, [""; 0]);
}

#[test]
fn only_the_command_line_prints() {
    let printing: Vec<String> = library()
        .iter()
        .filter(|source| !source.name.starts_with("src/cli/") && source.name != "src/main.rs")
        .flat_map(|source| mentions(source, &["println!", "eprintln!", "print!("]))
        .collect();
    assert_eq!(printing, [""; 0]);
}

#[test]
fn the_library_neither_unwraps_nor_leaves_work_undone() {
    let words = [".unwrap()", "todo!", "dbg!", "unimplemented!", "FIXME", "TODO"];
    let found: Vec<String> = library().iter().flat_map(|source| mentions(source, &words)).collect();
    assert_eq!(found, [""; 0]);
}
