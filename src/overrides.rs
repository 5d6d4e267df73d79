//! `--costs FILE`: rows of a costs.csv that override the cost model.
//!
//! The file has a header; columns `layer`, `core`, `latency_cycles`, `energy_pj` are needed, `dims`
//! (as in our own costs.csv, `K=16 OY=1 ...`) and `ideal_cycles` may be there, others are ignored.
//! A row applies to the CNs of its layer on its core, and with `dims` only to CNs of that shape.
//! It isolates the scheduler: with all rows given, nothing of the cost model is left.

use crate::cost::Cost;
use crate::diagnostic::Diagnostics;
use crate::document::{Key, Keys, Presence, Shape, read_text};
use crate::units::{FractionalCycles, Picojoules};
use crate::workload::Workload;
use crate::workload::nest::LoopNest;
use std::collections::BTreeMap;
use std::path::Path;

/// The columns of a costs file.
pub(crate) static COLUMNS: Keys = Keys {
    of: "a row of costs",
    known: &[
        Key::required("layer", Shape::Text, "", "conv1", "Name of the layer."),
        Key::required("core", Shape::Whole, "", "0", "Number of the core."),
        Key::required(
            "latency_cycles",
            Shape::Real,
            "cycles",
            "1568",
            "Latency of one CN, stalls and loading included.",
        ),
        Key::required("energy_pj", Shape::Real, "pJ", "20480.5", "Energy of one CN inside its core."),
        Key::optional(
            "dims",
            Shape::Text,
            "",
            "the row applies to all CNs of the layer on the core",
            "K=64 OY=1 OX=56",
            "Shape of the CN, as a result's costs.csv writes it.",
        ),
        Key::optional(
            "ideal_cycles",
            Shape::Real,
            "cycles",
            "`latency_cycles`",
            "1568",
            "Cycles without stalls and loading.",
        ),
    ],
    ..Keys::NONE
};

/// Overriding rows by (layer, core), the exact shape first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CostOverrides {
    rows: BTreeMap<(String, u32, Option<String>), Row>,
    /// The file, for the result's inputs.
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    latency: f64,
    energy: f64,
    ideal: Option<f64>,
}

/// A broken costs file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OverrideError {
    /// The file cannot be opened.
    #[error(transparent)]
    Open(#[from] Diagnostics),
    /// The file is no table.
    #[error("{file}: cannot read the costs: {reason}")]
    Unreadable {
        /// File.
        file: String,
        /// Operating system's reason.
        reason: String,
    },
    /// A needed column is missing.
    #[error(
        "{file}:1: no column `{column}`; a costs file needs layer, core, latency_cycles and energy_pj (found: {found})"
    )]
    NoColumn {
        /// File.
        file: String,
        /// Missing column.
        column: &'static str,
        /// Header.
        found: String,
    },
    /// A cell that is no number, or a negative one.
    #[error("{file}:{line}: column `{column}` holds `{cell}`; expected {expected}")]
    BadCell {
        /// File.
        file: String,
        /// Line.
        line: u64,
        /// Column.
        column: &'static str,
        /// Contents.
        cell: String,
        /// What was expected.
        expected: &'static str,
    },
    /// A row for a layer that does not exist.
    #[error("{file}: a row for layer `{layer}`, which workload {workload} does not have{hint}")]
    UnknownLayer {
        /// File.
        file: String,
        /// Layer.
        layer: String,
        /// Workload.
        workload: String,
        /// `; did you mean ...?`
        hint: String,
    },
    /// Two rows for one key.
    #[error("{file}:{line}: a second row for layer `{layer}` on core {core}; keep one")]
    Duplicate {
        /// File.
        file: String,
        /// Line.
        line: u64,
        /// Layer.
        layer: String,
        /// Core number.
        core: u32,
    },
}

/// `K=16 OY=1 ...`: the shape of a nest as costs.csv writes it.
pub fn shape(nest: &LoopNest) -> String {
    let dims: Vec<String> = nest.dims.iter().map(|(dim, size)| format!("{dim}={size}")).collect();
    dims.join(" ")
}

impl CostOverrides {
    /// Reads a file.
    pub fn load(path: &Path) -> Result<Self, OverrideError> {
        let file = path.display().to_string();
        let text = read_text(path, "a costs file in CSV")?;
        Self::parse(&file, &text)
    }

    /// Parses the text of a file.
    pub fn parse(file: &str, text: &str) -> Result<Self, OverrideError> {
        let unreadable = |error: csv::Error| OverrideError::Unreadable {
            file: file.to_owned(),
            reason: error.to_string(),
        };
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header = reader.headers().map_err(unreadable)?.clone();
        let find = |column: &str| header.iter().position(|name| name.trim() == column);
        let need = |column: &'static str| {
            find(column).ok_or_else(|| OverrideError::NoColumn {
                file: file.to_owned(),
                column,
                found: header.iter().collect::<Vec<_>>().join(", "),
            })
        };
        let needed = COLUMNS.known.iter().filter(|column| column.presence == Presence::Required);
        needed.map(|column| need(column.name)).collect::<Result<Vec<_>, _>>()?;
        let (layer, core) = (need("layer")?, need("core")?);
        let (latency, energy) = (need("latency_cycles")?, need("energy_pj")?);
        let (dims, ideal) = (find("dims"), find("ideal_cycles"));
        let mut rows = BTreeMap::new();
        for record in reader.records() {
            let record = record.map_err(unreadable)?;
            let line = record.position().map_or(0, csv::Position::line);
            let cell = |at: usize| record.get(at).unwrap_or("").trim();
            let bad = |column, at, expected| OverrideError::BadCell {
                file: file.to_owned(),
                line,
                column,
                cell: cell(at).to_owned(),
                expected,
            };
            let amount = |column, at: usize| {
                (cell(at).parse::<f64>().ok())
                    .filter(|value| value.is_finite() && *value >= 0.0)
                    .ok_or_else(|| bad(column, at, "a number that is not negative"))
            };
            let number = cell(core).parse::<u32>();
            let number = number.map_err(|_| bad("core", core, "the number of a core"))?;
            let row = Row {
                latency: amount("latency_cycles", latency)?,
                energy: amount("energy_pj", energy)?,
                ideal: ideal.map(|at| amount("ideal_cycles", at)).transpose()?,
            };
            let shape = dims.map(|at| cell(at).to_owned()).filter(|shape| !shape.is_empty());
            if rows.insert((cell(layer).to_owned(), number, shape), row).is_some() {
                let layer = cell(layer).to_owned();
                return Err(OverrideError::Duplicate { file: file.to_owned(), line, layer, core: number });
            }
        }
        Ok(Self { rows, text: text.to_owned() })
    }

    /// The cost of a nest of a layer on a core, if a row gives it.
    pub fn cost(&self, layer: &str, core: u32, nest: &LoopNest) -> Option<Cost> {
        if self.rows.is_empty() {
            return None;
        }
        let exact = self.rows.get(&(layer.to_owned(), core, Some(shape(nest))));
        let row = exact.or_else(|| self.rows.get(&(layer.to_owned(), core, None)))?;
        let ideal = FractionalCycles(row.ideal.unwrap_or(row.latency));
        Some(Cost {
            latency: FractionalCycles(row.latency),
            ideal,
            temporal: FractionalCycles(row.latency),
            stall: FractionalCycles(0.0),
            onload: FractionalCycles(0.0),
            offload: FractionalCycles(0.0),
            drain: FractionalCycles(0.0),
            operations: 1,
            operation_energy: Picojoules(row.energy),
            accesses: Vec::new(),
            ports: Vec::new(),
            energy: Picojoules(row.energy),
            streamed: Vec::new(),
            spatial: Vec::new(),
            temporal_mapping: Vec::new(),
            evaluated: 0,
            pruned: 0,
        })
    }

    /// Text of the file, if there is one.
    pub fn text(&self) -> Option<&str> {
        (!self.rows.is_empty()).then_some(self.text.as_str())
    }

    /// Refuses rows for layers the workload does not have.
    pub fn check_layers(&self, file: &str, workload: &Workload) -> Result<(), OverrideError> {
        for (layer, _, _) in self.rows.keys() {
            if !workload.layers.iter().any(|known| known.name == *layer) {
                let names = workload.layers.iter().map(|known| known.name.as_str());
                let near = crate::diagnostic::nearest(layer, names);
                return Err(OverrideError::UnknownLayer {
                    file: file.to_owned(),
                    layer: layer.clone(),
                    workload: workload.name.clone(),
                    hint: near.map_or_else(String::new, |near| format!("; did you mean `{near}`?")),
                });
            }
        }
        Ok(())
    }

    /// Least latency and energy any row gives a layer, for bounds.
    pub fn minimum(&self, layer: &str) -> Option<(f64, f64)> {
        let rows = self.rows.iter().filter(|((name, _, _), _)| name == layer).map(|(_, row)| row);
        rows.fold(None, |least, row| {
            let (latency, energy) = least.unwrap_or((f64::INFINITY, f64::INFINITY));
            Some((row.latency.min(latency), row.energy.min(energy)))
        })
    }
}
