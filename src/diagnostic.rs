//! What is wrong with a user's file: where, what was expected, what to do.
//!
//! All YAML readers report [`Diagnostics`]: every error of a file at once, each with file, line,
//! column and the offending line, as rustc prints them:
//!
//! ```text
//! error: unknown key `sise` in a memory
//!  --> core.yaml:4:5
//!   |
//! 4 |     sise: 1024
//!   |     ^^^^ not a key of a memory
//!   |
//!   = help: did you mean `size`?
//! ```

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A file as the user knows it.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// Path or name, printed before line and column.
    pub name: String,
    /// Contents.
    pub text: String,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub source: Arc<Source>,
    /// Bytes of the file's text.
    pub span: Range<usize>,
}

/// One error in an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// Where, if a place in a file is known.
    pub place: Option<Place>,
    /// What stands under the caret.
    pub label: String,
    /// What to do.
    pub help: Vec<String>,
}

impl Diagnostic {
    /// An error without a place.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), place: None, label: String::new(), help: Vec::new() }
    }

    /// The same at a place; a place that is already known stays, because it is the nearer one.
    #[must_use]
    pub fn at(mut self, source: &Arc<Source>, span: Range<usize>) -> Self {
        if self.place.is_none() {
            self.place = Some(Place { source: Arc::clone(source), span });
        }
        self
    }

    /// The same with a text under the caret.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// The same with advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut group = match &self.place {
            Some(Place { source, span }) => {
                let span = first_line(&source.text, span);
                let annotation = AnnotationKind::Primary.span(span).label(self.label.as_str());
                let snippet =
                    Snippet::source(source.text.as_str()).path(source.name.as_str()).annotation(annotation);
                Level::ERROR.primary_title(self.message.as_str()).element(snippet)
            }
            None => annotate_snippets::Group::with_title(Level::ERROR.primary_title(self.message.as_str())),
        };
        for help in &self.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        f.write_str(&Renderer::plain().render(&[group]))
    }
}

impl std::error::Error for Diagnostic {}

/// The part of `span` on its first line, without trailing blanks.
fn first_line(text: &str, span: &Range<usize>) -> Range<usize> {
    let start = span.start.min(text.len());
    let end = span.end.clamp(start, text.len());
    let line = text.get(start..end).unwrap_or("").lines().next().unwrap_or("");
    start..start + line.trim_end().len()
}

/// All errors of an input. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics {
    errors: Vec<Diagnostic>,
}

impl Diagnostics {
    /// The errors, or nothing if there are none.
    pub fn of(errors: Vec<Diagnostic>) -> Option<Self> {
        (!errors.is_empty()).then_some(Self { errors })
    }

    /// The errors in the order in which they were found.
    pub fn errors(&self) -> &[Diagnostic] {
        &self.errors
    }

    /// The errors, to be collected with others.
    pub fn into_errors(self) -> Vec<Diagnostic> {
        self.errors
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(error: Diagnostic) -> Self {
        Self { errors: vec![error] }
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, error) in self.errors.iter().enumerate() {
            if position > 0 {
                f.write_str("\n\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

/// The candidate that `word` most likely means: at most a third of its letters are wrong, or else it
/// is the beginning of the candidate. Letter case does not count; ties go to the earlier candidate.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let letters = word.chars().count();
    let limit = (letters / 3).max(1);
    (candidates.into_iter())
        .filter_map(|candidate| {
            let lower = candidate.to_lowercase();
            let wrong = distance(&word, &lower);
            let begins = letters >= 4 && lower.starts_with(&word);
            (wrong <= limit || begins).then_some((wrong, candidate))
        })
        .min_by_key(|(wrong, _)| *wrong)
        .map(|(_, candidate)| candidate)
}

/// Number of letters to insert, delete, replace or swap with their neighbour.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=to.len()).collect()];
    for i in 1..=from.len() {
        let mut row = vec![i; to.len() + 1];
        for j in 1..=to.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(from[i - 1] != to[j - 1]);
            row[j] = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            let swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
            if swapped {
                row[j] = row[j].min(rows[i - 2][j - 2] + 1);
            }
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_words_find_their_neighbour() {
        let keys = ["size", "served_dimensions", "ports"];
        assert_eq!(nearest("sise", keys), Some("size"));
        assert_eq!(nearest("served_dimension", keys), Some("served_dimensions"));
        assert_eq!(nearest("SIZE", keys), Some("size"));
        assert_eq!(nearest("prots", keys), Some("ports"));
        assert_eq!(nearest("serv", keys), Some("served_dimensions"));
        assert_eq!(nearest("bandwidth", keys), None);
    }

    #[test]
    fn a_place_is_shown_with_its_line() {
        let source = Arc::new(Source { name: "a.yaml".into(), text: "one: 1\ntwo: x\n".into() });
        let error = Diagnostic::new("expected a number")
            .at(&source, 12..13)
            .label("this is text")
            .help("write a number of bits");
        let expected = "\
error: expected a number
 --> a.yaml:2:6
  |
2 | two: x
  |      ^ this is text
  |
  = help: write a number of bits";
        assert_eq!(error.to_string(), expected);
    }
}
