//! Millstream: a multi-core layer-fusion scheduler and simulator for DNN accelerators.
//!
//! The line, in pipeline order (one module per arrow):
//!
//! ```text
//! workloads/*.onnx|yaml -> Workload ----+
//! hardware/*.yaml -------> Accelerator -+-> policy -> Candidate -> CnGraph -> Placement -> Costs -> Schedule -> Report
//! mapping (optional) ----> Mapping -----+
//! ```

pub mod accelerator;
pub mod allocation;
pub mod bound;
pub mod cli;
pub mod cn;
pub mod cost;
pub mod costing;
pub mod depth_first;
pub mod diagnostic;
mod document;
pub mod fusion;
pub mod ids;
pub mod ledger;
pub mod library;
pub mod mapping;
pub mod overrides;
pub mod pipeline;
pub mod placement;
pub mod report;
pub mod schedule;
pub mod schema;
mod table;
pub mod timeline;
pub mod units;
pub mod verify;
pub mod workload;
