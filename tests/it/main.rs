//! The integration tests, one binary.

#![allow(clippy::unwrap_used)]

mod cost;
mod errors;
mod hardware;
mod layout;
mod readers;
mod verify;
mod workload;
