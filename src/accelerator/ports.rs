//! Ports of memories: today's named list and the positional one of 2024.
//!
//! Today each port has a name, a type, bandwidths and a list of what moves through it. In 2024 a
//! memory had `r_port`, `w_port` and `rw_port` counts, one read and one write bandwidth, and `ports`
//! gave, per operand by position, the port of each direction.

use super::keys::{OLD_PORT, PORT};
use super::{Direction, Memory, Port, PortKind};
use crate::diagnostic::{Diagnostic, nearest};
use crate::document::{Fields, Node, Reading, Value};
use crate::units::BitsPerCycle;
use crate::workload::MemoryOperand;

/// Reads the ports of a memory that holds `operands`; `key` is the memory's name.
pub(super) fn read(
    reading: &mut Reading,
    memory: &Fields<'_>,
    key: &Node,
    operands: &[MemoryOperand],
) -> Option<Vec<Port>> {
    let node = memory.required(reading, "ports")?;
    let items = node.list(reading, "`ports`")?;
    let before = reading.errors.len();
    let ports = if is_positional(items) {
        positional(reading, memory, items, operands)?
    } else {
        let ports: Vec<_> = items.iter().map(|item| port(reading, item, operands)).collect();
        ports.into_iter().collect::<Option<Vec<_>>>()?
    };
    if reading.errors.len() == before {
        check_complete(reading, key, &ports, operands);
    }
    (reading.errors.len() == before).then_some(ports)
}

fn direction(name: &str) -> Option<Direction> {
    Direction::ALL.into_iter().find(|direction| direction.abbreviation() == name)
}

fn port(reading: &mut Reading, node: &Node, operands: &[MemoryOperand]) -> Option<Port> {
    let fields = node.fields(reading, &PORT, node)?;
    let name = fields.required(reading, "name").and_then(|node| node.text(reading, "a port's name"));
    let kind = fields.required(reading, "type").and_then(|node| port_kind(reading, node));
    let max = fields.required(reading, "bandwidth_max");
    let max = max.and_then(|node| bandwidth(reading, node, "`bandwidth_max`"));
    let min_node = fields.get("bandwidth_min");
    let min = min_node.map_or(Some(max), |node| bandwidth(reading, node, "`bandwidth_min`").map(Some));
    if let (Some(node), Some(Some(min)), Some(max)) = (min_node, min, max)
        && min > max
    {
        let error = Diagnostic::new(format!("`bandwidth_min` {} exceeds `bandwidth_max` {}", min.0, max.0));
        reading.error(node, error.label("the smallest transfer cannot be wider than the port"));
    }
    let allocation_node = fields.required(reading, "allocation")?;
    let mut allocation = Vec::new();
    for item in allocation_node.list(reading, "`allocation`")? {
        allocation.extend(allocated(reading, item, kind, operands));
    }
    Some(Port { name: name?, kind: kind?, bandwidth_min: min??, bandwidth_max: max?, allocation })
}

/// A bandwidth in bits per cycle, at least 1.
pub(super) fn bandwidth(reading: &mut Reading, node: &Node, what: &str) -> Option<BitsPerCycle> {
    node.positive(reading, what, "nothing can move at zero bits per cycle").map(BitsPerCycle)
}

fn port_kind(reading: &mut Reading, node: &Node) -> Option<PortKind> {
    let text = node.text(reading, "a port's type")?;
    match text.as_str() {
        "read" => Some(PortKind::Read),
        "write" => Some(PortKind::Write),
        "read_write" => Some(PortKind::ReadWrite),
        _ => {
            let mut error = Diagnostic::new(format!("unknown port type `{text}`"))
                .label("must be read, write or read_write");
            if let Some(name) = nearest(&text, ["read", "write", "read_write"]) {
                error = error.help(format!("did you mean `{name}`?"));
            }
            reading.error(node, error);
            None
        }
    }
}

/// `I1, tl`: an operand of the memory and a direction that the port's type allows.
fn allocated(
    reading: &mut Reading,
    node: &Node,
    kind: Option<PortKind>,
    operands: &[MemoryOperand],
) -> Option<(MemoryOperand, Direction)> {
    let text = node.text(reading, "what a port carries")?;
    let parsed = text.split_once(',').and_then(|(operand_name, direction_name)| {
        Some((MemoryOperand::named(operand_name.trim())?, direction(direction_name.trim())?))
    });
    let Some((operand, direction)) = parsed else {
        let error = Diagnostic::new("a port carries an operand in a direction")
            .label("expected for example `I1, tl`")
            .help("operands are I1, I2, O; tl and th read the memory, fh and fl write it");
        reading.error(node, error);
        return None;
    };
    let name = direction.abbreviation();
    if !operands.contains(&operand) {
        let error = Diagnostic::new(format!("the memory does not hold operand {operand}"));
        reading.error(node, error.help(format!("add {operand} to `operands` or drop this line")));
        return None;
    }
    if kind.is_some_and(|kind| !kind.carries(direction)) {
        let (type_name, verb) = match kind {
            Some(PortKind::Read) => ("read", "writes"),
            _ => ("write", "reads"),
        };
        let error = Diagnostic::new(format!("a {type_name} port cannot carry `{operand}, {name}`"))
            .label(format!("{name} {verb} the memory"));
        reading.error(node, error.help("give it to another port, or make this one `read_write`"));
        return None;
    }
    if !moves(operand, direction) {
        // Inputs move only to the array. Stream's testing SIMD core allocates this nevertheless.
        reading.unmodelled.insert(format!("`{operand}, {name}` of a port"));
        return None;
    }
    Some((operand, direction))
}

impl PortKind {
    fn carries(self, direction: Direction) -> bool {
        match self {
            Self::Read => direction.is_read(),
            Self::Write => !direction.is_read(),
            Self::ReadWrite => true,
        }
    }
}

/// Every operand needs one port for what moves below the memory, and at most one per direction.
fn check_complete(reading: &mut Reading, key: &Node, ports: &[Port], operands: &[MemoryOperand]) {
    let name = key.key_name();
    for &operand in operands {
        for direction in Direction::ALL {
            let carried =
                (ports.iter()).filter(|port| port.allocation.contains(&(operand, direction))).count();
            let below = matches!(direction, Direction::ToLow | Direction::FromLow);
            if carried == 0 && below && moves(operand, direction) {
                reading.error(key, no_port(&name, operand, direction));
            } else if carried > 1 {
                let what = format!("`{operand}, {}`", direction.abbreviation());
                let error = Diagnostic::new(format!("memory `{name}` has {carried} ports for {what}"));
                reading.error(key, error.help("leave it in the allocation of one port"));
            }
        }
    }
}

/// Inputs move only towards the array.
fn moves(operand: MemoryOperand, direction: Direction) -> bool {
    operand == MemoryOperand::O || matches!(direction, Direction::ToLow | Direction::FromHigh)
}

/// Directions between the memory and the one above for which it has no port.
pub(super) fn missing_above(memory: &Memory, operand: MemoryOperand) -> Vec<Direction> {
    let ports = &memory.ports;
    let carried =
        |direction: Direction| ports.iter().any(|port| port.allocation.contains(&(operand, direction)));
    [Direction::ToHigh, Direction::FromHigh]
        .into_iter()
        .filter(|direction| moves(operand, *direction) && !carried(*direction))
        .collect()
}

pub(super) fn no_port(memory: &str, operand: MemoryOperand, direction: Direction) -> Diagnostic {
    let what = format!("`{operand}, {}`", direction.abbreviation());
    Diagnostic::new(format!("memory `{memory}` has no port for {what}"))
        .help(format!("add {what} to the allocation of one of its ports"))
}

fn is_positional(items: &[Node]) -> bool {
    items.iter().any(|item| match &item.value {
        Value::Map(entries) => (entries.iter()).any(|(key, _)| direction(&key.key_name()).is_some()),
        _ => false,
    })
}

/// The ports of 2024: counts, bandwidths of the memory, and per operand a port per direction.
fn positional(
    reading: &mut Reading,
    memory: &Fields<'_>,
    items: &[Node],
    operands: &[MemoryOperand],
) -> Option<Vec<Port>> {
    let read = memory.required(reading, "r_bw");
    let read = read.and_then(|node| bandwidth(reading, node, "`r_bw`"));
    let write = memory.required(reading, "w_bw");
    let write = write.and_then(|node| bandwidth(reading, node, "`w_bw`"));
    let granularity = |reading: &mut Reading, key: &str, otherwise| match memory.get(key) {
        Some(node) => bandwidth(reading, node, &format!("`{key}`")),
        None => otherwise,
    };
    let read_min = granularity(reading, "min_r_granularity", read)?;
    let write_min = granularity(reading, "min_w_granularity", write)?;
    let (read, write) = (read?, write?);
    let mut ports = Vec::new();
    for (key, prefix, kind, min, max) in [
        ("r_port", "r_port", PortKind::Read, read_min, read),
        ("w_port", "w_port", PortKind::Write, write_min, write),
        ("rw_port", "rw_port", PortKind::ReadWrite, read_min, read),
    ] {
        let count = memory.get(key).and_then(|node| node.whole(reading, &format!("`{key}`")));
        for number in 1..=count.unwrap_or(0).min(64) {
            let name = format!("{prefix}_{number}");
            let allocation = Vec::new();
            ports.push(Port { name, kind, bandwidth_min: min, bandwidth_max: max, allocation });
        }
    }
    for (position, item) in items.iter().enumerate() {
        let Some(&operand) = operands.get(position) else {
            let error = Diagnostic::new("more entries in `ports` than operands");
            reading.error(item, error.label("one entry per operand, in the order of `operands`"));
            continue;
        };
        allocate_positional(reading, item, operand, &mut ports);
    }
    Some(ports)
}

fn allocate_positional(reading: &mut Reading, item: &Node, operand: MemoryOperand, ports: &mut [Port]) {
    let Some(fields) = item.fields(reading, &OLD_PORT, item) else {
        return;
    };
    for direction in Direction::ALL {
        let Some(node) = fields.get(direction.abbreviation()) else {
            continue;
        };
        let Some(name) = node.text(reading, "a port's name") else {
            continue;
        };
        match ports.iter_mut().find(|port| port.name == name) {
            Some(port) if port.kind.carries(direction) => {
                port.allocation.push((operand, direction));
            }
            Some(_) => {
                let way = direction.abbreviation();
                reading
                    .error(node, Diagnostic::new(format!("port `{name}` cannot carry `{operand}, {way}`")));
            }
            None => {
                let names: Vec<_> = ports.iter().map(|port| port.name.as_str()).collect();
                let error = Diagnostic::new(format!("the memory has no port `{name}`"));
                reading.error(node, error.label(format!("its ports are {}", names.join(", "))));
            }
        }
    }
}
