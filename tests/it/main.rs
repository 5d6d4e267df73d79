//! Integration tests: one binary.

#![allow(clippy::unwrap_used)]

mod errors;
mod hardware;
mod readers;
