//! Text tables with aligned columns, for `show`.

use std::fmt;

/// Rows with aligned columns; the first row is the heading.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(heading: &[&str]) -> Self {
        Self { rows: vec![heading.iter().map(|text| (*text).to_owned()).collect()] }
    }

    /// Adds a row with one cell per column.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The table without columns that are empty below their heading.
    pub(crate) fn without_empty_columns(self) -> Self {
        let [_, below @ ..] = self.rows.as_slice() else {
            return self;
        };
        let columns = self.rows[0].len();
        let kept: Vec<usize> =
            (0..columns).filter(|column| below.iter().any(|row| !row[*column].is_empty())).collect();
        let keep = |row: &Vec<String>| kept.iter().map(|column| row[*column].clone()).collect();
        Self { rows: self.rows.iter().map(keep).collect() }
    }

    /// Whether it has no rows below the heading.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() < 2
    }

    pub(crate) fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.first().map_or(0, Vec::len);
        let width = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max();
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line += "  ";
                line += &left(cell, *width);
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// A text with blanks behind it. Unlike a format's width, which ends at 65 535 letters, the width may be
/// that of any name of a file.
pub(crate) fn left(text: &str, width: usize) -> String {
    text.to_owned() + &" ".repeat(width.saturating_sub(text.chars().count()))
}

/// A text with blanks in front of it.
pub(crate) fn right(text: &str, width: usize) -> String {
    " ".repeat(width.saturating_sub(text.chars().count())) + text
}

/// `0-3, 6`: numbers with runs drawn together.
pub(crate) fn runs(numbers: impl Iterator<Item = u32>) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let texts: Vec<_> = (runs.iter())
        .map(|(first, last)| match last - first {
            0 => first.to_string(),
            _ => format!("{first}-{last}"),
        })
        .collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_be_longer_than_a_format_allows() {
        let name = "x".repeat(70_000);
        assert_eq!(left("a", 70_000).len(), 70_000);
        assert_eq!(right(&name, 3), name);
    }

    #[test]
    fn runs_are_drawn_together() {
        assert_eq!(runs([0, 1, 2, 3, 6].into_iter()), "0-3, 6");
        assert_eq!(runs([5].into_iter()), "5");
        assert_eq!(runs(std::iter::empty()), "");
    }
}
