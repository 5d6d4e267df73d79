//! Millstream: a multi-core layer-fusion scheduler and simulator for DNN accelerators.
//!
//! The line, in pipeline order (one module per arrow):
//!
//! ```text
//! workloads/*.onnx|yaml -> Workload ----+
//! hardware/*.yaml -------> Accelerator -+-> policy -> Candidate -> CnGraph -> Placement -> Costs -> Schedule -> Report
//! mapping (optional) ----> Mapping -----+
//! ```

pub mod units;
pub mod ids;
pub mod diagnostic;
mod document;
mod table;
pub mod library;
pub mod workload;
pub mod accelerator;
pub mod mapping;
pub mod cost;
pub mod fusion;
pub mod cn;
pub mod allocation;
pub mod placement;
pub mod schedule;
pub mod ledger;
pub mod overrides;
pub mod costing;
pub mod pipeline;
pub mod bound;
pub mod verify;
pub mod timeline;
pub mod report;
pub mod cli;
