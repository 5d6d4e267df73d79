//! Time of the intra-core search on one thread: the distinct layers of resnet18 and mobilenetv2 on
//! the reference's cores (`tests/reference/zigzag/search.jsonl`), by objective and allocator.
//!
//! `cargo bench --bench search`. Figures are the best of several passes over all layers.

use millstream::accelerator::{ArrayMapping, CoreKind};
use millstream::cost::{Division, Hierarchy, MappingConstraint, Objective, SearchOptions, search};
use millstream::workload::nest::LoopNest;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::Path;
use std::time::{Duration, Instant};

#[derive(Deserialize)]
struct Case {
    id: String,
    core: String,
    nest: LoopNest,
    spatial: Vec<ArrayMapping>,
}

fn lines<T: DeserializeOwned>(file: &str) -> Vec<T> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/zigzag").join(file);
    let text = std::fs::read_to_string(path).expect("the reference figures are part of the repository");
    text.lines().map(|line| serde_json::from_str(line).expect("one record per line")).collect()
}

/// Passes of which the fastest counts.
const PASSES: usize = 3;

fn pass(cases: &[&Case], hierarchy: &Hierarchy, options: &SearchOptions) -> (Duration, Duration) {
    let (mut total, mut longest) = (Duration::ZERO, Duration::ZERO);
    for case in cases {
        let constraint = MappingConstraint { fixed: case.spatial.clone(), ..MappingConstraint::default() };
        let start = Instant::now();
        let cost = search(&case.nest, hierarchy, &case.core, &constraint, options).expect("it fits");
        let taken = start.elapsed();
        assert!(cost.energy.0 > 0.0);
        total += taken;
        longest = longest.max(taken);
    }
    (total, longest)
}

fn main() {
    let cores: Vec<CoreKind> = lines("cores.jsonl");
    let cases: Vec<Case> = lines("search.jsonl");
    println!(
        "{:<28}{:>7}  {:<9}{:<9}{:>6}{:>11}{:>11}",
        "core/network", "layers", "objective", "allocator", "limit", "total ms", "longest ms"
    );
    for core in &cores {
        let hierarchy = Hierarchy::of(core, &[], None);
        for network in ["resnet18", "mobilenetv2"] {
            let prefix = format!("{}/{network}/", core.name);
            let layers: Vec<&Case> = cases.iter().filter(|case| case.id.starts_with(&prefix)).collect();
            if layers.is_empty() {
                continue;
            }
            for (objective, allocator, lpf_limit) in [
                (Objective::Energy, Division::Zigzag, 6),
                (Objective::Latency, Division::Zigzag, 6),
                (Objective::Edp, Division::Zigzag, 6),
                (Objective::Energy, Division::Optimal, usize::MAX),
            ] {
                let options = SearchOptions { objective, allocator, lpf_limit, ..SearchOptions::default() };
                let (total, longest) = (0..PASSES)
                    .map(|_| pass(&layers, &hierarchy, &options))
                    .min()
                    .expect("at least one pass");
                let limit = if lpf_limit == usize::MAX { "none".to_owned() } else { lpf_limit.to_string() };
                println!(
                    "{:<28}{:>7}  {:<9}{:<9}{limit:>6}{:>11.2}{:>11.2}",
                    prefix.trim_end_matches('/'),
                    layers.len(),
                    objective.to_string(),
                    format!("{allocator:?}").to_lowercase(),
                    total.as_secs_f64() * 1e3,
                    longest.as_secs_f64() * 1e3
                );
            }
        }
    }
}
