//! Schema, reference text and readers say the same.
//!
//! Full examples hold every key of a format, one to a line. The schema accepts them and the shipped
//! files, as the readers do; and whatever value of a key the schema refuses, the reader refuses too.

mod validate;

use super::*;
use crate::accelerator::yaml::{self as hardware, File};
use crate::diagnostic::Diagnostic;
use crate::document::{Node, Reading, Value as Yaml};
use crate::library;
use crate::overrides::CostOverrides;
use expect_test::expect_file;
use validate::refusal;

const ACCELERATOR: &str = include_str!("accelerator.yaml");
const OLD_ACCELERATOR: &str = include_str!("old_accelerator.yaml");
const CORE: &str = include_str!("core.yaml");
const OLD_CORE: &str = include_str!("old_core.yaml");
const GRAPH_ACCELERATOR: &str = include_str!("graph_accelerator.yaml");
const MULTIPLIERS_CORE: &str = include_str!("multipliers_core.yaml");
const IMC_CORE: &str = include_str!("imc_core.yaml");
const MAPPING: &str = include_str!("mapping.yaml");
const WORKLOAD: &str = include_str!("workload.yaml");

/// Full examples of the YAML formats.
const EXAMPLES: [(Kind, &str); 9] = [
    (Kind::Accelerator, ACCELERATOR),
    (Kind::Accelerator, OLD_ACCELERATOR),
    (Kind::Core, CORE),
    (Kind::Core, OLD_CORE),
    (Kind::Accelerator, GRAPH_ACCELERATOR),
    (Kind::Core, MULTIPLIERS_CORE),
    (Kind::Core, IMC_CORE),
    (Kind::Mapping, MAPPING),
    (Kind::Workload, WORKLOAD),
];

fn core_file(name: &str) -> Result<File, Diagnostic> {
    let text = library::core(name.trim_end_matches(".yaml"));
    let text = text.ok_or_else(|| Diagnostic::new(format!("no core `{name}`")))?;
    Ok(File { name: name.to_owned(), text: text.to_owned() })
}

/// What the reader of a format says of a text.
fn read(kind: Kind, text: &str) -> Result<(), String> {
    let refused = |errors: crate::diagnostic::Diagnostics| errors.to_string();
    match kind {
        Kind::Accelerator | Kind::Core => {
            hardware::parse("a.yaml", text, &core_file).map(drop).map_err(refused)
        }
        Kind::Mapping => mapping::yaml::parse("m.yaml", text, None).map(drop).map_err(refused),
        Kind::Workload => workload::yaml::parse("w.yaml", text).map(drop).map_err(refused),
        Kind::Costs => CostOverrides::parse("c.csv", text).map(drop).map_err(|error| error.to_string()),
    }
}

fn json_of(node: &Node) -> Value {
    match &node.value {
        Yaml::Null => Value::Null,
        Yaml::Bool(value) => json!(value),
        Yaml::Integer(value) => json!(i64::try_from(*value).unwrap()),
        Yaml::Real(value) => json!(value),
        Yaml::Text(text) => json!(text),
        Yaml::List(items) => items.iter().map(json_of).collect(),
        Yaml::Map(entries) => {
            Value::Object(entries.iter().map(|(key, value)| (key.key_name(), json_of(value))).collect())
        }
    }
}

/// Why the schema of a format refuses a text.
fn refused(kind: Kind, text: &str) -> Option<String> {
    let (_, root) = Reading::open("text", text).unwrap();
    refusal(&json_schema(kind), &json_of(&root))
}

/// The text with another value behind the first line `key: ...` at or after `line`; none removes
/// the key. Lines that belong to the old value go with it.
fn with_value(text: &str, line: usize, value: Option<&str>) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start_matches(['-', ' ']).len();
    let key = lines[line].split_once(':').unwrap().0;
    let mut kept: Vec<String> = lines[..line].iter().map(|line| (*line).to_owned()).collect();
    let first = lines[line].trim_start().starts_with('-');
    match value {
        Some(value) => kept.push(format!("{key}: {value}")),
        // The first key of an item carries the dash; without it another key, which is null, must.
        None if first => kept.push(format!("{}~:", &lines[line][..indent(lines[line])])),
        None => {}
    }
    let rest = lines[line + 1..].iter().skip_while(|next| indent(next) > indent(lines[line]));
    kept.extend(rest.map(|line| (*line).to_owned()));
    kept.join("\n") + "\n"
}

/// Lines of a full example that hold a key of the table, found by the table's own marker comment.
fn lines_of(text: &str, keys: &Keys) -> Vec<(usize, &'static Key)> {
    let mut inside = false;
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if let Some(of) = line.trim_start().strip_prefix("# ") {
            inside = of == keys.of;
        } else if inside && let Some((name, _)) = line.trim_start_matches([' ', '-']).split_once(':') {
            found.extend(keys.known.iter().find(|key| key.name == name).map(|key| (number, key)));
        }
    }
    found
}

#[test]
fn full_examples_hold_every_key_and_are_accepted() {
    for (kind, text) in EXAMPLES {
        assert_eq!(read(kind, text), Ok(()), "{kind:?}");
        assert_eq!(refused(kind, text), None, "{kind:?}");
    }
    for kind in [Kind::Accelerator, Kind::Core, Kind::Mapping, Kind::Workload] {
        for keys in kind.tables() {
            let examples = EXAMPLES.iter().filter(|(of, _)| *of == kind);
            let held: Vec<&str> =
                examples.flat_map(|(_, text)| lines_of(text, keys)).map(|(_, key)| key.name).collect();
            let missing: Vec<_> = keys.names().filter(|name| !held.contains(name)).collect();
            assert_eq!(missing, [""; 0], "{} in the examples of {kind:?}", keys.of);
        }
    }
}

/// Values of every kind. At least one of them is wrong for every key.
const VALUES: [&str; 9] = ["-1", "0", "1.5", "2 KiB", "7", "{a: 1}", "[1, 2]", "[[{}]]", "[-1]"];

#[test]
fn what_the_schema_refuses_the_reader_refuses() {
    let mut checked = 0;
    for (kind, text) in EXAMPLES {
        for keys in kind.tables() {
            for (line, key) in lines_of(text, keys) {
                let edited = VALUES.map(|value| with_value(text, line, Some(value)));
                let wrong: Vec<_> = edited.iter().filter(|text| refused(kind, text).is_some()).collect();
                assert!(!wrong.is_empty(), "`{}` of {} takes anything", key.name, keys.of);
                for text in wrong {
                    checked += 1;
                    assert!(read(kind, text).is_err(), "the reader takes\n{text}\n{:?}", refused(kind, text));
                }
            }
        }
    }
    assert!(checked > 400, "{checked}");
}

#[test]
fn required_keys_are_those_that_the_reader_misses() {
    for (kind, text) in EXAMPLES {
        for keys in kind.tables() {
            for (line, key) in lines_of(text, keys) {
                let without = with_value(text, line, None);
                let missed = read(kind, &without)
                    .err()
                    .is_some_and(|error| error.contains(&format!("has no `{}`", key.name)));
                if key.presence == Presence::Required {
                    assert!(missed, "{} without `{}`: {:?}", keys.of, key.name, read(kind, &without));
                    assert!(refused(kind, &without).is_some(), "{} without `{}`", keys.of, key.name);
                } else if !key.about.contains("2024")
                    && !key.name.starts_with("unit_")
                    && !matches!(key.presence, Presence::Default(text) if text.starts_with("required with"))
                {
                    assert!(!missed, "{} without `{}`: {:?}", keys.of, key.name, read(kind, &without));
                }
            }
        }
    }
}

#[test]
fn shipped_files_are_of_their_schema() {
    let accelerators = library::accelerators().map(|name| (library::accelerator(name).unwrap(), name));
    for (text, name) in accelerators {
        let kind = if text.contains("\ncores:") { Kind::Accelerator } else { Kind::Core };
        assert_eq!(refused(kind, text), None, "{name}");
    }
    for name in library::cores() {
        assert_eq!(refused(Kind::Core, library::core(name).unwrap()), None, "{name}");
    }
}

#[test]
fn examples_of_keys_are_of_their_shape() {
    for kind in Kind::ALL {
        for keys in kind.tables() {
            for key in keys.known {
                let text = format!("{}: {}\n", key.name, key.example);
                let (_, root) = Reading::open("example", &text).unwrap();
                let value = json_of(&root)[key.name].clone();
                // Examples of maps show a part of them.
                let whole = !matches!(key.name, "memories" | "ports");
                assert_eq!(refusal(&schema(key.shape), &value).filter(|_| whole), None, "{text}");
            }
        }
    }
}

#[test]
fn unknown_keys_are_refused_and_those_of_other_tools_are_not() {
    let unknown = CORE.replacen("name:", "nome: x\nname:", 1);
    assert_eq!(refused(Kind::Core, &unknown).unwrap(), "unknown key `nome`");
    let noted = CORE.replacen("name:", "stripe: 3\nname:", 1);
    assert_eq!(refused(Kind::Core, &noted), None);
    assert_eq!(read(Kind::Core, &noted), Ok(()));
}

#[test]
fn columns_of_costs() {
    let header: Vec<&str> = overrides::COLUMNS.names().collect();
    let row: Vec<&str> = overrides::COLUMNS.known.iter().map(|column| column.example).collect();
    assert_eq!(read(Kind::Costs, &format!("{}\n{}\n", header.join(","), row.join(","))), Ok(()));
    for (at, column) in overrides::COLUMNS.known.iter().enumerate() {
        let mut wrong = row.clone();
        wrong[at] = "-1";
        let text = format!("{}\n{}\n", header.join(","), wrong.join(","));
        assert_eq!(read(Kind::Costs, &text).is_err(), refusal(&schema(column.shape), &json!(-1)).is_some());
        let mut fewer = header.clone();
        fewer.remove(at);
        let missed = read(Kind::Costs, &format!("{}\n", fewer.join(","))).is_err();
        assert_eq!(missed, column.presence == Presence::Required, "{}", column.name);
    }
}

/// The document names every key and no other, because it is made of the tables.
#[test]
fn the_document_is_up_to_date() {
    expect_file!["../../../docs/formats.md"].assert_eq(&reference());
}
