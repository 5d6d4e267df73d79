//! The integration tests, one binary.

mod workload;
