//! An output of the network whose space is needed at the very instant it is made.

use super::*;

/// Two layers with images of their own, whose results leave the network, in 24 Kibit: what one of
/// them needs. The deeper layer goes first; its result, made at 260, is written once (260..388); then
/// the other image can come (388..516), whose weights are there since 192.
#[test]
fn an_output_that_is_in_the_way_when_it_is_made_is_written_once() {
    let mut network = Network::new();
    let images = [network.input([16, 8, 8]), network.input([16, 8, 8])];
    let first = network.conv("first", images[0], Window::POINT, 1, 16).unwrap();
    let second = network.conv("second", images[1], Window::POINT, 1, 16).unwrap();
    let workload = network.finish(&[first, second]);
    let mut problem = problem(workload, &[("first", 0, 100), ("second", 0, 100)]);
    with_activations(&mut problem, 24 * 1024);
    let evaluation = run(&problem, &[0, 0]);
    assert_eq!(times(&evaluation), [(516, 616), (160, 260)]);
    assert_eq!(evaluation.schedule.latency, Cycles(744));
}
