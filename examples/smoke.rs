//! Smoke.
use millstream::*;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let workload = workload::onnx::parse(&args[1], library::workload(&args[1]).unwrap(), &Default::default()).unwrap();
    let accelerator = accelerator::yaml::find(&args[2]).unwrap_or_else(|e| panic!("{e}")).with_dram().unwrap_or_else(|e| panic!("{e}"));
    let mut problem = pipeline::Problem::new(workload, accelerator, Default::default()).unwrap_or_else(|e| panic!("{e}"));
    if args.get(4).is_some_and(|a| a == "latency") { problem.schedule.priority = schedule::Priority::Latency; }
    let mut options = pipeline::run::RunOptions::default();
    if args[3] == "lbl" { options.mode = pipeline::run::Mode::LayerByLayer } else {
    options.stacking = match args[3].as_str() { "none" => fusion::stacks::Stacking::None, "all" => fusion::stacks::Stacking::All, "weights" => fusion::stacks::Stacking::Weights, _ => fusion::stacks::Stacking::Auto }; }
    match pipeline::run::run(&problem, &options) {
        Ok(o) => { let e = &o.evaluation; println!("{} {} {} latency {} energy {:.4e} bound {:?} predicted {:?} source {} solver {:?} why {:?} cns {} {:?} seconds {:?}", args[1], args[2], args[3], e.schedule.latency, e.energy.total, o.bound, o.predicted, o.source, o.solver, e.schedule.why, o.graph.cns(), o.report.checked, o.seconds); }
        Err(e) => println!("{} {} {} ERROR {e}", args[1], args[2], args[3]),
    }
}
