//! The integration tests, one binary.

mod cost;
mod hardware;
mod layout;
mod readers;
mod workload;
