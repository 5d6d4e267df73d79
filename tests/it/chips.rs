//! The three measured chips with the workloads and mappings of their measurements.
//!
//! Reference: Stream's validation branch (June 2023), whose costs are those of ZigZag 2.3.8. CNs and
//! the cycles of DepFiN's CNs are the same; what the schedules make of them is not, because Stream
//! fetches a row only when its CN is next and the link is free. Measured cycles: DepFiN 6.18 M, DIANA
//! 812 k, Jia et al. 66 302; the main README says how far we are.

use millstream::accelerator::yaml as hardware;
use millstream::allocation::policy::Policy;
use millstream::library;
use millstream::mapping::yaml as mappings;
use millstream::pipeline::Problem;
use millstream::pipeline::run::{Outcome, RunOptions, run};
use millstream::schedule::Priority;
use millstream::workload::yaml as workloads;

fn outcome(chip: &str, workload: &str, priority: Priority) -> Outcome {
    let text = std::str::from_utf8(library::workload(workload).unwrap()).unwrap();
    let workload = workloads::parse(workload, text).unwrap_or_else(|errors| panic!("{errors}"));
    let accelerator = hardware::find(chip).unwrap_or_else(|errors| panic!("{errors}"));
    let mapping = mappings::parse(chip, library::mapping(chip).unwrap(), Some(&accelerator)).unwrap();
    let mut problem = Problem::new(workload, accelerator, mapping).unwrap();
    problem.schedule.priority = priority;
    run(&problem, &RunOptions { policy: Policy::Fixed, ..RunOptions::default() }).unwrap()
}

#[test]
fn depfin_computes_as_long_as_in_the_reference() {
    let outcome = outcome("depfin", "depfin_fsrcnn", Priority::Memory);
    assert_eq!(outcome.graph.class_of.len(), 8 * 540);
    let schedule = &outcome.evaluation.schedule;
    // `latency_simple` of the reference: the sum of all CNs.
    assert_eq!(schedule.busy[0].0, 5_018_220);
    assert_eq!(
        outcome.evaluation.costs.nodes.iter().filter(|node| !node.cost.streamed.is_empty()).count(),
        0
    );
}

#[test]
fn diana_is_cut_as_in_the_reference() {
    let outcome = outcome("diana", "diana_resnet18_segment", Priority::Memory);
    // 4 x 8 x 112 and 4 x 56 pieces, then 7 layers of 56 rows.
    assert_eq!(outcome.graph.class_of.len(), 3584 + 224 + 7 * 56);
    assert_eq!(outcome.graph.class_of.len(), 4200);
}

#[test]
fn the_chain_of_jia_et_al_is_cut_as_in_the_reference() {
    let outcome = outcome("jia_aimc", "jia_resnet50_segment", Priority::Latency);
    assert_eq!(outcome.graph.class_of.len(), 5 * 28 * 56);
    // One layer per core, in a chain of links.
    let busy = outcome.evaluation.schedule.busy.iter().filter(|cycles| cycles.0 > 0).count();
    assert_eq!(busy, 5);
}
