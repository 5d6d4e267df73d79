//! Properties on random small problems, against the exhaustive oracle.

use crate::backend::Effort;
use crate::index::Index;
use crate::model::{Aim, EdgeTerms, Form, time_units};
use crate::state::{Move, State};
use crate::*;
use proptest::prelude::*;

/// Draws numbers from a list, so that proptest shrinks the problem with the list.
struct Draw<'a>(std::slice::Iter<'a, u16>);

impl Draw<'_> {
    fn below(&mut self, count: usize) -> usize {
        self.0.next().map_or(0, |&x| x as usize % count)
    }

    fn amount(&mut self) -> f64 {
        self.below(20) as f64
    }

    fn amounts(&mut self, count: usize) -> Vec<(u32, f64)> {
        let all = (0..count as u32).map(|id| (id, self.below(3)));
        let named: Vec<(u32, usize)> = all.collect();
        let named = named.into_iter().filter(|&(_, x)| x > 0);
        named.map(|(id, _)| (id, self.amount())).collect()
    }
}

/// At most 6 tasks of 1 to 4 choices.
fn problem(numbers: &[u16], hard: bool) -> Problem {
    let mut draw = Draw(numbers.iter());
    let (resources, groups) = (1 + draw.below(4), 1 + draw.below(3));
    let budgets = draw.below(3);
    let count = 1 + draw.below(6);
    let mut tasks: Vec<Task> = Vec::new();
    for t in 0..count {
        let choices = (0..1 + draw.below(4)).map(|_| Choice {
            loads: draw.amounts(resources),
            latency: draw.amount(),
            fill: draw.below(6) as f64,
            cost: draw.amount(),
            uses: draw.amounts(budgets),
        });
        let choices = choices.collect();
        let group = (t * groups / count) as u32;
        tasks.push(Task { group, choices });
    }
    let mut edges = Vec::new();
    for to in 1..count {
        for _ in 0..draw.below(3) {
            let from = draw.below(to);
            // From dense tables to sparse ones.
            let listed = 1 + draw.below(4);
            let mut pairs = Vec::new();
            for a in 0..tasks[from].choices.len() {
                for b in 0..tasks[to].choices.len() {
                    if draw.below(4) < listed {
                        pairs.push(Pair {
                            from_choice: a as u32,
                            to_choice: b as u32,
                            loads: draw.amounts(resources),
                            cost: draw.amount(),
                        });
                    }
                }
            }
            let (from, to) = (from as u32, to as u32);
            edges.push(Edge { from, to, pairs });
        }
    }
    let budgets = (0..budgets).map(|_| Budget {
        capacity: draw.below(60) as f64,
        overflow: match hard {
            true => Overflow::Forbidden,
            false => Overflow::Priced(draw.below(4) as f64),
        },
    });
    Problem { resources, groups, budgets: budgets.collect(), tasks, edges, symmetric: Vec::new() }
}

/// `count` tasks on `machines` equal machines with a port and a budget each; pairs of machines too.
fn identical(numbers: &[u16], machines: u32, count: usize) -> Problem {
    let mut draw = Draw(numbers.iter());
    let mut sets: Vec<Vec<u32>> = (0..machines).map(|m| vec![m]).collect();
    sets.extend((0..machines).flat_map(|m| (0..m).map(move |n| vec![n, m])));
    let mut tasks = Vec::new();
    for _ in 0..count {
        let (length, size) = (1.0 + draw.amount(), draw.amount());
        let choices = sets.iter().map(|set| {
            let share = set.len() as f64;
            Choice {
                loads: set.iter().map(|&m| (m, length / share)).collect(),
                uses: set.iter().map(|&m| (m, size / share)).collect(),
                cost: share,
                ..Choice::default()
            }
        });
        let choices = choices.collect();
        tasks.push(Task { group: 0, choices });
    }
    let mut edges = Vec::new();
    for to in 1..count as u32 {
        let size = draw.amount();
        let mut pairs = Vec::new();
        for (a, from_set) in sets.iter().enumerate() {
            for (b, to_set) in sets.iter().enumerate().filter(|&(b, _)| b != a) {
                let mut ports: Vec<u32> = from_set.iter().chain(to_set).map(|m| m + machines).collect();
                ports.sort_unstable();
                ports.dedup();
                pairs.push(Pair {
                    from_choice: a as u32,
                    to_choice: b as u32,
                    loads: ports.into_iter().map(|port| (port, size)).collect(),
                    cost: size,
                });
            }
        }
        let from = to - 1;
        edges.push(Edge { from, to, pairs });
    }
    let block = |m| Block { resources: vec![m, m + machines], budgets: vec![m] };
    let budget = Budget { capacity: 10.0, overflow: Overflow::Priced(2.0) };
    Problem {
        resources: 2 * machines as usize,
        groups: 1,
        tasks,
        edges,
        budgets: vec![budget; machines as usize],
        symmetric: vec![Symmetry { blocks: (0..machines).map(block).collect() }],
    }
}

fn weights() -> impl Strategy<Value = Weights> {
    prop_oneof![Just((1.0, 0.0)), Just((1.0, 0.5)), Just((0.0, 1.0))]
        .prop_map(|(time, cost)| Weights { time, cost })
}

fn numbers() -> impl Strategy<Value = Vec<u16>> {
    prop::collection::vec(any::<u16>(), 0..1000)
}

/// Models only, no tables.
fn models() -> Limits {
    Limits { tables: 0, evaluations: 2_000, ..Limits::default() }
}

fn oracle(problem: &Problem, weights: &Weights) -> Best {
    exhaustive(problem, weights, 1 << 20).expect("small")
}

/// value, bound and status against the optimum.
fn agree(found: &Solution, best: &Best, exact: bool) -> Result<(), TestCaseError> {
    let optimum = best.objective.value;
    let tolerance = 1e-5 * (1.0 + optimum);
    prop_assert!(found.objective.value >= optimum - tolerance);
    prop_assert!(found.bound <= optimum + tolerance, "bound {} > {optimum}", found.bound);
    if found.status == SolveStatus::Optimal {
        prop_assert!(found.objective.value <= optimum + tolerance, "{found:?} {optimum}");
    }
    prop_assert!(!exact || found.status == SolveStatus::Optimal, "{found:?}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn models_find_the_optimum(numbers in numbers(), weights in weights()) {
        let problem = problem(&numbers, false);
        let best = oracle(&problem, &weights);
        let found = milp(&problem, &weights, &models()).unwrap();
        agree(&found, &best, true)?;
        prop_assert_eq!(&found.objective, &evaluate(&problem, &weights, &found.choices));
        prop_assert_eq!(&found, &milp(&problem, &weights, &models()).unwrap());
    }

    #[test]
    fn the_linear_model_is_exact(numbers in numbers(), weights in weights()) {
        let problem = problem(&numbers, false);
        let best = oracle(&problem, &weights);
        let index = Index::new(&problem);
        let start = State::new(&index, weights, &vec![0; problem.tasks.len()]).objective();
        prop_assume!(start.value > 0.0);
        let allowed = symmetry::allowed(&index, &[]);
        let form = Form {
            index: &index,
            weights,
            allowed: &allowed,
            edges: EdgeTerms::Modelled,
            aim: Aim::Objective,
            time_units: &time_units(&index, &start.times),
            unit: start.value,
            integral: true,
        };
        let effort = Effort { nodes: 1_000_000, ..Effort::default() };
        let outcome = backend::solve(&form, &effort);
        let optimum = best.objective.value;
        let tolerance = 1e-6 * (1.0 + start.value);
        let choices = outcome.choices.expect("feasible");
        prop_assert!((evaluate(&problem, &weights, &choices).value - optimum).abs() <= tolerance);
        let bound = outcome.bound.expect("solved");
        prop_assert!((bound - optimum).abs() <= tolerance, "{bound} is not {optimum}");
    }

    #[test]
    fn windows_improve_and_a_full_window_is_exact(numbers in numbers(), weights in weights()) {
        let problem = problem(&numbers, false);
        let optimum = oracle(&problem, &weights).objective.value;
        let index = Index::new(&problem);
        let start = vec![0; problem.tasks.len()];
        let first = evaluate(&problem, &weights, &start).value;
        let sweep = |window| {
            let mut clock = limits::Clock::start(&Limits::default());
            let swept = windows::sweep(&index, weights, &start, (window, 100_000), &mut clock);
            evaluate(&problem, &weights, &swept.choices).value
        };
        let (small, full) = (sweep(2), sweep(6));
        prop_assert!(optimum - 1e-6 * (1.0 + first) <= small && small <= first);
        prop_assert!((full - optimum).abs() <= 1e-6 * (1.0 + first), "{full} is not {optimum}");
    }

    #[test]
    fn tables_find_the_optimum(numbers in numbers(), weights in weights()) {
        let problem = problem(&numbers, false);
        let found = milp(&problem, &weights, &Limits::default()).unwrap();
        prop_assert_eq!(found.solves, 0);
        agree(&found, &oracle(&problem, &weights), true)?;
    }

    #[test]
    fn bounds_hold_when_little_is_done(numbers in numbers(), weights in weights(), nodes in 0u64..4) {
        let limits = Limits { nodes, window: 2, evaluations: 10, ..models() };
        let problem = problem(&numbers, false);
        let found = milp(&problem, &weights, &limits).unwrap();
        agree(&found, &oracle(&problem, &weights), false)?;
        let start = evaluate(&problem, &weights, &greedy(&problem, &weights));
        prop_assert!(found.objective.value <= start.value * (1.0 + 1e-9));
    }

    #[test]
    fn hard_budgets_are_kept_or_named(numbers in numbers(), weights in weights(), tables in any::<bool>()) {
        let problem = problem(&numbers, true);
        let best = oracle(&problem, &weights);
        let limits = if tables { Limits::default() } else { models() };
        match milp(&problem, &weights, &limits) {
            Ok(found) => {
                prop_assert_eq!(found.objective.violation, 0.0);
                prop_assert_eq!(best.objective.violation, 0.0);
                agree(&found, &best, true)?;
            }
            Err(SolveError::Infeasible { budget, demand, capacity }) => {
                prop_assert!(best.objective.violation > 0.0);
                prop_assert!(demand > capacity);
                prop_assert_eq!(capacity, problem.budgets[budget as usize].capacity);
            }
            Err(other) => prop_assert!(false, "{}", other),
        }
    }

    #[test]
    fn heuristics_stay_above_the_optimum(numbers in numbers(), weights in weights()) {
        let problem = problem(&numbers, false);
        let optimum = oracle(&problem, &weights).objective.value;
        let start = greedy(&problem, &weights);
        let value = evaluate(&problem, &weights, &start).value;
        let improved = improve(&problem, &weights, &start, 5_000);
        prop_assert!(value >= optimum - 1e-9);
        prop_assert!(improved.objective.value >= optimum - 1e-9);
        prop_assert!(improved.objective.value <= value);
        prop_assert_eq!(&improved.objective, &evaluate(&problem, &weights, &improved.choices));
    }

    #[test]
    fn trials_agree_with_evaluation(numbers in numbers(), weights in weights(), moves in numbers()) {
        let problem = problem(&numbers, false);
        let index = Index::new(&problem);
        let mut state = State::new(&index, weights, &vec![0; problem.tasks.len()]);
        for two in moves.chunks_exact(4).take(20) {
            let pick = |t: u16, c: u16| -> Move {
                let t = t as usize % problem.tasks.len();
                (t, (c as usize % problem.tasks[t].choices.len()) as u32)
            };
            let (one, other) = (pick(two[0], two[1]), pick(two[2], two[3]));
            let moves = if one.0 == other.0 { vec![one] } else { vec![one, other] };
            let before = state.objective();
            let trial = state.trial(&moves);
            prop_assert_eq!(&before, &state.objective());
            state.commit(&moves);
            prop_assert!((trial.value - state.score().value).abs() <= 1e-9 * (1.0 + trial.value));
            prop_assert_eq!(state.objective(), evaluate(&problem, &weights, state.choices()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(25))]

    #[test]
    fn symmetry_does_not_change_the_optimum(numbers in numbers(), weights in weights()) {
        let problem = identical(&numbers, 3, 4);
        let index = Index::new(&problem);
        let symmetries = symmetry::check(&index);
        prop_assert_eq!(symmetries.len(), 1);
        let allowed = symmetry::allowed(&index, &symmetries);
        prop_assert_eq!(&allowed[0], &[0, 3], "first machine alone, or the first two");
        let best = oracle(&problem, &weights);
        let equivalent = symmetry::canonical(&index, &symmetries, &best.choices);
        let value = evaluate(&problem, &weights, &equivalent).value;
        prop_assert!((value - best.objective.value).abs() <= 1e-9 * (1.0 + value));
        for (choice, allowed) in equivalent.iter().zip(&allowed) {
            prop_assert!(allowed.contains(choice));
        }
        agree(&milp(&problem, &weights, &models()).unwrap(), &best, false)?;
        // A claim that does not hold is ignored.
        let mut broken = problem.clone();
        broken.tasks[1].choices[2].cost += 1.0;
        prop_assert!(symmetry::check(&Index::new(&broken)).is_empty());
    }
}
