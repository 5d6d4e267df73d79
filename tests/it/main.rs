//! The integration tests, one binary.

#![allow(clippy::unwrap_used)]

mod cli;
mod cn;
mod cost;
mod errors;
mod fixture;
mod hardware;
mod layout;
mod line;
mod pipeline;
mod readers;
mod schedule;
mod tidy;
mod verify;
mod workload;
