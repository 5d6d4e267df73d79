//! What a mapping says about the layers of a workload: dimensions by index get names, tilings of a
//! fused group reach all its layers.
//!
//! Stream 2026 numbers dimensions: of a convolution D0..D6 are B, OX, OY, FX, FY, C, K, of a matrix
//! product (batch axes,) rows, inner, columns, of other layers the axes of the output and then the
//! window's (reference: mappings of Stream 2.1.1 whose tiles divide only so). A group's
//! `intra_core_tiling` cuts one layer's dimension; the layers joined to it through their tensors are
//! cut into as many pieces. A tile counts within one core's part, as there. Cuts do not spread into
//! sums: a dimension over which the joined layer accumulates stays whole.

use super::{Mapping, MappingEntry, Pieces, Split};
use crate::cost::OrderEntry;
use crate::ids::{LayerId, TensorId};
use crate::workload::{Axis, Dim, Layer, MemoryOperand, Operand, Workload};
use std::collections::{BTreeMap, BTreeSet};

/// The mapping with an entry of its own for every layer that needs one.
pub fn resolve(mapping: Mapping, workload: &Workload) -> Mapping {
    let mut mapping = mapping;
    drop_stacks_of_operators(&mut mapping, workload);
    let unused: Vec<String> = (mapping.entries.iter())
        .filter(|entry| entry.is_unknown(workload) && entry.near(workload).is_none())
        .map(|entry| {
            format!(
                "mapping entry `{}` names neither a layer nor an operator of {}",
                entry.name, workload.name
            )
        })
        .collect();
    mapping.notes.extend(unused);
    let tilings: Vec<_> = std::mem::take(&mut mapping.stack_splits);
    let mut entries: BTreeMap<usize, MappingEntry> = BTreeMap::new();
    for (position, layer) in workload.layers.iter().enumerate() {
        let Some(entry) = mapping.entry(layer) else { continue };
        let mut named = entry.clone();
        layer.name.clone_into(&mut named.name);
        let splits = [&mut named.intra_core_tiling, &mut named.inter_core_tiling];
        let mut changed = false;
        for split in splits.into_iter().flatten().flatten() {
            changed |= name_dimension(layer, split);
        }
        for entry in &mut named.order {
            if let OrderEntry::Loop(dim, _) = entry
                && layer.position(dim).is_none()
                && let Some(index) = indexed(layer, dim)
            {
                *dim = layer.dims[index].dim.clone();
                changed = true;
            }
        }
        if changed {
            entries.insert(position, named);
        }
    }
    for (stack, splits) in mapping.stacks.iter().zip(&tilings) {
        let layers = members(workload, stack);
        if !splits.is_empty() {
            tile_stack(&mapping, workload, &layers, splits, &mut entries);
        }
    }
    for (_, entry) in entries {
        match mapping.entries.iter_mut().find(|known| known.name == entry.name) {
            Some(known) => *known = entry,
            None => mapping.entries.push(entry),
        }
    }
    mapping
}

/// Links the layers' operands to the memory operands that the mapping gives, where every input still
/// has one of its own.
pub fn link(workload: &mut Workload, mapping: &Mapping) {
    for layer in &mut workload.layers {
        let Some(entry) = mapping.entry(layer) else { continue };
        let memory = |operand: &Operand| {
            let given = entry.links.iter().find(|(name, _)| *name == operand.name);
            given.map_or(operand.memory, |(_, memory)| *memory)
        };
        let linked: Vec<MemoryOperand> = layer.operands.iter().map(memory).collect();
        let distinct: BTreeSet<_> = linked.iter().collect();
        if linked.first() == Some(&MemoryOperand::O) && distinct.len() == linked.len() {
            layer.operands.iter_mut().zip(linked).for_each(|(operand, memory)| operand.memory = memory);
        }
    }
}

/// A cut of one layer's dimension, by which a fused group is tiled.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StackSplit {
    /// The layer.
    pub layer: String,
    /// The cut, within one core's part.
    pub split: Split,
}

/// Groups that name operators (`Conv`) say nothing about which layers they hold.
fn drop_stacks_of_operators(mapping: &mut Mapping, workload: &Workload) {
    let layer = |name: &String| workload.layers.iter().any(|layer| layer.name == *name);
    let operator = |name: &String| workload.layers.iter().any(|layer| layer.operator == *name);
    let vague: BTreeSet<String> =
        mapping.stacks.iter().flatten().filter(|name| !layer(name) && operator(name)).cloned().collect();
    if vague.is_empty() {
        return;
    }
    let keep: Vec<bool> =
        mapping.stacks.iter().map(|stack| !stack.iter().any(|name| vague.contains(name))).collect();
    retain(&mut mapping.stacks, &keep);
    retain(&mut mapping.stack_splits, &keep);
    let names: Vec<String> = vague.iter().map(|name| format!("`{name}`")).collect();
    let names = names.join(", ");
    mapping.notes.push(format!("fused groups name operators, not layers ({names}): they are ignored"));
}

fn retain<T>(items: &mut Vec<T>, keep: &[bool]) {
    let mut keep = keep.iter();
    items.retain(|_| keep.next().copied().unwrap_or(true));
}

fn members(workload: &Workload, stack: &[String]) -> Vec<LayerId> {
    workload.layer_ids().filter(|id| stack.contains(&workload.layer(*id).name)).collect()
}

/// Gives a dimension by index its name. Whether anything changed.
fn name_dimension(layer: &Layer, split: &mut Split) -> bool {
    if layer.position(&split.dim).is_some() {
        return false;
    }
    let Some(position) = indexed(layer, &split.dim) else { return false };
    split.dim = layer.dims[position].dim.clone();
    true
}

/// Position of a dimension by index (`D6`).
fn indexed(layer: &Layer, dim: &Dim) -> Option<usize> {
    let index: usize = dim.0.strip_prefix('D')?.parse().ok()?;
    let at = |name: &str| layer.position(&Dim::new(name));
    let named = |names: &[&str]| names.iter().filter_map(|name| at(name)).collect::<Vec<_>>();
    let order = match layer.operator.as_str() {
        "Conv" => {
            let mut order = named(&["B", "OX", "OY", "FX", "FY", "C"]);
            order.extend(layer.channel_dim().or_else(|| at("K")));
            order
        }
        "Gemm" | "MatMul" => named(&["B", "H", "D", "C", "K"]),
        _ => (0..layer.dims.len()).collect(),
    };
    order.get(index).copied()
}

/// Cuts all layers of a stack as the splits of some of them ask.
fn tile_stack(
    mapping: &Mapping,
    workload: &Workload,
    layers: &[LayerId],
    splits: &[StackSplit],
    entries: &mut BTreeMap<usize, MappingEntry>,
) {
    let mut entry_of = |id: LayerId| {
        let layer = workload.layer(id);
        let given = entries.remove(&id.index()).or_else(|| mapping.entry(layer).cloned());
        MappingEntry { name: layer.name.clone(), ..given.unwrap_or_default() }
    };
    let mut cut: BTreeMap<LayerId, MappingEntry> = layers.iter().map(|id| (*id, entry_of(*id))).collect();
    for entry in cut.values_mut() {
        entry.intra_core_tiling = Some(Vec::new());
    }
    for StackSplit { layer: name, split } in splits {
        let Some(id) = layers.iter().find(|id| workload.layer(**id).name == *name) else { continue };
        let layer = workload.layer(*id);
        let mut split = split.clone();
        name_dimension(layer, &mut split);
        let entry = cut.get_mut(id).expect("every layer of the stack has an entry");
        let Some(dim) = layer.position(&split.dim) else {
            entry.intra_core_tiling.get_or_insert_default().push(split);
            continue;
        };
        let part = part_size(layer, entry, dim);
        let tile = match split.pieces {
            Pieces::Tile(tile) => tile.clamp(1, part),
            Pieces::Count(count) => part.div_ceil(count.max(1)),
            Pieces::All => 1,
            Pieces::Auto => continue,
        };
        let pieces = part.div_ceil(tile);
        for (joined, dim) in joined(workload, layers, *id, dim) {
            let layer = workload.layer(joined);
            let entry = cut.get_mut(&joined).expect("joined layers are of the stack");
            let size = part_size(layer, entry, dim);
            let tile = if joined == *id { tile } else { size.div_ceil(pieces) };
            let name = layer.dims[dim].dim.clone();
            let tiling = entry.intra_core_tiling.get_or_insert_default();
            let known = tiling.iter().any(|split| split.dim == name);
            if tile < size && !known {
                tiling.push(Split { dim: name, pieces: Pieces::Tile(tile) });
            }
        }
    }
    entries.extend(cut.into_iter().map(|(id, entry)| (id.index(), entry)));
}

/// Size of one core's part along a dimension.
fn part_size(layer: &Layer, entry: &MappingEntry, dim: usize) -> u64 {
    let size = layer.dims[dim].size;
    let mine = |split: &&Split| layer.position(&split.dim) == Some(dim);
    match entry.inter_core_tiling.iter().flatten().find(mine).map(|split| split.pieces) {
        Some(Pieces::Count(count)) => size.div_ceil(count.max(1)),
        Some(Pieces::Tile(tile)) => tile.clamp(1, size),
        Some(Pieces::All) => 1,
        Some(Pieces::Auto) | None => size,
    }
}

/// The dimensions of layers of the stack that run along with one, itself included.
fn joined(workload: &Workload, layers: &[LayerId], from: LayerId, dim: usize) -> Vec<(LayerId, usize)> {
    let mut found = vec![(from, dim)];
    let mut next = 0;
    while let Some((id, dim)) = found.get(next).copied() {
        next += 1;
        for other in layers.iter().filter(|other| **other != id) {
            let (layer, candidate) = (workload.layer(id), workload.layer(*other));
            let forward =
                along_output(layer, dim).and_then(|axis| along_input(candidate, layer.output().tensor, axis));
            let backward = candidate.output().tensor.and_then(|tensor| {
                let operands = layer.inputs().iter().filter(|operand| operand.tensor == Some(tensor));
                let mut axes = operands.flat_map(|operand| operand.axes.iter().enumerate());
                let (axis, _) = axes.find(|(_, axis)| runs_along(layer, axis) == Some(dim))?;
                runs_along(candidate, candidate.output().axes.get(axis)?)
            });
            for dim in [forward, backward].into_iter().flatten() {
                let known = found.iter().any(|(known, _)| known == other);
                if !known && !candidate.is_reduction(dim) {
                    found.push((*other, dim));
                }
            }
        }
    }
    found
}

/// The output axis that is one dimension.
fn along_output(layer: &Layer, dim: usize) -> Option<usize> {
    layer.output().axes.iter().position(|axis| runs_along(layer, axis) == Some(dim))
}

/// The dimension along which a layer reads an axis of a tensor.
fn along_input(layer: &Layer, tensor: Option<TensorId>, axis: usize) -> Option<usize> {
    let operand = layer.inputs().iter().find(|operand| tensor.is_some() && operand.tensor == tensor)?;
    runs_along(layer, operand.axes.get(axis)?)
}

/// The dimension that moves along an axis: the one that moves a window, or the only one with more
/// than one step.
fn runs_along(layer: &Layer, axis: &Axis) -> Option<usize> {
    if axis.sliding {
        return axis.terms.first().map(|moved| moved.dim);
    }
    let mut terms = axis.terms.iter().filter(|term| layer.dims[term.dim].size > 1);
    match (terms.next(), terms.next()) {
        (Some(term), None) if term.coefficient == 1 => Some(term.dim),
        _ => None,
    }
}
