//! Integration tests: one binary.

mod hardware;
mod readers;
