//! Connections of an accelerator file: links, buses, and which cores share their top memories.
//!
//! A `link` joins two cores in both directions at once, a `bus` any number, one transfer at a time.
//! Stream's `unit_energy_cost` is picojoules per active cycle; our `energy_per_bit` replaces it.

use super::keys::CONNECTION;
use super::{Link, LinkClass, LinkEnergy, LinkKind, ports};
use crate::diagnostic::{Diagnostic, nearest};
use crate::document::{Fields, Node, Reading, Value};
use crate::ids::CoreId;
use crate::units::{BitsPerCycle, Picojoules};

/// What connections refer to.
pub(super) struct Context<'a> {
    /// Numbers of the cores; their positions are the ids.
    pub(super) numbers: &'a [u32],
    /// Ids of the DRAM cores.
    pub(super) dram: &'a [CoreId],
    /// The die of each core, where the file has `chiplets`.
    pub(super) dies: &'a [Option<u64>],
    /// Energy per active cycle where a connection gives none.
    pub(super) unit_energy_cost: Picojoules,
    /// Bandwidth of connections in the short form `0, 1` of 2024.
    pub(super) bandwidth: Option<BitsPerCycle>,
}

/// Reads `graph`: a mesh of the cores without a role, column by column, or a bus that joins them; the
/// pooling and the SIMD core have a link to each of them. What joins the DRAM core follows from its
/// ports, as in files without any connection to it.
pub(super) fn graph(reading: &mut Reading, graph: &Fields<'_>, context: &Context<'_>) -> Vec<Link> {
    let mut role = |key: &str| graph.get(key).and_then(|node| core(reading, node, context.numbers));
    let helpers: Vec<CoreId> =
        ["pooling_core_id", "simd_core_id"].into_iter().filter_map(&mut role).collect();
    let plain: Vec<CoreId> = (0..context.numbers.len())
        .map(CoreId::from)
        .filter(|core| !helpers.contains(core) && !context.dram.contains(core))
        .collect();
    let Some(kind) = graph.required(reading, "type") else { return Vec::new() };
    let mut groups: Vec<Vec<CoreId>> = Vec::new();
    match kind.text(reading, "the type of a graph").as_deref() {
        Some("2d_mesh") => {
            let mut count = |key: &str| {
                let node = graph.required(reading, key)?;
                node.positive(reading, &format!("`{key}`"), "a mesh has at least one")
            };
            let (Some(rows), Some(columns)) = (count("nb_rows"), count("nb_cols")) else { return Vec::new() };
            if rows.checked_mul(columns) != Some(plain.len() as u64) {
                let message = format!("a mesh of {rows} x {columns} for {} cores", plain.len());
                let label = "cores without a role must fill it";
                reading.error(kind, Diagnostic::new(message).label(label));
                return Vec::new();
            }
            let rows = rows as usize;
            for (at, core) in plain.iter().enumerate() {
                let below = plain.get(at + 1).filter(|_| (at + 1) % rows != 0);
                let beside = plain.get(at + rows);
                groups.extend([below, beside].into_iter().flatten().map(|other| vec![*core, *other]));
            }
        }
        Some("bus") => groups.push(plain.clone()),
        Some(other) => {
            let error = Diagnostic::new(format!("unknown graph `{other}`")).label("must be 2d_mesh or bus");
            reading.error(kind, error);
            return Vec::new();
        }
        None => return Vec::new(),
    }
    groups.extend(helpers.iter().flat_map(|helper| plain.iter().map(|core| vec![*core, *helper])));
    let Some(bandwidth) = context.bandwidth else {
        let error = Diagnostic::new("the graph has no `bandwidth`").label("in bits per cycle");
        reading.error(kind, error);
        return Vec::new();
    };
    let link = |cores: Vec<CoreId>| {
        let kind = if cores.len() > 2 { LinkKind::Bus } else { LinkKind::Link };
        let class = default_class(kind, &cores, context);
        let energy = LinkEnergy::PerCycle(context.unit_energy_cost);
        Link { kind, cores, bandwidth, latency: 0, energy, class }
    };
    groups.into_iter().filter(|cores| cores.len() > 1).map(link).collect()
}

/// Reads `core_connectivity`.
pub(super) fn links(reading: &mut Reading, node: &Node, context: &Context<'_>) -> Vec<Link> {
    let items = node.list(reading, "`core_connectivity`").unwrap_or_default();
    (items.iter())
        .filter_map(|item| match &item.value {
            Value::Map(_) => link(reading, item, context),
            _ => short_link(reading, item, context),
        })
        .collect()
}

fn link(reading: &mut Reading, node: &Node, context: &Context<'_>) -> Option<Link> {
    let fields = node.fields(reading, &CONNECTION, node)?;
    let kind = fields.required(reading, "type").and_then(|node| link_kind(reading, node));
    let cores_node = fields.required(reading, "cores")?;
    let mut cores = Vec::new();
    for item in cores_node.list(reading, "the cores of a connection")? {
        cores.push(core(reading, item, context.numbers));
    }
    let bandwidth = fields.required(reading, "bandwidth");
    let bandwidth =
        bandwidth.and_then(|node| ports::bandwidth(reading, node, "the bandwidth of a connection"));
    let latency = fields.get("latency").map_or(Some(0), |node| node.whole(reading, "`latency`"));
    let energy = energy(reading, &fields, context);
    let class = fields.get("class").map(|node| link_class(reading, node));
    let (kind, cores) = (kind?, cores.into_iter().collect::<Option<Vec<_>>>()?);
    check_ends(reading, cores_node, kind, &cores)?;
    if let (Some(Some(class @ (LinkClass::Noc | LinkClass::Bus))), Some(node)) = (class, fields.get("class"))
        && default_class(kind, &cores, context) == LinkClass::D2d
    {
        let class = if class == LinkClass::Noc { "noc" } else { "bus" };
        let error = Diagnostic::new(format!("a connection between `chiplets` has the class {class}"));
        reading.error(node, error.label("it leaves a die: d2d").help("leave `class` out, or write `d2d`"));
        return None;
    }
    Some(Link {
        kind,
        bandwidth: bandwidth?,
        latency: latency?,
        energy: energy?,
        class: class.unwrap_or_else(|| Some(default_class(kind, &cores, context)))?,
        cores,
    })
}

/// `0, 1`: a link of the file's bandwidth; with more cores a bus.
fn short_link(reading: &mut Reading, node: &Node, context: &Context<'_>) -> Option<Link> {
    let cores = core_list(reading, node, context.numbers)?;
    let kind = if cores.len() > 2 { LinkKind::Bus } else { LinkKind::Link };
    check_ends(reading, node, kind, &cores)?;
    let Some(bandwidth) = context.bandwidth else {
        let error = Diagnostic::new("the accelerator has no `bandwidth` for its connections");
        reading.error(node, error.help("write `{type: link, cores: [0, 1], bandwidth: 32}`"));
        return None;
    };
    Some(Link {
        kind,
        bandwidth,
        latency: 0,
        energy: LinkEnergy::PerCycle(context.unit_energy_cost),
        class: default_class(kind, &cores, context),
        cores,
    })
}

/// Reads `core_memory_sharing`: groups `0, 1` of cores with common top memories, owner first.
pub(super) fn sharing(reading: &mut Reading, node: &Node, numbers: &[u32]) -> Vec<Vec<CoreId>> {
    let items = node.list(reading, "`core_memory_sharing`").unwrap_or_default();
    let mut groups = Vec::new();
    for item in items {
        let Some(group) = core_list(reading, item, numbers) else {
            continue;
        };
        if group.len() < 2 {
            let error = Diagnostic::new("at least two cores share a memory");
            reading.error(item, error.label("expected for example `0, 1`"));
        }
        groups.push(group);
    }
    groups
}

/// Core numbers as a list or as text with commas.
fn core_list(reading: &mut Reading, node: &Node, numbers: &[u32]) -> Option<Vec<CoreId>> {
    if let Value::List(items) = &node.value {
        let cores: Vec<_> = items.iter().map(|item| core(reading, item, numbers)).collect();
        return cores.into_iter().collect();
    }
    let text = node.text(reading, "a list of cores")?;
    let mut cores = Vec::new();
    for part in text.split(',') {
        match part.trim().parse::<u32>().ok().and_then(|number| id(number, numbers)) {
            Some(core) => cores.push(core),
            None => {
                reading.error(node, no_core(part.trim(), numbers));
                return None;
            }
        }
    }
    Some(cores)
}

/// The id of a core by its number.
pub(super) fn core(reading: &mut Reading, node: &Node, numbers: &[u32]) -> Option<CoreId> {
    let number = node.whole(reading, "a core number")?;
    let found = u32::try_from(number).ok().and_then(|number| id(number, numbers));
    if found.is_none() {
        reading.error(node, no_core(&number.to_string(), numbers));
    }
    found
}

fn id(number: u32, numbers: &[u32]) -> Option<CoreId> {
    numbers.iter().position(|candidate| *candidate == number).map(CoreId::from)
}

fn no_core(number: &str, numbers: &[u32]) -> Diagnostic {
    let error = Diagnostic::new(format!("there is no core {number}"));
    match (numbers.first(), numbers.last()) {
        (Some(first), Some(last)) => error.label(format!("`cores` has {first} to {last}")),
        _ => error,
    }
}

fn check_ends(reading: &mut Reading, node: &Node, kind: LinkKind, cores: &[CoreId]) -> Option<()> {
    let mut distinct = cores.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let error = if distinct.len() < cores.len() {
        Diagnostic::new("a connection joins a core to itself").label("each core may stand here once")
    } else if cores.len() < 2 {
        Diagnostic::new("a connection needs two cores")
    } else if kind == LinkKind::Link && cores.len() > 2 {
        Diagnostic::new(format!("a link joins two cores, not {}", cores.len()))
            .help("use `type: bus` for a medium that several cores share")
    } else {
        return Some(());
    };
    reading.error(node, error);
    None
}

fn link_kind(reading: &mut Reading, node: &Node) -> Option<LinkKind> {
    let text = node.text(reading, "the type of a connection")?;
    match text.as_str() {
        "link" => Some(LinkKind::Link),
        "bus" => Some(LinkKind::Bus),
        _ => {
            let error = Diagnostic::new(format!("unknown type of connection `{text}`"));
            reading.error(node, error.label("must be link or bus"));
            None
        }
    }
}

fn energy(reading: &mut Reading, fields: &Fields<'_>, context: &Context<'_>) -> Option<LinkEnergy> {
    let per_cycle = fields.get("unit_energy_cost");
    let Some(per_bit) = fields.get("energy_per_bit") else {
        return match per_cycle {
            Some(node) => node.real(reading, "`unit_energy_cost`").map(Picojoules),
            None => Some(context.unit_energy_cost),
        }
        .map(LinkEnergy::PerCycle);
    };
    if per_cycle.is_some() {
        let error = Diagnostic::new("both `energy_per_bit` and `unit_energy_cost` are given")
            .label("the energy of a transfer would be ambiguous")
            .help("keep `energy_per_bit` (pJ per bit) or `unit_energy_cost` (pJ per active cycle)");
        reading.error(per_bit, error);
        return None;
    }
    per_bit.real(reading, "`energy_per_bit`").map(|energy| LinkEnergy::PerBit(Picojoules(energy)))
}

fn link_class(reading: &mut Reading, node: &Node) -> Option<LinkClass> {
    let text = node.text(reading, "the class of a connection")?;
    match text.as_str() {
        "noc" => Some(LinkClass::Noc),
        "d2d" => Some(LinkClass::D2d),
        "bus" => Some(LinkClass::Bus),
        "offchip" => Some(LinkClass::Offchip),
        _ => {
            let mut error = Diagnostic::new(format!("unknown class of connection `{text}`"))
                .label("must be noc, d2d, bus or offchip");
            if let Some(name) = nearest(&text, ["noc", "d2d", "bus", "offchip"]) {
                error = error.help(format!("did you mean `{name}`?"));
            }
            reading.error(node, error);
            None
        }
    }
}

/// Reads `chiplets`, a map from dies to the numbers of their cores: the die of every core. All cores but
/// DRAM stand on one.
pub(super) fn chiplets(
    reading: &mut Reading,
    node: &Node,
    numbers: &[u32],
    dram: &[CoreId],
) -> Vec<Option<u64>> {
    let mut dies = vec![None; numbers.len()];
    let Value::Map(entries) = &node.value else {
        let error = Diagnostic::new("`chiplets` must map dies to their cores");
        reading.error(node, error.help("write `chiplets: {0: [0, 1], 1: [2, 3]}`"));
        return dies;
    };
    for (position, (_, items)) in entries.iter().enumerate() {
        for core in core_list(reading, items, numbers).unwrap_or_default() {
            if dies[core.index()].replace(position as u64).is_some() {
                let number = numbers[core.index()];
                let error = Diagnostic::new(format!("core {number} stands on two chiplets"));
                reading.error(items, error.label("a core is part of one die"));
            }
        }
    }
    let missing =
        (0..numbers.len()).find(|core| dies[*core].is_none() && !dram.contains(&CoreId::from(*core)));
    if let Some(core) = missing {
        let error = Diagnostic::new(format!("core {} stands on no chiplet", numbers[core]));
        reading.error(node, error.help("list every core but DRAM under `chiplets`"));
    }
    dies
}

/// What reaches DRAM is off-chip, what joins two chiplets die-to-die; else a link belongs to the on-chip
/// network.
fn default_class(kind: LinkKind, cores: &[CoreId], context: &Context<'_>) -> LinkClass {
    let mut dies = cores.iter().filter_map(|core| context.dies.get(core.index()).copied().flatten());
    let first = dies.next();
    match kind {
        _ if cores.iter().any(|core| context.dram.contains(core)) => LinkClass::Offchip,
        _ if dies.any(|die| Some(die) != first) => LinkClass::D2d,
        LinkKind::Link => LinkClass::Noc,
        LinkKind::Bus => LinkClass::Bus,
    }
}
