//! Core files: one [`CoreKind`] from ZigZag's and Stream's core description.
//!
//! `memories` (lowest first; the order is part of the model), `operational_array`, `dataflows`,
//! `operator_types`, `type`, and our `overlap_transfers`. The dialect of 2024 (`r_bw`, `r_port`,
//! positional ports, `multipliers`, `multiplier_energy`) is read as well ([`super::ports`]).

use super::keys::{ARRAY, CORE, MEMORY};
use super::{Array, ArrayMapping, CoreKind, Imc, ImcKind, Memory, ports};
use crate::diagnostic::{Diagnostic, nearest};
use crate::document::{Fields, Node, Reading, Value};
use crate::units::{Bits, Picojoules};
use crate::workload::{Dim, MemoryOperand};

/// What a core file says its core is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Computes.
    Compute,
    /// Fronts external memory.
    Offchip,
    /// A memory on the chip.
    Memory,
}

/// A core file, read.
pub(super) struct CoreFile {
    pub(super) kind: CoreKind,
    pub(super) role: Role,
}

/// Reads a core file. None if there were errors, which are then in `reading`.
pub(super) fn read(reading: &mut Reading, root: &Node) -> Option<CoreFile> {
    let fields = root.fields(reading, &CORE, root)?;
    let name = fields.required(reading, "name").and_then(|node| node.text(reading, "a core's name"));
    // Called `multipliers` before 2024.
    let array_node = fields.get("multipliers").or_else(|| fields.required(reading, "operational_array"));
    let array = array_node.and_then(|node| array(reading, node));
    let dims: Vec<String> =
        (array.iter()).flat_map(|array| array.dims.iter().map(|(dim, _)| dim.clone())).collect();
    let memories = fields.required(reading, "memories");
    let memories = memories.and_then(|node| memories_of(reading, node, &dims));
    let role = fields.get("type").map_or(Some(None), |node| role(reading, node).map(Some));
    let operator_types =
        fields.get("operator_types").map(|node| texts(reading, node, "`operator_types`", "an operator"));
    let dataflows = fields.get("dataflows").map(|node| array_mappings(reading, node, array.as_ref()));
    let no_overlap = fields
        .get("overlap_transfers")
        .and_then(|node| node.truth(reading, "`overlap_transfers`"))
        .is_some_and(|overlap| !overlap);
    let (array, role) = (array?, role?);
    let role = match role {
        Some(role) => role,
        None if array.size() == 0 => Role::Offchip,
        None => Role::Compute,
    };
    let memories = complete(reading, root, memories?)?;
    one_weight_per_cell(reading, root, &array, &memories)?;
    let kind = CoreKind {
        name: name?,
        memories,
        memory_only: array.size() == 0 || role != Role::Compute,
        array,
        operator_types,
        dataflows: dataflows.unwrap_or_default(),
        no_overlap,
    };
    let role = if kind.memory_only && role == Role::Compute { Role::Offchip } else { role };
    Some(CoreFile { kind, role })
}

/// The memories in the order of the file; none if one could not be read.
fn memories_of(reading: &mut Reading, node: &Node, dims: &[String]) -> Option<Vec<Memory>> {
    let entries = node.entries(reading, "`memories`")?;
    if entries.is_empty() {
        reading.error(node, Diagnostic::new("a core needs at least one memory"));
    }
    let memories: Vec<Option<Memory>> =
        entries.iter().map(|(key, value)| memory(reading, key, value, dims)).collect();
    memories.into_iter().collect()
}

/// Below the top of an operand, memories need ports for what moves above them.
fn complete(reading: &mut Reading, root: &Node, memories: Vec<Memory>) -> Option<Vec<Memory>> {
    let mut complete = true;
    for (level, memory) in memories.iter().enumerate() {
        for operand in &memory.operands {
            let above = memories[level + 1..].iter().any(|memory| memory.operands.contains(operand));
            let missing = if above { ports::missing_above(memory, *operand) } else { Vec::new() };
            for direction in missing {
                complete = false;
                reading.error(root, ports::no_port(&memory.name, *operand, direction));
            }
        }
    }
    complete.then_some(memories)
}

fn role(reading: &mut Reading, node: &Node) -> Option<Role> {
    let text = node.text(reading, "a core's type")?;
    match text.rsplit('.').next().unwrap_or("") {
        "compute" => Some(Role::Compute),
        "offchip" => Some(Role::Offchip),
        "memory" => Some(Role::Memory),
        other => {
            let mut error = Diagnostic::new(format!("unknown core type `{text}`"))
                .label("must be compute, memory or offchip");
            if let Some(name) = nearest(other, ["compute", "memory", "offchip"]) {
                error = error.help(format!("did you mean `{name}`?"));
            }
            reading.error(node, error);
            None
        }
    }
}

fn array(reading: &mut Reading, node: &Node) -> Option<Array> {
    let fields = node.fields(reading, &ARRAY, node)?;
    let imc = fields.get("is_imc").and_then(|node| node.truth(reading, "`is_imc`"));
    let (unit_energy, unit_area, imc) = if imc == Some(true) {
        // Energy and area of the array follow from its gates.
        (Some(0.0), Some(0.0), Some(imc_array(reading, &fields)?))
    } else {
        let energy = either(reading, &fields, "unit_energy", "multiplier_energy");
        (energy, either(reading, &fields, "unit_area", "multiplier_area"), None)
    };
    let names = fields.required(reading, "dimensions");
    let names = names.map(|node| texts(reading, node, "`dimensions`", "an array dimension"));
    let sizes_node = fields.required(reading, "sizes")?;
    let sizes: Vec<Option<u64>> = (sizes_node.list(reading, "`sizes`")?.iter())
        .map(|node| node.whole(reading, "the size of an array dimension"))
        .collect();
    let (names, sizes) = (names?, sizes.into_iter().collect::<Option<Vec<u64>>>()?);
    if names.len() != sizes.len() {
        let (dims, given) = (names.len(), sizes.len());
        let error = Diagnostic::new(format!("{dims} dimension(s) of the array but {given} size(s)"));
        reading.error(sizes_node, error.label("one size per dimension is needed"));
        return None;
    }
    let systolic = fields.get("systolic_dimensions");
    let systolic = systolic.map_or(Vec::new(), |node| positions(reading, node, &names));
    if let Some(imc) = imc {
        let rows = sizes.get(1).copied().unwrap_or(0);
        if rows == 0 || (imc.kind == ImcKind::Digital && !rows.is_power_of_two()) {
            let error =
                Diagnostic::new("the second dimension of an array that computes in memory is its bit line")
                    .label("needs two sizes, the second one a power of two where adder trees sum it");
            reading.error(sizes_node, error);
            return None;
        }
    }
    Some(Array {
        dims: names.into_iter().zip(sizes).collect(),
        unit_energy: Picojoules(unit_energy?),
        unit_area: unit_area?,
        systolic,
        imc,
    })
}

/// `imc_type`, `input_precision: [activation, weight]`, `bit_serial_precision`, `adc_resolution`.
fn imc_array(reading: &mut Reading, fields: &Fields<'_>) -> Option<Imc> {
    let kind = fields.required(reading, "imc_type")?;
    let kind = match kind.text(reading, "`imc_type`")?.as_str() {
        "analog" => ImcKind::Analog,
        "digital" => ImcKind::Digital,
        other => {
            let error = Diagnostic::new(format!("unknown `imc_type` `{other}`"));
            reading.error(kind, error.label("must be analog or digital"));
            return None;
        }
    };
    let node = fields.required(reading, "input_precision")?;
    let bits: Vec<Option<u64>> = (node.list(reading, "`input_precision`")?.iter())
        .map(|item| item.whole(reading, "bits of an activation or a weight"))
        .collect();
    let serial = fields.required(reading, "bit_serial_precision")?;
    let serial_bits = serial.whole(reading, "`bit_serial_precision`")?;
    let adc = match kind {
        ImcKind::Analog => Some(fields.required(reading, "adc_resolution")?),
        ImcKind::Digital => fields.get("adc_resolution"),
    };
    let adc_bits = match adc {
        Some(node) => node.positive(reading, "`adc_resolution`", "a conversion has at least one bit"),
        None => Some(0),
    };
    match bits[..] {
        [Some(activation_bits), Some(weight_bits)]
            if [activation_bits, weight_bits, serial_bits].iter().all(|bits| bits.is_power_of_two())
                && serial_bits <= activation_bits =>
        {
            Some(Imc { kind, activation_bits, weight_bits, serial_bits, adc_bits: adc_bits? })
        }
        _ => {
            let error =
                Diagnostic::new("bits of activations, weights and serial input must be powers of two");
            let label = "expected [activation, weight], `bit_serial_precision` not above the first";
            reading.error(node, error.label(label));
            None
        }
    }
}

/// A cell that computes holds one weight: reading one of several is not modelled.
fn one_weight_per_cell(reading: &mut Reading, root: &Node, array: &Array, memories: &[Memory]) -> Option<()> {
    let cells = memories.iter().find(|memory| memory.operands.contains(&MemoryOperand::I2));
    match (array.imc, cells) {
        (Some(imc), Some(cells)) if cells.size.0 > imc.weight_bits => {
            let (name, size, weight) = (&cells.name, cells.size.0, imc.weight_bits);
            let error = Diagnostic::new(format!(
                "{name} holds {size} bits beside a multiplier of {weight}-bit weights"
            ));
            reading
                .error(root, error.help("cells that hold several weights are not modelled; give one weight"));
            None
        }
        _ => Some(()),
    }
}

/// A number under its name of today or of 2024.
fn either(reading: &mut Reading, fields: &Fields<'_>, key: &str, old: &str) -> Option<f64> {
    let node = match fields.get(old) {
        Some(node) => node,
        None => fields.required(reading, key)?,
    };
    node.real(reading, &format!("`{key}`"))
}

fn memory(reading: &mut Reading, key: &Node, node: &Node, dims: &[String]) -> Option<Memory> {
    let fields = node.fields(reading, &MEMORY, key)?;
    let name = key.key_name();
    let size = fields.required(reading, "size");
    let size = size
        .and_then(|node| node.positive(reading, "the size of a memory", "a memory holds at least one bit"));
    let read_cost = number(reading, &fields, "r_cost");
    let write_cost = number(reading, &fields, "w_cost");
    let operands = fields.required(reading, "operands").map(|node| operands(reading, node));
    let served = fields.required(reading, "served_dimensions");
    let served = served.map(|node| positions(reading, node, dims));
    let area = fields.get("area").map_or(Some(0.0), |node| node.real(reading, "`area`"));
    let latency = fields.get("latency").map_or(Some(1), |node| node.whole(reading, "`latency`"));
    let double = fields.get("force_double_buffering");
    let double = double.and_then(|node| node.truth(reading, "`force_double_buffering`"));
    let shared = fields.get("shared_instance");
    let shared_instance = shared.and_then(|node| node.text(reading, "`shared_instance`"));
    let operands = operands?;
    let empty = |node: &&Node| matches!(&node.value, Value::List(items) if items.is_empty());
    if let Some(node) = fields.get("operands").filter(empty) {
        let error = Diagnostic::new(format!("memory `{name}` holds no operand"));
        reading.error(node, error.help("list what it holds, for example `[I1, I2, O]`, or drop the memory"));
        return None;
    }
    let ports = ports::read(reading, &fields, key, &operands);
    Some(Memory {
        name,
        size: Bits(size?),
        read_cost: Picojoules(read_cost?),
        write_cost: Picojoules(write_cost?),
        operands,
        ports: ports?,
        served: served?,
        double_buffering: double.unwrap_or(false),
        area: area?,
        latency: latency?,
        shared_instance,
    })
}

fn number(reading: &mut Reading, fields: &Fields<'_>, key: &str) -> Option<f64> {
    fields.required(reading, key)?.real(reading, &format!("`{key}`"))
}

fn operands(reading: &mut Reading, node: &Node) -> Vec<MemoryOperand> {
    let mut operands = Vec::new();
    for item in node.list(reading, "`operands`").unwrap_or_default() {
        let Some(text) = item.text(reading, "an operand") else {
            continue;
        };
        match MemoryOperand::named(&text) {
            Some(operand) if operands.contains(&operand) => {
                reading.error(item, Diagnostic::new(format!("operand {operand} is listed twice")));
            }
            Some(operand) => operands.push(operand),
            None => {
                let error = Diagnostic::new(format!("unknown memory operand `{text}`"));
                reading.error(item, error.label("must be I1, I2 or O"));
            }
        }
    }
    operands
}

/// Positions of named array dimensions.
fn positions(reading: &mut Reading, node: &Node, dims: &[String]) -> Vec<usize> {
    let mut found = Vec::new();
    for item in node.list(reading, "a list of array dimensions").unwrap_or_default() {
        let Some(name) = item.text(reading, "an array dimension") else {
            continue;
        };
        match position(reading, item, &name, dims) {
            Some(position) if !found.contains(&position) => found.push(position),
            _ => {}
        }
    }
    found
}

fn position(reading: &mut Reading, node: &Node, name: &str, dims: &[String]) -> Option<usize> {
    let position = dims.iter().position(|dim| dim == name);
    // Without dimensions the array itself was in error, which has been reported.
    if position.is_none() && !dims.is_empty() {
        let error = Diagnostic::new(format!("the array has no dimension `{name}`"));
        reading.error(node, error.label(format!("its dimensions are {}", dims.join(", "))));
    }
    position
}

/// Text items of a list.
pub(super) fn texts(reading: &mut Reading, node: &Node, list: &str, what: &str) -> Vec<String> {
    let items = node.list(reading, list);
    (items.unwrap_or_default().iter()).filter_map(|item| item.text(reading, what)).collect()
}

/// Unrolled loops per array dimension: `D1: [K, 16]` as the list `- K, 16`.
fn array_mappings(reading: &mut Reading, node: &Node, array: Option<&Array>) -> Vec<ArrayMapping> {
    let mut mappings = Vec::new();
    let dims: Vec<String> = array.iter().flat_map(|array| &array.dims).map(|(dim, _)| dim.clone()).collect();
    for (key, value) in node.entries(reading, "`dataflows`").unwrap_or_default() {
        let array_dim = key.key_name();
        let units = position(reading, key, &array_dim, &dims);
        let units = units.and_then(|at| array.map(|array| array.dims[at].1));
        let unrolled = unrolled_loops(reading, value, &array_dim, units);
        mappings.push(ArrayMapping { array_dim, unrolled });
    }
    mappings
}

/// The loops unrolled over one array dimension. The cost model cuts what exceeds its `units`, as ZigZag does;
/// files of Stream rely on that.
pub(crate) fn unrolled_loops(
    reading: &mut Reading,
    node: &Node,
    array_dim: &str,
    units: Option<u64>,
) -> Vec<(Dim, f64)> {
    let mut loops = Vec::new();
    for item in node.list(reading, "the unrolling of an array dimension").unwrap_or_default() {
        let Some((dim, factor)) = unrolled(reading, item) else {
            continue;
        };
        if let Some(units) = units.filter(|units| factor > *units as f64) {
            let over = format!("{factor} iterations of {dim} over the {units} units of {array_dim}");
            reading.note(item, &format!("{over} do not fit and are cut to {units}"));
        }
        loops.push((dim, factor));
    }
    loops
}

/// `K, 16`: a loop dimension and how many of its iterations run side by side.
pub(crate) fn unrolled(reading: &mut Reading, node: &Node) -> Option<(Dim, f64)> {
    let text = node.text(reading, "an unrolled loop")?;
    let parsed = text.split_once(',').and_then(|(dim, factor)| {
        let factor: f64 = factor.trim().parse().ok()?;
        Some((dim.trim().to_uppercase(), factor))
    });
    match parsed {
        Some((dim, factor)) if factor >= 1.0 && !dim.is_empty() => Some((Dim(dim), factor)),
        _ => {
            let error = Diagnostic::new("an unrolled loop is a dimension and a factor from 1");
            reading.error(node, error.label("expected for example `K, 16`"));
            None
        }
    }
}
