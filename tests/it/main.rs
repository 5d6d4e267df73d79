//! Integration tests: one binary.

mod errors;
mod hardware;
mod readers;
