//! Measurement of model sizes (temporary).
use crate::backend::{Effort, solve};
use crate::greedy::greedy_from;
use crate::index::Index;
use crate::local::improve_from;
use crate::model::{Aim, EdgeTerms, Form};
use crate::problem::*;
use crate::state::State;
use std::time::Instant;

pub(crate) struct Lcg(pub u64);
impl Lcg {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as f64) / (1u64 << 31) as f64
    }
}
/// 4 identical + 2 special machines, 4 ports + bus; choices: singles, two pairs, all four
pub(crate) fn stack(n: usize, seed: u64, comm: f64) -> Problem {
    let mut rng = Lcg(seed);
    let sets: Vec<(Vec<u32>, f64)> = vec![
        (vec![0], 1.0), (vec![1], 1.0), (vec![2], 1.0), (vec![3], 1.0),
        (vec![0, 1], 0.55), (vec![2, 3], 0.55), (vec![0, 1, 2, 3], 0.3),
        (vec![4], 3.0), (vec![5], 0.2),
    ];
    let mut tasks = vec![];
    let mut size = vec![];
    for _ in 0..n {
        let w = 1e5 * (0.2 + rng.next() * 2.0);
        let d = 1e5 * comm * (0.2 + rng.next());
        size.push(d);
        let special = rng.next() < 0.2;
        let mut choices = vec![];
        for (set, f) in &sets {
            if (set[0] == 4 || set[0] == 5) && (special != (set[0] == 5)) { continue; }
            choices.push(Choice {
                loads: set.iter().map(|&r| (r, w * f)).collect(),
                latency: w * f, fill: 0.0,
                cost: w * 10.0 * (1.0 + 0.2 * set.len() as f64 + f * 0.1), uses: set.iter().filter(|&&r| r < 4).map(|&r| (r, d / set.len() as f64)).collect(),
            });
        }
        tasks.push((choices, sets.iter().enumerate().filter(|(_, (set, _))| !((set[0] == 4 || set[0] == 5) && (special != (set[0] == 5)))).map(|(i, _)| i).collect::<Vec<_>>()));
    }
    let mut edges = vec![];
    let mut add = |p: usize, t: usize| {
        let mut pairs = vec![];
        for (i, &a) in tasks[p].1.iter().enumerate() {
            for (j, &b) in tasks[t].1.iter().enumerate() {
                let (sa, sb) = (&sets[a].0, &sets[b].0);
                let mut loads: Vec<(u32, f64)> = vec![];
                let mut total = 0.0;
                for &x in sa { for &y in sb { if x != y {
                    let l = size[p] / (sa.len() * sb.len()) as f64;
                    total += l;
                    for r in [6 + x, 6 + y] {
                        if let Some(e) = loads.iter_mut().find(|e| e.0 == r) { e.1 += l } else { loads.push((r, l)) }
                    }
                }}}
                if total > 0.0 {
                    loads.push((12, total * 0.5));
                    pairs.push(Pair { from_choice: i as u32, to_choice: j as u32, loads, cost: total * 20.0 });
                }
            }
        }
        edges.push(Edge { from: p as u32, to: t as u32, pairs });
    };
    for t in 1..n {
        add(t - 1, t);
        if t >= 3 && t % 3 == 0 { add(t - 3, t); }
    }
    let tasks = tasks.into_iter().map(|(choices, _)| Task { group: 0, choices }).collect();
    Problem { resources: 13, groups: 1, tasks, edges, budgets: (0..4).map(|_| Budget { capacity: 1e5 * comm * 0.7 * n as f64 / 4.0 * 1.3, overflow: Overflow::Priced(1.0) }).collect(), symmetric: vec![] }
}

#[test]
#[ignore]
fn measure() {
    for comm in [0.3] {
    for n in [4usize, 6, 8, 10, 14, 20, 40] {
        let p = stack(n, 7, comm);
        let w = Weights { time: 1.0, cost: 0.01 };
        let index = Index::new(&p);
        let t0 = Instant::now();
        let g = greedy_from(&index, w);
        let gv = State::new(&index, w, &g).score().value;
        let imp = improve_from(&index, w, &g, 1_000_000);
        println!("n={n} comm={comm} greedy {gv:.0} local {:.0} evals {} in {:?} times {:?} pen {}", imp.objective.value, imp.evaluations, t0.elapsed(), imp.objective.times, imp.objective.penalty);
        let allowed: Vec<Vec<u32>> = p.tasks.iter().map(|t| (0..t.choices.len() as u32).collect()).collect();
        for (edges, integral, nodes) in [(EdgeTerms::Dropped, false, 0), (EdgeTerms::Dropped, true, 2000), (EdgeTerms::Modelled, false, 0), (EdgeTerms::Modelled, true, 200)] {
            if n > 14 && integral && edges == EdgeTerms::Modelled {continue}
            let form = Form { index: &index, weights: w, allowed: &allowed, edges, aim: Aim::Objective, time_units: &imp.objective.times, unit: imp.objective.value, integral };
            let t1 = Instant::now();
            let out = solve(&form, &Effort { nodes, gap: 1e-6, time: None, start: Some(&imp.choices) });
            let v = out.choices.as_ref().map(|c| State::new(&index, w, c).score().value);
            println!("   {edges:?} int={integral} bound {:?} value {:?} opt {} nodes {} pivots {} {:?}", out.bound.map(|x| x.round()), v.map(|x| x.round()), out.optimal, out.nodes, out.iterations, t1.elapsed());
        }
    }
    }
}

#[test]
#[ignore]
fn measure_milp() {
    use crate::{milp, Limits};
    for (comm, cw) in [(0.3, 0.01), (1.0, 0.0), (0.1, 0.0)] {
    for n in [1usize, 3, 5, 6, 8, 10, 14, 20, 30, 40, 50] {
        let mut p = stack(n, 7, comm);
        p.symmetric = vec![Symmetry { blocks: vec![Block{resources: vec![0,6], budgets: vec![0]}, Block{resources: vec![1,7], budgets: vec![1]}] },
         Symmetry { blocks: vec![Block{resources: vec![2,8], budgets: vec![2]}, Block{resources: vec![3,9], budgets: vec![3]}] }];
        let w = Weights { time: 1.0, cost: cw };
        for window in [0, 6, 8] {
        let t1 = Instant::now();
        let s = milp(&p, &w, &Limits { window, ..Limits::default() }).unwrap();
        println!("n={n} comm={comm} w={window} value {:.0} bound {:.0} {:?} solves {} evals {} {:?}", s.objective.value, s.bound, s.status, s.solves, s.evaluations, t1.elapsed());
        }
    }
    }
}
