//! The integration tests, one binary.

#![allow(clippy::unwrap_used)]

mod cn;
mod cost;
mod errors;
mod fixture;
mod hardware;
mod layout;
mod optimal;
mod pipeline;
mod readers;
mod schedule;
mod tidy;
mod verify;
mod workload;
