//! Lanes of a track whose slices overlap: within a lane nothing overlaps.
//!
//! Slices are taken by (start, longest first, index); each goes to the lowest lane that is free at its start. For
//! intervals this needs as few lanes as there are slices at the busiest instant. A slice without duration occupies
//! its lane for no time.

use crate::Slice;

/// Where the slices of one track stand.
#[derive(Clone, Debug, PartialEq)]
pub struct Lanes {
    /// Indices of the slices in the order of their start.
    pub order: Vec<usize>,
    /// Lane of each slice, by the slice's index.
    pub lane: Vec<u32>,
    /// Number of lanes; at least 1.
    pub count: u32,
}

/// Lanes for `slices`.
pub fn assign_lanes(slices: &[Slice]) -> Lanes {
    let mut order: Vec<usize> = (0..slices.len()).collect();
    order.sort_by_key(|&i| (slices[i].start, u64::MAX - slices[i].end, i));
    let mut free_from: Vec<u64> = Vec::new();
    let mut lane = vec![0; slices.len()];
    for &index in &order {
        let slice = &slices[index];
        let found = free_from.iter().position(|&free| free <= slice.start);
        let chosen = found.unwrap_or(free_from.len());
        match found {
            Some(_) => free_from[chosen] = slice.end,
            None => free_from.push(slice.end),
        }
        lane[index] = chosen as u32;
    }
    Lanes { order, lane, count: free_from.len().max(1) as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_slices_go_to_the_lowest_free_lane() {
        let slices = [
            Slice::new(0, 10, "a", None),
            Slice::new(5, 15, "b", None),
            Slice::new(10, 20, "c", None),
            Slice::new(12, 13, "d", None),
            Slice::new(15, 16, "e", None),
        ];
        let lanes = assign_lanes(&slices);
        assert_eq!(lanes.lane, [0, 1, 0, 2, 1]);
        assert_eq!(lanes.count, 3);
    }

    #[test]
    fn one_after_the_other_is_one_lane() {
        let slices = [
            Slice::new(10, 20, "b", None),
            Slice::new(0, 10, "a", None),
            Slice::new(10, 10, "instant", None),
        ];
        let lanes = assign_lanes(&slices);
        assert_eq!(lanes.order, [1, 0, 2]);
        assert_eq!(lanes.lane, [0, 0, 1]);
        assert_eq!(assign_lanes(&[]).count, 1);
    }
}
