//! The integration tests, one binary.

mod cost;
mod hardware;
mod readers;
mod verify;
mod workload;
