//! The one place that writes to standard output and standard error.
//!
//! Results are buffered and written under one lock. A reader that leaves (`millstream list | head -1`)
//! ends the command quietly with code 0; any other failed write is a message and code 1. Messages on
//! standard error have nobody left to complain to, so a failure there changes nothing.

use super::Failure;
use std::fmt::Display;
use std::io::{self, BufWriter, ErrorKind, StdoutLock, Write};

/// Standard output of a command.
pub(super) struct Output {
    out: BufWriter<StdoutLock<'static>>,
}

impl Output {
    /// Locks standard output until the command ends.
    pub(super) fn new() -> Self {
        Self { out: BufWriter::new(io::stdout().lock()) }
    }

    /// Writes a text as it is.
    pub(super) fn print(&mut self, text: impl Display) -> Result<(), Failure> {
        write!(self.out, "{text}").map_err(Failure::Output)
    }

    /// Writes a text and a line end.
    pub(super) fn line(&mut self, text: impl Display) -> Result<(), Failure> {
        writeln!(self.out, "{text}").map_err(Failure::Output)
    }

    /// Writes one JSON document.
    pub(super) fn json<T: serde::Serialize>(&mut self, value: &T) -> Result<(), Failure> {
        self.line(serde_json::to_string_pretty(value).expect("plain data serialises"))
    }

    /// Writes what is still buffered.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(Failure::Output)
    }
}

/// Whether a failed write means that the reader of the results has left.
pub(super) fn reader_left(error: &io::Error) -> bool {
    error.kind() == ErrorKind::BrokenPipe
}

/// Writes a message to standard error.
pub(super) fn complain(message: &str) {
    // Without standard error nobody can be told.
    let _ = writeln!(io::stderr(), "{message}");
}
