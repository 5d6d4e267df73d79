//! Equations `O[b][k]+=W[k][c]*I[b][c]` and relations `ix=2*ox+1*fx` of a layer.

use crate::diagnostic::{Diagnostic, nearest};
use crate::document::{Node, Reading};
use crate::workload::{Dim, LoopDim};

/// Operands of a layer, the output first.
pub(super) struct Equation {
    pub(super) operands: Vec<Indexed>,
}

/// An operand with its indices.
pub(super) struct Indexed {
    pub(super) name: String,
    /// Loop dimensions or derived dimensions.
    pub(super) indices: Vec<Dim>,
}

/// `derived = terms[0].1 * terms[0].0 + terms[1].1 * terms[1].0`.
pub(super) struct Relation {
    pub(super) derived: Dim,
    /// Positions of loop dimensions and coefficients.
    pub(super) terms: [(usize, u64); 2],
}

/// Reads an equation; every index must be a loop dimension or derived.
pub(super) fn read(
    reading: &mut Reading,
    node: &Node,
    dims: &[LoopDim],
    relations: &[Relation],
) -> Option<Equation> {
    let text = node.text(reading, "an equation")?;
    let parsed = parse(&text);
    let operands = match parsed {
        Ok(operands) => operands,
        Err((position, expected)) => {
            let error = Diagnostic::new("this is not the equation of a layer")
                .label(format!("expected {expected}"))
                .help("write for example `O[b][k]+=W[k][c]*I[b][c]`");
            let place = part(reading, node, position);
            reading.errors.push(error.at(&reading.source, place));
            return None;
        }
    };
    let mut names: Vec<&Dim> = dims.iter().map(|dim| &dim.dim).collect();
    names.extend(relations.iter().map(|relation| &relation.derived));
    let mut valid = true;
    for (operand, positions) in &operands {
        for (index, position) in operand.indices.iter().zip(positions) {
            if !names.contains(&index) {
                valid = false;
                let place = part(reading, node, *position);
                let error = no_dimension(index, &names).at(&reading.source, place);
                reading.errors.push(error);
            }
        }
    }
    let (output, positions) = &operands[0];
    for (index, position) in output.indices.iter().zip(positions) {
        if relations.iter().any(|relation| relation.derived == *index) {
            valid = false;
            let place = part(reading, node, *position);
            let error = Diagnostic::new(format!("the output is indexed by derived dimension {index}"))
                .label("an output is indexed by loop dimensions");
            reading.errors.push(error.at(&reading.source, place));
        }
    }
    let operands = operands.into_iter().map(|(operand, _)| operand).collect();
    valid.then_some(Equation { operands })
}

fn no_dimension(index: &Dim, names: &[&Dim]) -> Diagnostic {
    let list: Vec<&str> = names.iter().map(|dim| dim.0.as_str()).collect();
    let error = Diagnostic::new(format!("there is no dimension {index}"))
        .label("neither in `loop_dims` nor defined in `dimension_relations`");
    match nearest(&index.0, list.iter().copied()).filter(|_| index.0.len() > 1) {
        Some(near) => error.help(format!("did you mean `{}`?", near.to_lowercase())),
        None => error.help(format!("the layer has {}", list.join(", "))),
    }
}

/// The letter at a position of a node's text; the whole node where its text is quoted or folded.
fn part(reading: &Reading, node: &Node, position: usize) -> std::ops::Range<usize> {
    let written = reading.source.text.get(node.span.clone()).unwrap_or("");
    let plain = !written.starts_with(['"', '\'', '|', '>']) && position <= written.len();
    let start = node.span.start + position;
    if plain { start..start + 1 } else { node.span.clone() }
}

type Operands = Vec<(Indexed, Vec<usize>)>;

/// Operands with the positions of their indices, or the position of an error and what was expected.
fn parse(text: &str) -> Result<Operands, (usize, &'static str)> {
    let mut cursor = Cursor { text, position: 0 };
    let mut operands = vec![operand(&mut cursor)?];
    cursor.skip_any("+");
    if !cursor.skip_any("=") {
        return Err((cursor.position, "`=` or `+=`"));
    }
    operands.push(operand(&mut cursor)?);
    while cursor.skip_any("*+") {
        operands.push(operand(&mut cursor)?);
    }
    if cursor.position < text.len() {
        return Err((cursor.position, "`*`, `+` or the end"));
    }
    if operands.len() > 3 {
        return Err((0, "one output and at most two inputs"));
    }
    let names: Vec<&str> = operands.iter().map(|(operand, _)| operand.name.as_str()).collect();
    if (1..names.len()).any(|position| names[..position].contains(&names[position])) {
        return Err((0, "every operand once"));
    }
    Ok(operands)
}

fn operand(cursor: &mut Cursor<'_>) -> Result<(Indexed, Vec<usize>), (usize, &'static str)> {
    let name = cursor.word().ok_or((cursor.position, "the name of an operand"))?.to_owned();
    let (mut indices, mut positions) = (Vec::new(), Vec::new());
    while cursor.skip_any("[") {
        let index = cursor.word().ok_or((cursor.position, "a dimension"))?;
        indices.push(Dim(index.to_uppercase()));
        positions.push(cursor.position - index.len());
        if !cursor.skip_any("]") {
            return Err((cursor.position, "`]`"));
        }
    }
    match indices.is_empty() {
        true => Err((cursor.position, "`[`")),
        false => Ok((Indexed { name, indices }, positions)),
    }
}

/// A position in a text; blanks are skipped.
struct Cursor<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Cursor<'a> {
    fn rest(&mut self) -> &'a str {
        let rest = &self.text[self.position..];
        let trimmed = rest.trim_start();
        self.position += rest.len() - trimmed.len();
        trimmed
    }

    fn skip_any(&mut self, letters: &str) -> bool {
        let found = self.rest().starts_with(|letter| letters.contains(letter));
        self.position += usize::from(found);
        found
    }

    fn word(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let word = &rest[..end.unwrap_or(rest.len())];
        self.position += word.len();
        (!word.is_empty()).then_some(word)
    }
}

/// Reads `dimension_relations`.
pub(super) fn relations(reading: &mut Reading, node: &Node, dims: &[LoopDim]) -> Vec<Relation> {
    let items = node.list(reading, "`dimension_relations`").unwrap_or_default();
    items.iter().filter_map(|item| relation(reading, item, dims)).collect()
}

fn relation(reading: &mut Reading, node: &Node, dims: &[LoopDim]) -> Option<Relation> {
    let text = node.text(reading, "a relation")?;
    let Some((derived, terms)) = parse_relation(&text) else {
        let error = Diagnostic::new("this is not a relation of two loop dimensions")
            .label("expected for example `ix=2*ox+1*fx`");
        reading.error(node, error);
        return None;
    };
    let names: Vec<&Dim> = dims.iter().map(|dim| &dim.dim).collect();
    let mut found = Vec::new();
    for (dim, coefficient) in terms {
        match names.iter().position(|name| **name == dim) {
            Some(position) => found.push((position, coefficient)),
            None => reading.error(node, no_dimension(&dim, &names)),
        }
    }
    if names.contains(&&derived) {
        let error = Diagnostic::new(format!("{derived} is both a loop dimension and derived"));
        reading.error(node, error);
        return None;
    }
    Some(Relation { derived, terms: found.try_into().ok()? })
}

fn parse_relation(text: &str) -> Option<(Dim, [(Dim, u64); 2])> {
    let dim = |text: &str| {
        let text = text.trim();
        let word = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        word.then(|| Dim(text.to_uppercase()))
    };
    let term = |text: &str| match text.split_once('*') {
        Some((factor, name)) => {
            let factor = factor.trim().parse().ok().filter(|factor| *factor > 0)?;
            Some((dim(name)?, factor))
        }
        None => Some((dim(text)?, 1)),
    };
    let (derived, sum) = text.split_once('=')?;
    let (first, second) = sum.split_once('+')?;
    Some((dim(derived)?, [term(first)?, term(second)?]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Result<String, (usize, &'static str)> {
        let operands = parse(text)?;
        let operands = operands.iter().map(|(operand, _)| {
            let indices: Vec<_> = operand.indices.iter().map(ToString::to_string).collect();
            format!("{}({})", operand.name, indices.join(" "))
        });
        Ok(operands.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn equations_of_the_reference() {
        assert_eq!(names("O[b][k][ox]+=W[k][c][fx]*I[b][c][ix]"), Ok("O(B K OX) W(K C FX) I(B C IX)".into()));
        assert_eq!(names("O[g] = W[g] + I[g]"), Ok("O(G) W(G) I(G)".into()));
        assert_eq!(names("O[b][k]+W[k]"), Err((8, "`=` or `+=`")));
        assert_eq!(names("O[b][k+=W[k]"), Err((6, "`]`")));
        assert_eq!(names("O[b]=W[b]-I[b]"), Err((9, "`*`, `+` or the end")));
        assert_eq!(names("O[b]=W[b]*W[b]"), Err((0, "every operand once")));
    }

    #[test]
    fn relations_with_and_without_coefficients() {
        let (derived, terms) = parse_relation("ix=2*ox + fx").unwrap();
        assert_eq!(derived, Dim::new("IX"));
        assert_eq!(terms, [(Dim::new("OX"), 2), (Dim::new("FX"), 1)]);
        assert!(parse_relation("ix=2*ox").is_none());
        assert!(parse_relation("ix=0*ox+fx").is_none());
    }
}
