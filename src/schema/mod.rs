//! JSON Schema and reference text of the input formats, from the key tables that the readers use.
//!
//! `millstream schema KIND` prints [`json_schema`]; `docs/formats.md` is [`reference`], which a test
//! compares. Nothing is listed a second time here: names, shapes, units, defaults and examples come
//! from [`crate::document::Keys`]. What a schema cannot say (references between parts of a file)
//! stays with the readers.

#[cfg(test)]
mod tests;

use crate::accelerator::keys as accelerator;
use crate::document::{Key, Keys, Presence, Shape};
use crate::{mapping, overrides, workload};
use serde_json::{Map, Value, json};
use std::fmt::Write;

const ENTRIES: Shape = Shape::List(&Shape::Object(&mapping::keys::ENTRY));
const MAPPING: Shape = Shape::Any(&[ENTRIES, Shape::Object(&mapping::keys::FILE)]);
const LAYERS: Shape = Shape::List(&Shape::Object(&workload::yaml::keys::LAYER));
const ROWS: Shape = Shape::List(&Shape::Object(&overrides::COLUMNS));

/// A format of input files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// Accelerator files (`-a`).
    Accelerator,
    /// Core files, which accelerators name.
    Core,
    /// Mapping files (`-m`).
    Mapping,
    /// Workload files in YAML (`-w`).
    Workload,
    /// Costs files in CSV (`--costs`).
    Costs,
}

impl Kind {
    /// All formats.
    pub const ALL: [Self; 5] = [Self::Accelerator, Self::Core, Self::Mapping, Self::Workload, Self::Costs];

    fn title(self) -> &'static str {
        match self {
            Self::Accelerator => "Accelerator files (`-a`, YAML)",
            Self::Core => "Core files (YAML)",
            Self::Mapping => "Mapping files (`-m`, YAML)",
            Self::Workload => "Workload files (`-w`, YAML)",
            Self::Costs => "Costs files (`--costs`, CSV)",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Accelerator => {
                "Cores and how they are connected, in the vocabulary of Stream. `-a` also takes a lone core file. \
                 `hardware/tpu_like_quad_core.yaml` is a complete example."
            }
            Self::Core => {
                "Memories and array of one kind of core, in the vocabulary of ZigZag. \
                 `hardware/cores/tpu_like.yaml` is a complete example."
            }
            Self::Mapping => {
                "What is fixed of cores, tilings and spatial mapping; the rest is chosen. The file is a list of \
                 entries, or a map with the keys below. The `mapping.yaml` of a result is a complete example."
            }
            Self::Workload => "A list of layers in ZigZag's format. Networks in ONNX need no such file.",
            Self::Costs => {
                "Costs that override the cost model, one row per layer, core and shape; other columns are ignored. \
                 The `costs.csv` of a result is a complete example."
            }
        }
    }

    /// The value that a file of this format is.
    fn root(self) -> Shape {
        match self {
            Self::Accelerator => Shape::Object(&accelerator::ACCELERATOR),
            Self::Core => Shape::Object(&accelerator::CORE),
            Self::Mapping => MAPPING,
            Self::Workload => LAYERS,
            Self::Costs => ROWS,
        }
    }

    /// The maps in a file of this format, outer ones first.
    fn tables(self) -> Vec<&'static Keys> {
        let mut tables = Vec::new();
        if self == Self::Mapping {
            Shape::Object(&mapping::keys::FILE).tables(&mut tables);
        }
        self.root().tables(&mut tables);
        tables
    }
}

/// The JSON Schema (2020-12) of a format. Of a CSV file it describes the rows as a list of maps.
pub fn json_schema(kind: Kind) -> Value {
    let mut schema = schema(kind.root());
    let fields = schema.as_object_mut().expect("every shape is a map of keywords");
    fields.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    fields.insert("title".to_owned(), json!(kind.title().replace('`', "")));
    schema
}

fn schema(shape: Shape) -> Value {
    match shape {
        Shape::Text => json!({"type": ["string", "number"]}),
        Shape::Pattern(pattern) => json!({"type": "string", "pattern": pattern}),
        Shape::Choice(words) => json!({"enum": words}),
        Shape::Whole => json!({"type": "integer", "minimum": 0}),
        Shape::Positive => json!({"type": "integer", "minimum": 1}),
        Shape::Integer => json!({"type": "integer"}),
        Shape::Real => json!({"type": "number", "minimum": 0}),
        Shape::Truth => json!({"enum": [true, false, "true", "false", "True", "False"]}),
        Shape::List(item) => json!({"type": "array", "items": schema(*item)}),
        Shape::Map(item) => json!({"type": "object", "additionalProperties": schema(*item)}),
        Shape::Object(keys) => object(keys),
        Shape::Any(shapes) => json!({"anyOf": shapes.iter().map(|shape| schema(*shape)).collect::<Vec<_>>()}),
        Shape::Unread => json!({}),
    }
}

fn object(keys: &Keys) -> Value {
    let mut properties = Map::new();
    for key in keys.known {
        let mut property = schema(key.shape);
        let fields = property.as_object_mut().expect("every shape is a map of keywords");
        fields.insert("description".to_owned(), json!(description(key)));
        properties.insert(key.name.to_owned(), property);
    }
    for name in keys.unmodelled {
        properties.insert((*name).to_owned(), json!({"description": "Noted and not modelled."}));
    }
    let required: Vec<&str> =
        keys.known.iter().filter(|key| key.presence == Presence::Required).map(|key| key.name).collect();
    let mut object = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    object
}

fn description(key: &Key) -> String {
    let unit = if key.unit.is_empty() { String::new() } else { format!(" Unit: {}.", key.unit) };
    let default = match key.presence {
        Presence::Required => " Required.".to_owned(),
        Presence::Default(default) => format!(" Default: {default}."),
    };
    format!("{}{unit}{default}", key.about)
}

/// The reference of all formats: `docs/formats.md`.
pub fn reference() -> String {
    let mut text = "\
# Input formats

Every key of every input file with its unit, default and an example. The text is generated from the tables that
the readers use, and a test compares it (`UPDATE_EXPECT=1 cargo test --lib schema` writes it anew).
`millstream schema KIND` prints the same as JSON Schema, for editors and validators.

Keys that stand in none of these tables are errors, with the nearest valid key as a hint. Paths in a file are
relative to that file. Text may be written with or without quotes.
"
    .to_owned();
    for kind in Kind::ALL {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n## {}\n\n{}\n", kind.title(), kind.about());
        for keys in kind.tables() {
            table(&mut text, keys);
        }
    }
    text
}

fn table(text: &mut String, keys: &Keys) {
    let of = keys
        .of
        .split_once(' ')
        .map_or(keys.of, |(_, rest)| if keys.of.starts_with("the ") { keys.of } else { rest });
    let title = of[..1].to_uppercase() + &of[1..];
    let _ = write!(
        text,
        "\n### {title}\n\n| key | value | unit | default | example | meaning |\n|---|---|---|---|---|---|\n"
    );
    for key in keys.known {
        let default = match key.presence {
            Presence::Required => "required",
            Presence::Default(default) => default,
        };
        let (value, unit, example) = (value(key.shape), key.unit, key.example);
        let _ =
            writeln!(text, "| `{}` | {value} | {unit} | {default} | `{example}` | {} |", key.name, key.about);
    }
    if !keys.unmodelled.is_empty() {
        let names: Vec<String> = keys.unmodelled.iter().map(|name| format!("`{name}`")).collect();
        let _ = write!(text, "\nNoted and not modelled: {}.\n", names.join(", "));
    }
}

/// What a key takes, in words.
fn value(shape: Shape) -> String {
    match shape {
        Shape::Text | Shape::Pattern(_) => "text".to_owned(),
        Shape::Choice(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
        Shape::Whole => "whole number".to_owned(),
        Shape::Positive => "whole number from 1".to_owned(),
        Shape::Integer => "whole number of either sign".to_owned(),
        Shape::Real => "number from 0".to_owned(),
        Shape::Truth => "`true` or `false`".to_owned(),
        Shape::List(item) => format!("list of {}", value(*item)),
        Shape::Map(item) => format!("map to {}", value(*item)),
        Shape::Object(keys) => keys.of.to_owned(),
        Shape::Any(shapes) => shapes.iter().map(|shape| value(*shape)).collect::<Vec<_>>().join(" or "),
        Shape::Unread => "anything".to_owned(),
    }
}
