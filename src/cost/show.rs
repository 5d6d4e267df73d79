//! A cost as an architect reads it: latency split, energy by memory, loops with memory boundaries.
//!
//! ```text
//! latency        138048 cycles
//!   computation  112896         81.8 %  all 1024 units busy
//!   on-load       25088         18.2 %  first tiles from the top memory to the array
//! loop          O        W         I
//! K 2    sram_2MB  rf_128B  sram_2MB
//! ```
//!
//! Then energy and words by memory and operand, and every port with its stall or slack. Loops stand
//! outermost first, each with the memory in which it runs for every operand. `Display` does without
//! the hierarchy: memories are levels (L0 is nearest the array), energy is a total.

use super::{Cost, Hierarchy, OperandLoops, PortStall, WordAccess};
use crate::accelerator::Direction;
use crate::units::three_digits;
use crate::workload::MemoryOperand;
use std::fmt;

impl Cost {
    /// The cost on the hierarchy it was computed for, for people.
    pub fn show(&self, hierarchy: &Hierarchy) -> String {
        let mut text = self.latency_rows(hierarchy);
        text.push('\n');
        text.push_str(&self.spatial_line());
        text.push_str(&aligned(&self.loop_rows(|operand| {
            (hierarchy.memories.iter())
                .filter(|memory| memory.operands.contains(&operand.memory))
                .map(|memory| memory.name.clone())
                .collect()
        })));
        for table in [self.energy_rows(hierarchy), self.access_rows(hierarchy), self.port_rows(hierarchy)] {
            text.push('\n');
            text.push_str(&aligned(&table));
        }
        text
    }

    /// Ports for which the array waits, by name, with the cycles.
    pub fn stalls<'a>(&'a self, hierarchy: &'a Hierarchy) -> impl Iterator<Item = (String, i64)> + 'a {
        self.ports.iter().filter(|port| port.stall > 0).map(|port| (port.name(hierarchy), port.stall))
    }

    /// Energy of one memory and operand.
    pub fn energy_at(&self, hierarchy: &Hierarchy, memory: usize, operand: MemoryOperand) -> f64 {
        let description = &hierarchy.memories[memory];
        (self.accesses.iter())
            .filter(|access| access.memory == memory && access.operand == operand)
            .map(|access| {
                let cost =
                    if access.direction.is_read() { description.read_cost } else { description.write_cost };
                access.words as f64 * cost.0
            })
            .sum()
    }

    /// The parts of the latency from the array outwards, and what each of them is.
    fn latency_rows(&self, hierarchy: &Hierarchy) -> String {
        let worst = self.ports.iter().max_by_key(|port| port.stall).filter(|port| port.stall > 0);
        let waits = worst.map_or_else(String::new, |port| format!("for {}", port.name(hierarchy)));
        let units = hierarchy.array.size();
        let parts = [
            ("computation", self.ideal.0, format!("all {units} units busy")),
            ("spatial loss", self.temporal.0 - self.ideal.0, "units without work".to_owned()),
            ("stall", self.stall.0, waits),
            ("on-load", self.onload.0, "first tiles from the top memory to the array".to_owned()),
            ("off-load", self.offload.0, "last results from the array to the top memory".to_owned()),
            ("drain", self.drain.0, "of the systolic array".to_owned()),
        ];
        let mut text = format!("latency {} cycles\n", self.latency.0);
        for (name, cycles, what) in parts.iter().filter(|(_, cycles, _)| *cycles != 0.0) {
            let share = format!("{} %", three_digits(100.0 * cycles / self.latency.0));
            text.push_str(&format!("  {name:<12}  {cycles:>12}  {share:>6}  {what}\n"));
        }
        text
    }

    fn access_rows(&self, hierarchy: &Hierarchy) -> Vec<Vec<String>> {
        let heading =
            ["words", "operand", "read down", "written from below", "read up", "written from above"];
        let mut rows = vec![heading.map(str::to_owned).to_vec()];
        for (memory, description) in hierarchy.memories.iter().enumerate() {
            for operand in [MemoryOperand::I1, MemoryOperand::I2, MemoryOperand::O] {
                let words = |direction: Direction| {
                    let here = |access: &&WordAccess| {
                        (access.memory, access.operand, access.direction) == (memory, operand, direction)
                    };
                    self.accesses.iter().find(here).map_or(0, |access| access.words)
                };
                let words = Direction::ALL.map(words);
                if words.iter().any(|words| *words > 0) {
                    let number = |words: u64| if words == 0 { String::new() } else { words.to_string() };
                    let mut row = vec![description.name.clone(), operand.to_string()];
                    row.extend(words.map(number));
                    rows.push(row);
                }
            }
        }
        rows
    }

    fn port_rows(&self, hierarchy: &Hierarchy) -> Vec<Vec<String>> {
        let mut rows = vec![["port", "carries", "bits/cycle", "stall", "slack"].map(str::to_owned).to_vec()];
        for port in &self.ports {
            let description = &hierarchy.memories[port.memory].ports[port.port];
            let moves = |(operand, direction): &&(MemoryOperand, Direction)| {
                let same = |access: &WordAccess| {
                    (access.memory, access.operand, access.direction) == (port.memory, *operand, *direction)
                };
                self.accesses.iter().any(same)
            };
            let carried = description.allocation.iter().filter(moves);
            let carried =
                carried.map(|(operand, direction)| format!("{operand} {}", direction.abbreviation()));
            rows.push(vec![
                port.name(hierarchy),
                carried.collect::<Vec<_>>().join(", "),
                description.bandwidth_max.0.to_string(),
                port.stall.max(0).to_string(),
                (-port.stall).max(0).to_string(),
            ]);
        }
        rows
    }

    fn latency_line(&self) -> String {
        let parts = [
            (self.temporal, "temporal"),
            (self.stall, "stall"),
            (self.onload, "onload"),
            (self.offload, "offload"),
            (self.drain, "drain"),
        ];
        let parts: Vec<String> = parts.iter().map(|(cycles, name)| format!("{} {name}", cycles.0)).collect();
        let used = three_digits(100.0 * self.ideal.0 / self.latency.0);
        format!("latency  {} = {}\nutilisation {used} %\n", self.latency, parts.join(" + "))
    }

    fn energy_rows(&self, hierarchy: &Hierarchy) -> Vec<Vec<String>> {
        let operands = [MemoryOperand::I1, MemoryOperand::I2, MemoryOperand::O];
        let share = |energy: f64| format!("{} %", three_digits(100.0 * energy / self.energy.0));
        let number = |energy: f64| {
            if energy == 0.0 { String::new() } else { format!("{energy:.0}") }
        };
        let mut rows = vec![["energy", "I1", "I2", "O", "pJ", "share"].map(str::to_owned).to_vec()];
        let array = self.operation_energy.0 * self.operations as f64;
        let blank = String::new;
        rows.push(vec!["array".to_owned(), blank(), blank(), blank(), number(array), share(array)]);
        for (memory, description) in hierarchy.memories.iter().enumerate() {
            let by_operand = operands.map(|operand| self.energy_at(hierarchy, memory, operand));
            let total: f64 = by_operand.iter().sum();
            let mut row = vec![description.name.clone()];
            row.extend(by_operand.map(number));
            row.extend([format!("{total:.0}"), share(total)]);
            rows.push(row);
        }
        rows.push(vec![
            "total".to_owned(),
            blank(),
            blank(),
            blank(),
            number(self.energy.0),
            share(self.energy.0),
        ]);
        rows
    }

    fn spatial_line(&self) -> String {
        let dims: Vec<String> = (self.spatial.iter())
            .map(|entry| {
                let factors: Vec<String> =
                    entry.unrolled.iter().map(|(dim, factor)| format!("{dim} {factor}")).collect();
                format!("{}: {}", entry.array_dim, factors.join(", "))
            })
            .collect();
        format!("unrolled {}\n", if dims.is_empty() { "nothing".to_owned() } else { dims.join("   ") })
    }

    /// Per loop, outermost first, the memory in which it runs for each operand. `levels` names the
    /// memories of an operand, lowest first.
    fn loop_rows(&self, levels: impl Fn(&OperandLoops) -> Vec<String>) -> Vec<Vec<String>> {
        let mut header = vec!["loop".to_owned()];
        header.extend(self.temporal_mapping.iter().map(|operand| operand.operand.clone()));
        let mut rows: Vec<Vec<String>> = (self.temporal_mapping.first().into_iter())
            .flat_map(|operand| operand.levels.iter().flatten())
            .map(|(dim, factor)| vec![format!("{dim} {factor}")])
            .collect();
        for operand in &self.temporal_mapping {
            for (row, memory) in rows.iter_mut().zip(homes(operand, levels(operand))) {
                row.push(memory);
            }
        }
        rows.push(header);
        rows.reverse();
        rows
    }
}

impl PortStall {
    /// `memory.port`.
    pub fn name(&self, hierarchy: &Hierarchy) -> String {
        let memory = &hierarchy.memories[self.memory];
        format!("{}.{}", memory.name, memory.ports[self.port].name)
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let array = self.operation_energy.0 * self.operations as f64;
        let levels =
            |operand: &OperandLoops| (0..operand.levels.len()).map(|level| format!("L{level}")).collect();
        f.write_str(&self.latency_line())?;
        writeln!(f, "energy   {:.0} pJ, of which the array {array:.0}", self.energy.0)?;
        f.write_str(&self.spatial_line())?;
        f.write_str(&aligned(&self.loop_rows(levels)))
    }
}

/// The memory of every loop of an operand, innermost first.
fn homes(operand: &OperandLoops, levels: Vec<String>) -> Vec<String> {
    (levels.into_iter().zip(&operand.levels))
        .flat_map(|(memory, loops)| std::iter::repeat_n(memory, loops.len()))
        .collect()
}

/// Rows with aligned columns: the first to the left, the others to the right.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(String::len).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let cell = if column == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") };
            line.push_str(&cell);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
