//! Fragments, element by element: the atoms of every axis must partition it.
//!
//! The element with index `(i_0, i_1, ..)` of a tensor lies in fragment
//! `first + sum(atom(i_axis) * stride)`, strides row-major, tensors one after the other.

use super::{Case, Report, Violation};
use crate::cn::AxisGrid;
use crate::ids::{FragmentId, TensorId};
use crate::units::Bits;

/// No atom seen yet.
const NONE: u32 = u32::MAX;

/// The fragments of all tensors.
pub(super) struct Partition {
    /// Per tensor; without axes for one that nobody touches.
    tensors: Vec<TensorAtoms>,
    /// Elements per fragment.
    elements: Vec<u64>,
}

/// The fragments of one tensor.
struct TensorAtoms {
    first: u32,
    count: u64,
    axes: Vec<AxisAtoms>,
}

/// The atoms of one axis.
struct AxisAtoms {
    /// Atom of each index.
    atom_of: Vec<u32>,
    /// Indices of each atom.
    sizes: Vec<u64>,
    /// Distance in fragment ids of neighbouring atoms.
    stride: u32,
}

impl Partition {
    /// Derives the fragment of every element; reports what is no partition.
    pub fn derive(case: &Case<'_>, report: &mut Report) -> Self {
        let mut partition = Self { tensors: Vec::new(), elements: Vec::new() };
        for (index, grid) in case.graph.tensors.iter().enumerate() {
            let tensor = TensorId::from(index);
            let first = partition.elements.len() as u32;
            if grid.count == 0 {
                partition.tensors.push(TensorAtoms { first, count: 0, axes: Vec::new() });
                continue;
            }
            let shape = &case.workload.tensor(tensor).shape;
            let axes: Vec<AxisAtoms> = (grid.axes.iter().zip(shape).enumerate())
                .map(|(axis, (atoms, extent))| axis_atoms(tensor, axis, atoms, *extent, report))
                .collect();
            let numbered = grid.axes.len() == shape.len() && grid.first.0 == first && row_major(&axes);
            let atoms = TensorAtoms { first, count: u64::from(grid.count), axes };
            let mut elements = vec![1];
            for axis in &atoms.axes {
                elements = (elements.iter())
                    .flat_map(|outer| axis.sizes.iter().map(move |size| outer * size))
                    .collect();
            }
            if !numbered || elements.len() as u64 != atoms.count {
                report.add(Violation::FragmentNumbering { tensor });
            }
            partition.elements.extend(elements);
            partition.tensors.push(atoms);
        }
        if report.is_clean() {
            partition.check_bits(case, report);
        }
        report.checked.fragments = partition.elements.len() as u64;
        partition
    }

    fn check_bits(&self, case: &Case<'_>, report: &mut Report) {
        let (found, expected) = (case.graph.bits.len() as u64, self.elements.len() as u64);
        if found != expected {
            report.add(Violation::Shape { what: "sizes of fragments", found, expected });
            return;
        }
        for (index, atoms) in self.tensors.iter().enumerate() {
            let element_bits = case.workload.tensors[index].element_bits;
            for fragment in atoms.first..atoms.first + atoms.count as u32 {
                let claimed = Bits(case.graph.bits[fragment as usize]);
                let derived = Bits(self.elements[fragment as usize] * element_bits);
                if claimed != derived {
                    report.add(Violation::FragmentBits { fragment: FragmentId(fragment), claimed, derived });
                }
            }
        }
    }

    /// Number of fragments.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Elements of a fragment.
    pub fn elements(&self, fragment: FragmentId) -> u64 {
        self.elements[fragment.index()]
    }

    /// Whether anything of a tensor is kept.
    pub fn has_fragments(&self, tensor: TensorId) -> bool {
        self.tensors[tensor.index()].count > 0
    }

    /// Fragments of a tensor.
    pub fn fragments_of(&self, tensor: TensorId) -> impl Iterator<Item = FragmentId> + use<> {
        let atoms = &self.tensors[tensor.index()];
        (atoms.first..atoms.first + atoms.count as u32).map(FragmentId)
    }

    /// The fragment of an element.
    pub fn fragment(&self, tensor: TensorId, index: &[u64]) -> FragmentId {
        let atoms = &self.tensors[tensor.index()];
        let offset: u32 = (atoms.axes.iter().zip(index))
            .map(|(axis, index)| axis.atom_of[*index as usize] * axis.stride)
            .sum();
        FragmentId(atoms.first + offset)
    }

    /// Contributions to the fragment number of the atoms that distinct indices along an axis touch,
    /// ascending, with how many indices of each they touch.
    pub fn touched(&self, tensor: TensorId, axis: usize, indices: &[u64]) -> Vec<(u32, u64)> {
        let axis = &self.tensors[tensor.index()].axes[axis];
        let mut atoms: Vec<u32> = indices.iter().map(|index| axis.atom_of[*index as usize]).collect();
        atoms.sort_unstable();
        let runs = atoms.chunk_by(|a, b| a == b);
        runs.map(|run| (run[0] * axis.stride, run.len() as u64)).collect()
    }

    /// Fragments that the product of touched atoms of all axes touches, ascending, with the number of
    /// elements touched.
    pub fn product(&self, tensor: TensorId, axes: &[&[(u32, u64)]]) -> Vec<(FragmentId, u64)> {
        let mut touched = vec![(self.tensors[tensor.index()].first, 1)];
        for axis in axes {
            touched = (touched.iter())
                .flat_map(|(id, count)| axis.iter().map(move |(atom, indices)| (id + atom, count * indices)))
                .collect();
        }
        touched.into_iter().map(|(id, count)| (FragmentId(id), count)).collect()
    }
}

fn axis_atoms(tensor: TensorId, axis: usize, grid: &AxisGrid, extent: u64, report: &mut Report) -> AxisAtoms {
    let mut atom_of = vec![NONE; extent as usize];
    for (atom, set) in grid.atoms.iter().enumerate() {
        for index in set.0.iter().flat_map(|span| span.indices()) {
            match atom_of.get_mut(index as usize) {
                Some(of) if *of == NONE => *of = atom as u32,
                _ => report.add(Violation::AtomOverlap { tensor, axis, index }),
            }
        }
    }
    let mut sizes = vec![0; grid.atoms.len()];
    for (index, atom) in atom_of.iter().enumerate() {
        match sizes.get_mut(*atom as usize) {
            Some(size) => *size += 1,
            None => report.add(Violation::AtomHole { tensor, axis, index: index as u64 }),
        }
    }
    AxisAtoms { atom_of, sizes, stride: grid.stride }
}

fn row_major(axes: &[AxisAtoms]) -> bool {
    let mut stride = 1;
    axes.iter().rev().all(|axis| {
        let right = axis.stride == stride;
        stride *= axis.sizes.len() as u32;
        right
    })
}

#[cfg(test)]
impl Partition {
    /// Every element of every tensor that holds data is a fragment.
    pub fn by_element(workload: &crate::workload::Workload) -> Self {
        let mut partition = Self { tensors: Vec::new(), elements: Vec::new() };
        for tensor in &workload.tensors {
            let first = partition.elements.len() as u32;
            let mut stride = tensor.elements() as u32;
            let axes = tensor.shape.iter().map(|extent| {
                stride /= *extent as u32;
                let atom_of = (0..*extent as u32).collect();
                AxisAtoms { atom_of, sizes: vec![1; *extent as usize], stride }
            });
            let axes = axes.collect();
            let count = match tensor.origin {
                crate::workload::Origin::Layout(_) => 0,
                _ => tensor.elements(),
            };
            partition.elements.resize(partition.elements.len() + count as usize, 1);
            partition.tensors.push(TensorAtoms { first, count, axes });
        }
        partition
    }
}
