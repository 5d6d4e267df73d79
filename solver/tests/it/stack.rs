//! A random problem of the typical shape: a chain with shortcuts on four equal machines and two
//! special ones.
//!
//! Resources 0..4 are equal machines, 4 is slow but always possible, 5 is fast and takes only
//! some tasks; 6..12 are their ports, 12 is a bus. A choice is one machine, two neighbours or
//! all four. Data that stays on its machine moves nowhere, the rest loads two ports and the bus.

use millstream_solver::{Block, Budget, Choice, Edge, Overflow, Pair, Problem, Symmetry, Task};

/// (machines, time relative to one machine)
const SETS: [(&[u32], f64); 9] = [
    (&[0], 1.0),
    (&[1], 1.0),
    (&[2], 1.0),
    (&[3], 1.0),
    (&[0, 1], 0.55),
    (&[2, 3], 0.55),
    (&[0, 1, 2, 3], 0.3),
    (&[4], 3.0),
    (&[5], 0.2),
];

/// A Knuth-MMIX generator, uniform on [0, 1).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        let factor = 6_364_136_223_846_793_005;
        self.0 = self.0.wrapping_mul(factor).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }
}

/// `count` tasks; `traffic` is the size of data relative to work.
pub fn stack(count: usize, seed: u64, traffic: f64) -> Problem {
    let mut random = Random(seed);
    let mut tasks = Vec::new();
    let mut sets_of = Vec::new();
    let mut sizes = Vec::new();
    for _ in 0..count {
        let work = 1e5 * (0.2 + 2.0 * random.next());
        let size = 1e5 * traffic * (0.2 + random.next());
        let special = random.next() < 0.2;
        let excluded: u32 = if special { 4 } else { 5 };
        let sets: Vec<(&[u32], f64)> = SETS.iter().copied().filter(|(m, _)| m[0] != excluded).collect();
        let choices = sets.iter().map(|(machines, factor)| choice(machines, work * factor, size));
        let choices = choices.collect();
        tasks.push(Task { group: 0, choices });
        sets_of.push(sets);
        sizes.push(size);
    }
    let chain = (1..count).map(|t| (t - 1, t));
    let shortcuts = (3..count).step_by(3).map(|t| (t - 3, t));
    let edges = chain.chain(shortcuts).map(|(p, t)| Edge {
        from: p as u32,
        to: t as u32,
        pairs: pairs(&sets_of[p], &sets_of[t], sizes[p]),
    });
    let budget = Budget { capacity: 0.23 * 1e5 * traffic * count as f64, overflow: Overflow::Priced(1.0) };
    let block = |m| Block { resources: vec![m, m + 6], budgets: vec![m] };
    let symmetry = |m| Symmetry { blocks: vec![block(m), block(m + 1)] };
    Problem {
        resources: 13,
        groups: 1,
        edges: edges.collect(),
        tasks,
        budgets: vec![budget; 4],
        symmetric: vec![symmetry(0), symmetry(2)],
    }
}

/// The same with a group for every task.
pub fn one_by_one(count: usize, seed: u64, traffic: f64) -> Problem {
    let mut problem = stack(count, seed, traffic);
    problem.groups = count;
    problem.budgets.clear();
    problem.symmetric.clear();
    for (t, task) in problem.tasks.iter_mut().enumerate() {
        task.group = t as u32;
        task.choices.iter_mut().for_each(|choice| choice.uses.clear());
    }
    problem
}

fn choice(machines: &[u32], time: f64, size: f64) -> Choice {
    let share = size / machines.len() as f64;
    let stored = machines.iter().filter(|&&m| m < 4);
    Choice {
        loads: machines.iter().map(|&m| (m, time)).collect(),
        latency: time,
        fill: 0.0,
        cost: time * 10.0 * machines.len() as f64,
        uses: stored.map(|&m| (m, share)).collect(),
    }
}

fn pairs(from: &[(&[u32], f64)], to: &[(&[u32], f64)], size: f64) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (a, (sources, _)) in from.iter().enumerate() {
        for (b, (targets, _)) in to.iter().enumerate() {
            let share = size / (sources.len() * targets.len()) as f64;
            let mut loads = [0.0; 13];
            for source in *sources {
                for target in targets.iter().filter(|target| *target != source) {
                    loads[6 + *source as usize] += share;
                    loads[6 + *target as usize] += share;
                    loads[12] += share / 2.0;
                }
            }
            let moved = loads[12] * 2.0;
            let loads = loads.iter().enumerate().filter(|&(_, &load)| load > 0.0);
            let loads: Vec<(u32, f64)> = loads.map(|(r, &load)| (r as u32, load)).collect();
            if !loads.is_empty() {
                pairs.push(Pair { from_choice: a as u32, to_choice: b as u32, loads, cost: moved * 20.0 });
            }
        }
    }
    pairs
}
