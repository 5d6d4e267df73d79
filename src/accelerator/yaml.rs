//! Accelerator files: Stream's YAML (2026 `core_connectivity`, 2024 short form, `graph` before) or a
//! lone core file.
//!
//! `cores` maps numbers to core files, `offchip_core_id` names the core (or cores) that fronts
//! external memory, `core_connectivity` lists links and buses, `chiplets` (ours) maps dies to their
//! cores, so that connections between dies are die-to-die. Core files are looked for in the
//! `cores` folder beside the accelerator file and beside it. Every error of all files is reported at once; keys of
//! other tools that are not modelled are listed in one note.

use super::assemble::{Parts, TopMemory, assemble, lone_core};
use super::connect::{self, Context};
use super::core_file::{self, Role};
use super::keys::ACCELERATOR;
use super::route::Routes;
use super::{Accelerator, Core, CoreKind, ports};
use crate::diagnostic::{Diagnostic, Diagnostics, nearest};
use crate::document::{Fields, Node, Reading, Value, read_text};
use crate::ids::{CoreId, CoreKindId};
use crate::library;
use crate::units::Picojoules;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A file's name, as messages show it, and its text.
pub struct File {
    /// Path or name.
    pub name: String,
    /// Contents.
    pub text: String,
}

/// Finds a core file by the name that an accelerator file gives it.
pub type Resolver<'a> = dyn Fn(&str) -> Result<File, Diagnostic> + 'a;

/// The accelerator that a user names: a shipped one (`tpu_like_quad_core`), else a file.
pub fn find(name: &str) -> Result<Accelerator, Diagnostics> {
    if let Some(accelerator) = shipped(name) {
        return accelerator;
    }
    let path = Path::new(name);
    if path.is_file() {
        return load(path);
    }
    let names: Vec<_> = library::accelerators().collect();
    let help = match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("give a file, or one of {}", names.join(", ")),
    };
    let message = format!("`{name}` is neither a file nor a shipped accelerator");
    Err(Diagnostic::new(message).help(help).into())
}

/// A shipped accelerator by name.
pub fn shipped(name: &str) -> Option<Result<Accelerator, Diagnostics>> {
    let text = library::accelerator(name)?;
    Some(parse(&format!("hardware/{name}.yaml"), text, &|file| {
        let core = file.trim_end_matches(".yaml");
        match library::core(core) {
            Some(text) => Ok(File { name: format!("hardware/cores/{core}.yaml"), text: text.into() }),
            None => Err(Diagnostic::new(format!("there is no shipped core `{core}`"))),
        }
    }))
}

/// Reads an accelerator file or a core file from disk. A core file gives an accelerator of that one
/// core without DRAM ([`Accelerator::with_dram`] splits it off).
pub fn load(path: &Path) -> Result<Accelerator, Diagnostics> {
    let text = read_text(path, "an accelerator or core file in YAML")?;
    let folder = path.parent().unwrap_or(Path::new(""));
    parse(&path.display().to_string(), &text, &|name| core_on_disk(folder, name))
}

/// A bare name in the `cores` folder, else beside the accelerator file, where a file of that name may
/// be a lone core with its DRAM; a path from the accelerator file, else by its last part in `cores`
/// (Stream's examples give some names from the root of its repository).
fn core_on_disk(folder: &Path, name: &str) -> Result<File, Diagnostic> {
    let last = Path::new(name).file_name().unwrap_or_default();
    let cores = folder.join("cores");
    let places = match Path::new(name).parent() {
        Some(parent) if parent != Path::new("") => {
            vec![folder.join(name), cores.join(name), cores.join(last)]
        }
        _ => vec![cores.join(name), folder.join(name)],
    };
    let Some(path) = places.iter().find(|path| path.is_file()) else {
        let mut tried: Vec<_> = places.iter().map(|path| path.display().to_string()).collect();
        tried.dedup();
        return Err(Diagnostic::new(format!("core file `{name}` does not exist"))
            .help(format!("looked for {}", tried.join(", "))));
    };
    let name = path.display().to_string();
    match read_text(path, "a core file in YAML") {
        Ok(text) => Ok(File { name, text }),
        Err(errors) => Err(errors.errors()[0].clone()),
    }
}

/// Reads an accelerator file or a core file from text; `resolver` finds the core files it names.
pub fn parse(name: &str, text: &str, resolver: &Resolver<'_>) -> Result<Accelerator, Diagnostics> {
    let (mut reading, root) = Reading::open(name, text)?;
    let has = |key: &str| match &root.value {
        Value::Map(entries) => entries.iter().any(|(name, _)| name.key_name() == key),
        _ => false,
    };
    if !has("cores") && (has("memories") || has("operational_array") || has("multipliers")) {
        let file = core_file::read(&mut reading, &root);
        let notes: Vec<String> = all_notes(&mut reading);
        let kind = reading.finish(file)?.kind;
        let mut accelerator = lone_core(kind, TopMemory::Kept)?;
        accelerator.notes.splice(0..0, notes);
        return Ok(accelerator);
    }
    let accelerator = accelerator(&mut reading, &root, resolver);
    reading.finish(accelerator)
}

fn all_notes(reading: &mut Reading) -> Vec<String> {
    unmodelled_note(&reading.unmodelled).into_iter().chain(reading.notes.drain(..)).collect()
}

fn unmodelled_note(unmodelled: &BTreeSet<String>) -> Option<String> {
    let keys: Vec<&str> = unmodelled.iter().map(String::as_str).collect();
    (!keys.is_empty()).then(|| format!("not modelled and ignored: {}", keys.join(", ")))
}

/// Cores as the file has them, sorted by number.
struct Cores<'a> {
    kinds: Vec<CoreKind>,
    roles: Vec<Role>,
    cores: Vec<Core>,
    /// Where each core stands in the file.
    nodes: Vec<&'a Node>,
    numbers: Vec<u32>,
}

fn accelerator(reading: &mut Reading, root: &Node, resolver: &Resolver<'_>) -> Option<Accelerator> {
    let fields = root.fields(reading, &ACCELERATOR, root)?;
    let name = fields.required(reading, "name");
    let name = name.and_then(|node| node.text(reading, "an accelerator's name"));
    let listed = listed_cores(reading, &fields)?;
    let mut cores = read_cores(reading, listed, resolver)?;
    coordinates(reading, &fields, &mut cores);
    // Before 2024 `graph` named the shape of the network and the cores with a role of their own.
    let graph = fields.get("graph").and_then(|node| node.fields(reading, &super::keys::GRAPH, node));
    let of_graph = |key: &str| graph.as_ref().and_then(|graph| graph.get(key));
    let offchip = fields.get("offchip_core_id").or_else(|| of_graph("offchip_core_id"));
    let dram = dram_cores(reading, &fields, offchip, &mut cores);
    let energy = fields.get("unit_energy_cost").or_else(|| of_graph("unit_energy_cost"));
    let energy = energy.map_or(Some(0.0), |node| node.real(reading, "`unit_energy_cost`"));
    let unit_energy_cost = Picojoules(energy.unwrap_or(0.0));
    let bandwidth = match fields.get("bandwidth").or_else(|| of_graph("bandwidth")) {
        // Stream 2.1.1 gives bandwidths of single ports under this key.
        Some(Node { value: Value::Map(_), .. }) => {
            reading.unmodelled.insert("`bandwidth` of ports".to_owned());
            None
        }
        Some(node) => ports::bandwidth(reading, node, "`bandwidth`"),
        None => None,
    };
    let dies = fields.get("chiplets");
    let dies = dies.map(|node| connect::chiplets(reading, node, &cores.numbers, &dram)).unwrap_or_default();
    let context = Context { numbers: &cores.numbers, dram: &dram, dies: &dies, unit_energy_cost, bandwidth };
    let links = fields.get("core_connectivity");
    let mut links = links.map(|node| connect::links(reading, node, &context)).unwrap_or_default();
    if let Some(graph) = &graph {
        links.extend(connect::graph(reading, graph, &context));
    }
    let sharing_node = fields.get("core_memory_sharing");
    let sharing = sharing_node.map(|node| connect::sharing(reading, node, &cores.numbers));
    if !reading.errors.is_empty() {
        return None;
    }
    let parts = Parts {
        name: name?,
        kinds: cores.kinds,
        cores: cores.cores,
        dram,
        links,
        sharing: sharing.unwrap_or_default(),
        unit_energy_cost,
        notes: all_notes(reading),
    };
    match assemble(parts) {
        Ok(accelerator) => {
            check_paths(reading, &accelerator, &cores.nodes);
            Some(accelerator)
        }
        Err(error) => {
            reading.error(sharing_node.unwrap_or(root), error);
            None
        }
    }
}

/// Numbers and names of core files, by number: a map, or a list counted from 0; the DRAM core of
/// 2024 (`offchip_core`) comes last.
fn listed_cores<'a>(reading: &mut Reading, fields: &Fields<'a>) -> Option<BTreeMap<u32, &'a Node>> {
    let node = fields.required(reading, "cores")?;
    let mut listed = BTreeMap::new();
    if let Value::List(items) = &node.value {
        listed.extend(items.iter().enumerate().map(|(number, item)| (number as u32, item)));
    } else {
        for (key, value) in node.entries(reading, "`cores`")? {
            let number = key.whole(reading, "the number of a core")?;
            listed.insert(u32::try_from(number).unwrap_or(u32::MAX), value);
        }
    }
    if let Some(offchip) = fields.get("offchip_core") {
        let next = listed.keys().last().map_or(0, |last| last.saturating_add(1));
        listed.insert(next, offchip);
    }
    if listed.is_empty() {
        reading.error(node, Diagnostic::new("an accelerator needs at least one core"));
        return None;
    }
    Some(listed)
}

fn read_cores<'a>(
    reading: &mut Reading,
    listed: BTreeMap<u32, &'a Node>,
    resolver: &Resolver<'_>,
) -> Option<Cores<'a>> {
    let mut cores = Cores { kinds: vec![], roles: vec![], cores: vec![], nodes: vec![], numbers: vec![] };
    let mut read: BTreeMap<String, Option<usize>> = BTreeMap::new();
    for (number, node) in listed {
        cores.numbers.push(number);
        cores.nodes.push(node);
        let Some(name) = node.text(reading, "a core file") else {
            continue;
        };
        let kind = match read.get(&name) {
            Some(kind) => *kind,
            None => {
                let kind = read_core(reading, node, &name, resolver, &mut cores);
                read.insert(name, kind);
                kind
            }
        };
        let kind = CoreKindId::from(kind.unwrap_or(0));
        cores.cores.push(Core { number, kind, coordinates: None, pools: [None; 3] });
    }
    reading.errors.is_empty().then_some(cores)
}

/// Reads one core file; equal descriptions are one kind.
fn read_core(
    reading: &mut Reading,
    node: &Node,
    name: &str,
    resolver: &Resolver<'_>,
    cores: &mut Cores<'_>,
) -> Option<usize> {
    let file = match resolver(name) {
        Ok(file) => file,
        Err(error) => {
            reading.error(node, error);
            return None;
        }
    };
    let read = Reading::open(&file.name, &file.text).and_then(|(mut core, root)| {
        let read = core_file::read(&mut core, &root);
        reading.unmodelled.append(&mut core.unmodelled);
        reading.notes.append(&mut core.notes);
        core.finish(read)
    });
    match read {
        Ok(core) => {
            let same = cores.kinds.iter().position(|kind| *kind == core.kind);
            Some(same.unwrap_or_else(|| {
                cores.kinds.push(core.kind);
                cores.roles.push(core.role);
                cores.kinds.len() - 1
            }))
        }
        Err(errors) => {
            reading.errors.extend(errors.into_errors());
            None
        }
    }
}

fn coordinates(reading: &mut Reading, fields: &Fields<'_>, cores: &mut Cores<'_>) {
    let Some(node) = fields.get("core_coordinates") else {
        return;
    };
    for (key, value) in node.entries(reading, "`core_coordinates`").unwrap_or_default() {
        let Some(core) = connect::core(reading, key, &cores.numbers) else {
            continue;
        };
        let mut position = Vec::new();
        for item in value.list(reading, "the coordinates of a core").unwrap_or_default() {
            match item.value {
                Value::Integer(number) => position.push(number as i64),
                _ => position.extend(item.whole(reading, "a coordinate").map(|number| number as i64)),
            }
        }
        cores.cores[core.index()].coordinates = Some(position);
    }
}

/// The cores that front external memory: those the file names, else those whose type or empty array
/// says so.
fn dram_cores(
    reading: &mut Reading,
    fields: &Fields<'_>,
    offchip: Option<&Node>,
    cores: &mut Cores<'_>,
) -> Vec<CoreId> {
    let mut dram: Vec<CoreId> = match offchip {
        Some(Node { value: Value::List(items), .. }) => {
            items.iter().filter_map(|item| connect::core(reading, item, &cores.numbers)).collect()
        }
        Some(node) => connect::core(reading, node, &cores.numbers).into_iter().collect(),
        None => (0..cores.cores.len())
            .filter(|core| cores.roles[cores.cores[*core].kind.index()] == Role::Offchip)
            .map(CoreId::from)
            .collect(),
    };
    if fields.get("offchip_core").is_some() {
        dram.push(CoreId::from(cores.cores.len() - 1));
    }
    dram.sort_unstable();
    dram.dedup();
    for core in &dram {
        make_memory_only(cores, *core);
    }
    if dram.is_empty() && reading.errors.is_empty() {
        let error = Diagnostic::new("no core fronts external memory")
            .help("name one by `offchip_core_id`, or give its core file `type: offchip`");
        reading.errors.extend(cores.nodes.first().map(|node| error.at(&reading.source, node.span.clone())));
    }
    dram
}

/// A core that fronts external memory computes nothing, whatever its file says.
fn make_memory_only(cores: &mut Cores<'_>, core: CoreId) {
    let kind = cores.cores[core.index()].kind.index();
    if cores.kinds[kind].memory_only {
        return;
    }
    let mut copy = cores.kinds[kind].clone();
    copy.memory_only = true;
    cores.cores[core.index()].kind = CoreKindId::from(cores.kinds.len());
    cores.kinds.push(copy);
    cores.roles.push(Role::Offchip);
}

/// Every core must reach a DRAM.
fn check_paths(reading: &mut Reading, accelerator: &Accelerator, nodes: &[&Node]) {
    let routes = Routes::new(accelerator);
    for core in (0..accelerator.cores.len()).map(CoreId::from) {
        if routes.nearest_dram(core).is_none() {
            let number = accelerator.core(core).number;
            let error = Diagnostic::new(format!("core {number} has no path to DRAM"))
                .help("join it to the DRAM core by a link or a bus in `core_connectivity`");
            reading.error(nodes[core.index()], error);
        }
    }
}
