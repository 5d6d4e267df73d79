//! Typed indices into the flat arrays of the line.
//!
//! An id is the position of its thing in the one array that owns it. Ids print with their kind
//! (`cn12`, `core3`), so that a log line needs no legend, and serialise as plain numbers.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The position in the array that owns the thing.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<usize> for $name {
            /// Arrays of the line hold fewer than 2^32 entries: readers and `cn::refine` refuse more.
            fn from(index: usize) -> Self {
                Self(u32::try_from(index).expect("arrays of the line hold fewer than 2^32 entries"))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

id!(
    /// A layer of the workload, numbered in canonical topological order.
    LayerId,
    "layer"
);
id!(
    /// A tensor of the workload.
    TensorId,
    "tensor"
);
id!(
    /// A core of the accelerator, DRAM cores included. Equals its number in the accelerator's file
    /// when that file numbers its cores from zero without gaps.
    CoreId,
    "core"
);
id!(
    /// A core description shared by all identical cores.
    CoreKindId,
    "kind"
);
id!(
    /// A physical memory instance in which the scheduler keeps fragments.
    PoolId,
    "pool"
);
id!(
    /// A bandwidth resource: a directed link, a bus, a DRAM port or a port of a pool.
    ResourceId,
    "resource"
);
id!(
    /// A fused stack of layers.
    StackId,
    "stack"
);
id!(
    /// A computation node: one tile of one layer.
    CnId,
    "cn"
);
id!(
    /// A class of CNs of equal shape.
    ClassId,
    "class"
);
id!(
    /// A fragment: the unit of residency, transfer and life time.
    FragmentId,
    "fragment"
);
id!(
    /// A transfer of one fragment from one pool to others.
    TransferId,
    "transfer"
);
