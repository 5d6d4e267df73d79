//! A YAML document with the place of every node, and the checks all readers share.
//!
//! Serde's derived structs stop at the first error and cannot name the nearest key; the readers
//! therefore walk this tree and collect every error in a [`Reading`]. Values are converted into
//! domain types on the way and not checked again later.

mod keys;

pub(crate) use keys::{Key, Keys, Presence, Shape};

use crate::diagnostic::{Diagnostic, Diagnostics, Source, nearest};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_yaml::{DuplicateKeyPolicy, Spanned};
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// A value with its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    /// Bytes of the text. Of a block map or list, its first key or item.
    pub(crate) span: Range<usize>,
}

/// A YAML value.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Integer(i128),
    Real(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Value>::deserialize(deserializer)?;
        let span = spanned.referenced.span();
        let (offset, length) = match (span.byte_offset(), span.byte_len()) {
            (Some(offset), Some(length)) => (offset as usize, length as usize),
            _ => (0, 0),
        };
        let span = match (&spanned.value, length) {
            (Value::Map(entries), 0) => entries.first().map(|(key, _)| key.span.clone()),
            (Value::List(items), 0) => items.first().map(|item| item.span.clone()),
            _ => None,
        };
        Ok(Self { value: spanned.value, span: span.unwrap_or(offset..offset + length) })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Integer(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Integer(value.into()))
    }

    fn visit_i128<E: Error>(self, value: i128) -> Result<Value, E> {
        Ok(Value::Integer(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Real(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Value::Map(map))
    }
}

/// A reading in progress: one file, its errors, and the keys in it that are not modelled.
pub(crate) struct Reading {
    pub(crate) source: Arc<Source>,
    pub(crate) errors: Vec<Diagnostic>,
    /// What is known from other tools and not modelled, as a note lists it.
    pub(crate) unmodelled: BTreeSet<String>,
    /// What is read otherwise than it is written, with file and line.
    pub(crate) notes: Vec<String>,
    /// The keys of the outermost map, to find the level to which a misplaced key belongs.
    outermost: Option<&'static Keys>,
}

/// Reads a text file; `what` says with an article what it should be.
pub(crate) fn read_text(path: &Path, what: &str) -> Result<String, Diagnostics> {
    let name = path.display();
    if path.is_dir() {
        let error = Diagnostic::new(format!("`{name}` is a folder")).help(format!("give the path of {what}"));
        return Err(error.into());
    }
    let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error, what))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let error = Diagnostic::new(format!("`{name}` is not a text file: byte {at} is not UTF-8"));
        error.help(format!("give the path of {what}")).into()
    })
}

/// The error for a file that cannot be opened.
pub(crate) fn unreadable(path: &Path, error: &std::io::Error, what: &str) -> Diagnostics {
    let name = path.display();
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            let error = Diagnostic::new(format!("there is no file `{name}`"));
            error.help(format!("give the path of {what}")).into()
        }
        _ => Diagnostic::new(format!("cannot read `{name}`: {error}")).into(),
    }
}

impl Reading {
    /// Parses the text. Syntax errors end the reading.
    pub(crate) fn open(name: &str, text: &str) -> Result<(Self, Node), Diagnostics> {
        let source = Arc::new(Source { name: name.to_owned(), text: text.to_owned() });
        let mut options = serde_yaml::Options::default();
        options.duplicate_keys = DuplicateKeyPolicy::PassThrough;
        options.strict_booleans = true;
        options.with_snippet = false;
        let root = serde_yaml::from_str_with_options(text, options)
            .map_err(|error| syntax_error(&source, &error))?;
        if matches!(root, Node { value: Value::Null, .. }) {
            let error = Diagnostic::new("the file holds nothing").help("it is empty or all comments");
            return Err(error.at(&source, 0..0).into());
        }
        let reading = Self {
            source,
            errors: Vec::new(),
            unmodelled: BTreeSet::new(),
            notes: Vec::new(),
            outermost: None,
        };
        Ok((reading, root))
    }

    /// Adds an error at a node.
    pub(crate) fn error(&mut self, node: &Node, error: Diagnostic) {
        self.errors.push(error.at(&self.source, node.span.clone()));
    }

    /// Adds a note about a node.
    pub(crate) fn note(&mut self, node: &Node, note: &str) {
        let before = self.source.text.get(..node.span.start).unwrap_or("");
        self.notes.push(format!("{}:{}: {note}", self.source.name, 1 + before.matches('\n').count()));
    }

    /// The value if no error was found.
    pub(crate) fn finish<T>(self, value: Option<T>) -> Result<T, Diagnostics> {
        match (Diagnostics::of(self.errors), value) {
            (Some(errors), _) => Err(errors),
            (None, Some(value)) => Ok(value),
            (None, None) => Err(Diagnostic::new(format!("{} has no contents", self.source.name)).into()),
        }
    }
}

fn syntax_error(source: &Arc<Source>, error: &serde_yaml::Error) -> Diagnostics {
    let text = error.without_snippet().to_string();
    let message = text.split(" at line ").next().unwrap_or(&text).trim_end_matches([':', ',']);
    let mut diagnostic = Diagnostic::new(format!("this is not valid YAML: {message}"));
    if let Some(start) = tab_indentation(&source.text) {
        let error = Diagnostic::new("a line is indented by a tab");
        let error = error.help("indent by spaces: YAML allows no tabs there");
        return error.at(source, start..start + 1).label("a tab stands here").into();
    }
    if message.starts_with("budget breached") {
        diagnostic.message = "the file holds too many values".to_owned();
        diagnostic = diagnostic.help("aliases (`*name`) count as often as they stand for a value");
    } else if message.starts_with("recursion limit") {
        diagnostic.message = "lists and maps are nested too deeply".to_owned();
    } else if message.starts_with("non-finite") {
        diagnostic.message = "a number must be finite".to_owned();
    }
    match error.location() {
        Some(location) => {
            let start = offset_of(&source.text, location.line(), location.column());
            diagnostic.at(source, start..start + 1).label("here")
        }
        None => diagnostic.at(source, 0..0),
    }
    .into()
}

/// The first tab among the blanks in front of a line.
fn tab_indentation(text: &str) -> Option<usize> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
        if let Some(tab) = line[..blanks].find('\t').filter(|_| !line.trim().is_empty()) {
            return Some(start + tab);
        }
        start += line.len();
    }
    None
}

/// Byte offset of a line and a column in letters, both counted from 1.
fn offset_of(text: &str, line: u64, column: u64) -> usize {
    let before = line.saturating_sub(1) as usize;
    let start: usize = text.split_inclusive('\n').take(before).map(str::len).sum();
    let letters = column.saturating_sub(1) as usize;
    let rest = text.get(start..).unwrap_or("");
    start + rest.chars().take(letters).map(char::len_utf8).sum::<usize>()
}

impl Node {
    /// What the value is, for error messages.
    pub(crate) fn describe(&self) -> String {
        match &self.value {
            Value::Null => "nothing".to_owned(),
            Value::Bool(value) => format!("`{value}`"),
            Value::Integer(value) => format!("`{value}`"),
            Value::Real(value) if value.abs() >= 1e15 => format!("`{value:e}`"),
            Value::Real(value) => format!("`{value}`"),
            Value::Text(value) => format!("`{value}`"),
            Value::List(_) => "a list".to_owned(),
            Value::Map(_) => "a map".to_owned(),
        }
    }

    fn expected<T>(&self, reading: &mut Reading, what: &str, wanted: &str) -> Option<T> {
        let message = format!("{what} must be {wanted}");
        let mut error = Diagnostic::new(message).label(format!("this is {}", self.describe()));
        if wanted.contains("number") && self.has_unit() {
            error = error.help("write the number alone: the unit of a key is fixed (docs/formats.md)");
        }
        reading.error(self, error);
        None
    }

    /// Whether it is a number with letters behind it.
    fn has_unit(&self) -> bool {
        let Value::Text(text) = &self.value else { return false };
        let number = text.trim().trim_end_matches(|c: char| c.is_alphabetic() || "/²³ ".contains(c));
        number.len() < text.trim().len() && number.parse::<f64>().is_ok()
    }

    /// Text; numbers count as text.
    pub(crate) fn text(&self, reading: &mut Reading, what: &str) -> Option<String> {
        match &self.value {
            Value::Text(text) => Some(text.trim().to_owned()),
            Value::Integer(number) => Some(number.to_string()),
            Value::Real(number) => Some(number.to_string()),
            _ => self.expected(reading, what, "text"),
        }
    }

    /// A whole number from zero; a real without fraction (`1e9`) counts.
    pub(crate) fn whole(&self, reading: &mut Reading, what: &str) -> Option<u64> {
        self.as_whole().or_else(|| self.expected(reading, what, "a whole number from 0"))
    }

    fn as_whole(&self) -> Option<u64> {
        match &self.value {
            Value::Integer(number) => u64::try_from(*number).ok(),
            Value::Real(number) if number.fract() == 0.0 && (0.0..=9.0e15).contains(number) => {
                Some(*number as u64)
            }
            _ => None,
        }
    }

    /// A whole number of either sign.
    pub(crate) fn integer(&self, reading: &mut Reading, what: &str) -> Option<i128> {
        match &self.value {
            Value::Integer(number) => Some(*number),
            _ => self.expected(reading, what, "a whole number"),
        }
    }

    /// A whole number from one.
    pub(crate) fn positive(&self, reading: &mut Reading, what: &str, why: &str) -> Option<u64> {
        match self.as_whole() {
            Some(0) => {
                let message = format!("{what} must be at least 1");
                reading.error(self, Diagnostic::new(message).label(why));
                None
            }
            Some(number) => Some(number),
            None => self.expected(reading, what, "a whole number from 1"),
        }
    }

    /// A number from zero.
    pub(crate) fn real(&self, reading: &mut Reading, what: &str) -> Option<f64> {
        let number = match &self.value {
            Value::Integer(number) => Some(*number as f64),
            Value::Real(number) => Some(*number),
            _ => None,
        };
        (number.filter(|number| *number >= 0.0 && number.is_finite()))
            .or_else(|| self.expected(reading, what, "a number from 0"))
    }

    /// Yes or no.
    pub(crate) fn truth(&self, reading: &mut Reading, what: &str) -> Option<bool> {
        match &self.value {
            Value::Bool(value) => Some(*value),
            Value::Text(text) if text.eq_ignore_ascii_case("true") => Some(true),
            Value::Text(text) if text.eq_ignore_ascii_case("false") => Some(false),
            _ => self.expected(reading, what, "`true` or `false`"),
        }
    }

    /// The items of a list.
    pub(crate) fn list(&self, reading: &mut Reading, what: &str) -> Option<&[Node]> {
        match &self.value {
            Value::List(items) => Some(items),
            _ => self.expected(reading, what, "a list"),
        }
    }

    /// The entries of a map, whose keys are data (names or numbers) and must be distinct.
    pub(crate) fn entries(&self, reading: &mut Reading, what: &str) -> Option<&[(Node, Node)]> {
        let Value::Map(entries) = &self.value else {
            return self.expected(reading, what, "a map");
        };
        report_duplicates(entries, reading, what, &[]);
        Some(entries)
    }

    /// The entries of a map with the given keys; reports unknown and duplicate ones. Missing keys
    /// are reported at `owner`, the name under which the map stands.
    pub(crate) fn fields<'a>(
        &'a self,
        reading: &mut Reading,
        keys: &'static Keys,
        owner: &'a Node,
    ) -> Option<Fields<'a>> {
        let Value::Map(entries) = &self.value else {
            let names: Vec<_> = keys.names().collect();
            let error = Diagnostic::new(format!("{} must be a map", keys.of));
            let error = error.label(format!("this is {}", self.describe()));
            reading
                .error(self, error.help(format!("write `key: value` lines; keys are {}", names.join(", "))));
            return None;
        };
        report_duplicates(entries, reading, keys.of, keys.repeatable);
        let outermost = *reading.outermost.get_or_insert(keys);
        let mut suggested = Vec::new();
        for (key, _) in entries {
            let name = key.key_name();
            if keys.unmodelled.contains(&name.as_str()) {
                reading.unmodelled.insert(format!("`{name}`"));
            } else if !keys.names().any(|known| known == name) {
                let message = format!("unknown key `{name}` in {}", keys.of);
                let old = keys.refused.iter().find(|(old, _)| *old == name);
                let near = nearest(&name, keys.names());
                suggested.extend(near);
                let elsewhere = owners(outermost, &name);
                let help = match (old, near) {
                    (Some((_, advice)), _) => (*advice).to_owned(),
                    (None, _) if !elsewhere.is_empty() => {
                        format!("`{name}` is a key of {}: check the indentation", elsewhere.join(" and of "))
                    }
                    (None, Some(key)) => format!("did you mean `{key}`?"),
                    (None, None) => format!("known keys: {}", keys.names().collect::<Vec<_>>().join(", ")),
                };
                reading.error(key, Diagnostic::new(message).help(help));
            }
        }
        Some(Fields { owner, entries, keys, suggested })
    }

    /// The text of a map's key.
    pub(crate) fn key_name(&self) -> String {
        match &self.value {
            Value::Text(text) => text.clone(),
            _ => self.describe().trim_matches('`').to_owned(),
        }
    }
}

/// The maps of a format that have a key.
fn owners(outermost: &'static Keys, name: &str) -> Vec<&'static str> {
    let mut tables = Vec::new();
    Shape::Object(outermost).tables(&mut tables);
    tables.iter().filter(|keys| keys.names().any(|known| known == name)).map(|keys| keys.of).collect()
}

fn report_duplicates(entries: &[(Node, Node)], reading: &mut Reading, of: &str, repeatable: &[&str]) {
    let mut seen = BTreeSet::new();
    for (key, _) in entries {
        let name = key.key_name();
        if seen.insert(name.clone()) {
            continue;
        }
        if repeatable.contains(&name.as_str()) {
            reading.unmodelled.insert(format!("the first of two `{name}` in {of}"));
        } else {
            let message = format!("`{name}` is given twice in {of}");
            let error = Diagnostic::new(message).label("a second time here");
            reading.error(key, error.help("keep one of the two"));
        }
    }
}

/// A map with known keys.
pub(crate) struct Fields<'a> {
    owner: &'a Node,
    entries: &'a [(Node, Node)],
    keys: &'static Keys,
    /// Keys that an unknown key probably means: they are not missing as well.
    suggested: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// The value of a key that may be absent; a null counts as absent.
    pub(crate) fn get(&self, key: &str) -> Option<&'a Node> {
        debug_assert!(self.keys.names().any(|known| known == key), "`{key}` is no key of {}", self.keys.of);
        (self.entries.iter().rev())
            .find(|(name, _)| name.key_name() == key)
            .map(|(_, value)| value)
            .filter(|value| !matches!(value.value, Value::Null))
    }

    /// The value of a key that must be there.
    pub(crate) fn required(&self, reading: &mut Reading, key: &str) -> Option<&'a Node> {
        let found = self.get(key);
        if found.is_none() && !self.suggested.contains(&key) {
            let error = Diagnostic::new(format!("{} has no `{key}`", self.keys.of));
            reading.error(self.owner, error.label(format!("`{key}` is missing here")));
        }
        found
    }
}
