//! Arrays that compute in memory: energy of a layer, clock and area (MODEL.md 12).
//!
//! The first array dimension (by name) is the word line (columns, outputs side by side), the second
//! the bit line (rows, accumulated), the others are banks. An activation of a macro multiplies the
//! mapped rows by the mapped columns with `serial` bits of the activations; a layer takes
//! `act/serial * operations / (factors on the first two dimensions)` of them. Per activation, in
//! gates of 28 nm at 0.9 V (E = C*V^2; NAND2 0.7 fF, XOR2 1.5 and flip-flop 3 times that; a full
//! adder is 3 NAND2 and 2 XOR2, with one idle input 2 XOR2):
//!
//! ```text
//! analog   DAC  rows * 0.05*serial pJ*V^2 (none at 1 bit)
//!          ADC  weight*columns * (100*adc + 0.001*4^adc)*V^2/1000 pJ
//!          bit-line addition  0.35 fF per cell of the mapped columns
//!          1-bit multipliers  half a NAND2, weight * all columns * mapped rows
//! digital  1-bit multipliers  serial*weight * all columns * all rows
//!          adder trees over the rows, serial*columns of them; idle inputs half activate their adders
//! both     adders with place values (over weight bits, or serial bits), accumulators
//! ```
//!
//! Loops irrelevant to the weights on the word line (OX, OY) lay a kernel's rows out diagonally: a
//! loop f of the bit line paired with g of the word line covers f + g - 1 rows.
//!
//! Assumption: one weight per cell (the reader refuses more; the reference fails on them).

use super::problem::Problem;
use super::spatial::lookup;
use super::unroll::Mapping;
use super::{CostError, Hierarchy, Model};
use crate::accelerator::{Array, ArrayMapping, Imc, ImcKind};
use crate::workload::MemoryOperand;
use crate::workload::nest::LoopNest;
use serde::{Deserialize, Serialize};

/// Volts, squared.
const SUPPLY: f64 = 0.9 * 0.9;
/// Picofarads of gates.
const NAND: f64 = 0.7e-3;
const XOR: f64 = 1.5 * NAND;
const FLIP_FLOP: f64 = 3.0 * NAND;
/// Bit-line capacitance of a cell.
const CELL: f64 = NAND / 2.0;
/// Delay of a NAND2 in ns, of an XOR2.
const NAND_DELAY: f64 = 0.0478;
const XOR_DELAY: f64 = 2.4 * NAND_DELAY;
/// Area of a NAND2 in mm², of a full adder, of a flip-flop.
const NAND_AREA: f64 = 0.614e-6;
const ADDER_AREA: f64 = (3.0 + 2.0 * 2.4) * NAND_AREA;
const FLIP_FLOP_AREA: f64 = 6.0 * NAND_AREA;

/// Energy of a full adder, and of one of which an input is idle.
const ADDER: f64 = (3.0 * NAND + 2.0 * XOR) * SUPPLY;
const HALF_ADDER: f64 = 2.0 * XOR * SUPPLY;

/// One number per part of a macro.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImcParts {
    /// Digital to analog converters of the rows.
    pub dacs: f64,
    /// Analog to digital converters of the columns.
    pub adcs: f64,
    /// 1-bit multipliers.
    pub multipliers: f64,
    /// Analog addition on the bit lines.
    pub bit_lines: f64,
    /// Adder trees over the rows.
    pub adder_trees: f64,
    /// Adders of bits with place values.
    pub place_values: f64,
    /// Accumulators over serial bits.
    pub accumulators: f64,
}

impl ImcParts {
    /// In the order of the fields.
    pub fn parts(&self) -> [f64; 7] {
        [
            self.dacs,
            self.adcs,
            self.multipliers,
            self.bit_lines,
            self.adder_trees,
            self.place_values,
            self.accumulators,
        ]
    }

    /// All parts together.
    pub fn total(&self) -> f64 {
        self.parts().iter().sum()
    }
}

/// What a macro is made of.
struct Macro {
    imc: Imc,
    columns: f64,
    rows: u64,
    banks: f64,
    act: f64,
    weight: f64,
    serial: f64,
    adc: f64,
}

impl Macro {
    fn new(array: &Array, imc: Imc) -> Self {
        let [word, bit] = word_and_bit_line(array);
        let (columns, rows) = (array.dims[word].1, array.dims[bit].1);
        Self {
            imc,
            columns: columns as f64,
            rows,
            banks: (array.size() / (columns * rows).max(1)) as f64,
            act: imc.activation_bits as f64,
            weight: imc.weight_bits as f64,
            serial: imc.serial_bits as f64,
            adc: imc.adc_bits as f64,
        }
    }

    fn analog(&self) -> bool {
        self.imc.kind == ImcKind::Analog
    }

    /// Depth of the adder tree over the rows.
    fn depth(&self) -> f64 {
        f64::from(self.rows.max(1).ilog2())
    }

    /// Inputs and their bits of an adder with place values.
    fn place_value_inputs(&self) -> (f64, f64) {
        if self.analog() { (self.weight, self.adc) } else { (self.serial, self.weight + self.depth()) }
    }

    /// 1-bit adders of one adder with place values.
    fn place_value_adders(&self) -> f64 {
        let (inputs, bits) = self.place_value_inputs();
        if inputs == 1.0 { 0.0 } else { bits * (inputs - 1.0) + inputs * (inputs.log2() - 0.5) }
    }

    /// 1-bit adders of one tree over the rows.
    fn tree_adders(&self) -> f64 {
        self.rows as f64 * (self.weight + 1.0) - (self.weight + self.depth() + 1.0)
    }

    /// Bits of an accumulator; none where activations come at once.
    fn accumulator_bits(&self) -> f64 {
        if self.serial == self.act {
            return 0.0;
        }
        self.act + self.weight + if self.analog() { self.adc } else { self.depth() }
    }
}

/// Energy in pJ of all operations of a nest with a spatial mapping; zero on other arrays.
///
/// # Errors
/// [`CostError`] where nest, mapping and hierarchy do not go together.
pub fn layer_energy(
    nest: &LoopNest,
    hierarchy: &Hierarchy,
    core: &str,
    spatial: &[ArrayMapping],
) -> Result<ImcParts, CostError> {
    let problem = Problem::new(nest, hierarchy, core, Model::Zigzag)?;
    let mapping = lookup(&problem, core, spatial)?;
    Ok(hierarchy.array.imc.map_or_else(ImcParts::default, |imc| energy(&problem, &mapping, imc)))
}

/// Energy in pJ of all operations of the nest with a spatial mapping.
pub(super) fn energy(problem: &Problem, mapping: &Mapping, imc: Imc) -> ImcParts {
    let array = &problem.hierarchy.array;
    let machine = Macro::new(array, imc);
    let [word, bit] = word_and_bit_line(array);
    let factors = |at: usize| mapping[at].iter().map(|(_, factor)| factor).product::<f64>();
    let columns = factors(word);
    let rows = mapped_rows(problem, mapping, [word, bit]);
    let activations = machine.act / machine.serial
        * (problem.nest.operations() as f64 / (mapping_product(mapping, [word, bit])));
    let (weight, serial) = (machine.weight, machine.serial);
    let mut parts = ImcParts::default();
    let multipliers = if machine.analog() {
        if serial > 1.0 {
            parts.dacs = 0.05 * serial * SUPPLY * rows * activations;
        }
        let adc = (100.0 * machine.adc + 0.001 * 4_f64.powf(machine.adc)) * SUPPLY / 1000.0;
        parts.adcs = if machine.adc == 0.0 { 0.0 } else { adc * weight * columns * activations };
        parts.bit_lines = CELL * SUPPLY * weight * columns * machine.rows as f64 * activations;
        weight * machine.columns * rows
    } else {
        let tree = tree_energy(&machine, rows);
        parts.adder_trees = tree * serial * columns * activations;
        serial * weight * machine.columns * machine.rows as f64
    };
    parts.multipliers = 0.5 * NAND * SUPPLY * multipliers * activations;
    parts.place_values = ADDER * machine.place_value_adders() * columns * activations;
    let accumulator = (ADDER + FLIP_FLOP * SUPPLY) * machine.accumulator_bits();
    parts.accumulators = accumulator * columns * activations;
    parts
}

fn mapping_product(mapping: &Mapping, dims: [usize; 2]) -> f64 {
    dims.iter().flat_map(|at| &mapping[*at]).map(|(_, factor)| factor).product()
}

/// Positions of the first and the second array dimension by name.
fn word_and_bit_line(array: &Array) -> [usize; 2] {
    let mut order: Vec<usize> = (0..array.dims.len()).collect();
    order.sort_by(|a, b| array.dims[*a].0.cmp(&array.dims[*b].0));
    [order[0], order[1]]
}

/// Rows that hold weights of one column or, laid out diagonally, of its neighbours.
fn mapped_rows(problem: &Problem, mapping: &Mapping, [word, bit]: [usize; 2]) -> f64 {
    let weights = problem.operands.iter().find(|operand| operand.memory == MemoryOperand::I2);
    let beside = |dim: usize| -> f64 {
        let partner = (problem.partials.iter()).find_map(|partial| match (partial.a, partial.b) {
            (Some(a), Some(b)) if a == dim => Some(b),
            (Some(a), Some(b)) if b == dim => Some(a),
            _ => None,
        });
        let Some(partner) = partner.filter(|dim| weights.is_some_and(|weights| weights.is_irrelevant(*dim)))
        else {
            return 1.0;
        };
        mapping[word].iter().filter(|(on, _)| *on == partner).map(|(_, factor)| factor).product()
    };
    mapping[bit].iter().map(|(dim, factor)| factor + beside(*dim) - 1.0).product::<f64>().ceil()
}

/// Energy of one adder tree of which `active` inputs are mapped.
///
/// The tree is walked from the root: a half with all inputs active adds fully, one that holds the
/// last active inputs is entered, and a half without any leaves the adder above it half active.
fn tree_energy(machine: &Macro, active: f64) -> f64 {
    let (mut left, mut half, bits) = (active, machine.rows as f64, machine.weight);
    if left >= half {
        return machine.tree_adders() * ADDER;
    }
    let (mut full, mut idle) = (0.0, 0.0);
    while left > 0.0 {
        half /= 2.0;
        let depth = half.log2().floor();
        let whole = half * (bits + 1.0) - (bits + depth + 1.0);
        if left <= 1.0 && half <= 1.0 {
            idle += bits;
            left = 0.0;
        } else if left > half {
            full += whole + bits + depth;
            left -= half;
        } else {
            idle += bits + depth;
            if left == half {
                full += whole;
                left = 0.0;
            }
        }
    }
    full * ADDER + idle * HALF_ADDER
}

/// Clock period in ns, part by part along the worst path.
pub fn clock(array: &Array, imc: Imc) -> ImcParts {
    let machine = Macro::new(array, imc);
    let (to_sum, to_carry, carry) = (2.0 * XOR_DELAY, XOR_DELAY + 2.0 * NAND_DELAY, 2.0 * NAND_DELAY);
    let (inputs, bits) = machine.place_value_inputs();
    let mut parts = ImcParts { multipliers: NAND_DELAY, ..ImcParts::default() };
    if machine.analog() {
        parts.adcs = machine.adc * (0.00653 * machine.rows as f64 + 0.640);
    } else {
        let depth = machine.depth();
        parts.adder_trees = (depth - 1.0) * to_sum + to_carry + (machine.weight + depth - 2.0) * carry;
    }
    let mut summed = bits;
    if inputs > 1.0 {
        parts.place_values = (inputs.log2() - 1.0) * to_sum + to_carry + (inputs - 1.0) * carry;
        summed += inputs;
    }
    if machine.serial != machine.act {
        parts.accumulators = to_carry + (machine.accumulator_bits() - summed - 1.0) * carry;
    }
    parts
}

/// Area in mm² of the logic around the cells.
pub fn area(array: &Array, imc: Imc) -> ImcParts {
    let machine = Macro::new(array, imc);
    let columns = machine.columns * machine.banks;
    let cells = machine.weight * columns * machine.rows as f64;
    let mut parts = ImcParts::default();
    if machine.analog() {
        let adc = 10_f64.powf(1.206 - 0.0369 * machine.adc) * machine.adc.exp2() * 1e-6;
        parts.adcs = if machine.adc <= 1.0 { 0.0 } else { adc * machine.weight * columns };
        parts.multipliers = NAND_AREA * cells;
    } else {
        parts.multipliers = NAND_AREA * machine.serial * cells;
        parts.adder_trees = ADDER_AREA * machine.tree_adders() * machine.serial * columns;
    }
    parts.place_values = ADDER_AREA * machine.place_value_adders() * columns;
    parts.accumulators = (ADDER_AREA + FLIP_FLOP_AREA) * machine.accumulator_bits() * columns;
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digital(rows: u64) -> Macro {
        let imc =
            Imc { kind: ImcKind::Digital, activation_bits: 8, weight_bits: 8, serial_bits: 1, adc_bits: 0 };
        let array = Array {
            dims: vec![("D1".to_owned(), 4), ("D2".to_owned(), rows)],
            unit_energy: crate::units::Picojoules(0.0),
            unit_area: 0.0,
            systolic: Vec::new(),
            imc: Some(imc),
        };
        Macro::new(&array, imc)
    }

    #[test]
    fn idle_rows_half_activate_their_adders() {
        // A tree of four 8-bit inputs: two adders of 8 bits and one of 9 bits: 25.
        assert_eq!(digital(4).tree_adders(), 25.0);
        assert_eq!(tree_energy(&digital(4), 4.0), 25.0 * ADDER);
        // Two inputs: one full 8-bit adder, the 9-bit one above idles on one side.
        assert_eq!(tree_energy(&digital(4), 2.0), 8.0 * ADDER + 9.0 * HALF_ADDER);
        // One input passes both.
        assert_eq!(tree_energy(&digital(4), 1.0), 17.0 * HALF_ADDER);
    }
}
