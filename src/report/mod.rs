//! Report: the files of a result and the summary on the terminal (DESIGN.md section 6).
//!
//! [`write`] makes everything in memory and writes each file whole. Wall-clock figures go into
//! `timing.json` and nowhere else, so that equal inputs give equal bytes in all other files.

pub mod comparison;
pub mod depth_first;
pub mod inputs;
pub mod movement;
pub mod saved;
mod summary;
mod tables;

pub use summary::{Summary, notes, summary};

use crate::pipeline::Problem;
use crate::pipeline::run::{Outcome, RunOptions};
use crate::timeline::timeline;
use millstream_traces::{gantt, perfetto};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Names and contents of the input files, for `summary.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// `workload`, `accelerator`, `mapping`, `costs`.
    pub role: String,
    /// Name or path as given.
    pub name: String,
    /// SHA-256 of the contents, in hexadecimal.
    pub sha256: String,
}

/// A file that cannot be written or drawn.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The operating system's reason.
    #[error("cannot write {path}: {source}")]
    Write {
        /// File.
        path: PathBuf,
        /// Reason.
        source: std::io::Error,
    },
    /// A table.
    #[error("cannot write {path}: {reason}")]
    Table {
        /// File.
        path: PathBuf,
        /// Reason.
        reason: String,
    },
    /// A chart.
    #[error("cannot draw: {0}")]
    Gantt(#[from] gantt::GanttError),
}

/// Everything a report says about one run.
pub struct Run<'a> {
    /// Inputs.
    pub problem: &'a Problem,
    /// Options.
    pub options: &'a RunOptions,
    /// Result.
    pub outcome: &'a Outcome,
    /// Input files.
    pub inputs: &'a [InputFile],
    /// Seconds per stage.
    pub seconds: &'a BTreeMap<&'static str, f64>,
}

/// Writes all files of a result into `dir`.
pub fn write(run: &Run, dir: &Path) -> Result<(), ReportError> {
    let _span = tracing::info_span!("report").entered();
    let directory = |path: &Path| {
        std::fs::create_dir_all(path).map_err(|source| ReportError::Write { path: path.to_owned(), source })
    };
    directory(dir)?;
    directory(&dir.join("inputs"))?;
    let put = |name: &str, contents: &[u8]| put(dir, name, contents);
    let summary = summary(run);
    put("summary.json", json(&summary).as_bytes())?;
    for (name, contents) in [
        ("schedule.csv", tables::schedule(run)),
        ("transfers.csv", tables::transfers(run)),
        ("memory.csv", tables::memory(run)),
        ("costs.csv", tables::costs(run)),
    ] {
        let contents = contents
            .map_err(|error| ReportError::Table { path: dir.join(name), reason: error.to_string() })?;
        put(name, &contents)?;
    }
    put("events.jsonl", tables::events(run).as_bytes())?;
    for (name, contents) in inputs::files(run) {
        put(&name, contents.as_bytes())?;
    }
    let title = format!("{} on {}", run.problem.workload.name, run.problem.accelerator.name);
    let timeline = timeline(run.problem, run.outcome, title, summary.subtitle());
    put("gantt.svg", gantt::draw_svg(&timeline, &gantt::GanttOptions::default())?.as_bytes())?;
    put("gantt.png", &gantt::draw_png(&timeline, &gantt::GanttOptions::default())?)?;
    let mut trace = Vec::new();
    perfetto::write(&timeline, &mut trace)
        .map_err(|error| ReportError::Table { path: dir.join("trace.json"), reason: error.to_string() })?;
    put("trace.json", &trace)
}

/// Writes `timing.json`: the only file with wall-clock figures.
pub fn write_timing(run: &Run, dir: &Path) -> Result<(), ReportError> {
    let stages = ["parse", "refine", "cost", "allocate", "schedule", "verify", "report", "total"];
    let seconds: BTreeMap<&str, f64> =
        stages.iter().map(|stage| (*stage, run.seconds.get(stage).copied().unwrap_or(0.0))).collect();
    let timing = serde_json::json!({
        "stage_seconds": seconds,
        "evaluations": run.outcome.evaluations,
        "distinct_costs": run.outcome.distinct_costs,
    });
    put(dir, "timing.json", json(&timing).as_bytes())
}

fn put(dir: &Path, name: &str, contents: &[u8]) -> Result<(), ReportError> {
    let path = dir.join(name);
    std::fs::write(&path, contents).map_err(|source| ReportError::Write { path, source })
}

/// Pretty JSON with a line end.
fn json<T: Serialize>(value: &T) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("plain data serialises");
    text.push('\n');
    text
}
