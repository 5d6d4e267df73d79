//! The CN graph: computation nodes, fragments, and who reads what.
//!
//! `(Workload, Tiling) -> CnGraph`. A CN is a box of loop ranges of one layer. Every tensor is
//! partitioned into *fragments* such that each region read or written by a CN is a union of
//! fragments (Rule (fragment)): per axis, [`fragments`] finds the coarsest partition in *atoms* that
//! all regions respect, and a tensor's fragments are the product grid of its atoms,
//! `id = first + sum(atom * stride)`.
//!
//! Regions depend on few of a CN's tile indices (an input region not on `K`), so they are stored
//! once per *key* (the tile indices of the dimensions an operand's axes use) and shared by all CNs
//! that differ elsewhere; readers of a fragment are stored the same way. Edges are never stored:
//! producer and consumer CNs meet in the fragments.
//!
//! Invariant: a fragment has exactly one producer CN, or none (network inputs, constants).

pub mod fragments;
pub mod refine;

mod show;

use crate::ids::{ClassId, CnId, FragmentId, LayerId, TensorId};
use crate::workload::nest::LoopNest;
use crate::workload::region::AxisSet;
use crate::workload::{Workload, layout};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::ops::Range;

/// What of a computed tensor is kept and moved as one (Rule (fragment)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum TransferUnit {
    /// Fragments: only what a consumer needs moves, a halo row alone.
    #[default]
    Fragment,
    /// The whole output of a CN moves to whoever needs any of it (Stream MODEL.md 9.6).
    WholeTensor,
}

/// CNs, fragments, and their relations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CnGraph {
    /// Grid of CNs per layer.
    pub layers: Vec<LayerGrid>,
    /// Grid of fragments per tensor; tensors made by layout operators have none.
    pub tensors: Vec<TensorGrid>,
    /// Classes of CNs of equal shape.
    pub classes: Vec<CnClass>,
    /// Layer of each CN.
    pub layer_of: Vec<LayerId>,
    /// Class of each CN.
    pub class_of: Vec<ClassId>,
    /// Tensor of each fragment.
    pub tensor_of: Vec<TensorId>,
    /// Bits of each fragment at final precision.
    pub bits: Vec<u64>,
    /// Producer of each fragment; `u32::MAX` for inputs and constants.
    pub producers: Vec<CnId>,
    /// Readers of each fragment, as (operand slot, key): see [`CnGraph::readers`].
    pub readers: Csr,
    /// Operand slots, by which `readers` names (layer, operand).
    pub slots: Vec<(LayerId, u32)>,
    /// Data dependencies between CNs: distinct (producer, consumer) pairs.
    pub edges: u64,
}

/// Rows of small entries, stored flat.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Csr {
    /// Start of each row in `entries`; one more than there are rows.
    pub starts: Vec<u32>,
    /// Entries: (slot, key).
    pub entries: Vec<(u32, u32)>,
}

/// The CNs of one layer: a product grid of tiles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerGrid {
    /// Its first CN.
    pub first: CnId,
    /// Number of CNs.
    pub count: u32,
    /// Number of parts over cores.
    pub parts: u32,
    /// Tiles per dimension of the layer.
    pub dims: Vec<DimGrid>,
    /// Regions per operand.
    pub operands: Vec<OperandGrid>,
}

/// The tiles of one loop dimension.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DimGrid {
    /// Range of each tile.
    pub tiles: Vec<Range<u64>>,
    /// Contribution to the part number of each tile (already multiplied by the part's stride).
    pub part: Vec<u32>,
    /// Distance in CN ids between neighbouring tiles.
    pub stride: u32,
}

/// The regions of one operand, one per key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OperandGrid {
    /// Tiled dimensions its axes use, with the stride of each in the key.
    pub key_dims: Vec<(u32, u32)>,
    /// CN offsets of all tiles of the other tiled dimensions.
    pub free: Vec<u32>,
    /// CN offset of each key.
    pub offsets: Vec<u32>,
    /// Region of each key: disjoint boxes of atoms.
    pub regions: Vec<SmallVec<[Piece; 1]>>,
}

/// A box of atoms of one tensor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// The tensor: an input, a constant or an output of a layer.
    pub tensor: TensorId,
    /// Range of atoms per axis.
    pub atoms: SmallVec<[(u32, u32); 4]>,
}

/// The fragments of one tensor: a product grid of atoms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TensorGrid {
    /// Its first fragment.
    pub first: FragmentId,
    /// Number of fragments; 0 for a tensor nobody reads or writes.
    pub count: u32,
    /// Atoms per axis.
    pub axes: Vec<AxisGrid>,
}

/// The atoms of one axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AxisGrid {
    /// Indices of each atom.
    pub atoms: Vec<AxisSet>,
    /// Distance in fragment ids between neighbouring atoms.
    pub stride: u32,
}

/// A class of CNs of equal shape: costed once per kind of core and placement.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CnClass {
    /// Loop nest.
    pub nest: LoopNest,
    /// Bits of each operand's region at rest (final precision for the output).
    pub operand_bits: Vec<u64>,
    /// Bits of the output at partial-sum precision.
    pub partial_bits: u64,
}

impl CnGraph {
    /// Number of CNs.
    pub fn cns(&self) -> usize {
        self.class_of.len()
    }

    /// Number of fragments.
    pub fn fragments(&self) -> usize {
        self.bits.len()
    }

    /// Layer of a CN.
    pub fn layer(&self, cn: CnId) -> LayerId {
        self.layer_of[cn.index()]
    }

    /// Grid of a CN's layer.
    pub fn grid(&self, cn: CnId) -> &LayerGrid {
        &self.layers[self.layer(cn).index()]
    }

    /// Class of a CN.
    pub fn class(&self, cn: CnId) -> &CnClass {
        &self.classes[self.class_of[cn.index()].index()]
    }

    /// Part (over cores) of a CN.
    pub fn part(&self, cn: CnId) -> usize {
        let grid = self.grid(cn);
        let offset = cn.0 - grid.first.0;
        grid.dims.iter().map(|dim| dim.part[dim.tile(offset)] as usize).sum()
    }

    /// Loop ranges of a CN.
    pub fn ranges(&self, cn: CnId) -> Vec<Range<u64>> {
        let grid = self.grid(cn);
        let offset = cn.0 - grid.first.0;
        grid.dims.iter().map(|dim| dim.tiles[dim.tile(offset)].clone()).collect()
    }

    /// CNs of a layer.
    pub fn cns_of(&self, layer: LayerId) -> impl Iterator<Item = CnId> + use<> {
        let grid = &self.layers[layer.index()];
        (grid.first.0..grid.first.0 + grid.count).map(CnId)
    }

    /// Region of one operand of a CN: disjoint boxes of atoms.
    pub fn region(&self, cn: CnId, operand: usize) -> &[Piece] {
        let key = self.key(cn, operand);
        self.grid(cn).operands[operand].regions.get(key).map_or(&[], |region| region)
    }

    /// Key of one operand of a CN: the tile indices of the dimensions its axes use.
    pub fn key(&self, cn: CnId, operand: usize) -> usize {
        let grid = self.grid(cn);
        let offset = cn.0 - grid.first.0;
        (grid.operands[operand].key_dims.iter())
            .map(|(dim, stride)| grid.dims[*dim as usize].tile(offset) * *stride as usize)
            .sum()
    }

    /// Fragments of a box of atoms, ascending.
    pub fn fragments_of<'a>(&'a self, piece: &'a Piece) -> impl Iterator<Item = FragmentId> + 'a {
        let tensor = &self.tensors[piece.tensor.index()];
        let count: u32 = piece.atoms.iter().map(|(start, end)| end - start).product();
        (0..count).map(move |mut rest| {
            let mut id = tensor.first.0;
            for ((start, end), axis) in piece.atoms.iter().zip(&tensor.axes).rev() {
                let extent = end - start;
                id += (start + rest % extent) * axis.stride;
                rest /= extent;
            }
            FragmentId(id)
        })
    }

    /// Fragments of one operand of a CN.
    pub fn operand_fragments(&self, cn: CnId, operand: usize) -> impl Iterator<Item = FragmentId> + '_ {
        self.region(cn, operand).iter().flat_map(|piece| self.fragments_of(piece))
    }

    /// Input fragments of a CN with the operand that reads them. A fragment read by two operands
    /// appears twice.
    pub fn inputs(&self, cn: CnId) -> impl Iterator<Item = (usize, FragmentId)> + '_ {
        (1..self.grid(cn).operands.len()).flat_map(move |operand| {
            self.operand_fragments(cn, operand).map(move |fragment| (operand, fragment))
        })
    }

    /// Output fragments of a CN.
    pub fn outputs(&self, cn: CnId) -> impl Iterator<Item = FragmentId> + '_ {
        self.operand_fragments(cn, 0)
    }

    /// The CN that makes a fragment; none for network inputs and constants.
    pub fn producer(&self, fragment: FragmentId) -> Option<CnId> {
        Some(self.producers[fragment.index()]).filter(|cn| cn.0 != u32::MAX)
    }

    /// CNs that read a fragment, with the operand, by ascending layer.
    pub fn readers(&self, fragment: FragmentId) -> impl Iterator<Item = (CnId, usize)> + '_ {
        self.readers.row(fragment.index()).iter().flat_map(move |(slot, key)| {
            let (layer, operand) = self.slots[*slot as usize];
            let grid = &self.layers[layer.index()];
            let access = &grid.operands[operand as usize];
            let base = grid.first.0 + access.offsets[*key as usize];
            access.free.iter().map(move |free| (CnId(base + free), operand as usize))
        })
    }

    /// Fragments of the tensors that leave the network.
    pub fn output_fragments(&self, workload: &Workload) -> Vec<FragmentId> {
        let mut fragments = Vec::new();
        for output in &workload.outputs {
            let shape = &workload.tensor(*output).shape;
            let whole: Vec<AxisSet> = shape.iter().map(|extent| AxisSet::interval(0..*extent)).collect();
            for piece in layout::resolve(workload, *output, &whole) {
                let grid = &self.tensors[piece.tensor.index()];
                let mut ids = if grid.count == 0 { Vec::new() } else { vec![grid.first.0] };
                for (axis, set) in grid.axes.iter().zip(&piece.axes) {
                    let inside = (0..axis.atoms.len())
                        .filter(|atom| axis.atoms[*atom].indices().iter().any(|i| set.contains(*i)));
                    let offsets: Vec<u32> = inside.map(|atom| atom as u32 * axis.stride).collect();
                    ids = ids.iter().flat_map(|id| offsets.iter().map(move |o| id + o)).collect();
                }
                fragments.extend(ids.into_iter().map(FragmentId));
            }
        }
        fragments.sort_unstable();
        fragments.dedup();
        fragments
    }

    /// Bits of a fragment.
    pub fn bits(&self, fragment: FragmentId) -> u64 {
        self.bits[fragment.index()]
    }
}

impl DimGrid {
    /// Tile of the CN at this offset within its layer.
    pub fn tile(&self, offset: u32) -> usize {
        ((offset / self.stride) as usize) % self.tiles.len()
    }
}

impl Csr {
    /// Entries of a row.
    pub fn row(&self, row: usize) -> &[(u32, u32)] {
        &self.entries[self.starts[row] as usize..self.starts[row + 1] as usize]
    }
}
