//! The accelerator of the fixture.

use millstream::accelerator::{
    Accelerator, Array, Core, CoreKind, Link, LinkClass, LinkEnergy, LinkKind, Memory, Pool, Port, PortKind,
    Resource, ResourceKind,
};
use millstream::ids::*;
use millstream::units::{Bits, BitsPerCycle, Picojoules};
use millstream::workload::MemoryOperand;

/// Two cores and a DRAM, see [`super::fixture`], with the sizes of pools 0 and 1.
pub fn accelerator(sizes: [u64; 2]) -> Accelerator {
    let (noc, bus) = (LinkEnergy::PerCycle(Picojoules(3.0)), LinkEnergy::PerBit(Picojoules(0.25)));
    let link = |kind, cores: &[u32], bandwidth, latency, energy, class| Link {
        kind,
        cores: cores.iter().map(|core| CoreId(*core)).collect(),
        bandwidth: BitsPerCycle(bandwidth),
        latency,
        energy,
        class,
    };
    let port = |pool, port| ResourceKind::Port { pool: PoolId(pool), port };
    let resources = [
        ("link core0->core1", ResourceKind::Link { link: 0, forward: true }, 8),
        ("link core1->core0", ResourceKind::Link { link: 0, forward: false }, 8),
        ("bus", ResourceKind::Bus { link: 1 }, 16),
        ("core0.sram r", port(0, 0), 32),
        ("core0.sram w", port(0, 1), 32),
        ("core1.sram r", port(1, 0), 32),
        ("core1.sram w", port(1, 1), 32),
        ("dram rw", port(2, 0), 16),
    ];
    let pool = |core: u32, size, ports: [u32; 2]| Pool {
        name: format!("core{core}.memory"),
        core: CoreId(core),
        memory: 0,
        size: Bits(size),
        users: OPERANDS.iter().map(|operand| (CoreId(core), *operand)).collect(),
        dram: core == 2,
        read_port: ResourceId(ports[0]),
        write_port: ResourceId(ports[1]),
    };
    Accelerator {
        name: "two cores".to_owned(),
        kinds: vec![kind(sizes[0], false), kind(1 << 20, true)],
        cores: [0, 0, 1].iter().enumerate().map(|(number, kind)| core(number as u32, *kind)).collect(),
        dram: vec![CoreId(2)],
        links: vec![
            link(LinkKind::Link, &[0, 1], 8, 0, noc, LinkClass::Noc),
            link(LinkKind::Bus, &[0, 1, 2], 16, 2, bus, LinkClass::Offchip),
        ],
        pools: vec![pool(0, sizes[0], [3, 4]), pool(1, sizes[1], [5, 6]), pool(2, 1 << 20, [7, 7])],
        resources: (resources.iter())
            .map(|(name, kind, bandwidth)| Resource {
                name: (*name).to_owned(),
                kind: *kind,
                bandwidth: BitsPerCycle(*bandwidth),
            })
            .collect(),
        notes: vec![],
    }
}

const OPERANDS: [MemoryOperand; 3] = [MemoryOperand::I1, MemoryOperand::I2, MemoryOperand::O];

fn core(number: u32, kind: u32) -> Core {
    Core { number, kind: CoreKindId(kind), coordinates: None, pools: [Some(PoolId(number)); 3] }
}

/// One memory for all operands: an SRAM with a read and a write port, or a DRAM with one for both.
fn kind(size: u64, dram: bool) -> CoreKind {
    let port = |kind, bandwidth| Port {
        name: format!("{kind:?}"),
        kind,
        bandwidth_min: BitsPerCycle(8),
        bandwidth_max: BitsPerCycle(bandwidth),
        allocation: vec![],
    };
    let (read_cost, write_cost) = if dram { (10.0, 12.0) } else { (4.0, 8.0) };
    let memory = Memory {
        name: "memory".to_owned(),
        size: Bits(size),
        read_cost: Picojoules(read_cost),
        write_cost: Picojoules(write_cost),
        operands: OPERANDS.to_vec(),
        ports: match dram {
            true => vec![port(PortKind::ReadWrite, 16)],
            false => vec![port(PortKind::Read, 32), port(PortKind::Write, 32)],
        },
        served: vec![],
        double_buffering: false,
        area: 0.0,
        latency: 1,
        shared_instance: None,
    };
    CoreKind {
        name: if dram { "dram" } else { "core" }.to_owned(),
        memories: vec![memory],
        array: Array {
            dims: vec![("D1".to_owned(), 1)],
            unit_energy: Picojoules(0.5),
            unit_area: 0.0,
            systolic: vec![],
            imc: None,
        },
        operator_types: None,
        dataflows: vec![],
        no_overlap: false,
        memory_only: dram,
    }
}
