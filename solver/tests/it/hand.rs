//! Instances whose optimum a reader can work out.

use millstream_solver::*;

/// Models only, or tables if they fit: both must agree.
fn both() -> [Limits; 2] {
    let models = Limits { tables: 0, ..Limits::default() };
    [models, Limits::default()]
}

fn on(resource: u32, load: f64) -> Choice {
    Choice { loads: vec![(resource, load)], ..Choice::default() }
}

fn pair(from_choice: u32, to_choice: u32, loads: Vec<(u32, f64)>, cost: f64) -> Pair {
    Pair { from_choice, to_choice, loads, cost }
}

/// Lengths 5, 4, 3, 3, 3 on two equal machines: 18 / 2 = 9 = 5 + 4 = 3 + 3 + 3.
fn partition() -> Problem {
    let task = |length| Task { group: 0, choices: vec![on(0, length), on(1, length)] };
    Problem {
        resources: 2,
        groups: 1,
        tasks: [5.0, 4.0, 3.0, 3.0, 3.0].map(task).to_vec(),
        symmetric: vec![Symmetry::of_resources(&[0, 1])],
        ..Problem::default()
    }
}

/// Two tasks of length 4 on two machines, with a transfer of `transfer` over resource 2 between
/// different machines.
fn chain(transfer: f64) -> Problem {
    let task = Task { group: 0, choices: vec![on(0, 4.0), on(1, 4.0)] };
    let move_out = |a, b| pair(a, b, vec![(2, transfer)], transfer);
    Problem {
        resources: 3,
        groups: 1,
        tasks: vec![task.clone(), task],
        edges: vec![Edge { from: 0, to: 1, pairs: vec![move_out(0, 1), move_out(1, 0)] }],
        ..Problem::default()
    }
}

#[test]
fn partition_is_balanced() {
    for limits in both() {
        let found = milp(&partition(), &Weights::default(), &limits).unwrap();
        assert_eq!(found.objective.times, [9.0]);
        assert_eq!(found.status, SolveStatus::Optimal);
        assert_eq!(found.choices[0], found.choices[1]);
    }
}

#[test]
fn transfers_decide_whether_to_split() {
    // Apart: max(4, transfer). Together: 8.
    for limits in both() {
        let value = |transfer| {
            let weights = Weights::default();
            milp(&chain(transfer), &weights, &limits).unwrap().objective.value
        };
        assert_eq!(value(1.0), 4.0);
        assert_eq!(value(7.0), 7.0);
        assert_eq!(value(9.0), 8.0);
    }
}

#[test]
fn cost_counts_beside_time() {
    // Together: 8. Apart: a time of 7 (the transfer), and 7 times the weight of cost.
    let value = |cost| {
        let weights = Weights { time: 1.0, cost };
        milp(&chain(7.0), &weights, &Limits::default()).unwrap().objective
    };
    // 7 + 0.5 x 7 = 10.5 > 8: together.
    assert_eq!(value(0.5).value, 8.0);
    // 7 + 0.1 x 7 = 7.7 < 8: apart.
    assert!((value(0.1).value - 7.7).abs() < 1e-12);
    assert_eq!(value(0.1).cost, 7.0);
}

#[test]
fn pairs_of_a_sparse_table_are_charged_in_full() {
    // Choices 1 and 2 cost 100, the pair (0, 0) costs 10; the cheap pairs beside it in its row
    // and column must not stand in for it in the model.
    let choices = [0.0, 100.0, 100.0].map(|cost| Choice { cost, ..Choice::default() });
    let task = Task { group: 0, choices: choices.to_vec() };
    let problem = Problem {
        groups: 1,
        tasks: vec![task.clone(), task],
        edges: vec![Edge {
            from: 0,
            to: 1,
            pairs: vec![pair(0, 0, vec![], 10.0), pair(0, 1, vec![], 1.0), pair(1, 0, vec![], 1.0)],
        }],
        ..Problem::default()
    };
    let weights = Weights { time: 0.0, cost: 1.0 };
    for limits in both() {
        let found = milp(&problem, &weights, &limits).unwrap();
        assert_eq!((found.choices, found.objective.value), (vec![0, 0], 10.0));
        assert_eq!(found.status, SolveStatus::Optimal);
    }
}

#[test]
fn groups_add_up_and_edges_load_the_later_group() {
    let mut problem = chain(3.0);
    problem.groups = 2;
    problem.tasks[1].group = 1;
    let objective = evaluate(&problem, &Weights::default(), &[0, 1]);
    assert_eq!(objective.times, [4.0, 4.0]);
    problem.edges[0].pairs[0].loads[0].1 = 6.0;
    let objective = evaluate(&problem, &Weights::default(), &[0, 1]);
    assert_eq!(objective.times, [4.0, 6.0]);
    for limits in both() {
        let found = milp(&problem, &Weights::default(), &limits).unwrap();
        assert_eq!(found.objective.value, 8.0);
    }
}

#[test]
fn latency_follows_the_longest_path_of_fills() {
    // Fills 1 and 2 before the third task, whose latency is 10: 13; its load alone is 10.
    let task = |fill, latency| Task { group: 0, choices: vec![Choice { fill, latency, ..on(0, 0.0) }] };
    let edge = |from, to| Edge { from, to, pairs: vec![] };
    let mut problem = Problem {
        resources: 1,
        groups: 1,
        tasks: vec![task(1.0, 4.0), task(2.0, 4.0), task(0.0, 10.0)],
        edges: vec![edge(0, 1), edge(1, 2), edge(0, 2)],
        ..Problem::default()
    };
    let weights = Weights::default();
    assert_eq!(evaluate(&problem, &weights, &[0, 0, 0]).value, 13.0);
    // A second choice without fill for the middle task, but a latency of 12: 1 + 12 = 13 too;
    // with 11.5: 12.5, and the last task ends at 11.
    let mut quick = problem.tasks[1].choices[0].clone();
    quick.fill = 0.0;
    quick.latency = 11.5;
    problem.tasks[1].choices.push(quick);
    for limits in both() {
        let found = milp(&problem, &weights, &limits).unwrap();
        assert_eq!(found.choices, [0, 1, 0]);
        assert_eq!(found.objective.value, 12.5);
    }
}

#[test]
fn soft_budgets_cost_their_overflow() {
    // Both on machine 0 use 12 of 10: 2 x 3 = 6 more than free; machine 1 takes 9 a task.
    let choices = vec![Choice { uses: vec![(0, 6.0)], ..on(0, 1.0) }, on(1, 9.0)];
    let task = Task { group: 0, choices };
    let problem = |overflow| Problem {
        resources: 2,
        groups: 1,
        tasks: vec![task.clone(), task.clone()],
        budgets: vec![Budget { capacity: 10.0, overflow }],
        ..Problem::default()
    };
    for limits in both() {
        let solve = |overflow| milp(&problem(overflow), &Weights::default(), &limits).unwrap();
        let soft = solve(Overflow::Priced(3.0)).objective;
        assert_eq!((soft.value, soft.penalty, soft.overflows[0]), (8.0, 6.0, 2.0));
        assert_eq!(solve(Overflow::Priced(4.0)).objective.value, 9.0);
        assert_eq!(solve(Overflow::Forbidden).objective.value, 9.0);
    }
}

#[test]
fn a_budget_that_is_too_small_is_named() {
    let task = Task { group: 0, choices: vec![Choice { uses: vec![(0, 6.0)], ..on(0, 1.0) }] };
    let problem = Problem {
        resources: 1,
        groups: 1,
        tasks: vec![task.clone(), task],
        budgets: vec![Budget { capacity: 10.0, overflow: Overflow::Forbidden }],
        ..Problem::default()
    };
    let error = milp(&problem, &Weights::default(), &Limits::default()).unwrap_err();
    assert_eq!(error.to_string(), "infeasible: budget 0 has a capacity of 10, at least 12 is demanded");
}

#[test]
fn budgets_that_are_too_small_together_are_named() {
    // Three tasks of size 6 in two memories of 10: each alone could be empty, two share one.
    let used = |budget| Choice { uses: vec![(budget, 6.0)], ..on(budget, 1.0) };
    let task = Task { group: 0, choices: vec![used(0), used(1)] };
    let budget = Budget { capacity: 10.0, overflow: Overflow::Forbidden };
    let problem = Problem {
        resources: 2,
        groups: 1,
        tasks: vec![task; 3],
        budgets: vec![budget; 2],
        ..Problem::default()
    };
    for limits in both() {
        match milp(&problem, &Weights::default(), &limits) {
            Err(SolveError::Infeasible { demand, capacity, .. }) => {
                assert_eq!((demand, capacity), (12.0, 10.0))
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn large_and_small_numbers_are_scaled() {
    let mut problem = partition();
    for choice in problem.tasks.iter_mut().flat_map(|task| &mut task.choices) {
        choice.loads[0].1 *= 1e9;
        choice.cost = 1e12;
    }
    let weights = Weights { time: 1.0, cost: 1e-6 };
    for limits in both() {
        let found = milp(&problem, &weights, &limits).unwrap();
        assert_eq!(found.objective.value, 9e9 + 5e6);
        assert_eq!(found.status, SolveStatus::Optimal);
    }
}

#[test]
fn a_time_limit_of_zero_still_gives_an_answer() {
    let limits = Limits { tables: 0, time_limit: Some(std::time::Duration::ZERO), ..Limits::default() };
    let problem = crate::stack::stack(20, 1, 1.0);
    let found = milp(&problem, &Weights::default(), &limits).unwrap();
    assert!(matches!(found.status, SolveStatus::TimeLimited { .. }));
    let start = evaluate(&problem, &Weights::default(), &greedy(&problem, &Weights::default()));
    assert!(found.objective.value <= start.value);
}

#[test]
fn nothing_to_choose_is_no_error() {
    let found = milp(&Problem::default(), &Weights::default(), &Limits::default()).unwrap();
    assert_eq!((found.objective.value, found.status), (0.0, SolveStatus::Optimal));
}
