//! Workload and Tiling to CN graph.
//!
//! Per layer the tiles of its dimensions form a product grid of CNs; per operand and key the exact
//! index sets along each axis are computed ([`crate::workload::region`]), sent through layout
//! operators to the tensors that hold the data, and turned into ranges of atoms. Work and memory are
//! linear in CNs plus the atoms they touch.

use super::fragments::{atoms, ranges, touched};
use super::{
    AxisGrid, CnClass, CnGraph, Csr, DimGrid, LayerGrid, OperandGrid, Piece, TensorGrid, TransferUnit,
};
use crate::fusion::{Cut, LayerTiling, Tiling};
use crate::ids::{ClassId, CnId, FragmentId, LayerId, TensorId};
use crate::workload::nest::LoopNest;
use crate::workload::region::AxisSet;
use crate::workload::{Layer, Operand, Origin, Workload, layout};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Why a tiling gives no CN graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefineError {
    /// A cut of a dimension the output does not depend on.
    #[error(
        "layer {layer}: {dim} is a reduction dimension; cutting it needs partial sums to be carried \
         from CN to CN, which is not built yet: cut a dimension of the output instead ({outputs})"
    )]
    ReductionSplit {
        /// Layer name.
        layer: String,
        /// Dimension name.
        dim: String,
        /// Dimensions that may be cut.
        outputs: String,
    },
    /// More CNs or fragments than ids.
    #[error("the tiling gives {count} {what}, more than {limit}: use coarser tiles")]
    TooMany {
        /// Counted.
        count: u64,
        /// What was counted.
        what: &'static str,
        /// Largest number.
        limit: u64,
    },
}

/// Most CNs of a graph. A CN takes some hundred bytes, so that this many fit into a few gigabytes.
const CNS: u64 = 1 << 24;

/// Most fragments or readers of a graph.
const LIMIT: u64 = 1 << 30;

/// Index sets of one operand region, before fragments are known: boxes of (tensor, set per axis).
type Sets = Vec<(TensorId, SmallVec<[u32; 4]>)>;

/// Builds the CN graph of a workload under a tiling.
pub fn refine(workload: &Workload, tiling: &Tiling, unit: TransferUnit) -> Result<CnGraph, RefineError> {
    let mut grids = Vec::with_capacity(workload.layers.len());
    let mut first = 0u64;
    for (layer, cuts) in workload.layers.iter().zip(&tiling.layers) {
        refuse_reduction_splits(layer, cuts)?;
        let grid = layer_grid(layer, cuts, first)?;
        first += u64::from(grid.count);
        grids.push(grid);
    }
    let mut axes = AxisSets::new(workload);
    let mut sets: Vec<Vec<Vec<Sets>>> = Vec::with_capacity(grids.len());
    for (layer, grid) in workload.layers.iter().zip(&mut grids) {
        let mut of_layer = Vec::with_capacity(layer.operands.len());
        for (position, operand) in layer.operands.iter().enumerate() {
            axes.made = unit == TransferUnit::WholeTensor && position == 0;
            grid.operands.push(operand_grid(layer, operand, &grid.dims));
            let access = grid.operands.last().expect("just pushed");
            of_layer.push(axes.regions(workload, operand, &grid.dims, access));
        }
        sets.push(of_layer);
    }
    let (tensors, bits) = axes.grids(workload)?;
    for (grid, of_layer) in grids.iter_mut().zip(sets) {
        for (access, of_operand) in grid.operands.iter_mut().zip(of_layer) {
            access.regions = of_operand.iter().map(|boxes| axes.pieces(boxes)).collect();
        }
    }
    let mut graph = CnGraph {
        layer_of: layer_of(&grids),
        class_of: Vec::new(),
        classes: Vec::new(),
        tensor_of: tensor_of(&tensors, bits.len()),
        producers: Vec::new(),
        readers: Csr::default(),
        slots: Vec::new(),
        edges: 0,
        layers: grids,
        tensors,
        bits,
    };
    classify(&mut graph, workload);
    link(&mut graph, workload)?;
    Ok(graph)
}

/// Refuses cuts in time that give too many CNs, before anything is sized by them.
///
/// # Errors
/// [`RefineError::TooMany`].
pub fn check_count(workload: &Workload, cuts: &[Vec<Cut>]) -> Result<(), RefineError> {
    let layers = workload.layers.iter().zip(cuts);
    let count = layers.map(|(layer, cuts)| pieces(layer, cuts.iter())).fold(0, u64::saturating_add);
    if count > CNS { Err(RefineError::TooMany { count, what: "CNs", limit: CNS }) } else { Ok(()) }
}

/// At least this many pieces result from cuts of a layer.
fn pieces<'a>(layer: &Layer, cuts: impl Iterator<Item = &'a Cut> + Clone) -> u64 {
    let along = |dim: usize| {
        let cuts = cuts.clone().filter(|cut| cut.dim == dim);
        cuts.map(|cut| layer.dims[dim].size.div_ceil(cut.tile)).max().unwrap_or(1)
    };
    (0..layer.dims.len()).map(along).fold(1, u64::saturating_mul)
}

fn refuse_reduction_splits(layer: &Layer, cuts: &LayerTiling) -> Result<(), RefineError> {
    for cut in cuts.intra.iter().chain(&cuts.inter) {
        if layer.is_reduction(cut.dim) && cut.tile < layer.dims[cut.dim].size {
            let outputs: Vec<String> = (0..layer.dims.len())
                .filter(|dim| !layer.is_reduction(*dim))
                .map(|dim| layer.dims[dim].dim.to_string())
                .collect();
            return Err(RefineError::ReductionSplit {
                layer: layer.name.clone(),
                dim: layer.dims[cut.dim].dim.to_string(),
                outputs: outputs.join(", "),
            });
        }
    }
    Ok(())
}

/// Tiles per dimension, parts, and CN numbering: cut dimensions listed first in `intra` are fastest,
/// then the other cut dimensions from the last to the first.
fn layer_grid(layer: &Layer, cuts: &LayerTiling, first: u64) -> Result<LayerGrid, RefineError> {
    // Before the tiles are made: they need memory themselves.
    let least = pieces(layer, cuts.intra.iter().chain(&cuts.inter));
    let too_many = |count| RefineError::TooMany { count, what: "CNs", limit: CNS };
    if least > CNS {
        return Err(too_many(least));
    }
    let mut part_stride = 1u64;
    let mut dims: Vec<DimGrid> = vec![DimGrid { tiles: vec![], part: vec![], stride: 1 }; layer.dims.len()];
    for dim in (0..layer.dims.len()).rev() {
        let whole = 0..layer.dims[dim].size;
        let inter: Vec<Range<u64>> = match cuts.inter.iter().find(|cut| cut.dim == dim) {
            Some(cut) => cut.tiles(whole).collect(),
            None => vec![whole],
        };
        for (part, range) in inter.iter().enumerate() {
            let tiles: Vec<Range<u64>> = match cuts.intra.iter().find(|cut| cut.dim == dim) {
                Some(cut) => cut.tiles(range.clone()).collect(),
                None => vec![range.clone()],
            };
            let part = (part as u64 * part_stride) as u32;
            dims[dim].part.extend(tiles.iter().map(|_| part));
            dims[dim].tiles.extend(tiles);
        }
        part_stride *= inter.len() as u64;
    }
    let listed = cuts.intra.iter().map(|cut| cut.dim);
    let others = (0..dims.len()).rev().filter(|dim| !cuts.intra.iter().any(|cut| cut.dim == *dim));
    let mut count = 1u64;
    for dim in listed.chain(others) {
        dims[dim].stride = count.min(CNS) as u32;
        count = count.saturating_mul(dims[dim].tiles.len() as u64);
    }
    if first + count > CNS {
        return Err(too_many(first + count));
    }
    let (first, count, parts) = (CnId(first as u32), count as u32, part_stride as u32);
    Ok(LayerGrid { first, count, parts, dims, operands: Vec::new() })
}

/// Keys of an operand: the tiled dimensions its axes use.
fn operand_grid(layer: &Layer, operand: &Operand, dims: &[DimGrid]) -> OperandGrid {
    if operand.tensor.is_none() {
        return OperandGrid::default();
    }
    let used = |dim: &usize| operand.axes.iter().any(|axis| axis.terms.iter().any(|term| term.dim == *dim));
    let tiled: Vec<usize> = (0..layer.dims.len()).filter(|dim| dims[*dim].tiles.len() > 1).collect();
    let (key, free): (Vec<usize>, Vec<usize>) = tiled.into_iter().partition(used);
    let mut key_dims = Vec::new();
    let mut stride = 1u32;
    for dim in &key {
        key_dims.push((*dim as u32, stride));
        stride *= dims[*dim].tiles.len() as u32;
    }
    let mut grid = OperandGrid { key_dims, offsets: offsets(&key, dims), ..OperandGrid::default() };
    grid.free = offsets(&free, dims);
    grid.free.sort_unstable();
    grid
}

/// CN offsets of all combinations of tiles of `over`, the first dimension fastest.
fn offsets(over: &[usize], dims: &[DimGrid]) -> Vec<u32> {
    let mut offsets = vec![0];
    for dim in over {
        let grid = &dims[*dim];
        offsets = (0..grid.tiles.len() as u32)
            .flat_map(|tile| offsets.iter().map(move |offset| offset + tile * grid.stride))
            .collect();
    }
    offsets
}

/// The atoms of one set, as ranges.
type AtomRanges = Vec<(u32, u32)>;

/// Index sets of all regions, interned per (tensor, axis); then the atoms they induce.
struct AxisSets {
    /// Distinct sets per tensor and axis, with their ids.
    ids: Vec<Vec<BTreeMap<AxisSet, u32>>>,
    /// Ids of the sets that producers make, per tensor and axis, where nothing else cuts the tensor.
    outputs: Vec<Vec<BTreeSet<u32>>>,
    /// Whether the sets interned now are such outputs.
    made: bool,
    /// Ranges of atoms of each set, per tensor, axis and set id; filled by `grids`.
    ranges: Vec<Vec<Vec<AtomRanges>>>,
}

impl AxisSets {
    fn new(workload: &Workload) -> Self {
        let ids = (workload.tensors.iter()).map(|tensor| vec![BTreeMap::new(); tensor.shape.len()]).collect();
        let outputs = (workload.tensors.iter()).map(|tensor| vec![BTreeSet::new(); tensor.shape.len()]);
        Self { ids, outputs: outputs.collect(), made: false, ranges: Vec::new() }
    }

    fn intern(&mut self, tensor: TensorId, axis: usize, set: AxisSet) -> u32 {
        let ids = &mut self.ids[tensor.index()][axis];
        let next = ids.len() as u32;
        let id = *ids.entry(set).or_insert(next);
        if self.made {
            self.outputs[tensor.index()][axis].insert(id);
        }
        id
    }

    /// The regions of an operand, one per key, as interned sets.
    fn regions(
        &mut self,
        workload: &Workload,
        operand: &Operand,
        dims: &[DimGrid],
        access: &OperandGrid,
    ) -> Vec<Sets> {
        let Some(tensor) = operand.tensor else { return Vec::new() };
        let shape = &workload.tensor(tensor).shape;
        let direct = !matches!(workload.tensor(tensor).origin, Origin::Layout(_));
        let mut memo: Vec<FxHashMap<Vec<usize>, Option<u32>>> = vec![FxHashMap::default(); shape.len()];
        let mut regions = Vec::with_capacity(access.offsets.len());
        for offset in &access.offsets {
            let tiles: Vec<usize> = dims.iter().map(|dim| dim.tile(*offset)).collect();
            let ranges: Vec<Range<u64>> =
                dims.iter().zip(&tiles).map(|(dim, tile)| dim.tiles[*tile].clone()).collect();
            if !direct {
                let region: Vec<AxisSet> = (operand.axes.iter().zip(shape))
                    .map(|(axis, extent)| axis.set(&ranges, *extent))
                    .collect();
                regions.push(self.through_layouts(workload, tensor, &region));
                continue;
            }
            let mut ids = SmallVec::new();
            for (position, (axis, extent)) in operand.axes.iter().zip(shape).enumerate() {
                let key = axis.terms.iter().map(|term| tiles[term.dim]).collect();
                let id = match memo[position].get(&key) {
                    Some(id) => *id,
                    None => {
                        let set = axis.set(&ranges, *extent);
                        let id = (!set.is_empty()).then(|| self.intern(tensor, position, set));
                        memo[position].insert(key, id);
                        id
                    }
                };
                ids.extend(id);
            }
            // A box that lies in the padding along any axis reads nothing.
            let whole = ids.len() == shape.len();
            regions.push(if whole { vec![(tensor, ids)] } else { Vec::new() });
        }
        regions
    }

    fn through_layouts(&mut self, workload: &Workload, tensor: TensorId, region: &[AxisSet]) -> Sets {
        if region.iter().any(AxisSet::is_empty) {
            return Vec::new();
        }
        (layout::resolve(workload, tensor, region).into_iter())
            .map(|piece| {
                let ids = (piece.axes.into_iter().enumerate())
                    .map(|(axis, set)| self.intern(piece.tensor, axis, set))
                    .collect();
                (piece.tensor, ids)
            })
            .collect()
    }

    /// Atoms of every tensor, fragments in product grids, and the bits of each fragment.
    fn grids(&mut self, workload: &Workload) -> Result<(Vec<TensorGrid>, Vec<u64>), RefineError> {
        let mut grids = Vec::with_capacity(self.ids.len());
        let mut bits: Vec<u64> = Vec::new();
        for ((tensor, ids), outputs) in workload.tensors.iter().zip(&self.ids).zip(&self.outputs) {
            let used = ids.iter().any(|sets| !sets.is_empty());
            if !used {
                self.ranges.push(Vec::new());
                grids.push(TensorGrid { first: FragmentId::from(bits.len()), ..TensorGrid::default() });
                continue;
            }
            let mut axes = Vec::new();
            let mut of_tensor = Vec::new();
            for ((sets, made), extent) in ids.iter().zip(outputs).zip(&tensor.shape) {
                let mut by_id = vec![AxisSet::default(); sets.len()];
                for (set, id) in sets {
                    by_id[*id as usize] = set.clone();
                }
                if !made.is_empty() {
                    let whole: Vec<AxisSet> = made.iter().map(|id| by_id[*id as usize].clone()).collect();
                    let atoms = atoms(*extent, &whole);
                    of_tensor.push(by_id.iter().map(|set| touched(set, &atoms)).collect());
                    axes.push(AxisGrid { atoms, stride: 1 });
                    continue;
                }
                let atoms = atoms(*extent, &by_id);
                let firsts: Vec<u64> = atoms.iter().map(|atom| atom.0[0].start).collect();
                of_tensor.push(by_id.iter().map(|set| ranges(set, &firsts)).collect());
                axes.push(AxisGrid { atoms, stride: 1 });
            }
            self.ranges.push(of_tensor);
            grids.push(tensor_grid(axes, tensor.element_bits, &mut bits)?);
        }
        Ok((grids, bits))
    }

    /// Boxes of atoms of a region.
    fn pieces(&self, sets: &Sets) -> SmallVec<[Piece; 1]> {
        let mut pieces = SmallVec::new();
        for (tensor, ids) in sets {
            let mut boxes: Vec<SmallVec<[(u32, u32); 4]>> = vec![SmallVec::new()];
            for (axis, id) in ids.iter().enumerate() {
                let ranges = &self.ranges[tensor.index()][axis][*id as usize];
                boxes = (boxes.iter())
                    .flat_map(|atoms| {
                        ranges.iter().map(move |range| {
                            let mut atoms = atoms.clone();
                            atoms.push(*range);
                            atoms
                        })
                    })
                    .collect();
            }
            pieces.extend(boxes.into_iter().map(|atoms| Piece { tensor: *tensor, atoms }));
        }
        pieces
    }
}

/// Numbers the fragments of a tensor, the last axis fastest, and appends their bits.
fn tensor_grid(
    mut axes: Vec<AxisGrid>,
    element_bits: u64,
    bits: &mut Vec<u64>,
) -> Result<TensorGrid, RefineError> {
    let count = (axes.iter()).fold(1u64, |count, axis| count.saturating_mul(axis.atoms.len() as u64));
    let total = count.saturating_add(bits.len() as u64);
    if total > LIMIT {
        return Err(RefineError::TooMany { count: total, what: "fragments", limit: LIMIT });
    }
    let first = FragmentId::from(bits.len());
    let mut sizes = vec![element_bits];
    let mut stride = count as u32;
    for axis in &mut axes {
        stride /= axis.atoms.len() as u32;
        axis.stride = stride;
        let counts: Vec<u64> = axis.atoms.iter().map(AxisSet::count).collect();
        sizes = (sizes.iter()).flat_map(|size| counts.iter().map(move |count| size * count)).collect();
    }
    bits.extend(sizes);
    Ok(TensorGrid { first, count: count as u32, axes })
}

fn layer_of(grids: &[LayerGrid]) -> Vec<LayerId> {
    (grids.iter().enumerate())
        .flat_map(|(layer, grid)| std::iter::repeat_n(LayerId::from(layer), grid.count as usize))
        .collect()
}

fn tensor_of(tensors: &[TensorGrid], fragments: usize) -> Vec<TensorId> {
    let mut of = Vec::with_capacity(fragments);
    for (tensor, grid) in tensors.iter().enumerate() {
        of.extend(std::iter::repeat_n(TensorId::from(tensor), grid.count as usize));
    }
    of
}

/// Finds the class of every CN: nests are built once per distinct signature of tile sizes, real
/// input extents and region sizes.
fn classify(graph: &mut CnGraph, workload: &Workload) {
    let mut classes: FxHashMap<CnClass, ClassId> = FxHashMap::default();
    let mut found = Vec::new();
    let mut class_of = Vec::with_capacity(graph.layer_of.len());
    for (id, layer) in workload.layers.iter().enumerate() {
        let shapes: Vec<&[u64]> = (layer.operands.iter())
            .map(|operand| operand.tensor.map_or(&[][..], |tensor| &workload.tensor(tensor).shape))
            .collect();
        let region_bits: Vec<Vec<u64>> = (graph.layers[id].operands.iter())
            .map(|access| access.regions.iter().map(|region| region_bits(graph, region)).collect())
            .collect();
        let mut memo: FxHashMap<Vec<u64>, ClassId> = FxHashMap::default();
        for cn in graph.cns_of(LayerId::from(id)) {
            let ranges = graph.ranges(cn);
            let bits: Vec<u64> = (0..layer.operands.len())
                .map(|operand| region_bits[operand].get(graph.key(cn, operand)).copied().unwrap_or(0))
                .collect();
            let signature = signature(layer, &ranges, &shapes, &bits);
            let class = *memo.entry(signature).or_insert_with(|| {
                let nest = layer.nest(&ranges, &shapes);
                let class = cn_class(nest, bits, layer, &ranges);
                *classes.entry(class.clone()).or_insert_with(|| {
                    found.push(class);
                    ClassId::from(found.len() - 1)
                })
            });
            class_of.push(class);
        }
    }
    graph.class_of = class_of;
    graph.classes = found;
}

fn region_bits(graph: &CnGraph, region: &[Piece]) -> u64 {
    (region.iter()).flat_map(|piece| graph.fragments_of(piece)).map(|f| graph.bits(f)).sum()
}

fn signature(layer: &Layer, ranges: &[Range<u64>], shapes: &[&[u64]], bits: &[u64]) -> Vec<u64> {
    let sizes = ranges.iter().map(|range| range.end - range.start);
    let extents = (layer.operands.iter().zip(shapes)).flat_map(|(operand, shape)| {
        (operand.axes.iter().zip(*shape)).filter(|(axis, _)| axis.sliding).map(|(axis, extent)| {
            let real = axis.interval(ranges, *extent);
            real.end - real.start
        })
    });
    sizes.chain(extents).chain(bits.iter().copied()).collect()
}

/// The class of one box of loop ranges of a layer, without a graph (for predictions).
pub fn class_of_box(workload: &Workload, layer: &Layer, ranges: &[Range<u64>]) -> CnClass {
    let shapes: Vec<&[u64]> = (layer.operands.iter())
        .map(|operand| operand.tensor.map_or(&[][..], |tensor| &workload.tensor(tensor).shape))
        .collect();
    let bits = (layer.operands.iter().zip(&shapes))
        .map(|(operand, shape)| {
            let Some(tensor) = operand.tensor else { return 0 };
            let counts = operand.axes.iter().zip(*shape).map(|(axis, n)| axis.set(ranges, *n).count());
            counts.product::<u64>() * workload.tensor(tensor).element_bits
        })
        .collect();
    cn_class(layer.nest(ranges, &shapes), bits, layer, ranges)
}

fn cn_class(nest: LoopNest, operand_bits: Vec<u64>, layer: &Layer, ranges: &[Range<u64>]) -> CnClass {
    let elements: u64 = (0..ranges.len())
        .filter(|dim| !layer.is_reduction(*dim))
        .map(|dim| ranges[dim].end - ranges[dim].start)
        .product();
    let partial_bits = elements * layer.output().partial_bits.max(layer.output().bits);
    CnClass { nest, operand_bits, partial_bits }
}

/// Producers, readers and the number of edges.
fn link(graph: &mut CnGraph, workload: &Workload) -> Result<(), RefineError> {
    graph.producers = vec![CnId(u32::MAX); graph.bits.len()];
    for layer in workload.layer_ids() {
        for cn in graph.cns_of(layer) {
            let outputs: Vec<FragmentId> = graph.outputs(cn).collect();
            for fragment in outputs {
                graph.producers[fragment.index()] = cn;
            }
        }
    }
    let mut counts = vec![0u32; graph.bits.len() + 1];
    let mut total = 0u64;
    let mut edges = 0u64;
    for (id, layer) in workload.layers.iter().enumerate() {
        for operand in 1..layer.operands.len() {
            graph.slots.push((LayerId::from(id), operand as u32));
            let access = &graph.layers[id].operands[operand];
            for region in &access.regions {
                let mut makers = Vec::new();
                for fragment in region.iter().flat_map(|piece| graph.fragments_of(piece)) {
                    counts[fragment.index() + 1] += 1;
                    total += 1;
                    makers.extend(graph.producer(fragment));
                }
                makers.sort_unstable();
                makers.dedup();
                edges += makers.len() as u64 * access.free.len() as u64;
            }
        }
    }
    if total > LIMIT {
        return Err(RefineError::TooMany { count: total, what: "reads of fragments", limit: LIMIT });
    }
    for row in 1..counts.len() {
        counts[row] += counts[row - 1];
    }
    let mut entries = vec![(0, 0); total as usize];
    let mut next = counts.clone();
    for (slot, (layer, operand)) in graph.slots.iter().enumerate() {
        let access = &graph.layers[layer.index()].operands[*operand as usize];
        for (key, region) in access.regions.iter().enumerate() {
            for fragment in region.iter().flat_map(|piece| graph.fragments_of(piece)) {
                entries[next[fragment.index()] as usize] = (slot as u32, key as u32);
                next[fragment.index()] += 1;
            }
        }
    }
    graph.readers = Csr { starts: counts, entries };
    graph.edges = edges;
    Ok(())
}
