//! `millstream check DIR`: verify a saved result from its inputs and event log.

use super::Failure;
use crate::report::saved;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `check`.
#[derive(Args)]
pub(super) struct CheckArgs {
    /// Folder of a result.
    dir: PathBuf,
}

pub(super) fn check(args: &CheckArgs) -> Result<(), Failure> {
    let report = saved::check(&args.dir)?;
    if report.is_clean() {
        print!("{report}");
        return Ok(());
    }
    Err(Failure::Violations(report.to_string()))
}
