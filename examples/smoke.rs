//! Smoke.
use millstream::*;
use millstream::schedule::Record;
use std::time::Instant;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let workload = workload::onnx::parse(&args[1], library::workload(&args[1]).unwrap(), &Default::default()).unwrap();
    let accelerator = accelerator::yaml::find(&args[2]).unwrap_or_else(|e| panic!("{e}"));
    let mapping = mapping::Mapping::default();
    let mut problem = pipeline::Problem::new(workload, accelerator, mapping).unwrap_or_else(|e| panic!("{e}"));
    if args.get(5).is_some_and(|a| a == "latency") { problem.schedule.priority = schedule::Priority::Latency; }
    let stacking = match args[3].as_str() { "none" => fusion::stacks::Stacking::None, "all" => fusion::stacks::Stacking::All, "weights" => fusion::stacks::Stacking::Weights, _ => fusion::stacks::Stacking::Auto };
    let stacks = fusion::stacks::stacks(&problem.workload, &problem.accelerator, stacking);
    println!("{} stacks", stacks.len());
    let intra = allocation::space::intra_cuts(&problem.workload, &problem.mapping, &stacks, 1).unwrap();
    let table = cost::CostTable::new();
    for pick in 0..3 {
        let choices: Vec<u32> = problem.space.layers.iter().enumerate().map(|(i, c)| match pick { 0 => (i % c.len().min(4)) as u32, 1 => c.iter().position(|c| c.inter.len() > 0 && c.cores.len() == 4).unwrap_or(0) as u32, _ => c.iter().rposition(|c| c.inter.len() > 0 && c.cores.len() == 4).unwrap_or(0) as u32 }).collect();
        let candidate = problem.space.candidate(&stacks, &intra, &choices);
        let t = Instant::now();
        let graph = pipeline::graph(&problem, &candidate).unwrap();
        println!("refine {:?}: {} cns {} fragments {} edges {} classes", t.elapsed(), graph.cns(), graph.fragments(), graph.edges, graph.classes.len());
        for record in [Record::Full, Record::Totals] {
            let t = Instant::now();
            match pipeline::evaluate(&problem, &graph, &candidate, &table, record) {
                Ok(e) => println!("pick {pick} {:?} latency {} energy {:.4e} why {:?} transfers {} busy {:?} distinct {}", t.elapsed(), e.schedule.latency, e.energy.total, e.schedule.why, e.schedule.transfers, e.schedule.busy, table.distinct()),
                Err(e) => println!("pick {pick} ERROR {e}"),
            }
        }
    }
}
