//! Figures of a schedule that follow from its log.

use crate::ids::{CnId, CoreId, PoolId, ResourceId};
use std::fmt;

/// A total that the schedule claims and the log determines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Arrival of the last output in DRAM, in cycles.
    Latency,
    /// Sum of the parts of `why`, in cycles.
    Why,
    /// Number of transfers.
    Transfers,
    /// Busy cycles.
    Busy(CoreId),
    /// Largest use, in bits.
    Peak(PoolId),
    /// Narrow words read by transfers.
    ReadWords(PoolId),
    /// Narrow words written by transfers.
    WriteWords(PoolId),
    /// Active cycles.
    Active(ResourceId),
    /// Bits moved.
    Moved(ResourceId),
    /// Cycle of admission.
    Admitted(CnId),
    /// Cycle of start.
    Start(CnId),
    /// Cycle of end.
    End(CnId),
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latency => f.write_str("latency in cycles"),
            Self::Why => f.write_str("sum of the parts of the latency in cycles"),
            Self::Transfers => f.write_str("number of transfers"),
            Self::Busy(core) => write!(f, "busy cycles of {core}"),
            Self::Peak(pool) => write!(f, "peak bits of {pool}"),
            Self::ReadWords(pool) => write!(f, "words read from {pool}"),
            Self::WriteWords(pool) => write!(f, "words written to {pool}"),
            Self::Active(resource) => write!(f, "active cycles of {resource}"),
            Self::Moved(resource) => write!(f, "bits moved over {resource}"),
            Self::Admitted(cn) => write!(f, "admission of {cn}"),
            Self::Start(cn) => write!(f, "start of {cn}"),
            Self::End(cn) => write!(f, "end of {cn}"),
        }
    }
}
