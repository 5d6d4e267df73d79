//! Activation functions written out.

use super::*;

/// x -> MatMul a -> a * Sigmoid(a), a Dropout in between.
fn silu() -> Net {
    Net::new(&["1", "8"])
        .weight("w", &[8, 8])
        .node("MatMul", &["x", "w"], &["a"], &[])
        .node("Dropout", &["a"], &["b"], &[])
        .node("Sigmoid", &["b"], &["s"], &[])
        .node("Mul", &["a", "s"], &["y"], &[])
}

#[test]
fn a_product_with_its_sigmoid_is_one_activation() {
    assert_eq!(layers(&silu().output("y").read().unwrap()), [r#"MatMul a C=8 D=1 K=8 ["Silu y"]"#]);
    let options = ReadOptions { activations: Activations::Separate, ..Default::default() };
    let separate = silu().output("y").read_with(&options);
    assert_eq!(layers(&separate), ["MatMul a C=8 D=1 K=8 []", "Silu y D0=1 D1=8 []"]);
    assert_eq!(separate.layers[1].inputs().len(), 1);
}

#[test]
fn what_somebody_else_reads_stays_apart() {
    // The product leaves the network, or the sigmoid does.
    for other in ["a", "s"] {
        let workload = silu().output("y").output(other).read().unwrap();
        assert_eq!(workload.layers.last().unwrap().operator, "Mul", "{other}");
        assert_eq!(workload.layers.last().unwrap().inputs().len(), 2, "{other}");
    }
}

#[test]
fn two_tensors_are_no_activation() {
    let net = Net::new(&["1", "8"])
        .weight("w", &[8, 8])
        .weight("v", &[8, 8])
        .node("MatMul", &["x", "w"], &["a"], &[])
        .node("MatMul", &["x", "v"], &["c"], &[])
        .node("Sigmoid", &["c"], &["s"], &[])
        .node("Mul", &["a", "s"], &["y"], &[])
        .output("y");
    let workload = net.read().unwrap();
    let operators: Vec<&str> = workload.layers.iter().map(|layer| layer.operator.as_str()).collect();
    assert_eq!(operators, ["MatMul", "MatMul", "Mul"]);
}

#[test]
fn an_input_of_the_network_gets_one_layer() {
    let net = Net::new(&["1", "4", "2", "2"])
        .node("HardSigmoid", &["x"], &["s"], &[])
        .node("Mul", &["x", "s"], &["y"], &[])
        .output("y");
    assert_eq!(layers(&net.read().unwrap()), ["HardSwish y B=1 G=4 OY=2 OX=2 []"]);
}

#[test]
fn inputs_read_as_weights_only_are_constants() {
    let mut net = Net::new(&["4", "8"])
        .node("MatMul", &["x", "w"], &["a"], &[])
        .node("MatMul", &["a", "z"], &["y"], &[])
        .output("y")
        .output("z");
    net.0.input.push(info("w", FLOAT, &["8", "8"]));
    net.0.input.push(info("z", FLOAT, &["8", "8"]));
    let workload = net.read().unwrap();
    // z leaves the network too, so it is data.
    assert_eq!(workload.parameters(), 64);
    assert!(workload.notes[0].ends_with("count as constants: w"), "{:?}", workload.notes);
}
