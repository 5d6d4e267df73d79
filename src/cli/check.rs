//! `millstream check DIR`: verify a saved result from its inputs and event log.

use super::Failure;
use super::output::Output;
use crate::report::saved;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `check`.
#[derive(Args)]
pub(super) struct CheckArgs {
    /// Folder of a result.
    dir: PathBuf,
}

pub(super) fn check(args: &CheckArgs, out: &mut Output) -> Result<(), Failure> {
    let report = saved::check(&args.dir)?;
    if report.is_clean() {
        return out.print(report);
    }
    Err(Failure::Violations(report.to_string()))
}
