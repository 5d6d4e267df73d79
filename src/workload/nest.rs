//! The loop nest of one CN (or of a whole layer) as the intra-core cost model sees it.
//!
//! This is ZigZag's notion of a layer (MODEL.md section 1): named dimensions, operands indexed by
//! dimensions or by *derived* dimensions `p = s*a + d*b`, precisions, constness. It holds no ids and
//! no names of layers, so that CNs of equal shape have equal nests and are costed once.

use super::{Axis, Dim, Layer, MemoryOperand};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A loop nest to be costed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LoopNest {
    /// Operator, by which mappings select a spatial mapping.
    pub operator: String,
    /// Loop dimensions with sizes, in the layer's order (it decides ties as in the reference).
    pub dims: Vec<(Dim, u64)>,
    /// Derived dimensions.
    pub relations: Vec<Relation>,
    /// Operands: the output first, then inputs in the order of the equation.
    pub operands: Vec<NestOperand>,
}

/// A derived dimension `derived = terms[0].1*terms[0].0 + terms[1].1*terms[1].0`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Relation {
    /// The derived dimension (`IX`).
    pub derived: Dim,
    /// Two loop dimensions with coefficients (`OX`, stride), (`FX`, dilation).
    pub terms: [(Dim, u64); 2],
    /// Real extent of the derived dimension: data sizes are clipped to it, because padding is no data.
    pub extent: u64,
}

/// An operand of a loop nest.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NestOperand {
    /// Name in the equation (`O`, `W`, `I`).
    pub name: String,
    /// Linked memory operand.
    pub memory: MemoryOperand,
    /// Index list: loop dimensions or derived dimensions, in the order of the equation.
    pub indices: Vec<Dim>,
    /// Bits per element, final for the output. May be 0: no data (the window of a pooling layer).
    pub bits: u64,
    /// Bits per partial sum (output), else equal to `bits`.
    pub partial_bits: u64,
    /// Contents known before the run.
    pub constant: bool,
}

impl LoopNest {
    /// Product of the loop sizes: multiply-accumulates.
    pub fn operations(&self) -> u64 {
        self.dims.iter().map(|(_, size)| size).product()
    }

    /// The output operand.
    pub fn output(&self) -> &NestOperand {
        &self.operands[0]
    }

    /// Size of a loop dimension; 1 for one the nest does not have.
    pub fn size(&self, dim: &Dim) -> u64 {
        (self.dims.iter()).find(|(name, _)| name == dim).map_or(1, |(_, size)| *size)
    }
}

impl Layer {
    /// The loop nest of the box of loop ranges `ranges` (one range per dimension of the layer).
    /// `shapes[i]` is the shape of the tensor of operand `i`, to which input extents are clipped.
    pub fn nest(&self, ranges: &[Range<u64>], shapes: &[&[u64]]) -> LoopNest {
        let dims = (self.dims.iter().zip(ranges))
            .map(|(dim, range)| (dim.dim.clone(), range.end - range.start))
            .collect();
        let mut relations = Vec::new();
        let mut operands = Vec::new();
        for (operand, shape) in self.operands.iter().zip(shapes) {
            let mut indices = Vec::new();
            for (position, axis) in operand.axes.iter().enumerate() {
                if !axis.sliding {
                    indices.extend(axis.terms.iter().map(|term| self.dims[term.dim].dim.clone()));
                    continue;
                }
                let relation = self.relation(axis, ranges, shape.get(position).copied());
                indices.push(relation.derived.clone());
                if !relations.contains(&relation) {
                    relations.push(relation);
                }
            }
            operands.push(NestOperand {
                name: operand.name.clone(),
                memory: operand.memory,
                indices,
                bits: operand.bits,
                partial_bits: operand.partial_bits,
                constant: operand.constant,
            });
        }
        // By name, as in the reference, whose ties follow this order.
        relations.sort_by(|a, b| a.derived.cmp(&b.derived));
        LoopNest { operator: self.operator.clone(), dims, relations, operands }
    }

    /// The loop nest of the whole layer.
    pub fn whole_nest(&self, shapes: &[&[u64]]) -> LoopNest {
        let ranges: Vec<_> = self.dims.iter().map(|dim| 0..dim.size).collect();
        self.nest(&ranges, shapes)
    }

    fn relation(&self, axis: &Axis, ranges: &[Range<u64>], extent: Option<u64>) -> Relation {
        let terms = [axis.terms[0], axis.terms[1]];
        let named = terms.map(|term| (self.dims[term.dim].dim.clone(), term.coefficient));
        let real = axis.interval(ranges, extent.unwrap_or(u64::MAX));
        let whole = terms.iter().all(|term| {
            let range = &ranges[term.dim];
            range.end - range.start == self.dims[term.dim].size
        });
        // ZigZag clips a whole layer to the width of its tensor even where the last columns are
        // never read (stride 3 on 9 columns); a tile is clipped to what it reads.
        let extent = match extent {
            Some(extent) if whole => extent,
            _ => real.end - real.start,
        };
        Relation { derived: Dim(derived_name(&named[0].0)), terms: named, extent }
    }
}

/// `OX` gives `IX`; any other name gets an `I` in front.
fn derived_name(dim: &Dim) -> String {
    match dim.0.strip_prefix('O') {
        Some(rest) if !rest.is_empty() => format!("I{rest}"),
        _ => format!("I{dim}"),
    }
}

impl Axis {
    /// The interval of indices touched by a box of loop ranges, clipped to `[0, extent)`: padding
    /// is no data. Empty (start = end) when the box lies in the padding.
    pub fn interval(&self, ranges: &[Range<u64>], extent: u64) -> Range<u64> {
        let mut low = self.offset;
        let mut high = self.offset;
        for term in &self.terms {
            let range = &ranges[term.dim];
            low += (term.coefficient * range.start) as i64;
            high += (term.coefficient * (range.end - 1)) as i64;
        }
        let start = low.max(0) as u64;
        let end = ((high + 1).max(0) as u64).min(extent);
        start.min(end)..end
    }
}
