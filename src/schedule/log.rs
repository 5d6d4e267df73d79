//! The event log: what happened, as claims that [`crate::verify`] re-derives.
//!
//! Events are in the order in which the simulation made them; times never decrease, except that a
//! [`Event::Transfer`] is logged when it ends and tells its segments. Occupancy follows from the log
//! alone: `Request` and `Admit` reserve, `End` and `Drop` free (a written-back copy leaves by a `Drop`).

use crate::ids::{CnId, FragmentId, PoolId, TransferId};
use crate::units::{Bits, Cycles};
use serde::{Deserialize, Serialize};

/// Everything that happened, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Log(pub Vec<Event>);

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    /// A CN's output (at partial-sum precision) and stream tiles are reserved, its inputs pinned.
    Admit {
        /// When.
        time: Cycles,
        /// Which.
        cn: CnId,
        /// Bits reserved per pool for output and stream tiles.
        reserved: Vec<(PoolId, Bits)>,
    },
    /// A copy is asked for; its bits are reserved in `to` from now on (DRAM always has room).
    Request {
        /// When.
        time: Cycles,
        /// What.
        fragment: FragmentId,
        /// Where to.
        to: PoolId,
        /// For which CN: the reader, or the producer of a write-back.
        cn: CnId,
        /// Why.
        purpose: Purpose,
    },
    /// A flow ended: the fragment is now present in `to`.
    Transfer {
        /// When it ended: the end of the last segment plus the latency of the route.
        time: Cycles,
        /// Number of the transfer.
        transfer: TransferId,
        /// What moved; none for a stream.
        fragment: Option<FragmentId>,
        /// The CN it was issued for.
        cn: CnId,
        /// Source.
        from: PoolId,
        /// Destinations (several: multicast).
        to: Vec<PoolId>,
        /// Amount.
        bits: Bits,
        /// When it was issued.
        issued: Cycles,
        /// When it used its whole route: `[start, end)` in order.
        segments: Vec<(Cycles, Cycles)>,
        /// Under `fair` contention the rate in each segment, in 2^-20 bits per cycle; else empty.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rates: Vec<u64>,
        /// Why.
        purpose: Purpose,
    },
    /// A copy leaves a pool.
    Drop {
        /// When.
        time: Cycles,
        /// What.
        fragment: FragmentId,
        /// Where from.
        pool: PoolId,
    },
    /// A CN starts.
    Start {
        /// When.
        time: Cycles,
        /// Which.
        cn: CnId,
    },
    /// A CN ends: its reservation is replaced by its output fragments at final precision.
    End {
        /// When.
        time: Cycles,
        /// Which.
        cn: CnId,
    },
}

/// Why a transfer was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// An admitted CN needs it.
    Fetch,
    /// A later CN will need it.
    Prefetch,
    /// Its space is needed: written back to DRAM, the copy leaves when the write ends.
    Spill,
    /// It is an output of the network, or a streaming reader takes it from DRAM.
    Store,
    /// Moves beside the computation of a CN (read from DRAM).
    StreamIn,
    /// Moves beside the computation of a CN (written to DRAM).
    StreamOut,
}
