//! A workload as text: one line per layer, totals, notes.

use super::{Layer, Operand, Origin, Workload};
use crate::ids::TensorId;
use crate::table::{left, right};
use std::fmt;

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "workload {}", self.name)?;
        let rows: Vec<[String; 7]> = self.layer_ids().map(|id| self.row(id.index())).collect();
        let header = ["", "operator", "name", "dims", "inputs", "MACs", "weights"].map(str::to_owned);
        let width = |column: usize| {
            let cells = rows.iter().chain([&header]).map(|row| row[column].chars().count());
            cells.max().unwrap_or(0)
        };
        let widths: [usize; 7] = std::array::from_fn(width);
        for row in [&header].into_iter().chain(&rows) {
            write_row(f, row, &widths)?;
        }
        for layout in &self.layouts {
            let inputs: Vec<String> = layout.inputs.iter().map(|id| self.source(*id)).collect();
            let shape = shape(&self.tensor(layout.output).shape);
            writeln!(f, "layout {} {}: {} -> {shape}", layout.operator, layout.name, inputs.join(", "))?;
        }
        let outputs: Vec<String> = self.outputs.iter().map(|id| self.source(*id)).collect();
        writeln!(f, "outputs: {}", outputs.join(", "))?;
        writeln!(
            f,
            "{} layers, {} MACs, {} parameters",
            self.layers.len(),
            grouped(self.operations()),
            grouped(self.parameters())
        )?;
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        Ok(())
    }
}

/// Folded nodes of a layer that are listed.
const FOLDED: usize = 8;

impl Workload {
    fn row(&self, index: usize) -> [String; 7] {
        let layer = &self.layers[index];
        let dims: Vec<String> = layer.dims.iter().map(|dim| format!("{}={}", dim.dim, dim.size)).collect();
        let inputs: Vec<String> = layer.inputs().iter().filter_map(|operand| self.input(operand)).collect();
        let name = match layer.folded.as_slice() {
            [] => layer.name.clone(),
            folded if folded.len() <= FOLDED => format!("{} + {}", layer.name, folded.join(" + ")),
            folded => {
                let (shown, rest) = folded.split_at(FOLDED);
                format!("{} + {} + {} more", layer.name, shown.join(" + "), rest.len())
            }
        };
        let weights = self.weights(layer);
        [
            format!("{index}"),
            layer.operator.clone(),
            name,
            dims.join(" "),
            inputs.join(" "),
            grouped(layer.operations()),
            if weights == 0 { String::new() } else { grouped(weights) },
        ]
    }

    /// Elements of the constant operands.
    fn weights(&self, layer: &Layer) -> u64 {
        let constants = layer.inputs().iter().filter(|operand| operand.constant);
        constants.filter_map(|operand| operand.tensor).map(|id| self.tensor(id).elements()).sum()
    }

    /// An activation operand and its source, `I=layer3`.
    fn input(&self, operand: &Operand) -> Option<String> {
        let tensor = operand.tensor.filter(|_| !operand.constant)?;
        Some(format!("{}={}", operand.name, self.source(tensor)))
    }

    /// The layer, input or layout operator that makes a tensor.
    fn source(&self, id: TensorId) -> String {
        let tensor = self.tensor(id);
        match tensor.origin {
            Origin::Input | Origin::Constant => tensor.name.clone(),
            Origin::Layer(layer) => layer.to_string(),
            Origin::Layout(layout) => self.layouts[layout as usize].name.clone(),
        }
    }
}

fn write_row(f: &mut fmt::Formatter<'_>, row: &[String; 7], widths: &[usize; 7]) -> fmt::Result {
    let mut line = String::new();
    for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
        // Numbers are aligned at their last digit.
        let padded = match column {
            0 | 5 | 6 => right(cell, *width),
            _ => left(cell, *width),
        };
        line.push_str(&padded);
        line.push_str("  ");
    }
    writeln!(f, "{}", line.trim_end())
}

fn shape(extents: &[u64]) -> String {
    extents.iter().map(u64::to_string).collect::<Vec<_>>().join("x")
}

/// A number in groups of three digits: `1 814 073 344`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_in_groups_of_three() {
        assert_eq!([0, 999, 1000, 1_814_073_344].map(grouped), ["0", "999", "1 000", "1 814 073 344"]);
    }
}
