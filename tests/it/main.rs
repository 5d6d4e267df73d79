//! The integration tests, one binary.

#![allow(clippy::unwrap_used)]

mod cn;
mod cost;
mod errors;
mod fixture;
mod hardware;
mod layout;
mod readers;
mod verify;
mod workload;
