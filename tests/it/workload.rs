//! Reading the networks of `workloads/`, and the peers' ONNX files where they are at hand.

use expect_test::expect_file;
use millstream::workload::Workload;
use millstream::workload::nest::LoopNest;
use millstream::workload::onnx::{ReadOptions, load};
use serde::Deserialize;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn network(name: &str) -> Workload {
    let path = root().join("workloads").join(name);
    load(&path, &ReadOptions::default()).expect("a network of the repository loads")
}

/// Operations of the layers with one of these operators.
fn operations(workload: &Workload, operators: &[&str]) -> u64 {
    let chosen = workload.layers.iter().filter(|layer| operators.contains(&layer.operator.as_str()));
    chosen.map(|layer| layer.operations()).sum()
}

#[test]
fn resnet18_as_text() {
    expect_file!["golden/resnet18.txt"].assert_eq(&network("resnet18.onnx").to_string());
}

#[test]
fn fsrcnn_as_text() {
    expect_file!["golden/fsrcnn.txt"].assert_eq(&network("fsrcnn.onnx").to_string());
}

#[test]
fn resnet18_has_the_published_figures() {
    let workload = network("resnet18.onnx");
    // 20 convolutions and the fully connected layer.
    assert_eq!(operations(&workload, &["Conv"]), 1_813_561_344);
    assert_eq!(operations(&workload, &["Gemm"]), 512 * 1000);
    assert_eq!(operations(&workload, &["Conv", "Gemm"]), 1_814_073_344);
    // Windows times outputs, and elements.
    assert_eq!(operations(&workload, &["MaxPool"]), 64 * 56 * 56 * 3 * 3);
    assert_eq!(operations(&workload, &["GlobalAveragePool"]), 512 * 7 * 7);
    let additions = 2 * (64 * 56 * 56 + 128 * 28 * 28 + 256 * 14 * 14 + 512 * 7 * 7);
    assert_eq!(operations(&workload, &["Add"]), additions);
    assert_eq!(workload.operations(), 1_814_073_344 + 1_806_336 + 25_088 + 752_640);
    // torchvision counts a scale and a shift for each of 4 800 normalised channels; the export folds
    // them into one bias.
    let channels = 64 + 4 * 64 + 5 * 128 + 5 * 256 + 5 * 512;
    assert_eq!(channels, 4_800);
    assert_eq!(workload.parameters(), 11_689_512 - 2 * channels + channels);
}

#[test]
fn fsrcnn_has_the_published_figures() {
    let workload = network("fsrcnn.onnx");
    let weights = 56 * 25 + 12 * 56 + 4 * (12 * 12 * 9) + 56 * 12 + 16 * 56 * 9;
    assert_eq!(workload.parameters(), weights);
    assert_eq!(workload.operations(), 540 * 960 * weights);
    assert_eq!(workload.operations(), 8_290_252_800);
}

#[derive(Deserialize)]
struct Reference {
    name: String,
    nest: LoopNest,
}

/// A layer as ZigZag's importer makes it; `tests/it/cost.rs` says where the file comes from.
fn reference(name: &str) -> LoopNest {
    let text = include_str!("../reference/zigzag/layers.jsonl");
    let mut layers =
        text.lines().map(|line| serde_json::from_str::<Reference>(line).expect("a layer a line"));
    layers.find(|layer| layer.name == name).expect("the reference has this layer").nest
}

#[test]
fn loop_nests_are_those_of_the_reference() {
    let workload = network("resnet18.onnx");
    let nest = |name: &str| {
        let layer = workload.layers.iter().find(|layer| layer.name == name).unwrap();
        let shapes: Vec<&[u64]> = (layer.operands.iter())
            .map(|operand| operand.tensor.map_or(&[][..], |id| workload.tensor(id).shape.as_slice()))
            .collect();
        layer.whole_nest(&shapes)
    };
    assert_eq!(nest("conv1"), reference("conv7x7_s2"));
    assert_eq!(nest("layer1.0.conv1"), reference("conv3x3"));
    assert_eq!(nest("layer2.0.conv1"), reference("conv3x3_s2"));
    assert_eq!(nest("layer2.0.downsample"), reference("conv1x1_s2"));
    assert_eq!(nest("layer1.0.add"), reference("add"));
    // The file's weights are transposed, so their axes come in the other order.
    let mut product = nest("fc");
    product.operands[2].indices.reverse();
    assert_eq!(product, reference("gemm_m1"));
}

/// The peers' inputs; they are not part of the repository.
fn peers() -> Option<PathBuf> {
    let shared = root().join("../shared/reference");
    if !shared.is_dir() {
        eprintln!("SKIPPED: {} is not at hand", shared.display());
    }
    shared.is_dir().then_some(shared)
}

#[test]
fn our_networks_have_the_layers_of_the_peers() {
    let Some(shared) = peers() else { return };
    for name in ["resnet18.onnx", "fsrcnn.onnx"] {
        let theirs = shared.join("stream/inputs/main/examples/workload").join(name);
        let theirs = load(&theirs, &ReadOptions::default()).unwrap();
        let ours = network(name);
        let dims = |workload: &Workload| -> Vec<_> {
            let layers = workload.layers.iter();
            layers.map(|layer| (layer.operator.clone(), layer.dims.clone())).collect()
        };
        assert_eq!(dims(&ours), dims(&theirs), "{name}");
    }
}

#[test]
fn the_files_of_the_peers_load() {
    let Some(shared) = peers() else { return };
    let mut files = Vec::new();
    let mut folders = vec![shared];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension().is_some_and(|extension| extension == "onnx") {
                true => files.push(path),
                false if path.is_dir() => folders.push(path),
                false => {}
            }
        }
    }
    files.sort();
    let mut refused = Vec::new();
    for path in &files {
        match load(path, &ReadOptions::default()) {
            Ok(workload) => {
                let (layers, operations) = (workload.layers.len(), workload.operations());
                println!("{}: {layers} layers, {operations} MACs", path.display());
            }
            Err(error) => refused.push(format!("{}: {error}", path.display())),
        }
    }
    assert!(!files.is_empty() && refused.is_empty(), "{}", refused.join("\n"));
}
