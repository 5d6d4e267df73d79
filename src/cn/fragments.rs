//! Atoms of an axis: the coarsest partition that a family of index sets respects.
//!
//! Boundaries of all sets cut the axis in segments. Where only contiguous sets cover a segment it is
//! one atom; where strided sets do, its indices fall into atoms by which of those sets hold them (a
//! stride of 2 gives a parity). Every set of the family is then a union of atoms, and two indices of
//! one atom are in exactly the same sets.

use crate::workload::region::{AxisSet, Span};
use std::collections::BTreeMap;

/// The atoms of an axis of `extent` indices under `sets`, ordered by segment, then first index.
pub fn atoms(extent: u64, sets: &[AxisSet]) -> Vec<AxisSet> {
    let mut boundaries = vec![0, extent];
    let mut strided: Vec<Span> = Vec::new();
    for span in sets.iter().flat_map(|set| &set.0) {
        boundaries.push(span.start);
        boundaries.push(span.last() + 1);
        if span.step > 1 {
            strided.push(*span);
        }
    }
    boundaries.sort_unstable();
    boundaries.dedup();
    strided.sort_unstable();
    strided.dedup();
    let mut atoms = Vec::new();
    for pair in boundaries.windows(2) {
        let covering: Vec<Span> =
            (strided.iter()).filter(|span| span.start < pair[1] && pair[0] <= span.last()).copied().collect();
        if covering.is_empty() {
            atoms.push(AxisSet::interval(pair[0]..pair[1]));
            continue;
        }
        let mut groups: BTreeMap<Vec<bool>, Vec<u64>> = BTreeMap::new();
        for index in pair[0]..pair[1] {
            let signature = covering.iter().map(|span| span.contains(index)).collect();
            groups.entry(signature).or_default().push(index);
        }
        let mut groups: Vec<Vec<u64>> = groups.into_values().collect();
        groups.sort_unstable();
        atoms.extend(groups.iter().map(|indices| AxisSet::from_sorted(indices)));
    }
    atoms
}

/// The ranges of atoms whose union is `set`. `firsts[i]` is the first index of atom `i`.
pub fn ranges(set: &AxisSet, firsts: &[u64]) -> Vec<(u32, u32)> {
    let members: Box<dyn Iterator<Item = usize>> = match set.as_interval() {
        // Atoms of a segment share its bounds, and segments are ordered: a contiguous set is one run.
        Some(interval) => {
            let low = firsts.partition_point(|first| *first < interval.start);
            let high = firsts.partition_point(|first| *first < interval.end);
            Box::new(low..high)
        }
        None => Box::new((0..firsts.len()).filter(|atom| set.contains(firsts[*atom]))),
    };
    runs(members)
}

/// The ranges of atoms that have an index in common with `set`.
pub fn touched(set: &AxisSet, atoms: &[AxisSet]) -> Vec<(u32, u32)> {
    let meets = |atom: &AxisSet| match (set.as_interval(), atom.as_interval()) {
        (Some(one), Some(other)) => one.start < other.end && other.start < one.end,
        (Some(one), None) => atom.indices().iter().any(|index| one.contains(index)),
        (None, _) => set.indices().iter().any(|index| atom.contains(*index)),
    };
    runs(atoms.iter().enumerate().filter(|(_, atom)| meets(atom)).map(|(at, _)| at))
}

/// Ascending numbers as ranges.
fn runs(members: impl Iterator<Item = usize>) -> Vec<(u32, u32)> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for member in members {
        let member = member as u32;
        match runs.last_mut() {
            Some((_, end)) if *end == member => *end += 1,
            _ => runs.push((member, member + 1)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_second(start: u64, count: u64) -> AxisSet {
        AxisSet(vec![Span { start, count, step: 2 }])
    }

    #[test]
    fn halo_rows_cut_an_axis_at_every_bound() {
        // Windows 0..3, 2..5 over 6 rows: rows 0-1, the shared row 2, rows 3-4, the unread row 5.
        let sets = [AxisSet::interval(0..3), AxisSet::interval(2..5)];
        let atoms = atoms(6, &sets);
        let expected = [0..2, 2..3, 3..5, 5..6].map(AxisSet::interval);
        assert_eq!(atoms, expected);
        let firsts: Vec<u64> = atoms.iter().map(|atom| atom.0[0].start).collect();
        assert_eq!(ranges(&sets[1], &firsts), [(1, 3)]);
    }

    #[test]
    fn a_stride_of_two_gives_a_parity() {
        let sets = [AxisSet::interval(0..6), every_second(0, 3)];
        let atoms = atoms(6, &sets);
        assert_eq!(atoms.len(), 3); // even below 5, odd below 5, index 5 beyond the last even one
        assert_eq!(atoms[0], every_second(0, 3));
        let firsts: Vec<u64> = atoms.iter().map(|atom| atom.0[0].start).collect();
        assert_eq!(ranges(&sets[1], &firsts), [(0, 1)]);
        assert_eq!(ranges(&sets[0], &firsts), [(0, 3)]);
    }
}
