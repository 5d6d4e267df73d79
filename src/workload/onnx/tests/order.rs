//! Names and the order of nodes change nothing.

use super::*;

/// Everything but names.
fn nameless(mut workload: Workload) -> Workload {
    workload.layers.iter_mut().for_each(|layer| {
        layer.name.clear();
        layer.folded.iter_mut().for_each(|folded| {
            folded.truncate(folded.find(' ').unwrap_or(0));
        });
    });
    workload.tensors.iter_mut().for_each(|tensor| tensor.name.clear());
    workload.layouts.iter_mut().for_each(|layout| layout.name.clear());
    workload
}

#[test]
fn order_in_the_file_and_names_change_nothing_but_names() {
    let bytes = include_bytes!("../../../../workloads/resnet18.onnx").as_slice();
    let model = Model::decode(bytes).unwrap();
    let expected = nameless(parse("net", bytes, &ReadOptions::default()).unwrap());
    for seed in 1..6u64 {
        let mut shuffled = model.clone();
        let graph = shuffled.graph.as_mut().unwrap();
        let renamed = |name: &str| format!("{:016x}", seeded(seed, name.as_bytes()));
        graph.node.sort_by_key(|node| seeded(seed, node.name.as_bytes()));
        graph.initializer.sort_by_key(|tensor| seeded(seed + 9, tensor.name.as_bytes()));
        for node in &mut graph.node {
            node.name = renamed(&format!("node {}", node.name));
            node.input.iter_mut().chain(&mut node.output).for_each(|name| *name = renamed(name));
        }
        graph.initializer.iter_mut().for_each(|tensor| tensor.name = renamed(&tensor.name));
        graph.input.iter_mut().chain(&mut graph.output).for_each(|info| info.name = renamed(&info.name));
        let workload = parse("net", &shuffled.encode_to_vec(), &ReadOptions::default()).unwrap();
        assert_eq!(nameless(workload), expected, "seed {seed}");
    }
}
