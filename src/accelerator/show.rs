//! An accelerator as a table of one screen: cores, memories, connections, pools.

use super::{Accelerator, CoreKind, LinkEnergy, LinkKind, Memory, PortKind};
use crate::ids::{CoreId, CoreKindId};
use crate::table::{Table, runs};
use crate::units::three_digits;
use std::fmt;

impl fmt::Display for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let computing = self.compute_cores().count();
        let cores = self.cores.len();
        let plural = if cores == 1 { "core" } else { "cores" };
        writeln!(f, "accelerator {}: {cores} {plural}, {computing} computing", self.name)?;
        write_cores(self, f)?;
        for (position, kind) in self.kinds.iter().enumerate() {
            write_memories(self, CoreKindId::from(position), kind, f)?;
        }
        write_links(self, f)?;
        write_pools(self, f)?;
        for note in &self.notes {
            writeln!(f, "\nnote: {note}")?;
        }
        Ok(())
    }
}

/// Core numbers with runs drawn together.
fn numbers(accelerator: &Accelerator, cores: impl Iterator<Item = CoreId>) -> String {
    runs(cores.map(|core| accelerator.core(core).number))
}

fn write_cores(accelerator: &Accelerator, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut table = Table::new(&["cores", "kind", "array", "pJ/op", "operators", "dataflow"]);
    for (position, kind) in accelerator.kinds.iter().enumerate() {
        let kind_id = CoreKindId::from(position);
        let of_kind: Vec<CoreId> = (0..accelerator.cores.len())
            .map(CoreId::from)
            .filter(|core| accelerator.core(*core).kind == kind_id)
            .collect();
        if of_kind.is_empty() {
            continue;
        }
        let dram = accelerator.dram.contains(&of_kind[0]);
        let energy = three_digits(kind.array.unit_energy.0);
        table.row(vec![
            numbers(accelerator, of_kind.iter().copied()),
            kind.name.clone(),
            if kind.memory_only { "none".to_owned() } else { array(kind) },
            if kind.memory_only { String::new() } else { energy },
            if dram { "external memory".to_owned() } else { operators(kind) },
            dataflow(kind),
        ]);
    }
    writeln!(f)?;
    table.write(f)
}

fn array(kind: &CoreKind) -> String {
    let sizes: Vec<_> = kind.array.dims.iter().map(|(_, size)| size.to_string()).collect();
    let systolic = if kind.array.systolic.is_empty() { "" } else { ", systolic" };
    match sizes.len() {
        1 => format!("{}{systolic}", sizes[0]),
        _ => format!("{} = {}{systolic}", sizes.join("x"), kind.array.size()),
    }
}

fn operators(kind: &CoreKind) -> String {
    match &kind.operator_types {
        None if kind.memory_only => "on-chip memory".to_owned(),
        None => "all unclaimed".to_owned(),
        Some(operators) if operators.len() <= 4 => operators.join(" "),
        Some(operators) => format!("{} and {} more", operators[..3].join(" "), operators.len() - 3),
    }
}

fn dataflow(kind: &CoreKind) -> String {
    let dims = (kind.dataflows.iter()).map(|mapping| {
        let loops: Vec<_> = (mapping.unrolled.iter())
            .map(|(dim, factor)| format!("{dim} {}", three_digits(*factor)))
            .collect();
        format!("{}: {}", mapping.array_dim, loops.join(" x "))
    });
    let dims: Vec<_> = dims.collect();
    match (dims.is_empty(), kind.memory_only) {
        (true, true) => String::new(),
        (true, false) => "generated".to_owned(),
        _ => dims.join(", "),
    }
}

fn write_memories(
    accelerator: &Accelerator,
    id: CoreKindId,
    kind: &CoreKind,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    if !accelerator.cores.iter().any(|core| core.kind == id) {
        return Ok(());
    }
    let heading = format!("memories of {}", kind.name);
    let heading = [heading.as_str(), "size", "operands", "bits/cycle", "pJ/read", "pJ/write", "instances"];
    let mut table = Table::new(&heading);
    for (position, memory) in kind.memories.iter().enumerate() {
        let operands: Vec<_> = memory.operands.iter().map(ToString::to_string).collect();
        let instances = if kind.memory_only { 1 } else { kind.instances(position) };
        table.row(vec![
            memory.name.clone(),
            memory.size.human(),
            operands.join(" "),
            ports(memory),
            memory.read_cost.0.to_string(),
            memory.write_cost.0.to_string(),
            instances.to_string(),
        ]);
    }
    writeln!(f)?;
    table.write(f)
}

/// `r 64-2048, w 64-2048, rw 64`.
fn ports(memory: &Memory) -> String {
    let mut texts: Vec<(String, usize)> = Vec::new();
    for port in &memory.ports {
        let kind = match port.kind {
            PortKind::Read => "r",
            PortKind::Write => "w",
            PortKind::ReadWrite => "rw",
        };
        let text = match port.bandwidth_min == port.bandwidth_max {
            true => format!("{kind} {}", port.bandwidth_max.0),
            false => format!("{kind} {}-{}", port.bandwidth_min.0, port.bandwidth_max.0),
        };
        match texts.iter_mut().find(|(other, _)| *other == text) {
            Some((_, count)) => *count += 1,
            None => texts.push((text, 1)),
        }
    }
    let texts: Vec<_> = (texts.into_iter())
        .map(|(text, count)| if count > 1 { format!("{count} x {text}") } else { text })
        .collect();
    texts.join(", ")
}

/// Equal connections share a row.
fn write_links(accelerator: &Accelerator, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut rows: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for link in &accelerator.links {
        let energy = match link.energy {
            LinkEnergy::PerCycle(energy) => format!("{} pJ/cycle", three_digits(energy.0)),
            LinkEnergy::PerBit(energy) => format!("{} pJ/bit", three_digits(energy.0)),
        };
        let (kind, sign) = match link.kind {
            LinkKind::Link => ("link", "-"),
            LinkKind::Bus => ("bus", " "),
        };
        let cells = vec![
            kind.to_owned(),
            format!("{:?}", link.class).to_lowercase(),
            link.bandwidth.0.to_string(),
            link.latency.to_string(),
            energy,
        ];
        let ends: Vec<_> = link.cores.iter().map(|core| accelerator.core(*core).number.to_string()).collect();
        let ends = ends.join(sign);
        match rows.iter_mut().find(|(other, _)| *other == cells) {
            Some((_, all)) => all.push(ends),
            None => rows.push((cells, vec![ends])),
        }
    }
    let mut table = Table::new(&["connection", "class", "bits/cycle", "latency", "energy", "cores"]);
    for (mut cells, ends) in rows {
        let shown = ends.len().min(12);
        let more = ends.len() - shown;
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        cells.push(format!("{}{more}", ends[..shown].join(", ")));
        table.row(cells);
    }
    if table.is_empty() {
        return Ok(());
    }
    writeln!(f)?;
    table.write(f)
}

/// Pools that differ only in their core share a row.
fn write_pools(accelerator: &Accelerator, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut rows: Vec<(Vec<String>, Vec<CoreId>)> = Vec::new();
    for pool in &accelerator.pools {
        let memory = &accelerator.kind(pool.core).memories[pool.memory];
        let mut users: Vec<CoreId> = pool.users.iter().map(|(core, _)| *core).collect();
        users.dedup();
        let of_first: Vec<String> = (pool.users.iter())
            .filter(|(core, _)| *core == users[0])
            .map(|(_, operand)| operand.to_string())
            .collect();
        let [read, write] = [pool.read_port, pool.write_port]
            .map(|port| accelerator.resources[port.index()].bandwidth.0.to_string());
        let way = if pool.read_port == pool.write_port { "one port" } else { "" };
        let shared = if users.len() > 1 {
            format!("shared by {}", numbers(accelerator, users.iter().copied()))
        } else {
            way.to_owned()
        };
        let size = if pool.dram { "unlimited".to_owned() } else { pool.size.human() };
        let name = if pool.dram { pool.name.clone() } else { memory.name.clone() };
        let cells = vec![name, size, of_first.join(" "), read, write, shared];
        match rows.iter_mut().find(|(other, _)| *other == cells) {
            Some((_, cores)) => cores.push(pool.core),
            None => rows.push((cells, vec![pool.core])),
        }
    }
    let mut table = Table::new(&["pool", "size", "operands", "out b/cc", "in b/cc", "", "cores"]);
    for (mut cells, cores) in rows {
        cells.push(numbers(accelerator, cores.into_iter()));
        table.row(cells);
    }
    writeln!(f)?;
    table.write(f)
}
