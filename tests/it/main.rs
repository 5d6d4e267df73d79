//! The integration tests, one binary.

mod cost;
mod workload;
