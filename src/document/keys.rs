//! The keys of input files: the one list that readers, JSON Schema and `docs/formats.md` share.
//!
//! A reader walks a map with [`Keys`] and asks only for keys that stand there; `schema` turns the
//! same tables into JSON Schema and into the document. What a table says of a key's shape is tested
//! against the readers: what the shape refuses, they refuse.

/// The keys a map may have.
pub(crate) struct Keys {
    /// What the map describes, with its article: `a memory`.
    pub(crate) of: &'static str,
    /// Keys that are read.
    pub(crate) known: &'static [Key],
    /// Keys of other tools that are noted and otherwise ignored.
    pub(crate) unmodelled: &'static [&'static str],
    /// Keys of which a file may give two and the last counts, because files of ZigZag and Stream do.
    pub(crate) repeatable: &'static [&'static str],
    /// Keys of dialects that are not read, with advice.
    pub(crate) refused: &'static [(&'static str, &'static str)],
}

impl Keys {
    /// No keys, to be filled in.
    pub(crate) const NONE: Self = Self { of: "", known: &[], unmodelled: &[], repeatable: &[], refused: &[] };

    /// Names of the keys that are read.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.known.iter().map(|key| key.name)
    }
}

/// A key that is read.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    /// Unit of a number.
    pub(crate) unit: &'static str,
    pub(crate) presence: Presence,
    /// What it means, in one or two sentences.
    pub(crate) about: &'static str,
    /// A value as a file has it.
    pub(crate) example: &'static str,
}

/// Whether a key must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Always.
    Required,
    /// What counts without it.
    Default(&'static str),
}

/// What values a key takes.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// Text; numbers count as text.
    Text,
    /// Text of this pattern (a regular expression of JSON Schema).
    Pattern(&'static str),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number from 0.
    Whole,
    /// A whole number from 1.
    Positive,
    /// A whole number of either sign.
    Integer,
    /// A number from 0.
    Real,
    /// `true` or `false`.
    Truth,
    /// A list of such values.
    List(&'static Shape),
    /// A map whose keys are names or numbers, to such values.
    Map(&'static Shape),
    /// A map of known keys.
    Object(&'static Keys),
    /// One of these.
    Any(&'static [Shape]),
    /// What is noted and not read.
    Unread,
}

impl Shape {
    /// Adds the maps of known keys in it, outer ones first, each once.
    pub(crate) fn tables(self, tables: &mut Vec<&'static Keys>) {
        match self {
            Self::Object(keys) if tables.iter().all(|table| table.of != keys.of) => {
                tables.push(keys);
                keys.known.iter().for_each(|key| key.shape.tables(tables));
            }
            Self::List(item) | Self::Map(item) => item.tables(tables),
            Self::Any(shapes) => shapes.iter().for_each(|shape| shape.tables(tables)),
            _ => {}
        }
    }
}

impl Key {
    /// A key that must be there.
    pub(crate) const fn required(
        name: &'static str,
        shape: Shape,
        unit: &'static str,
        example: &'static str,
        about: &'static str,
    ) -> Self {
        Self { name, shape, unit, presence: Presence::Required, about, example }
    }

    /// A key that may be absent; `default` says what counts then.
    pub(crate) const fn optional(
        name: &'static str,
        shape: Shape,
        unit: &'static str,
        default: &'static str,
        example: &'static str,
        about: &'static str,
    ) -> Self {
        Self { name, shape, unit, presence: Presence::Default(default), about, example }
    }
}
