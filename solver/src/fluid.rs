//! Divisible work on unrelated machines: the linear programme behind load bounds.
//!
//! ```text
//! min T    Σ_m x_tm = 1,   Σ_t time_tm x_tm <= count_m T,   x >= 0
//! ```
//! Every schedule, however work is cut, takes at least T: the share of task t that machine m does is
//! some x_tm. Machines with the same times for all tasks are one machine with a count.

use good_lp::{Expression, ProblemVariables, Solution, SolverModel, microlp, variable};

/// The least T for `times[task][machine]` (none: the machine cannot do the task). Zero without tasks;
/// none if a task has no machine or the backend fails.
pub fn fluid(times: &[Vec<Option<f64>>]) -> Option<f64> {
    let unit = times.iter().flatten().filter_map(|time| *time).fold(0.0, f64::max);
    if times.is_empty() || unit <= 0.0 {
        return Some(0.0);
    }
    let machines = machines(times);
    let mut variables = ProblemVariables::new();
    let makespan = variables.add(variable().min(0.0));
    let mut loads: Vec<Expression> = machines.iter().map(|_| Expression::default()).collect();
    let mut whole = Vec::with_capacity(times.len());
    for task in times {
        let mut shares = Expression::default();
        for ((first, _), load) in machines.iter().zip(&mut loads) {
            let Some(time) = task[*first] else { continue };
            let share = variables.add(variable().min(0.0));
            shares += share;
            *load += time / unit * share;
        }
        whole.push(shares);
    }
    let mut model = variables.minimise(makespan).using(microlp);
    for shares in whole {
        model.add_constraint(shares.eq(1.0));
    }
    for (load, (_, count)) in loads.into_iter().zip(&machines) {
        model.add_constraint(load.leq(*count * makespan));
    }
    Some(model.solve().ok()?.value(makespan) * unit)
}

/// The first machine of each kind, and how many there are.
fn machines(times: &[Vec<Option<f64>>]) -> Vec<(usize, f64)> {
    let alike = |a: usize, b: usize| times.iter().all(|task| task[a] == task[b]);
    let mut machines: Vec<(usize, f64)> = Vec::new();
    for machine in 0..times.first().map_or(0, Vec::len) {
        match machines.iter_mut().find(|(first, _)| alike(*first, machine)) {
            Some((_, count)) => *count += 1.0,
            None => machines.push((machine, 1.0)),
        }
    }
    machines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(times: &[Vec<Option<f64>>], expected: f64) {
        let found = fluid(times).unwrap();
        assert!((found - expected).abs() <= 1e-9 * expected, "{found} instead of {expected}");
    }

    #[test]
    fn work_is_shared_where_it_is_cheapest() {
        // Task 0 takes 6 on either machine, task 1 takes 2 on the first and 8 on the second. The
        // first does task 1 (2) and 2/6 of task 0 (2), the second the rest (4).
        check(&[vec![Some(6.0), Some(6.0)], vec![Some(2.0), Some(8.0)]], 4.0);
        // Only the first machine does task 1, which takes 9: the second does all of task 0.
        check(&[vec![Some(6.0), Some(6.0)], vec![Some(9.0), None]], 9.0);
    }

    #[test]
    fn equal_machines_count() {
        check(&[vec![Some(8.0); 4]], 2.0);
        assert_eq!(fluid(&[]), Some(0.0));
        assert_eq!(fluid(&[vec![Some(1.0)], vec![None]]), None);
    }
}
