//! Time during which at least one slice of a track runs: the length of the union of the intervals.

use crate::Slice;

/// Length of the union of the slices.
pub fn busy_time(slices: &[Slice]) -> u64 {
    let mut intervals: Vec<(u64, u64)> = slices.iter().map(|s| (s.start, s.end)).collect();
    intervals.sort_unstable();
    let mut covered = 0;
    let mut busy = 0;
    for (start, end) in intervals {
        if end > covered {
            busy += end - start.max(covered);
            covered = end;
        }
    }
    busy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_counts_once() {
        let slices = [
            Slice::new(20, 30, "c", None),
            Slice::new(0, 10, "a", None),
            Slice::new(5, 12, "b", None),
            Slice::new(6, 7, "inside", None),
        ];
        assert_eq!(busy_time(&slices), 12 + 10);
        assert_eq!(busy_time(&[]), 0);
    }
}
