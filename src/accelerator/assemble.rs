//! From cores and links to an accelerator: pools, resources, the DRAM of a lone core.
//!
//! A pool is the top memory of some (core, memory operand); operands in one memory, and cores that
//! share it, share the pool (Rule (pools)). Resources are the two directions of each link, each bus,
//! and of each pool the ports through which flows leave and arrive (Rule (contention)). Where the
//! array has several instances of a top memory, the pool is all of them together: capacity and port
//! bandwidth are multiplied.

use super::{
    Accelerator, Core, CoreKind, Direction, Link, LinkClass, LinkEnergy, LinkKind, Memory, Pool, Resource,
    ResourceKind,
};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::ids::{CoreId, CoreKindId, PoolId, ResourceId};
use crate::units::{Bits, BitsPerCycle, Picojoules};
use crate::workload::MemoryOperand;

const OPERANDS: [MemoryOperand; 3] = [MemoryOperand::I1, MemoryOperand::I2, MemoryOperand::O];

/// What an accelerator is made of.
pub(super) struct Parts {
    pub(super) name: String,
    pub(super) kinds: Vec<CoreKind>,
    pub(super) cores: Vec<Core>,
    pub(super) dram: Vec<CoreId>,
    pub(super) links: Vec<Link>,
    /// Groups of cores with common top memories, owner first.
    pub(super) sharing: Vec<Vec<CoreId>>,
    /// Energy of a link that is added because the file has none.
    pub(super) unit_energy_cost: Picojoules,
    pub(super) notes: Vec<String>,
}

/// What becomes of the memory at the top of a lone core file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopMemory {
    /// It stays a memory of the core; the accelerator has no DRAM (`cost`).
    Kept,
    /// The memory that holds all operands at the top is split off as a DRAM core (`run`).
    Offchip,
}

/// An accelerator of one core.
pub fn lone_core(kind: CoreKind, top: TopMemory) -> Result<Accelerator, Diagnostics> {
    let mut parts = Parts {
        name: kind.name.clone(),
        kinds: vec![kind],
        cores: vec![core(0)],
        dram: Vec::new(),
        links: Vec::new(),
        sharing: Vec::new(),
        unit_energy_cost: Picojoules::ZERO,
        notes: Vec::new(),
    };
    if top == TopMemory::Offchip {
        let dram = split_dram(&mut parts.kinds[0])?;
        let name = &dram.memories[0].name;
        parts.notes.push(format!("`{name}` holds all operands at the top and counts as off-chip"));
        parts.kinds.push(dram);
        parts.cores.push(core(1));
        parts.dram.push(CoreId(1));
    }
    Ok(assemble(parts)?)
}

fn core(number: u32) -> Core {
    let kind = CoreKindId(number);
    Core { number, kind, coordinates: None, pools: [None; 3] }
}

impl Accelerator {
    /// The accelerator as `run` needs it: a lone core's top memory becomes DRAM; others stay.
    pub fn with_dram(self) -> Result<Self, Diagnostics> {
        if !self.dram.is_empty() {
            return Ok(self);
        }
        let mut kinds = self.kinds;
        match (kinds.pop(), kinds.is_empty()) {
            (Some(kind), true) => {
                let mut split = lone_core(kind, TopMemory::Offchip)?;
                split.notes.splice(0..0, self.notes);
                Ok(split)
            }
            _ => Err(Diagnostic::new(format!("accelerator {} has no DRAM core", self.name)).into()),
        }
    }
}

/// Takes the memory that is the top of every operand out of the core and makes a DRAM core of it.
fn split_dram(kind: &mut CoreKind) -> Result<CoreKind, Diagnostics> {
    let tops: Vec<usize> =
        OPERANDS.iter().filter_map(|operand| kind.levels(*operand).last().copied()).collect();
    let top = match tops.first() {
        Some(top) if tops.iter().all(|other| other == top) && kind.memories.len() > 1 => *top,
        _ => {
            let message = format!("core {} has no memory that can be its DRAM", kind.name);
            let help = "its last memory must hold all operands; or write an accelerator file \
                        with `cores`, `offchip_core_id` and `core_connectivity`";
            return Err(Diagnostic::new(message).help(help).into());
        }
    };
    let name = kind.memories[top].name.clone();
    let memory = kind.memories.remove(top);
    let bare = memory.operands.iter().find(|operand| kind.levels(**operand).is_empty());
    if let Some(operand) = bare {
        let message = format!("core {} has no memory for {operand} but `{name}`", kind.name);
        let help = format!("with `{name}` as its DRAM the core needs another memory that holds {operand}");
        return Err(Diagnostic::new(message).help(help).into());
    }
    let mut array = kind.array.clone();
    array.dims.iter_mut().for_each(|(_, size)| *size = 0);
    array.unit_energy = Picojoules::ZERO;
    array.unit_area = 0.0;
    array.systolic.clear();
    Ok(CoreKind {
        name: "dram".to_owned(),
        memories: vec![memory],
        array,
        operator_types: None,
        dataflows: Vec::new(),
        no_overlap: false,
        memory_only: true,
    })
}

/// Builds pools and resources. Fails where shared memories differ.
pub(super) fn assemble(parts: Parts) -> Result<Accelerator, Diagnostic> {
    let Parts { name, kinds, cores, dram, links, sharing, unit_energy_cost, notes } = parts;
    let mut accelerator =
        Accelerator { name, kinds, cores, dram, links, pools: Vec::new(), resources: Vec::new(), notes };
    connect_dram(&mut accelerator, unit_energy_cost);
    add_link_resources(&mut accelerator);
    for core in (0..accelerator.cores.len()).map(CoreId::from) {
        for operand in OPERANDS {
            let Some(level) = accelerator.kind(core).levels(operand).last().copied() else {
                continue;
            };
            let (owner, memory) = owner(&accelerator, &sharing, core, operand, level)?;
            let pool = pool_of(&mut accelerator, owner, memory);
            accelerator.pools[pool.index()].users.push((core, operand));
            accelerator.cores[core.index()].pools[operand as usize] = Some(pool);
        }
    }
    Ok(accelerator)
}

/// Where no connection reaches a DRAM core, gives every other core a link to it as wide as the DRAM.
/// The ports of the DRAM, which all these links end in, are then the medium that the cores share, as
/// in Stream (MODEL.md 5.1: one link to and one from off-chip; one for both if the DRAM has one port).
fn connect_dram(accelerator: &mut Accelerator, unit_energy_cost: Picojoules) {
    for dram in accelerator.dram.clone() {
        if accelerator.links.iter().any(|link| link.cores.contains(&dram)) {
            continue;
        }
        let memory = accelerator.kind(dram).memories.first();
        let widest = memory.and_then(|memory| memory.ports.iter().map(|port| port.bandwidth_max).max());
        let bandwidth = widest.unwrap_or(BitsPerCycle(1));
        let others = (0..accelerator.cores.len()).map(CoreId::from);
        let others: Vec<_> = others.filter(|core| !accelerator.dram.contains(core)).collect();
        for core in others {
            accelerator.links.push(Link {
                kind: LinkKind::Link,
                cores: vec![core, dram],
                bandwidth,
                latency: 0,
                energy: LinkEnergy::PerCycle(unit_energy_cost),
                class: LinkClass::Offchip,
            });
        }
        if accelerator.cores.len() > 2 {
            let number = accelerator.core(dram).number;
            accelerator.notes.push(format!(
                "no connection reaches DRAM core {number}: every core gets a link of {bandwidth} to \
                 it, and all share its ports"
            ));
        }
    }
}

fn add_link_resources(accelerator: &mut Accelerator) {
    let numbers: Vec<u32> = accelerator.cores.iter().map(|core| core.number).collect();
    let mut resources = Vec::new();
    for (position, link) in accelerator.links.iter().enumerate() {
        let index = position as u32;
        let bandwidth = link.bandwidth;
        match (link.kind, link.cores.as_slice()) {
            (LinkKind::Link, [from, to]) => {
                for (from, to, forward) in [(from, to, true), (to, from, false)] {
                    let (from, to) = (numbers[from.index()], numbers[to.index()]);
                    let name = format!("link core{from}->core{to}");
                    let kind = ResourceKind::Link { link: index, forward };
                    resources.push(Resource { name, kind, bandwidth });
                }
            }
            _ => {
                let name = format!("bus {index}");
                resources.push(Resource { name, kind: ResourceKind::Bus { link: index }, bandwidth });
            }
        }
    }
    accelerator.resources = resources;
}

/// The core and memory behind the top level of an operand, which other cores may share.
fn owner(
    accelerator: &Accelerator,
    sharing: &[Vec<CoreId>],
    core: CoreId,
    operand: MemoryOperand,
    level: usize,
) -> Result<(CoreId, usize), Diagnostic> {
    let memory = &accelerator.kind(core).memories[level];
    let group = sharing.iter().find(|group| group.contains(&core));
    if let Some(owner) = group.and_then(|group| group.first()).filter(|owner| **owner != core) {
        let top = accelerator.kind(*owner).levels(operand).last().copied();
        return match top.map(|top| (top, &accelerator.kind(*owner).memories[top])) {
            Some((top, shared)) if shared.size == memory.size => Ok((*owner, top)),
            shared => Err(differing(accelerator, *owner, core, operand, shared.map(|(_, shared)| shared))),
        };
    }
    let Some(shared) = &memory.shared_instance else {
        return Ok((core, level));
    };
    let first = (accelerator.pools.iter()).find(|pool| {
        accelerator.kind(pool.core).memories[pool.memory].shared_instance.as_ref() == Some(shared)
    });
    match first {
        Some(pool) => {
            let other = &accelerator.kind(pool.core).memories[pool.memory];
            match other.size == memory.size {
                true => Ok((pool.core, pool.memory)),
                false => Err(differing(accelerator, pool.core, core, operand, Some(other))),
            }
        }
        None => Ok((core, level)),
    }
}

fn differing(
    accelerator: &Accelerator,
    owner: CoreId,
    core: CoreId,
    operand: MemoryOperand,
    shared: Option<&Memory>,
) -> Diagnostic {
    let (owner, core) = (accelerator.core(owner).number, accelerator.core(core).number);
    let what = match shared {
        Some(memory) => format!("`{}` of core {owner} has another size", memory.name),
        None => format!("core {owner} has no memory for {operand}"),
    };
    Diagnostic::new(format!("cores {owner} and {core} cannot share a memory for {operand}: {what}"))
        .help("cores that share a memory must describe it alike, as the top memory of the operand")
}

fn pool_of(accelerator: &mut Accelerator, core: CoreId, memory: usize) -> PoolId {
    let found = (accelerator.pools.iter()).position(|pool| pool.core == core && pool.memory == memory);
    if let Some(found) = found {
        return PoolId::from(found);
    }
    let id = PoolId::from(accelerator.pools.len());
    let dram = accelerator.dram.contains(&core);
    let kind = accelerator.kind(core);
    let description = &kind.memories[memory];
    let name = match &description.shared_instance {
        Some(name) => name.clone(),
        None if dram && accelerator.dram.len() == 1 => description.name.clone(),
        None => format!("core{}.{}", accelerator.core(core).number, description.name),
    };
    let instances = kind.instances(memory);
    let size = Bits(description.size.0.saturating_mul(instances));
    if instances > 1 && !dram {
        accelerator.notes.push(format!(
            "`{name}` is the top memory of an operand and counts with all its {instances} instances"
        ));
    }
    let (read, write) = flow_ports(&accelerator.kind(core).memories[memory]);
    let read_port = add_port(accelerator, id, core, memory, &name, read);
    let write_port = match read == write {
        true => read_port,
        false => add_port(accelerator, id, core, memory, &name, write),
    };
    accelerator.pools.push(Pool { name, core, memory, size, users: Vec::new(), dram, read_port, write_port });
    id
}

fn add_port(
    accelerator: &mut Accelerator,
    pool: PoolId,
    core: CoreId,
    memory: usize,
    name: &str,
    port: usize,
) -> ResourceId {
    let id = ResourceId::from(accelerator.resources.len());
    let kind = accelerator.kind(core);
    let instances = kind.instances(memory);
    let description = &kind.memories[memory].ports[port];
    let resource = Resource {
        name: format!("{name} {}", description.name),
        kind: ResourceKind::Port { pool, port: port as u32 },
        bandwidth: BitsPerCycle(description.bandwidth_max.0.saturating_mul(instances)),
    };
    accelerator.resources.push(resource);
    id
}

/// Positions of the ports through which flows leave and arrive: outputs towards the outer memory,
/// or without outputs what feeds the array; and what fills the memory from above, or, where the file
/// gives a top memory no such port, what fills it from below or is the last one.
fn flow_ports(memory: &Memory) -> (usize, usize) {
    let carrying = |direction: Direction| {
        (memory.ports.iter())
            .position(|port| port.allocation.iter().any(|(_, carried)| *carried == direction))
    };
    let read = carrying(Direction::ToHigh).or_else(|| carrying(Direction::ToLow));
    let write = carrying(Direction::FromHigh).or_else(|| carrying(Direction::FromLow));
    (read.unwrap_or(0), write.unwrap_or(memory.ports.len() - 1))
}

impl CoreKind {
    /// Physical instances of a memory: the product of the array dimensions that one does not serve.
    pub fn instances(&self, memory: usize) -> u64 {
        let served = &self.memories[memory].served;
        (self.array.dims.iter().enumerate())
            .filter(|(position, _)| !served.contains(position))
            .map(|(_, (_, size))| (*size).max(1))
            .product()
    }
}
