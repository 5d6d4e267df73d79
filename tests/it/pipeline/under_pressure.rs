//! A shipped network on cores whose memories are scarce.

use super::*;

fn resnet18(accelerator: &str, mode: Mode, policy: Policy) {
    let problem = problem(network("resnet18"), accelerator, Mapping::default());
    let result = run(&problem, &RunOptions { policy, ..options(mode) });
    assert!(result.is_ok(), "{}", result.err().unwrap());
}

#[test]
fn on_two_cores_by_the_ilp() {
    resnet18("testing_two_core", Mode::Fused, Policy::Ilp);
}

#[test]
fn on_two_cores_by_greed() {
    resnet18("testing_two_core", Mode::Fused, Policy::Greedy);
}

#[test]
fn on_four_cores_layer_by_layer() {
    resnet18("testing_four_core", Mode::LayerByLayer, Policy::Greedy);
}
