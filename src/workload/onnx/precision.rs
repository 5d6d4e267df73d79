//! Element types -> bits.
//!
//! Under [`Precision::Auto`] integer, bf16, fp16 and fp8 element types are honoured; float32 (and
//! float64) counts as not yet quantised and becomes 8-bit activations and weights with 16-bit partial
//! sums, as in ZigZag and Stream 2024. A partial sum has twice the bits of an activation of up to 16
//! bits, else as many, at least 32 (DESIGN.md 4.1).

use crate::workload::{Operand, Origin, Workload};

/// Bits of activations, weights and partial sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// The file's element types, but float32 as 8-bit with 16-bit partial sums.
    #[default]
    Auto,
    /// The file's element types.
    File,
    /// The same bits everywhere.
    Fixed {
        /// Bits of an activation.
        act: u64,
        /// Bits of a weight.
        weight: u64,
        /// Bits of a partial sum.
        partial: u64,
    },
}

/// An element type by its number in `TensorProto.DataType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Element(pub i32);

impl Element {
    /// 64-bit integers: shapes and indices.
    pub const INT64: Self = Self(7);
    /// 8-bit unsigned integers.
    pub const UINT8: Self = Self(2);
    /// float32.
    pub const FLOAT: Self = Self(1);

    /// Bits of one element; `None` for strings and unknown types.
    pub fn bits(self) -> Option<u64> {
        Some(match self.0 {
            25 | 26 => 2,                  // uint2, int2
            21..=23 => 4,                  // uint4, int4, float4e2m1
            27 | 28 => 6,                  // float6e2m3, float6e3m2
            2 | 3 | 9 | 17..=20 | 24 => 8, // uint8, int8, bool, float8*
            4 | 5 | 10 | 16 => 16,         // uint16, int16, float16, bfloat16
            1 | 6 | 12 => 32,              // float, int32, uint32
            7 | 11 | 13 | 14 => 64,        // int64, double, uint64, complex64
            15 => 128,                     // complex128
            _ => return None,
        })
    }

    /// float32 and float64: what networks are trained in.
    fn is_unquantised(self) -> bool {
        matches!(self.0, 1 | 11)
    }
}

/// Gives tensors and operands their bits. `elements` is parallel to the tensors.
pub(super) fn assign(workload: &mut Workload, elements: &[Element], precision: Precision) {
    let mut partial = Vec::with_capacity(elements.len());
    let mut assumed = false;
    for (tensor, element) in workload.tensors.iter_mut().zip(elements) {
        let file = element.bits().expect("types without bits are refused when a tensor is added");
        let (bits, sums) = match precision {
            Precision::Fixed { act, weight, partial } => {
                (if tensor.origin == Origin::Constant { weight } else { act }, partial)
            }
            Precision::Auto if element.is_unquantised() => {
                assumed = true;
                (8, 16)
            }
            Precision::Auto | Precision::File => (file, partial_bits(file)),
        };
        tensor.element_bits = bits;
        partial.push(sums);
    }
    for layer in &mut workload.layers {
        for (position, operand) in layer.operands.iter_mut().enumerate() {
            let Some(id) = operand.tensor else { continue };
            let bits = workload.tensors[id.index()].element_bits;
            let sums = if position == 0 { partial[id.index()] } else { bits };
            *operand = Operand { bits, partial_bits: sums, ..operand.clone() };
        }
    }
    if assumed {
        workload.notes.push(
            "float32 counts as not yet quantised: 8-bit activations and weights, 16-bit partial sums \
             (`--precision file` keeps 32 bits)"
                .to_owned(),
        );
    }
}

fn partial_bits(bits: u64) -> u64 {
    if bits <= 16 { 2 * bits } else { bits.max(32) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_sums_are_twice_as_wide_up_to_32_bits() {
        assert_eq!([4, 8, 16, 32, 64].map(partial_bits), [8, 16, 32, 32, 64]);
    }

    #[test]
    fn strings_have_no_bits() {
        assert_eq!(Element(8).bits(), None);
        assert_eq!(Element(16).bits(), Some(16));
        assert_eq!(Element(22).bits(), Some(4));
    }
}
