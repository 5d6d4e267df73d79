//! Mapping files: Stream 2024 (a list), Stream 2026 (`layers` and `fused_groups`), ZigZag, ours.
//!
//! All dialects share one reader. A tiling is `K, 4` (pieces), `OY, all` (pieces of size 1), `K, *`
//! (the policy chooses), `{dim: K, split: 4}` or `{dim: OY, tile: 2}` (size of a piece). ZigZag's
//! `spatial_mapping`, `spatial_mapping_hint` and `memory_operand_links` may stand beside them. Ours
//! are `allocation` (the core of each part) and `rank`, as a result's `mapping.yaml` has them. An
//! empty tiling means "uncut"; none leaves the choice open.
//!
//! Dimensions by index (`D6`, Stream 2026) and the cuts of fused groups stay as they are written: what
//! they mean depends on the layers, which this reader does not know ([`super::resolve`] does).

use super::keys::{ENTRY, FILE, GROUP, TILING};
use super::{Mapping, MappingEntry, Pieces, Split, StackSplit};
use crate::accelerator::{Accelerator, ArrayMapping, unrolled_loops};
use crate::cost::OrderEntry;
use crate::diagnostic::{Diagnostic, Diagnostics, Place};
use crate::document::{Fields, Node, Reading, Value, read_text};
use crate::workload::{Dim, MemoryOperand};
use std::collections::BTreeSet;
use std::path::Path;

/// Reads a mapping file. Core numbers are checked against the accelerator, if one is given.
pub fn load(path: &Path, accelerator: Option<&Accelerator>) -> Result<Mapping, Diagnostics> {
    let text = read_text(path, "a mapping file in YAML")?;
    parse(&path.display().to_string(), &text, accelerator)
}

/// Where the entry of that name stands in a mapping's text.
pub fn place_of(name: &str, text: &str, entry: &str) -> Option<Place> {
    let (reading, root) = Reading::open(name, text).ok()?;
    let items = match &root.value {
        Value::List(items) => items,
        Value::Map(fields) => match &fields.iter().find(|(key, _)| key.key_name() == "layers")?.1.value {
            Value::List(items) => items,
            _ => return None,
        },
        _ => return None,
    };
    let name_of = |item: &Node| match &item.value {
        Value::Map(fields) => {
            fields.iter().find(|(key, _)| key.key_name() == "name").map(|(_, name)| name.clone())
        }
        _ => None,
    };
    let node = items.iter().filter_map(name_of).find(|name| name.key_name().trim() == entry)?;
    Some(Place { source: reading.source, span: node.span })
}

/// Reads a mapping from text.
pub fn parse(name: &str, text: &str, accelerator: Option<&Accelerator>) -> Result<Mapping, Diagnostics> {
    let (mut reading, root) = Reading::open(name, text)?;
    let mapping = mapping(&mut reading, &root, accelerator);
    reading.finish(mapping)
}

fn mapping(reading: &mut Reading, root: &Node, accelerator: Option<&Accelerator>) -> Option<Mapping> {
    let mut mapping = Mapping::default();
    let (layers, groups) = match &root.value {
        Value::List(_) => (Some(root), None),
        _ => {
            let fields = root.fields(reading, &FILE, root)?;
            (fields.get("layers"), fields.get("fused_groups"))
        }
    };
    let mut names = BTreeSet::new();
    for item in layers.and_then(|node| node.list(reading, "`layers`")).unwrap_or_default() {
        let Some(entry) = entry(reading, item, accelerator) else {
            continue;
        };
        if !names.insert(entry.name.clone()) {
            let error = Diagnostic::new(format!("`{}` is mapped twice", entry.name));
            reading.error(item, error.label("a second time here"));
        }
        mapping.entries.push(entry);
    }
    if let Some(groups) = groups {
        for item in groups.list(reading, "`fused_groups`").unwrap_or_default() {
            group(reading, item, &mut mapping);
        }
        refuse_ambiguous_stacks(&mut mapping);
    }
    note_indices(&mut mapping);
    mapping.notes.append(&mut reading.notes);
    if !reading.unmodelled.is_empty() {
        let keys: Vec<&str> = reading.unmodelled.iter().map(String::as_str).collect();
        mapping.notes.push(format!("not modelled and ignored: {}", keys.join(", ")));
    }
    Some(mapping)
}

fn entry(reading: &mut Reading, node: &Node, accelerator: Option<&Accelerator>) -> Option<MappingEntry> {
    let fields = node.fields(reading, &ENTRY, node)?;
    let name = fields.required(reading, "name");
    let name = name.and_then(|node| node.text(reading, "the name of a layer"));
    let cores = fields.get("core_allocation");
    let cores = cores.map(|node| core_numbers(reading, node, accelerator));
    let mut tiling = |key: &str| fields.get(key).map(|node| splits(reading, node));
    let (intra_core_tiling, inter_core_tiling) = (tiling("intra_core_tiling"), tiling("inter_core_tiling"));
    let allocation = fields.get("allocation");
    let allocation = allocation.map(|node| core_numbers(reading, node, accelerator));
    let rank = fields.get("rank").and_then(|node| node.whole(reading, "`rank`"));
    let spatial = fields.get("spatial_mapping");
    let spatial = spatial.map(|node| spatial_mapping(reading, node, accelerator)).unwrap_or_default();
    let hints = fields.get("spatial_mapping_hint");
    let spatial_hints = hints.map(|node| hint_dims(reading, node)).unwrap_or_default();
    let order = fields.get("temporal_ordering");
    let order = order.map(|node| loop_order(reading, node)).unwrap_or_default();
    let links = fields.get("memory_operand_links");
    let links = links.map(|node| operand_links(reading, node)).unwrap_or_default();
    let fixed = fixed_allocation(reading, &fields, cores.as_deref(), inter_core_tiling.as_deref());
    Some(MappingEntry {
        name: name?,
        cores,
        intra_core_tiling,
        inter_core_tiling,
        allocation: allocation.or(fixed),
        spatial,
        spatial_hints,
        order,
        links,
        rank: rank.and_then(|rank| u32::try_from(rank).ok()),
    })
}

/// `[0, 1]`, or of 2026 `[[0, 1]]`: one list per alternative, of which the first counts.
fn core_numbers(reading: &mut Reading, node: &Node, accelerator: Option<&Accelerator>) -> Vec<u32> {
    let mut items = node.list(reading, "a list of core numbers").unwrap_or_default();
    if let Some(Node { value: Value::List(first), .. }) = items.first() {
        if items.len() > 1 {
            reading.unmodelled.insert("alternatives in `core_allocation` after the first".into());
        }
        items = first;
    }
    let mut cores = Vec::new();
    for item in items {
        let Some(number) = item.whole(reading, "a core number") else {
            continue;
        };
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        match accelerator.map(|accelerator| no_such_core(accelerator, number)) {
            Some(Some(error)) => reading.error(item, error),
            _ => cores.push(number),
        }
    }
    cores
}

fn no_such_core(accelerator: &Accelerator, number: u32) -> Option<Diagnostic> {
    let computing: Vec<u32> = accelerator.compute_cores().map(|core| accelerator.core(core).number).collect();
    if computing.contains(&number) {
        return None;
    }
    let exists = accelerator.cores.iter().any(|core| core.number == number);
    let message = match exists {
        true => format!("core {number} of {} computes nothing", accelerator.name),
        false => format!("{} has no core {number}", accelerator.name),
    };
    let computing: Vec<_> = computing.iter().map(ToString::to_string).collect();
    Some(Diagnostic::new(message).label(format!("its compute cores are {}", computing.join(", "))))
}

/// Stream 2024: `core_allocation_is_fixed` with as many cores as parts gives each part its core.
fn fixed_allocation(
    reading: &mut Reading,
    fields: &Fields<'_>,
    cores: Option<&[u32]>,
    tiling: Option<&[Split]>,
) -> Option<Vec<u32>> {
    let fixed = fields.get("core_allocation_is_fixed")?;
    if !fixed.truth(reading, "`core_allocation_is_fixed`")? {
        return None;
    }
    let cores = cores.filter(|cores| cores.len() > 1)?;
    let counts = tiling?.iter().map(|split| match split.pieces {
        Pieces::Count(count) => Some(count),
        _ => None,
    });
    let parts: u64 = counts.collect::<Option<Vec<u64>>>()?.iter().product();
    (parts == cores.len() as u64).then(|| cores.to_vec())
}

/// A list of splits; Stream 2026 wraps it into a list of alternatives, of which the first counts.
fn splits(reading: &mut Reading, node: &Node) -> Vec<Split> {
    let mut items = node.list(reading, "a tiling").unwrap_or_default();
    if let Some(Node { value: Value::List(first), .. }) = items.first() {
        if items.len() > 1 {
            reading.unmodelled.insert("alternatives in `inter_core_tiling` after the first".into());
        }
        items = first;
    }
    items.iter().filter_map(|item| split(reading, item)).collect()
}

fn split(reading: &mut Reading, node: &Node) -> Option<Split> {
    if let Value::Map(_) = node.value {
        let fields = node.fields(reading, &TILING, node)?;
        let dim = fields.required(reading, "dim");
        let dim = dim.and_then(|node| node.text(reading, "a dimension"));
        let pieces = match (fields.get("split"), fields.get("tile")) {
            (Some(split), None) => pieces(reading, split)?,
            (None, Some(tile)) => {
                Pieces::Tile(tile.positive(reading, "`tile`", "a piece holds at least 1")?)
            }
            _ => {
                let error = Diagnostic::new("a tiling needs one of `split` and `tile`");
                reading.error(node, error.help("`split` is how many pieces, `tile` how large"));
                return None;
            }
        };
        return Some(Split { dim: dim.map(|dim| dim_named(&dim))?, pieces });
    }
    let text = node.text(reading, "a tiling")?;
    let parsed = text.split_once(',').and_then(|(dim, pieces)| {
        let pieces = match pieces.trim() {
            "all" => Pieces::All,
            "*" => Pieces::Auto,
            number => Pieces::Count(number.parse().ok().filter(|count| *count > 0)?),
        };
        Some(Split { dim: dim_named(dim), pieces })
    });
    if parsed.is_none() {
        let error = Diagnostic::new("a tiling is a dimension and a number of pieces")
            .label("expected for example `K, 4`, `OY, all` or `K, *`");
        reading.error(node, error);
    }
    parsed
}

fn pieces(reading: &mut Reading, node: &Node) -> Option<Pieces> {
    match &node.value {
        Value::Text(text) if text == "all" => Some(Pieces::All),
        Value::Text(text) if text == "*" => Some(Pieces::Auto),
        _ => node.positive(reading, "`split`", "at least one piece").map(Pieces::Count),
    }
}

/// The dimension in capitals; of `Conv1.D0`, as fused groups write it, the part behind the layer
/// stays to the caller.
fn dim_named(name: &str) -> Dim {
    Dim(name.trim().to_uppercase())
}

/// Unrolled loops per array dimension; what exceeds the largest array that has the dimension is noted.
fn spatial_mapping(
    reading: &mut Reading,
    node: &Node,
    accelerator: Option<&Accelerator>,
) -> Vec<ArrayMapping> {
    let mut mappings = Vec::new();
    for (key, value) in node.entries(reading, "`spatial_mapping`").unwrap_or_default() {
        let array_dim = key.key_name();
        let units = accelerator.and_then(|accelerator| {
            let dims = accelerator.compute_cores().flat_map(|core| &accelerator.kind(core).array.dims);
            dims.filter(|(dim, _)| *dim == array_dim).map(|(_, units)| *units).max()
        });
        let unrolled = unrolled_loops(reading, value, &array_dim, units);
        mappings.push(ArrayMapping { array_dim, unrolled });
    }
    mappings
}

fn hint_dims(reading: &mut Reading, node: &Node) -> Vec<(String, Vec<Dim>)> {
    let mut hints = Vec::new();
    for (key, value) in node.entries(reading, "`spatial_mapping_hint`").unwrap_or_default() {
        let items = value.list(reading, "the hint of an array dimension").unwrap_or_default();
        let dims = items.iter().filter_map(|item| item.text(reading, "a dimension"));
        hints.push((key.key_name(), dims.map(|dim| dim_named(&dim)).collect()));
    }
    hints
}

/// ZigZag's `temporal_ordering`: `[OX, 112]`, `[OX, "*"]`, or `*` for any loops.
fn loop_order(reading: &mut Reading, node: &Node) -> Vec<OrderEntry> {
    let mut order = Vec::new();
    for item in node.list(reading, "`temporal_ordering`").unwrap_or_default() {
        let entry = match &item.value {
            Value::List(_) => order_entry(reading, item),
            _ => match item.text(reading, "a loop") {
                Some(text) if text.trim() == "*" => Some(OrderEntry::Rest),
                Some(_) => None,
                None => continue,
            },
        };
        match entry {
            Some(OrderEntry::Rest) if order.contains(&OrderEntry::Rest) => {
                let error = Diagnostic::new("a second `*` in `temporal_ordering`");
                reading.error(
                    item,
                    error.help("loops before the `*` are the innermost, those behind it the outermost"),
                );
            }
            Some(entry) => order.push(entry),
            None => {
                let error = Diagnostic::new("an entry of `temporal_ordering` is a loop")
                    .label("expected for example `[OX, 112]`, `[OX, \"*\"]` or `\"*\"`");
                reading.error(item, error);
            }
        }
    }
    order
}

fn order_entry(reading: &mut Reading, node: &Node) -> Option<OrderEntry> {
    let Value::List(items) = &node.value else { return None };
    let [dim, size] = items.as_slice() else { return None };
    let dim = dim_named(&dim.text(reading, "a dimension")?);
    match &size.value {
        Value::Text(text) if text == "*" => Some(OrderEntry::Loop(dim, None)),
        _ => Some(OrderEntry::Loop(
            dim,
            Some(size.positive(reading, "the size of a loop", "at least one iteration")?),
        )),
    }
}

fn operand_links(reading: &mut Reading, node: &Node) -> Vec<(String, MemoryOperand)> {
    let mut links = Vec::new();
    for (key, value) in node.entries(reading, "`memory_operand_links`").unwrap_or_default() {
        let Some(text) = value.text(reading, "a memory operand") else {
            continue;
        };
        match MemoryOperand::named(&text) {
            Some(memory) => links.push((key.key_name(), memory)),
            None => {
                let error = Diagnostic::new(format!("unknown memory operand `{text}`"));
                reading.error(value, error.label("must be I1, I2 or O"));
            }
        }
    }
    links
}

/// A fused group: a stack, and the cuts by which it is tiled (`Conv1.D0`).
fn group(reading: &mut Reading, node: &Node, mapping: &mut Mapping) {
    let Some(fields) = node.fields(reading, &GROUP, node) else {
        return;
    };
    fields.get("name").and_then(|node| node.text(reading, "the name of a fused group"));
    let Some(layers) = fields.required(reading, "layers") else {
        return;
    };
    let layers: Vec<String> = (layers.list(reading, "the layers of a group").unwrap_or_default())
        .iter()
        .filter_map(|item| item.text(reading, "the name of a layer"))
        .collect();
    mapping.stacks.push(layers);
    let mut splits = Vec::new();
    let tiling = fields.get("intra_core_tiling");
    let items = tiling.and_then(|tiling| tiling.list(reading, "`intra_core_tiling`"));
    for item in items.unwrap_or_default() {
        let Some(layer) = layer_of_tiling(reading, item) else {
            continue;
        };
        let Some(mut split) = split(reading, item) else {
            continue;
        };
        let dim = split.dim.0.rsplit('.').next().unwrap_or_default();
        split.dim = dim_named(dim);
        splits.push(StackSplit { layer, split });
    }
    mapping.stack_splits.push(splits);
}

/// The layer in `dim: Conv1.D0`.
fn layer_of_tiling(reading: &mut Reading, node: &Node) -> Option<String> {
    let dim = match &node.value {
        Value::Map(entries) => entries.iter().find(|(key, _)| key.key_name() == "dim").map(|(_, dim)| dim),
        _ => None,
    };
    let text = dim.and_then(|dim| match &dim.value {
        Value::Text(text) => text.rsplit_once('.'),
        _ => None,
    });
    if text.is_none() {
        let error = Diagnostic::new("the tiling of a fused group needs a layer and a dimension");
        reading.error(node, error.label("expected for example `{dim: Conv1.OY, tile: 1}`"));
    }
    text.map(|(layer, _)| layer.to_owned())
}

/// A name in two groups is an operator's, so the groups do not say which layers they hold.
fn refuse_ambiguous_stacks(mapping: &mut Mapping) {
    let mut seen = BTreeSet::new();
    let twice = mapping.stacks.iter().flatten().find(|name| !seen.insert(name.as_str()));
    if let Some(name) = twice.cloned() {
        mapping.stacks.clear();
        mapping.stack_splits.clear();
        mapping.notes.push(format!(
            "`{name}` stands in two fused groups, so it names no single layer: the groups are ignored \
             and stacks are chosen"
        ));
    }
}

fn note_indices(mapping: &mut Mapping) {
    let index = |dim: &Dim| {
        let digits = dim.0.strip_prefix('D').unwrap_or("");
        !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_digit())
    };
    let splits = mapping.entries.iter().flat_map(|entry| {
        [&entry.intra_core_tiling, &entry.inter_core_tiling].into_iter().flatten().flatten()
    });
    let splits = splits.chain(mapping.stack_splits.iter().flatten().map(|split| &split.split));
    let dims: BTreeSet<&str> =
        splits.filter(|split| index(&split.dim)).map(|split| split.dim.0.as_str()).collect();
    if !dims.is_empty() {
        let dims: Vec<_> = dims.into_iter().collect();
        mapping.notes.push(format!(
            "dimensions by index ({}): of convolutions D0.. are B, OX, OY, FX, FY, C, K, of matrix products \
             rows, inner, columns, of other layers the axes of the output, then the window",
            dims.join(", ")
        ));
    }
}
