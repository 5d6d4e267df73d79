//! Fair sharing worked out by hand.

use super::*;
use millstream::ids::PoolId;
use millstream::schedule::{Contention, RATE_UNITS};

/// Segments of the flow that brings a layer's tensor to a pool: start, end, bits per cycle.
fn rates(evaluation: &Evaluation, to: PoolId) -> Vec<(u64, u64, f64)> {
    let log = evaluation.schedule.log.as_ref().unwrap();
    let found = log.0.iter().find_map(|event| match event {
        Event::Transfer { to: pools, segments, rates, .. } if pools == &[to] => Some((segments, rates)),
        _ => None,
    });
    let (segments, rates) = found.unwrap();
    let rates = rates.iter().map(|rate| *rate as f64 / RATE_UNITS as f64);
    segments.iter().zip(rates).map(|((start, end), rate)| (start.0, end.0, rate)).collect()
}

fn pool(problem: &Problem, core: u32, operand: MemoryOperand) -> PoolId {
    problem.accelerator.top_pool(CoreId(core), operand).unwrap()
}

/// The pair, with a port of 8 bits a cycle before the weights of core 1.
fn narrow() -> Problem {
    let exclusive = pair_problem();
    let mut accelerator = exclusive.accelerator.clone();
    let port = accelerator.pool(pool(&exclusive, 1, MemoryOperand::I2)).write_port;
    accelerator.resources[port.index()].bandwidth = BitsPerCycle(8);
    let narrow = Problem::new(exclusive.workload.clone(), accelerator, Mapping::default()).unwrap();
    let mut narrow = Problem { overrides: exclusive.overrides, ..narrow };
    narrow.schedule.contention = Contention::Fair;
    narrow
}

/// Three flows leave DRAM (64 bits a cycle) at 0. The one for core 1 is held to the 8 of its port, the
/// two others share the rest, 28 each, until first.w has arrived: 2048 bits in 73.1 cycles. The image
/// has moved 74 x 28 = 2072 bits then, goes on at 56 to the end of second.w (1024 bits at 8, 128
/// cycles), has moved 5096, and takes 48.4 cycles for the other 3096 alone.
///
/// ```text
/// second.w   0..128 at 8
/// first.w    0..74 at 28
/// image      0..74 at 28   74..128 at 56   128..177 at 64
/// core 0                                              first 177..277
/// link                                                             277..405 at 64
/// core 1                                                                         second 405..455
/// ```
#[test]
fn three_flows_with_unequal_bottlenecks() {
    let problem = narrow();
    let evaluation = run(&problem, &[0, 1]);
    assert_eq!(rates(&evaluation, pool(&problem, 1, MemoryOperand::I2)), [(0, 128, 8.0)]);
    assert_eq!(rates(&evaluation, pool(&problem, 0, MemoryOperand::I2)), [(0, 74, 28.0)]);
    let image = [(0, 74, 28.0), (74, 128, 56.0), (128, 177, 64.0)];
    assert_eq!(rates(&evaluation, pool(&problem, 0, MemoryOperand::I1)), image);
    assert_eq!(times(&evaluation), [(177, 277), (405, 455)]);
    assert_eq!(evaluation.schedule.latency, Cycles(455 + 64));
    // The port of DRAM is busy for 177 cycles of fetches and 64 of the result, once for all three.
    let dram = problem.accelerator.pools.iter().find(|pool| pool.dram).unwrap();
    assert_eq!(evaluation.schedule.traffic.active[dram.read_port.index()], Cycles(177 + 64));
    assert_eq!(evaluation.schedule.traffic.bits[dram.read_port.index()], Bits(8192 + 2048 + 1024 + 4096));
}

/// A third of 64 bits is 21 + 1/3: rounded down to 2^-20 bits a cycle, the last bits of second.w need a
/// 49th cycle. Then first.w has 32 a cycle: 2048 - 49 x 21.33 = 1002.67 bits, 32 cycles.
#[test]
fn rates_are_rounded_down() {
    let mut problem = pair_problem();
    problem.schedule.contention = Contention::Fair;
    let evaluation = run(&problem, &[0, 1]);
    let third = (64 * RATE_UNITS / 3) as f64 / RATE_UNITS as f64;
    assert_eq!(rates(&evaluation, pool(&problem, 1, MemoryOperand::I2)), [(0, 49, third)]);
    assert_eq!(rates(&evaluation, pool(&problem, 0, MemoryOperand::I2)), [(0, 49, third), (49, 81, 32.0)]);
    assert_eq!(times(&evaluation)[0], (177, 277));
}

/// Flows of one source and destination go one after the other: the weight of `second` on core 0 moves
/// when that of `first` has arrived, and the image keeps its half of the port to that time.
#[test]
fn flows_of_one_way_go_one_after_the_other() {
    let mut problem = pair_problem();
    problem.schedule.contention = Contention::Fair;
    let evaluation = run(&problem, &[0, 0]);
    // first.w 0..64 at 32, second.w 64..96 at 32, the image 0..96 at 32 and 5120 bits at 64.
    assert_eq!(transfers(&evaluation, Purpose::Prefetch), [(64, 96, 1)]);
    assert_eq!(transfers(&evaluation, Purpose::Fetch), [(0, 64, 1), (0, 176, 1)]);
    assert_eq!(times(&evaluation), [(176, 276), (276, 326)]);
}
