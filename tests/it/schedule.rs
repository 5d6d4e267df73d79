//! Schedules worked out by hand, cycle by cycle, with given costs of CNs.
//!
//! Two cores on `testing_two_core`, layers in one CN each. DRAM moves 64 bits a cycle through one
//! port, the bus 128, the link between the cores 64; the memories at the top of a core 128. Images
//! have 16 channels of 8 x 8 elements of 8 bits: 8192 bits, 128 cycles from DRAM and, because of two
//! equally near routes the link is taken before the bus, 128 cycles from core to core. A weight of
//! 16 x 16 is 2048 bits, 32 cycles from DRAM.

mod fair;
mod machines;
mod spilled_outputs;

use crate::fixture::{Network, Window, whole};
use millstream::accelerator::{Accelerator, ResourceKind, yaml as hardware};
use millstream::allocation::Candidate;
use millstream::bound::bound;
use millstream::cost::CostTable;
use millstream::ids::CoreId;
use millstream::mapping::Mapping;
use millstream::overrides::CostOverrides;
use millstream::pipeline::run::check;
use millstream::pipeline::{EvaluateError, Evaluation, Problem, evaluate, graph};
use millstream::schedule::log::{Event, Purpose};
use millstream::schedule::{Record, Schedule, ScheduleError, Why};
use millstream::units::{Bits, BitsPerCycle, Cycles};
use millstream::workload::{MemoryOperand, Workload};

/// A problem with given costs: `(layer, core, cycles)`, 10 pJ each.
fn problem(workload: Workload, costs: &[(&str, u32, u64)]) -> Problem {
    let accelerator = hardware::find("testing_two_core").unwrap();
    let mut text = "layer,core,latency_cycles,energy_pj\n".to_owned();
    for (layer, core, cycles) in costs {
        text += &format!("{layer},{core},{cycles},10\n");
    }
    let overrides = CostOverrides::parse("costs.csv", &text).unwrap();
    overrides.check_layers("costs.csv", &workload).unwrap();
    Problem { overrides, ..Problem::new(workload, accelerator, Mapping::default()).unwrap() }
}

/// Runs every layer in one CN on its core; both records agree.
fn attempt(problem: &Problem, cores: &[u32]) -> Result<(Candidate, Evaluation), EvaluateError> {
    let candidate = Candidate {
        tiling: whole(&problem.workload),
        cores: cores.iter().map(|core| vec![CoreId(*core)]).collect(),
        order: (0..cores.len() as u32).collect(),
    };
    let graph = graph(problem, &candidate)?;
    let full = evaluate(problem, &graph, &candidate, &CostTable::new(), Record::Full);
    let totals = evaluate(problem, &graph, &candidate, &CostTable::new(), Record::Totals);
    let (full, totals) = match (full, totals) {
        (Ok(full), Ok(totals)) => (full, totals),
        (full, totals) => {
            assert_eq!(
                full.as_ref().map_err(ToString::to_string).err(),
                totals.map_err(|error| error.to_string()).err()
            );
            return Err(full.unwrap_err());
        }
    };
    let stripped = Schedule { log: None, ..full.schedule.clone() };
    assert_eq!(Evaluation { schedule: stripped, ..full.clone() }, totals);
    let report = check(problem, &graph, &candidate, &full, &bound(problem));
    assert!(report.is_clean(), "{report}");
    let why = &full.schedule.why;
    let sum = why.compute + why.stall + why.transfer + why.dram + why.memory;
    assert_eq!(sum, full.schedule.latency.0);
    Ok((candidate, full))
}

fn run(problem: &Problem, cores: &[u32]) -> Evaluation {
    attempt(problem, cores).unwrap().1
}

/// `[start, end)` of every CN.
fn times(evaluation: &Evaluation) -> Vec<(u64, u64)> {
    evaluation.schedule.cns.iter().map(|times| (times.start.0, times.end.0)).collect()
}

/// When the transfers of a purpose used their routes, as `(first cycle, end, destinations)`.
fn transfers(evaluation: &Evaluation, which: Purpose) -> Vec<(u64, u64, usize)> {
    let log = evaluation.schedule.log.as_ref().unwrap();
    let found = log.0.iter().filter_map(|event| match event {
        Event::Transfer { to, segments, purpose, .. } if *purpose == which => {
            Some((segments[0].0.0, segments[segments.len() - 1].1.0, to.len()))
        }
        _ => None,
    });
    found.collect()
}

/// 16 channels to 16, then to 8.
fn pair() -> Workload {
    let mut network = Network::new();
    let input = network.input([16, 8, 8]);
    let first = network.conv("first", input, Window::POINT, 1, 16).unwrap();
    let second = network.conv("second", first, Window::POINT, 1, 8).unwrap();
    network.finish(&[second])
}

fn pair_problem() -> Problem {
    problem(pair(), &[("first", 0, 100), ("second", 1, 50), ("second", 0, 50)])
}

/// Three inferences of the pair: constants are loaded once. With one CN admitted ahead, the second image
/// is asked for at 0 and the third at 260, when the first CN has ended; the weights of the second layer are
/// needed since then and were asked for at 0, so they go first.
///
/// ```text
/// DRAM    image 0..128   first.w 128..160   image' 160..288   second.w 288..304   image'' 304..432
///         results 438..502   566..630   710..774
/// core 0  first 160..260   288..388   432..532
/// link          260..388   388..516   532..660
/// core 1        second 388..438   516..566   660..710
/// ```
#[test]
fn three_inferences_on_two_cores() {
    let evaluation = run(&pair_problem().repeated(3), &[0, 1, 0, 1, 0, 1]);
    let first_second = [(160, 260), (388, 438), (288, 388), (516, 566), (432, 532), (660, 710)];
    assert_eq!(times(&evaluation), first_second);
    let stores = transfers(&evaluation, Purpose::Store);
    assert_eq!(stores, [(438, 502, 1), (566, 630, 1), (710, 774, 1)]);
    // Three images, three results, weights once, through DRAM.
    assert_eq!(evaluation.schedule.transfers, 3 + 3 + 2 + 3);
}

/// ```text
/// DRAM    image 0..128   first.w 128..160   second.w 160..176 (prefetched)   502 = 438 + 64 result
/// core 0                                    first 160..260
/// link                                                      260..388
/// core 1                                                             second 388..438
/// ```
#[test]
fn two_layers_on_two_cores() {
    let evaluation = run(&pair_problem(), &[0, 1]);
    assert_eq!(times(&evaluation), [(160, 260), (388, 438)]);
    assert_eq!(evaluation.schedule.latency, Cycles(502));
    assert_eq!(evaluation.schedule.transfers, 5);
    assert_eq!(transfers(&evaluation, Purpose::Fetch), [(0, 128, 1), (128, 160, 1), (260, 388, 1)]);
    assert_eq!(transfers(&evaluation, Purpose::Prefetch), [(160, 176, 1)]);
    assert_eq!(transfers(&evaluation, Purpose::Store), [(438, 502, 1)]);
    let why = Why { compute: 150, stall: 0, transfer: 128, dram: 160 + 64, memory: 0 };
    assert_eq!(evaluation.schedule.why, why);
    assert_eq!(evaluation.schedule.busy[..2], [Cycles(100), Cycles(50)]);
}

/// DRAM: 176 words read and 64 written at 1000 pJ. On chip half words of 64 bits: 128 + 32 + 16 + 128
/// written at 23.65 / 2 and 128 + 64 read at 26.01 / 2. Two CNs of 10 pJ; the links cost nothing.
#[test]
fn energy_of_two_layers_on_two_cores() {
    let energy = run(&pair_problem(), &[0, 1]).energy;
    let memory = 304.0 * 11.825 + 192.0 * 13.005;
    for (found, expected) in [
        (energy.dram, 240_000.0),
        (energy.memory, memory),
        (energy.compute, 20.0),
        (energy.links, 0.0),
        (energy.total, 240_020.0 + memory),
    ] {
        assert!((found - expected).abs() < 1e-6, "{energy:?}");
    }
}

/// Without prefetching, second.w is fetched at 260 over the bus while the image takes the link.
#[test]
fn weights_that_are_not_prefetched_come_later() {
    let mut problem = pair_problem();
    problem.schedule.prefetch = 0;
    let evaluation = run(&problem, &[0, 1]);
    assert_eq!(times(&evaluation), [(160, 260), (388, 438)]);
    assert_eq!(transfers(&evaluation, Purpose::Prefetch), []);
    let fetched = transfers(&evaluation, Purpose::Fetch);
    assert_eq!(fetched, [(0, 128, 1), (128, 160, 1), (260, 276, 1), (260, 388, 1)]);
    assert_eq!(evaluation.schedule.latency, Cycles(502));
}

/// On one core the second layer's input is there at 260, its weights since 176.
#[test]
fn one_core_needs_no_transfer_between_layers() {
    let evaluation = run(&pair_problem(), &[0, 0]);
    assert_eq!(times(&evaluation), [(160, 260), (260, 310)]);
    assert_eq!(evaluation.schedule.latency, Cycles(310 + 64));
    assert_eq!(evaluation.schedule.why.transfer, 0);
}

/// A link of 256 bits a cycle is wider than the bus: the image takes it, at the 128 of the ports, and
/// without prefetching no longer stands in the way of second.w on the bus.
#[test]
fn the_widest_of_equally_near_routes_wins() {
    let mut problem = pair_problem();
    problem.schedule.prefetch = 0;
    let (workload, mut accelerator) = (problem.workload.clone(), problem.accelerator.clone());
    accelerator.links[0].bandwidth = BitsPerCycle(256);
    for resource in &mut accelerator.resources {
        if matches!(resource.kind, ResourceKind::Link { link: 0, .. }) {
            resource.bandwidth = BitsPerCycle(256);
        }
    }
    let wide = Problem::new(workload, accelerator, Mapping::default()).unwrap();
    let wide = Problem { overrides: problem.overrides, schedule: problem.schedule, ..wide };
    let evaluation = run(&wide, &[0, 1]);
    assert_eq!(transfers(&evaluation, Purpose::Fetch)[2..], [(260, 276, 1), (260, 324, 1)]);
    assert_eq!(times(&evaluation), [(160, 260), (324, 374)]);
}

/// The image goes to both cores at once, 0..128; first.w 128..160, second.w 160..176. The second
/// layer ends first, and its result (226..290) keeps the port from the first one's, ready at 260.
#[test]
fn one_read_of_an_image_for_two_cores() {
    let mut network = Network::new();
    let input = network.input([16, 8, 8]);
    let first = network.conv("first", input, Window::POINT, 1, 16).unwrap();
    let second = network.conv("second", input, Window::POINT, 1, 8).unwrap();
    let workload = network.finish(&[first, second]);
    let evaluation = run(&problem(workload, &[("first", 0, 100), ("second", 1, 50)]), &[0, 1]);
    assert_eq!(transfers(&evaluation, Purpose::Fetch), [(0, 128, 2), (128, 160, 1), (160, 176, 1)]);
    assert_eq!(times(&evaluation), [(160, 260), (176, 226)]);
    assert_eq!(transfers(&evaluation, Purpose::Store), [(226, 290, 1), (290, 418, 1)]);
    assert_eq!(evaluation.schedule.latency, Cycles(418));
}

/// One channel of `elements` elements through a weight of one.
fn line(elements: u64) -> Problem {
    let mut network = Network::new();
    let input = network.input([1, 1, elements]);
    let only = network.conv("only", input, Window::POINT, 1, 1).unwrap();
    problem(network.finish(&[only]), &[("only", 0, 7)])
}

/// The 8 bits of the weight take one cycle; 8 elements one more, a ninth begins a second one.
#[test]
fn a_cn_starts_when_its_last_input_arrives_and_no_cycle_earlier() {
    assert_eq!(times(&run(&line(8), &[0])), [(2, 9)]);
    assert_eq!(times(&run(&line(9), &[0])), [(3, 10)]);
    assert_eq!(run(&line(8), &[0]).schedule.latency, Cycles(10));
    assert_eq!(run(&line(9), &[0]).schedule.latency, Cycles(12));
}

/// 8192 bits in packets of 100 are 81 of two cycles and 92 bits in two; 2048 bits are 20 of two and
/// 48 bits in one. Packets of 64 waste nothing from DRAM, half of the 128 bits a cycle between cores.
#[test]
fn packets_are_rounded_up_one_by_one() {
    let mut problem = pair_problem();
    problem.schedule.packet = Bits(100);
    assert_eq!(times(&run(&problem, &[0, 1]))[0], (82 * 2 + 20 * 2 + 1, 305));
    problem.schedule.packet = Bits(64);
    assert_eq!(times(&run(&problem, &[0, 1])), [(160, 260), (260 + 128, 438)]);
}

/// Three convolutions in a row and the sum of the first and the third.
fn residual() -> Problem {
    residual_with(false)
}

/// The same; the first one's result may leave the network too.
fn residual_with(first_leaves: bool) -> Problem {
    let mut network = Network::new();
    let input = network.input([16, 8, 8]);
    let conv = |network: &mut Network, name, input| network.conv(name, input, Window::POINT, 1, 16).unwrap();
    let a = conv(&mut network, "a", input);
    let b = conv(&mut network, "b", a);
    let c = conv(&mut network, "c", b);
    let sum = network.add("sum", a, c);
    let costs = ["a", "b", "c", "sum"].map(|layer| (layer, 0, 100));
    let outputs = if first_leaves { vec![a, sum] } else { vec![sum] };
    problem(network.finish(&outputs), &costs)
}

/// Gives the memory of activations of core 0 this size.
fn with_activations(problem: &mut Problem, size: u64) {
    let pool = activations(&problem.accelerator);
    problem.accelerator.pools[pool].size = Bits(size);
}

fn activations(accelerator: &Accelerator) -> usize {
    accelerator.pools.iter().position(|pool| pool.name == "core0.sram_128K_A").unwrap()
}

/// The sum reads its second operand from the memory of weights: a copy of 64 cycles inside the core.
#[test]
fn a_residual_with_ample_memory() {
    let evaluation = run(&residual(), &[0; 4]);
    assert_eq!(times(&evaluation)[..3], [(160, 260), (260, 360), (360, 460)]);
    assert_eq!(times(&evaluation)[3], (460 + 64, 624));
    assert_eq!(evaluation.schedule.latency, Cycles(624 + 128));
    assert_eq!(transfers(&evaluation, Purpose::Spill), []);
}

/// A convolution needs its input and its output as partial sums, 24 Kibit. Of 28 Kibit, 4 are left:
/// for the third convolution the first one's result, used last, is spilled (360..488). The sum then
/// fetches it again from DRAM (128 cycles) while c is copied to the memory of weights.
#[test]
fn what_is_used_last_is_spilled_and_fetched_again() {
    let mut problem = residual();
    with_activations(&mut problem, 28 * 1024);
    let evaluation = run(&problem, &[0; 4]);
    assert_eq!(transfers(&evaluation, Purpose::Spill), [(360, 488, 1)]);
    assert_eq!(times(&evaluation), [(160, 260), (260, 360), (488, 588), (716, 816)]);
    assert_eq!(evaluation.schedule.latency, Cycles(816 + 128));
    let why = evaluation.schedule.why;
    assert_eq!((why.compute, why.memory), (400, 128));
    assert!(evaluation.schedule.peak[activations(&problem.accelerator)] <= Bits(28 * 1024));
}

/// The first result leaves the network too (written 260..388). The third convolution wants its space
/// at 360: one write is enough, and the space is free at 388. The sum fetches it again.
#[test]
fn an_output_on_its_way_to_dram_is_not_written_again() {
    let mut problem = residual_with(true);
    with_activations(&mut problem, 28 * 1024);
    let evaluation = run(&problem, &[0; 4]);
    assert_eq!(transfers(&evaluation, Purpose::Spill), []);
    assert_eq!(times(&evaluation), [(160, 260), (260, 360), (388, 488), (616, 716)]);
    assert_eq!(evaluation.schedule.latency, Cycles(844));
}

#[test]
fn a_cn_that_fits_to_the_bit_runs_and_one_bit_less_is_an_error() {
    let mut problem = pair_problem();
    with_activations(&mut problem, 24 * 1024);
    assert_eq!(times(&run(&problem, &[0, 1]))[0], (160, 260));
    with_activations(&mut problem, 24 * 1024 - 1);
    let error = attempt(&problem, &[0, 1]).unwrap_err();
    let EvaluateError::Schedule(ScheduleError::DoesNotFit { layer, pool, needed, capacity, .. }) = &error
    else {
        panic!("{error}");
    };
    assert_eq!((layer.as_str(), pool.as_str()), ("first", "core0.sram_128K_A"));
    assert_eq!((*needed, *capacity), (Bits(24_576), Bits(24_575)));
    assert_eq!(
        error.to_string(),
        "layer first: cn0 needs 3 KiB in core0.sram_128K_A of 3 KiB (short by 1 bits), even with the pool to \
         itself: cut the layer in smaller tiles or enlarge the memory"
    );
}
