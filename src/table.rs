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
        for row in &self.rows {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                let widths = self.rows.iter().map(|row| row[column].chars().count());
                let width = widths.max().unwrap_or(0);
                line += &format!("  {cell:<width$}");
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
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
    fn runs_are_drawn_together() {
        assert_eq!(runs([0, 1, 2, 3, 6].into_iter()), "0-3, 6");
        assert_eq!(runs([5].into_iter()), "5");
        assert_eq!(runs(std::iter::empty()), "");
    }
}
