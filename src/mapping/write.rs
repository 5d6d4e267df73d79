//! Writes a mapping as YAML that [`super::yaml`] reads back to an equal value.

use super::{Mapping, MappingEntry, Pieces, Split, StackSplit};
use crate::cost::OrderEntry;
use serde::{Serialize, Serializer};
use serde_yaml::{FlowMap, FlowSeq};

#[derive(Serialize)]
struct File {
    layers: Vec<Entry>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fused_groups: Vec<Group>,
}

#[derive(Serialize)]
struct Group {
    layers: FlowSeq<Vec<String>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    intra_core_tiling: Vec<FlowMap<GroupTiling>>,
}

/// `{dim: Conv1.OY, tile: 2}`.
#[derive(Serialize)]
struct GroupTiling {
    dim: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tile: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    split: Option<Count>,
}

/// A number of pieces, or `all`, or `*`.
#[derive(Serialize)]
#[serde(untagged)]
enum Count {
    Number(u64),
    Word(&'static str),
}

/// `[OX, 112]`, `[OX, '*']` or `'*'`.
#[derive(Serialize)]
#[serde(untagged)]
enum LoopEntry {
    Loop(FlowSeq<(String, Count)>),
    Rest(&'static str),
}

/// One entry under the keys of the reader.
#[derive(Serialize)]
struct Entry {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    core_allocation: Option<FlowSeq<Vec<u32>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allocation: Option<FlowSeq<Vec<u32>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    intra_core_tiling: Option<Vec<Tiling>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inter_core_tiling: Option<Vec<Tiling>>,
    #[serde(skip_serializing_if = "Ordered::is_empty")]
    spatial_mapping: Ordered<Vec<String>>,
    #[serde(skip_serializing_if = "Ordered::is_empty")]
    spatial_mapping_hint: Ordered<FlowSeq<Vec<String>>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    temporal_ordering: Vec<LoopEntry>,
    #[serde(skip_serializing_if = "Ordered::is_empty")]
    memory_operand_links: Ordered<String>,
}

/// `K, 4`, or `{dim: OY, tile: 2}` where text has no form for it.
#[derive(Serialize)]
#[serde(untagged)]
enum Tiling {
    Text(String),
    Tile(FlowMap<Tile>),
}

#[derive(Serialize)]
struct Tile {
    dim: String,
    tile: u64,
}

/// A map in the order of its entries.
struct Ordered<T>(Vec<(String, T)>);

impl<T> Ordered<T> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Serialize> Serialize for Ordered<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// The mapping as YAML. Its notes are about the file it came from and become comments.
pub fn write(mapping: &Mapping) -> String {
    let file = File {
        layers: mapping.entries.iter().map(entry).collect(),
        fused_groups: (mapping.stacks.iter().enumerate())
            .map(|(position, layers)| Group {
                layers: FlowSeq(layers.clone()),
                intra_core_tiling: (mapping.stack_splits.get(position))
                    .map(|splits| group_tilings(splits))
                    .unwrap_or_default(),
            })
            .collect(),
    };
    let mut text: String = mapping.notes.iter().map(|note| format!("# {note}\n")).collect();
    text += &serde_yaml::to_string(&file).expect("text and numbers always serialise");
    text
}

fn entry(entry: &MappingEntry) -> Entry {
    Entry {
        name: entry.name.clone(),
        rank: entry.rank,
        core_allocation: entry.cores.clone().map(FlowSeq),
        allocation: entry.allocation.clone().map(FlowSeq),
        intra_core_tiling: entry.intra_core_tiling.as_deref().map(tilings),
        inter_core_tiling: entry.inter_core_tiling.as_deref().map(tilings),
        spatial_mapping: Ordered(
            (entry.spatial.iter())
                .map(|mapping| {
                    let unrolled = mapping.unrolled.iter();
                    let unrolled = unrolled.map(|(dim, factor)| format!("{dim}, {factor}"));
                    (mapping.array_dim.clone(), unrolled.collect())
                })
                .collect(),
        ),
        spatial_mapping_hint: Ordered(
            (entry.spatial_hints.iter())
                .map(|(array_dim, dims)| {
                    let dims = dims.iter().map(ToString::to_string).collect();
                    (array_dim.clone(), FlowSeq(dims))
                })
                .collect(),
        ),
        temporal_ordering: entry.order.iter().map(loop_entry).collect(),
        memory_operand_links: Ordered(
            (entry.links.iter()).map(|(operand, memory)| (operand.clone(), memory.to_string())).collect(),
        ),
    }
}

fn loop_entry(entry: &OrderEntry) -> LoopEntry {
    match entry {
        OrderEntry::Loop(dim, size) => {
            let size = size.map_or(Count::Word("*"), Count::Number);
            LoopEntry::Loop(FlowSeq((dim.to_string(), size)))
        }
        OrderEntry::Rest => LoopEntry::Rest("*"),
    }
}

fn group_tilings(splits: &[StackSplit]) -> Vec<FlowMap<GroupTiling>> {
    (splits.iter())
        .map(|StackSplit { layer, split }| {
            let (tile, pieces) = match split.pieces {
                Pieces::Tile(tile) => (Some(tile), None),
                Pieces::Count(count) => (None, Some(Count::Number(count))),
                Pieces::All => (None, Some(Count::Word("all"))),
                Pieces::Auto => (None, Some(Count::Word("*"))),
            };
            FlowMap(GroupTiling { dim: format!("{layer}.{}", split.dim), tile, split: pieces })
        })
        .collect()
}

fn tilings(splits: &[Split]) -> Vec<Tiling> {
    (splits.iter())
        .map(|split| match split.pieces {
            Pieces::All => Tiling::Text(format!("{}, all", split.dim)),
            Pieces::Auto => Tiling::Text(format!("{}, *", split.dim)),
            Pieces::Count(count) => Tiling::Text(format!("{}, {count}", split.dim)),
            Pieces::Tile(tile) => Tiling::Tile(FlowMap(Tile { dim: split.dim.to_string(), tile })),
        })
        .collect()
}
