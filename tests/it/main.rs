//! The integration tests, one binary.

#![allow(clippy::unwrap_used)]

mod chips;
mod cli;
mod cn;
mod cost;
mod depth_first;
mod errors;
mod fixture;
mod hardware;
mod invariance;
mod layout;
mod line;
mod mapping;
mod model;
mod networks;
mod optimal;
mod peers;
mod pipeline;
mod policies;
mod readers;
mod schedule;
mod tidy;
mod verify;
mod workload;
