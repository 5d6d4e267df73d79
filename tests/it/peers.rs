//! Networks that others ship, where they are at hand.

use millstream::workload::Workload;
use millstream::workload::onnx::{ReadOptions, load};
use std::path::{Path, PathBuf};

fn reference(path: &str) -> Option<Workload> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/reference").join(path);
    if !path.exists() {
        eprintln!("skipped: {} is not there", path.display());
        return None;
    }
    Some(load(&path, &ReadOptions::default()).unwrap())
}

fn products(workload: &Workload) -> u64 {
    let layers = workload.layers.iter();
    let products = layers.filter(|layer| ["Conv", "Gemm", "MatMul"].contains(&layer.operator.as_str()));
    products.map(|layer| layer.operations()).sum()
}

#[test]
fn bf16_counts_with_16_bits_and_a_foreign_silu_folds() {
    let Some(workload) = reference("stream/inputs/main/testing/workload/swiglu_1_16_32.onnx") else {
        return;
    };
    let operators: Vec<&str> = workload.layers.iter().map(|layer| layer.operator.as_str()).collect();
    assert_eq!(operators, ["Gemm", "Gemm", "Mul", "Gemm"]);
    assert_eq!(products(&workload), 3 * 16 * 32);
    assert!(workload.tensors.iter().all(|tensor| tensor.element_bits == 16));
    assert_eq!(workload.layers[0].output().partial_bits, 32);
    assert!(workload.layers.iter().any(|layer| layer.folded == ["Silu Silu"]));
}

#[test]
fn weights_given_as_inputs_are_constants() {
    let Some(workload) = reference("stream/inputs/main/testing/workload/attention_head.onnx") else {
        return;
    };
    assert_eq!(workload.parameters(), 3 * 512 * 64);
    assert_eq!(products(&workload), 3 * 128 * 512 * 64 + 2 * 128 * 128 * 64);
    // The last product has two dynamic inputs.
    assert!(workload.layers.last().unwrap().inputs().iter().all(|operand| !operand.constant));
    assert!(workload.notes.iter().any(|note| note.ends_with("wK, wQ, wV")), "{:?}", workload.notes);
}

#[test]
fn zigzag_s_networks_have_the_published_counts() {
    let Some(alexnet) = reference("zigzag/inputs/workload/alexnet.onnx") else { return };
    let Some(mobilenet) = reference("zigzag/inputs/workload/mobilenetv2.onnx") else { return };
    assert_eq!(products(&mobilenet), 300_774_272);
    // Krizhevsky et al. with groups: 60 965 224 parameters.
    assert_eq!(alexnet.parameters(), 60_965_224);
}

/// Folder with the `light_*` models that the Python package `onnx` ships for its backend tests.
fn light_models() -> Option<PathBuf> {
    let folder = std::env::var_os("ONNX_LIGHT_MODELS").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("skipped: set ONNX_LIGHT_MODELS to the folder backend/test/data/light of the package onnx");
    }
    folder
}

#[test]
fn the_light_models_of_onnx_load() {
    let Some(folder) = light_models() else { return };
    // Parameters as published (Caffe's models; DenseNet with 2 x 41 824 more, because Caffe scales
    // and shifts behind each normalisation again), and the operators that make each one special.
    for (name, parameters, special) in [
        ("bvlc_alexnet", 60_965_224, "LRN"),
        ("densenet121", 7_978_856 + 2 * 41_824, "AveragePool"),
        ("inception_v1", 6_998_552, "LRN"),
        ("inception_v2", 11_214_888, "AveragePool"),
        ("resnet50", 25_557_032, "Sum"),
        ("shufflenet", 1_393_320, "AveragePool"),
        ("squeezenet", 1_235_496, "MaxPool"),
        ("vgg19", 143_667_240, "MaxPool"),
        ("zfnet512", 87_250_536, "LRN"),
    ] {
        let workload = load(&folder.join(format!("light_{name}.onnx")), &ReadOptions::default());
        let workload = workload.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(workload.parameters(), parameters, "{name}");
        assert!(workload.layers.iter().any(|layer| layer.operator == special), "{name} has no {special}");
        assert_eq!(workload.outputs.len(), 1, "{name}");
    }
}
