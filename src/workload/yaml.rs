//! Workload files in ZigZag's layer format: a list of loop nests joined by `operand_source`.
//!
//! Each layer has an equation `O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]`, loop sizes,
//! relations `ix=2*ox+1*fx`, precisions, and per input the layer that makes it; its own id stands for
//! a constant, or for activations (`I`) an input of the network. Tensors and their shapes follow from
//! that ([`tensors`]). Layers come out in canonical order: depth-first from the outputs, operands in
//! the order of the equation.

mod equation;
pub(crate) mod keys;
mod tensors;

use super::{Dim, LoopDim, MemoryOperand, Workload};
use crate::diagnostic::{Diagnostic, Diagnostics, nearest};
use crate::document::{Fields, Node, Reading, read_text};
use equation::{Equation, Relation};
use keys::LAYER;
use std::collections::BTreeMap;
use std::path::Path;

/// A layer as the file has it, checked by itself.
struct FileLayer<'a> {
    /// Where the layer stands.
    node: &'a Node,
    /// Its number in the file.
    id: i128,
    name: String,
    operator: String,
    dims: Vec<LoopDim>,
    equation: Equation,
    relations: Vec<Relation>,
    /// Per operand: bits of one element and of one partial sum.
    bits: Vec<(u64, u64)>,
    /// Per operand: the layer that makes it and where the file says so; none for the output.
    sources: Vec<Option<(i128, &'a Node)>>,
    /// Operands that the file lists as constant; none: what has no source and is not `I`.
    constants: Option<Vec<String>>,
    /// Memory operands that the file gives.
    links: BTreeMap<String, MemoryOperand>,
    /// Real extents of derived dimensions.
    extents: BTreeMap<Dim, (u64, &'a Node)>,
    /// Padding in front of and behind derived dimensions.
    padding: BTreeMap<Dim, (u64, u64)>,
}

/// Reads a workload file from disk.
pub fn load(path: &Path) -> Result<Workload, Diagnostics> {
    let text = read_text(path, "a workload file in YAML")?;
    parse(&path.display().to_string(), &text)
}

/// Reads a workload from text; the workload is called after the stem of the file's name.
pub fn parse(name: &str, text: &str) -> Result<Workload, Diagnostics> {
    let (mut reading, root) = Reading::open(name, text)?;
    let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy();
    let workload = workload(&mut reading, &root, &stem);
    reading.finish(workload)
}

fn workload(reading: &mut Reading, root: &Node, name: &str) -> Option<Workload> {
    let items = root.list(reading, "a workload")?;
    let read: Vec<_> = items.iter().map(|item| layer(reading, item)).collect();
    let layers: Vec<FileLayer<'_>> = read.into_iter().collect::<Option<_>>()?;
    let positions = positions(reading, &layers);
    let order = canonical_order(reading, &layers, &positions);
    if layers.is_empty() {
        reading.error(root, Diagnostic::new("a workload needs at least one layer"));
    }
    if !reading.errors.is_empty() {
        return None;
    }
    let mut workload = tensors::build(reading, name, &layers, &positions, &order?);
    if !reading.unmodelled.is_empty() {
        let keys: Vec<&str> = reading.unmodelled.iter().map(String::as_str).collect();
        workload.notes.push(format!("not modelled and ignored: {}", keys.join(", ")));
    }
    Some(workload)
}

fn layer<'a>(reading: &mut Reading, node: &'a Node) -> Option<FileLayer<'a>> {
    let fields = node.fields(reading, &LAYER, node)?;
    let before = reading.errors.len();
    let id = fields.required(reading, "id").and_then(|node| node.integer(reading, "a layer's id"));
    let name = fields.get("name").map(|node| node.text(reading, "a layer's name"));
    let operator = fields.required(reading, "operator_type");
    let operator = operator.and_then(|node| node.text(reading, "`operator_type`"));
    // Without loops every name below would be unknown.
    let dims = loop_dims(reading, &fields)?;
    let known = dims.as_slice();
    let relations = fields.get("dimension_relations");
    let relations = relations.map_or(Vec::new(), |node| equation::relations(reading, node, known));
    let equation_node = fields.required(reading, "equation");
    let equation = equation_node.and_then(|node| equation::read(reading, node, known, &relations));
    if reading.errors.len() > before {
        return None;
    }
    let (id, equation) = (id?, equation?);
    let bits = precisions(reading, &fields, &equation);
    let sources = sources(reading, &fields, &equation);
    let constants = constants(reading, &fields, &equation);
    let links = links(reading, &fields, &equation);
    let (extents, padding) = derived_sizes(reading, &fields, &relations);
    Some(FileLayer {
        node,
        id,
        name: name.unwrap_or_else(|| Some(format!("layer_{id}")))?,
        operator: operator?,
        dims,
        equation,
        relations,
        bits: bits?,
        sources: sources?,
        constants,
        links,
        extents,
        padding,
    })
}

fn loop_dims(reading: &mut Reading, fields: &Fields<'_>) -> Option<Vec<LoopDim>> {
    let names = fields.required(reading, "loop_dims");
    let sizes_node = fields.required(reading, "loop_sizes")?;
    let mut dims: Vec<Dim> = Vec::new();
    for item in names?.list(reading, "`loop_dims`")? {
        let dim = Dim(item.text(reading, "a loop dimension")?.to_uppercase());
        if dims.contains(&dim) {
            reading.error(item, Diagnostic::new(format!("loop dimension {dim} is listed twice")));
        }
        dims.push(dim);
    }
    let items = sizes_node.list(reading, "`loop_sizes`")?;
    if items.len() != dims.len() {
        let error = Diagnostic::new(format!("{} loop dimension(s) but {} size(s)", dims.len(), items.len()));
        reading.error(sizes_node, error.label("one size per loop dimension is needed"));
        return None;
    }
    (dims.into_iter().zip(items))
        .map(|(dim, item)| {
            let size = item.positive(reading, "the size of a loop", "a loop runs at least once")?;
            Some(LoopDim { dim, size })
        })
        .collect()
}

/// Bits of the operands in the order of the equation; of the output (final, partial).
fn precisions(reading: &mut Reading, fields: &Fields<'_>, equation: &Equation) -> Option<Vec<(u64, u64)>> {
    let node = fields.required(reading, "operand_precision")?;
    let mut given = BTreeMap::new();
    for (key, value) in node.entries(reading, "`operand_precision`")? {
        let name = key.key_name();
        let output = &equation.operands[0].name;
        if name != format!("{output}_final") {
            equation.check_operand(reading, key, &name);
        }
        given.insert(name, value.whole(reading, "a precision in bits"));
    }
    let mut bits = Vec::new();
    for (position, operand) in equation.operands.iter().enumerate() {
        let Some(own) = given.get(&operand.name) else {
            let error = Diagnostic::new(format!("operand {} has no precision", operand.name));
            let help = format!("add `{}: 8` (bits of one element)", operand.name);
            reading.error(node, error.help(help));
            return None;
        };
        let own = (*own)?;
        let last = given.get(&format!("{}_final", operand.name)).copied();
        bits.push(if position == 0 { (last.unwrap_or(Some(own))?, own) } else { (own, own) });
    }
    Some(bits)
}

fn sources<'a>(
    reading: &mut Reading,
    fields: &Fields<'a>,
    equation: &Equation,
) -> Option<Vec<Option<(i128, &'a Node)>>> {
    let node = fields.required(reading, "operand_source")?;
    let mut given = BTreeMap::new();
    for (key, value) in node.entries(reading, "`operand_source`")? {
        equation.check_operand(reading, key, &key.key_name());
        let id = value.integer(reading, "the id of a layer")?;
        given.insert(key.key_name(), (id, value));
    }
    let mut sources = vec![None];
    for operand in &equation.operands[1..] {
        let source = given.get(&operand.name).copied();
        if source.is_none() {
            let error = Diagnostic::new(format!("operand {} has no source", operand.name));
            let help = "name the layer that makes it, or the layer itself for weights and inputs";
            reading.error(node, error.help(help));
        }
        sources.push(source);
    }
    Some(sources)
}

fn constants(reading: &mut Reading, fields: &Fields<'_>, equation: &Equation) -> Option<Vec<String>> {
    let node = fields.get("constant_operands")?;
    let mut names = Vec::new();
    for item in node.list(reading, "`constant_operands`")? {
        let name = item.text(reading, "an operand")?;
        equation.check_operand(reading, item, &name);
        names.push(name);
    }
    Some(names)
}

/// `memory_operand_links`, as Stream's workloads of 2023 have them.
fn links(reading: &mut Reading, fields: &Fields<'_>, equation: &Equation) -> BTreeMap<String, MemoryOperand> {
    let mut links = BTreeMap::new();
    let node = fields.get("memory_operand_links");
    let entries = node.and_then(|node| node.entries(reading, "`memory_operand_links`"));
    for (key, value) in entries.unwrap_or_default() {
        equation.check_operand(reading, key, &key.key_name());
        let Some(text) = value.text(reading, "a memory operand") else { continue };
        match MemoryOperand::named(&text) {
            Some(memory) => {
                links.insert(key.key_name(), memory);
            }
            None => {
                let error = Diagnostic::new(format!("unknown memory operand `{text}`"));
                reading.error(value, error.label("must be I1, I2 or O"));
            }
        }
    }
    links
}

type Extents<'a> = BTreeMap<Dim, (u64, &'a Node)>;

/// `pr_loop_sizes` and `padding`, both in the order of `pr_loop_dims`.
fn derived_sizes<'a>(
    reading: &mut Reading,
    fields: &Fields<'a>,
    relations: &[Relation],
) -> (Extents<'a>, BTreeMap<Dim, (u64, u64)>) {
    let (mut extents, mut padding) = (BTreeMap::new(), BTreeMap::new());
    let mut dims = Vec::new();
    let names = fields.get("pr_loop_dims").and_then(|node| node.list(reading, "`pr_loop_dims`"));
    for item in names.unwrap_or_default() {
        let Some(name) = item.text(reading, "a derived dimension") else {
            continue;
        };
        let dim = Dim(name.to_uppercase());
        if !relations.iter().any(|relation| relation.derived == dim) {
            let derived: Vec<_> = relations.iter().map(|r| r.derived.to_string()).collect();
            let error = Diagnostic::new(format!("{dim} is no derived dimension of the layer"));
            let label = format!("`dimension_relations` define {}", derived.join(", "));
            reading.error(item, error.label(label));
        }
        dims.push(dim);
    }
    for key in ["pr_loop_sizes", "padding"] {
        let Some(node) = fields.get(key) else {
            continue;
        };
        let items = node.list(reading, &format!("`{key}`")).unwrap_or_default();
        if items.len() != dims.len() {
            let (given, wanted) = (items.len(), dims.len());
            let error = Diagnostic::new(format!("`{key}` has {given} entries"));
            reading.error(node, error.label(format!("`pr_loop_dims` has {wanted}")));
            continue;
        }
        for (dim, item) in dims.iter().zip(items) {
            if key == "padding" {
                let pair = pair(reading, item);
                padding.extend(pair.map(|pair| (dim.clone(), pair)));
            } else {
                let size = item.positive(reading, "an extent", "a tensor is not empty");
                extents.extend(size.map(|size| (dim.clone(), (size, item))));
            }
        }
    }
    (extents, padding)
}

fn pair(reading: &mut Reading, node: &Node) -> Option<(u64, u64)> {
    let items = node.list(reading, "the padding of a dimension")?;
    let [front, back] = items else {
        let error = Diagnostic::new("padding is a pair");
        reading.error(node, error.label("expected `[front, back]`"));
        return None;
    };
    Some((front.whole(reading, "padding")?, back.whole(reading, "padding")?))
}

/// Positions of the layers by id.
fn positions(reading: &mut Reading, layers: &[FileLayer<'_>]) -> BTreeMap<i128, usize> {
    let mut positions = BTreeMap::new();
    for (position, layer) in layers.iter().enumerate() {
        if positions.insert(layer.id, position).is_some() {
            let error = Diagnostic::new(format!("two layers have the id {}", layer.id));
            reading.error(layer.node, error.help("give every layer its own id"));
        }
    }
    for layer in layers {
        for (id, node) in layer.sources.iter().flatten() {
            if !positions.contains_key(id) {
                let error = Diagnostic::new(format!("there is no layer {id}"));
                let label = "the source of this operand";
                let help = format!("write {} for weights and inputs of the network", layer.id);
                reading.error(node, error.label(label).help(help));
            }
        }
    }
    positions
}

/// Positions of the layers, sources before readers: depth-first from the layers that nobody reads.
fn canonical_order(
    reading: &mut Reading,
    layers: &[FileLayer<'_>],
    positions: &BTreeMap<i128, usize>,
) -> Option<Vec<usize>> {
    let inputs = |layer: &FileLayer<'_>| -> Vec<usize> {
        let sources = layer.sources.iter().flatten().filter(|(id, _)| *id != layer.id);
        sources.filter_map(|(id, _)| positions.get(id).copied()).collect()
    };
    let mut read = vec![false; layers.len()];
    layers.iter().flat_map(inputs).for_each(|position| read[position] = true);
    let mut order = Vec::new();
    let mut placed = vec![false; layers.len()];
    for output in (0..layers.len()).filter(|position| !read[*position]) {
        // Each entry is a layer and how many of its inputs have been visited. A layer on a cycle is
        // never reached from an output unless the output reads the cycle: then it stays open.
        let mut stack = vec![(output, 0)];
        while let Some((position, visited)) = stack.pop() {
            if placed[position] {
                continue;
            }
            match inputs(&layers[position]).get(visited) {
                Some(input) if stack.len() <= layers.len() => {
                    stack.push((position, visited + 1));
                    stack.push((*input, 0));
                }
                Some(_) => return cycle(reading, layers, position),
                None => {
                    placed[position] = true;
                    order.push(position);
                }
            }
        }
    }
    match placed.iter().position(|placed| !placed) {
        Some(position) => cycle(reading, layers, position),
        None => Some(order),
    }
}

fn cycle(reading: &mut Reading, layers: &[FileLayer<'_>], position: usize) -> Option<Vec<usize>> {
    let layer = &layers[position];
    let error = Diagnostic::new(format!("layer {} depends on itself", layer.id));
    let help = "follow its `operand_source`: the layers form a cycle";
    reading.error(layer.node, error.help(help));
    None
}

impl FileLayer<'_> {
    /// Memory operand of each operand: the file's, else ZigZag's O, W and I, others by position.
    fn memory(&self, position: usize) -> MemoryOperand {
        let name = self.equation.operands[position].name.as_str();
        match (position, name) {
            (0, _) => MemoryOperand::O,
            _ if self.links.contains_key(name) => self.links[name],
            (_, "W") => MemoryOperand::I2,
            (_, "I") => MemoryOperand::I1,
            (1, _) => MemoryOperand::I1,
            _ => MemoryOperand::I2,
        }
    }

    /// Whether the contents of an input are known before the run.
    fn is_constant(&self, position: usize) -> bool {
        let name = &self.equation.operands[position].name;
        let own = self.sources[position].is_some_and(|(id, _)| id == self.id);
        match &self.constants {
            Some(constants) => constants.contains(name),
            None => own && name != "I",
        }
    }
}

impl Equation {
    /// Reports a name that is no operand.
    fn check_operand(&self, reading: &mut Reading, node: &Node, name: &str) {
        let names: Vec<&str> = self.operands.iter().map(|operand| operand.name.as_str()).collect();
        if names.contains(&name) {
            return;
        }
        let mut error = Diagnostic::new(format!("the equation has no operand {name}"))
            .label(format!("its operands are {}", names.join(", ")));
        if let Some(near) = nearest(name, names.iter().copied()).filter(|_| name.len() > 1) {
            error = error.help(format!("did you mean `{near}`?"));
        }
        reading.error(node, error);
    }
}
