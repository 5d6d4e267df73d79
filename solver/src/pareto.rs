//! Two objectives, both minimised: dominance, fronts, crowding.
//!
//! a dominates b if it is nowhere worse and somewhere better. Front 0 is dominated by nobody, front
//! k + 1 only by earlier fronts. With two objectives, in lexicographic order, a front's members
//! descend in the second objective, so that a value joins the first front whose last member does
//! not dominate it (M. Jensen, Reducing the run-time complexity of multiobjective EAs, 2003).

use serde::{Deserialize, Serialize};

/// Two values to be minimised; never NaN.
pub type Values = [f64; 2];

/// Whether `a` is nowhere worse than `b` and somewhere better.
pub fn dominates(a: Values, b: Values) -> bool {
    a[0] <= b[0] && a[1] <= b[1] && a != b
}

/// Members none of which dominates another, ascending in the first value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Front<T> {
    /// Values with what has them.
    pub members: Vec<(Values, T)>,
}

impl<T> Default for Front<T> {
    fn default() -> Self {
        Self { members: Vec::new() }
    }
}

impl<T> Front<T> {
    /// Adds a member unless one has values as good; members it dominates leave.
    pub fn offer(&mut self, values: Values, member: T) -> bool {
        if self.members.iter().any(|(known, _)| *known == values || dominates(*known, values)) {
            return false;
        }
        self.members.retain(|(known, _)| !dominates(values, *known));
        let at = self.members.partition_point(|(known, _)| known[0] < values[0]);
        self.members.insert(at, (values, member));
        true
    }
}

/// The front of each value, counted from 0.
pub(crate) fn ranks(values: &[Values]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a][0].total_cmp(&values[b][0]).then(values[a][1].total_cmp(&values[b][1])));
    let mut ranks = vec![0; values.len()];
    let mut last: Vec<Values> = Vec::new();
    for index in order {
        let at = last.partition_point(|member| dominates(*member, values[index]));
        ranks[index] = at;
        match last.get_mut(at) {
            Some(member) => *member = values[index],
            None => last.push(values[index]),
        }
    }
    ranks
}

/// How much room each of `members` has among them: the sum of its neighbours' distances per
/// objective, in units of the span; infinite at the ends (Deb et al., NSGA-II, 2002, section III-B).
pub(crate) fn crowding(values: &[Values], members: &[usize]) -> Vec<f64> {
    let mut room = vec![0.0; members.len()];
    for objective in [0, 1] {
        let of = |at: usize| values[members[at]][objective];
        let mut order: Vec<usize> = (0..members.len()).collect();
        order.sort_by(|&a, &b| of(a).total_cmp(&of(b)).then(members[a].cmp(&members[b])));
        let (Some(&first), Some(&end)) = (order.first(), order.last()) else { continue };
        let span = of(end) - of(first);
        room[first] = f64::INFINITY;
        room[end] = f64::INFINITY;
        for three in order.windows(3).filter(|_| span > 0.0) {
            room[three[1]] += (of(three[2]) - of(three[0])) / span;
        }
    }
    room
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fronts_are_peeled() {
        // (1,3) (2,2) (3,1) are optimal; (2,3) and (3,3) follow; the copy of (2,2) ties with it.
        let values = [[3.0, 3.0], [2.0, 2.0], [1.0, 3.0], [3.0, 1.0], [2.0, 3.0], [2.0, 2.0]];
        assert_eq!(ranks(&values), [2, 0, 0, 0, 1, 0]);
    }

    #[test]
    fn a_front_keeps_what_nobody_dominates() {
        let mut front = Front::default();
        assert!(front.offer([2.0, 2.0], 'a'));
        assert!(!front.offer([2.0, 2.0], 'b'));
        assert!(!front.offer([2.0, 3.0], 'c'));
        assert!(front.offer([1.0, 4.0], 'd'));
        assert!(front.offer([2.0, 1.0], 'e'));
        assert_eq!(front.members, [([1.0, 4.0], 'd'), ([2.0, 1.0], 'e')]);
    }

    #[test]
    fn ends_have_endless_room() {
        let values = [[0.0, 10.0], [1.0, 6.0], [4.0, 0.0]];
        // Middle: (4 - 0) / 4 + (10 - 0) / 10 = 2.
        assert_eq!(crowding(&values, &[0, 1, 2]), [f64::INFINITY, 2.0, f64::INFINITY]);
    }
}
