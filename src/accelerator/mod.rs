//! The accelerator: core descriptions, cores, links, DRAM, and the pools and resources they form.
//!
//! Built by [`yaml`] from ZigZag's core files and Stream's accelerator files. A core's intra-core
//! cost needs its [`CoreKind`] only (array and memory hierarchy, ZigZag MODEL.md section 2); the
//! schedule sees [`Pool`]s (physical memory instances in which fragments live) and [`Resource`]s
//! (links, buses, DRAM ports, ports of pools), and routes between pools ([`route`]).
//!
//! Costs of memories are picojoules per access of the full `bandwidth_max` word.

mod assemble;
mod connect;
mod core_file;
pub(crate) mod keys;
mod ports;
pub mod route;
pub mod yaml;

mod show;

pub use assemble::{TopMemory, lone_core};
pub(crate) use core_file::unrolled_loops;
pub(crate) use keys::UNROLLED;

use crate::ids::{CoreId, CoreKindId, PoolId, ResourceId};
use crate::units::{Bits, BitsPerCycle, Picojoules};
use crate::workload::{Dim, MemoryOperand};
use serde::{Deserialize, Serialize};

/// A multi-core accelerator (or a lone core).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Accelerator {
    /// Name in the file.
    pub name: String,
    /// Distinct core descriptions; identical files are one kind.
    pub kinds: Vec<CoreKind>,
    /// Cores, DRAM cores included, in the order of the file's numbers.
    pub cores: Vec<Core>,
    /// Memory-only cores that front external memory, nearest first by id. Never empty for `run`.
    pub dram: Vec<CoreId>,
    /// Connections as the file has them.
    pub links: Vec<Link>,
    /// Physical memory instances that hold fragments.
    pub pools: Vec<Pool>,
    /// Everything with a bandwidth.
    pub resources: Vec<Resource>,
    /// What the reader decided or ignored and a user should know, one sentence each.
    pub notes: Vec<String>,
}

/// A core: one instance of a kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Core {
    /// Number in the file.
    pub number: u32,
    /// Its description.
    pub kind: CoreKindId,
    /// Grid position, where the file gives one.
    pub coordinates: Option<Vec<i64>>,
    /// Pool of each memory operand (I1, I2, O) at its top level; none where no memory holds it.
    pub pools: [Option<PoolId>; 3],
}

/// A core description: an operational array fed by a memory hierarchy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoreKind {
    /// Name in the core file.
    pub name: String,
    /// Memories from lowest to highest, in the order of the file (that order is part of the model).
    pub memories: Vec<Memory>,
    /// The operational array.
    pub array: Array,
    /// ONNX operators the core executes; none: all that no specialised core claims.
    pub operator_types: Option<Vec<String>>,
    /// Spatial mapping given in the core file (`dataflows`), per array dimension; may be empty.
    pub dataflows: Vec<ArrayMapping>,
    /// The core cannot overlap transfers with computation (prefetch N = 0), as its own file states.
    pub no_overlap: bool,
    /// A memory-only core: fronts external memory, executes nothing.
    pub memory_only: bool,
}

/// Loop dimensions unrolled over one array dimension.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrayMapping {
    /// Array dimension (`D1`).
    pub array_dim: String,
    /// Loop dimensions with factors.
    pub unrolled: Vec<(Dim, f64)>,
}

/// The operational array: MAC units (or comparators, adders) in named dimensions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Array {
    /// Dimensions with sizes (`D1`, 32).
    pub dims: Vec<(String, u64)>,
    /// Energy of one operation.
    pub unit_energy: Picojoules,
    /// Area of one unit, in mm².
    pub unit_area: f64,
    /// Positions in `dims` of systolic dimensions: they drain at the end (ZigZag 3.9.1, MODEL.md 9).
    pub systolic: Vec<usize>,
    /// Computing in memory; then `unit_energy` is 0, the energy depends on the mapping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imc: Option<Imc>,
}

/// An array that computes in memory (MODEL.md 12). Bits are powers of two, `serial_bits` at most
/// `activation_bits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imc {
    /// How products are summed.
    pub kind: ImcKind,
    /// Bits of an activation.
    pub activation_bits: u64,
    /// Bits of a weight.
    pub weight_bits: u64,
    /// Bits of an activation that enter per cycle.
    pub serial_bits: u64,
    /// Bits of a conversion (analog only).
    pub adc_bits: u64,
}

/// How an array that computes in memory sums products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ImcKind {
    /// On the bit lines.
    Analog,
    /// In adder trees.
    Digital,
}

impl Array {
    /// Number of units.
    pub fn size(&self) -> u64 {
        self.dims.iter().map(|(_, size)| size).product()
    }

    /// Cycles of one operation: more than one where activations enter bit by bit.
    pub fn cycles_per_operation(&self) -> u64 {
        self.imc.map_or(1, |imc| imc.activation_bits / imc.serial_bits)
    }
}

/// A memory of a core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// Name in the core file.
    pub name: String,
    /// Capacity of one instance.
    pub size: Bits,
    /// Energy of reading one `bandwidth_max` word.
    pub read_cost: Picojoules,
    /// Energy of writing one `bandwidth_max` word.
    pub write_cost: Picojoules,
    /// Memory operands it holds, in the order of the file (that order decides ties, MODEL.md 5).
    pub operands: Vec<MemoryOperand>,
    /// Ports.
    pub ports: Vec<Port>,
    /// Positions of the array dimensions that one instance serves; empty: one instance per unit.
    pub served: Vec<usize>,
    /// ZigZag's `force_double_buffering`.
    pub double_buffering: bool,
    /// Area in mm² (reported only).
    pub area: f64,
    /// Cycles of an access (reported only, as in the reference).
    pub latency: u64,
    /// Name under which cores share one instance (Stream's shared memories).
    pub shared_instance: Option<String>,
}

/// A port of a memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Port {
    /// Name in the core file.
    pub name: String,
    /// Read, write or both.
    pub kind: PortKind,
    /// Granularity of a transfer.
    pub bandwidth_min: BitsPerCycle,
    /// Full width; costs are per word of this width.
    pub bandwidth_max: BitsPerCycle,
    /// What moves through it.
    pub allocation: Vec<(MemoryOperand, Direction)>,
}

/// What a port can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PortKind {
    /// Reads only.
    Read,
    /// Writes only.
    Write,
    /// Reads and writes, one at a time.
    ReadWrite,
}

/// Direction of a movement at the interface of one operand and memory level (ZigZag's names).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Direction {
    /// `tl`, read towards the array.
    ToLow,
    /// `fl`, write coming from below.
    FromLow,
    /// `th`, read towards the outer memory.
    ToHigh,
    /// `fh`, write coming from above.
    FromHigh,
}

impl Direction {
    /// All four, in the order of the reference's lists.
    pub const ALL: [Self; 4] = [Self::ToLow, Self::FromLow, Self::ToHigh, Self::FromHigh];

    /// The file's abbreviation.
    pub fn abbreviation(self) -> &'static str {
        match self {
            Self::ToLow => "tl",
            Self::FromLow => "fl",
            Self::ToHigh => "th",
            Self::FromHigh => "fh",
        }
    }

    /// Whether it reads the memory.
    pub fn is_read(self) -> bool {
        matches!(self, Self::ToLow | Self::ToHigh)
    }
}

/// A connection of the accelerator file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// `link` (two directed resources) or `bus` (one resource).
    pub kind: LinkKind,
    /// Cores joined; exactly two for a link.
    pub cores: Vec<CoreId>,
    /// Bandwidth of each direction (link) or of all together (bus).
    pub bandwidth: BitsPerCycle,
    /// Cycles a hop adds to a transfer.
    pub latency: u64,
    /// Energy.
    pub energy: LinkEnergy,
    /// Class, for reports.
    pub class: LinkClass,
}

/// Link or bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkKind {
    /// Point to point, both directions at once.
    Link,
    /// Shared by its cores, one transfer at a time.
    Bus,
}

/// Energy of a link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum LinkEnergy {
    /// Per active cycle (Stream's `unit_energy_cost`).
    PerCycle(Picojoules),
    /// Per bit.
    PerBit(Picojoules),
}

/// Class of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LinkClass {
    /// On chip, between cores.
    Noc,
    /// Between dies.
    D2d,
    /// On-chip bus.
    Bus,
    /// To external memory.
    Offchip,
}

/// A physical memory instance that holds fragments: the top memory of some (core, operand).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pool {
    /// `core0.sram_2MB`, or the name of the shared instance.
    pub name: String,
    /// Core in whose description it stands (the first, if shared).
    pub core: CoreId,
    /// Position in that core's memories.
    pub memory: usize,
    /// Capacity; DRAM pools hold everything.
    pub size: Bits,
    /// Who uses it.
    pub users: Vec<(CoreId, MemoryOperand)>,
    /// External memory.
    pub dram: bool,
    /// Port through which flows leave.
    pub read_port: ResourceId,
    /// Port through which flows arrive; equals `read_port` for a single read-write port.
    pub write_port: ResourceId,
}

/// Something with a bandwidth that a flow occupies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resource {
    /// `link core0->core1`, `bus 0`, `dram port`, `core0.sram_2MB r_port_1`.
    pub name: String,
    /// What it is.
    pub kind: ResourceKind,
    /// Full bandwidth.
    pub bandwidth: BitsPerCycle,
}

/// What a resource is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResourceKind {
    /// One direction of `links[link]`.
    Link {
        /// Index into [`Accelerator::links`].
        link: u32,
        /// From `cores[0]` to `cores[1]`.
        forward: bool,
    },
    /// The bus `links[link]`.
    Bus {
        /// Index into [`Accelerator::links`].
        link: u32,
    },
    /// A port of a pool; DRAM ports are ports of DRAM pools.
    Port {
        /// The pool.
        pool: PoolId,
        /// Position in the memory's ports.
        port: u32,
    },
}

impl Accelerator {
    /// The core with this id.
    pub fn core(&self, id: CoreId) -> &Core {
        &self.cores[id.index()]
    }

    /// The description of a core.
    pub fn kind(&self, id: CoreId) -> &CoreKind {
        &self.kinds[self.core(id).kind.index()]
    }

    /// A pool.
    pub fn pool(&self, id: PoolId) -> &Pool {
        &self.pools[id.index()]
    }

    /// The memory behind a pool.
    pub fn memory(&self, id: PoolId) -> &Memory {
        let pool = self.pool(id);
        &self.kind(pool.core).memories[pool.memory]
    }

    /// The port description behind a port resource.
    pub fn port(&self, pool: PoolId, resource: ResourceId) -> Option<&Port> {
        match self.resources[resource.index()].kind {
            ResourceKind::Port { port, .. } => self.memory(pool).ports.get(port as usize),
            _ => None,
        }
    }

    /// Ids of cores that compute.
    pub fn compute_cores(&self) -> impl Iterator<Item = CoreId> + '_ {
        (0..self.cores.len()).map(CoreId::from).filter(|core| !self.kind(*core).memory_only)
    }

    /// Pool in which a memory operand of a core lives at the top.
    pub fn top_pool(&self, core: CoreId, operand: MemoryOperand) -> Option<PoolId> {
        self.core(core).pools[operand as usize]
    }
}

impl CoreKind {
    /// Positions of the memories that hold `operand`, lowest first.
    pub fn levels(&self, operand: MemoryOperand) -> Vec<usize> {
        (0..self.memories.len()).filter(|level| self.memories[*level].operands.contains(&operand)).collect()
    }

    /// Whether the core executes this operator: by its own list, or, without one, any operator.
    pub fn claims(&self, operator: &str) -> bool {
        !self.memory_only
            && (self.operator_types.as_ref())
                .is_none_or(|operators| operators.iter().any(|name| name == operator))
    }
}
