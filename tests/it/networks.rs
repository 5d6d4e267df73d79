//! The shipped networks have the multiply-accumulates and parameters that others publish.
//!
//! Where an export for inference folds a batch normalisation into its convolution, the published
//! count holds a scale and a shift (in Keras also a mean and a variance) per channel instead of the
//! one bias here; `normalised` is the number of such channels.

use millstream::accelerator::yaml as hardware;
use millstream::library;
use millstream::mapping::Mapping;
use millstream::pipeline::Problem;
use millstream::pipeline::run::{Mode, RunOptions, run};
use millstream::workload::onnx::{ReadOptions, parse};
use millstream::workload::{Origin, Workload};

fn network(name: &str) -> Workload {
    parse(name, library::workload(name).unwrap(), &ReadOptions::default()).unwrap()
}

/// Operations of convolutions and matrix products, which is what publications count.
fn products(workload: &Workload) -> u64 {
    let counted = ["Conv", "Gemm", "MatMul"];
    let layers = workload.layers.iter().filter(|layer| counted.contains(&layer.operator.as_str()));
    layers.map(|layer| layer.operations()).sum()
}

/// Elements of the constants with one of these words in their names.
fn named(workload: &Workload, words: &[&str]) -> u64 {
    let constants = workload.tensors.iter().filter(|tensor| tensor.origin == Origin::Constant);
    let chosen = constants.filter(|tensor| words.iter().any(|word| tensor.name.contains(word)));
    chosen.map(|tensor| tensor.elements()).sum()
}

fn check(name: &str, macs: u64, parameters: u64) {
    let workload = network(name);
    assert_eq!((products(&workload), workload.parameters()), (macs, parameters), "{name}");
}

#[test]
fn torchvision_publishes_these() {
    // Its documentation: GFLOPS (multiply-accumulates) 4.09, 0.30, 0.35, 15.47; parameters as here,
    // with a scale and a shift per normalised channel.
    for (name, macs, giga, parameters, normalised) in [
        ("resnet50", 4_089_184_256, 409, 25_557_032, 26_560),
        ("mobilenetv2", 300_774_272, 30, 3_504_872, 17_056),
        ("squeezenet", 349_151_936, 35, 1_235_496, 0),
        ("vgg16", 15_470_264_320, 1547, 138_357_544, 0),
    ] {
        check(name, macs, parameters - normalised);
        assert_eq!((macs + 5_000_000) / 10_000_000, giga, "{name}");
    }
}

#[test]
fn mobilenet_v1_as_keras_publishes_it() {
    // 4 253 864 parameters with four per normalised channel of 10 944; the paper's table 4: 569 million.
    check("mobilenetv1", 568_740_352, 4_253_864 - 3 * 10_944);
}

#[test]
fn the_networks_of_the_depth_first_study() {
    // 20 layers: 3 x 3 x (3 x 64 + 18 x 64 x 64 + 64 x 3) weights on 512 x 768 pixels.
    check("dmcnn_vd", 667_008 * 512 * 768, 667_008);
    // 4 layers: 3 x 3 x (64 + 3 x 64 x 64) weights on 1242 x 376 pixels.
    check("mc_cnn", 111_168 * 1242 * 376, 111_168);
}

#[test]
fn googlenet_has_the_parameters_of_the_paper_s_network() {
    // Berkeley's Caffe model without its auxiliary heads; Szegedy et al. write of 1.5 G operations.
    check("inception_v1", 1_582_671_872, 6_998_552);
}

#[test]
fn vit_b16_as_torchvision_publishes_it() {
    // 17.56 GFLOPS and 86 567 656 parameters.
    check("vit_b16", 17_563_828_224, 86_567_656);
}

#[test]
fn a_layer_of_bert_base_is_a_twelfth_of_its_encoder() {
    // The encoder has 85 054 464 parameters: 109 482 240 without 23 837 184 of embeddings and
    // 590 592 of the pooler. 12 layers at sequence 128 are 22.3 G operations of 2 per MAC, of the
    // 22.5 G that Jiao et al. (TinyBERT) publish for the model.
    assert_eq!(109_482_240 - 23_837_184 - 590_592, 12 * 7_087_872);
    check("bert_layer", 931_135_488, 7_087_872);
    assert_eq!(2 * 12 * 931_135_488_u64 / 100_000_000, 223);
}

#[test]
fn twelve_blocks_of_gpt2_and_its_embeddings_are_the_published_model() {
    // 124 439 808: 50 257 tokens, 1024 positions, a last normalisation.
    assert_eq!(12 * 7_087_872 + 50_257 * 768 + 1024 * 768 + 2 * 768, 124_439_808);
    for (name, tokens, total) in [("gpt2_prefill", 128, 128), ("gpt2_decode", 1, 1024)] {
        let workload = network(name);
        assert_eq!(workload.parameters() - named(&workload, &["mask"]), 7_087_872);
        let weights = 4 * 768 * 768 + 2 * 768 * 3072;
        assert_eq!(products(&workload), tokens * (weights + 2 * total * 768));
        assert_eq!(workload.outputs.len(), 3, "keys and values leave the network");
    }
}

#[test]
fn sixteen_blocks_of_llama_and_its_embedding_are_the_published_model() {
    // Llama 3.2 1B: 1 235 814 400 parameters, 128 256 tokens of 2048 tied, a last normalisation.
    let block = 60_821_504;
    assert_eq!(16 * block + 128_256 * 2048 + 2048, 1_235_814_400);
    let workload = network("llama_block");
    assert_eq!(workload.parameters() - named(&workload, &["mask", "rope"]), block);
    let weights = block - 2 * 2048;
    assert_eq!(products(&workload), 128 * (weights + 2 * 128 * 2048));
}

#[test]
fn mlperf_tiny_publishes_these() {
    // Keras counts four numbers per normalised channel; here they are folded into the layer's bias.
    for (name, macs, parameters, normalised) in [
        ("resnet8", 12_501_632, 78_666, 240),
        ("ds_cnn", 2_656_768, 24_908, 576),
        ("mobilenetv1_vww", 7_489_664, 221_794, 2_736),
        ("autoencoder", 264_192, 269_992, 1_032),
    ] {
        check(name, macs, parameters - 4 * normalised);
    }
}

#[test]
fn activations_written_out_fold_like_one_operator() {
    let folded = |name: &str, layer: &str| {
        let workload = network(name);
        let layer = workload.layers.iter().find(|candidate| candidate.name == layer).unwrap();
        layer.folded.join(", ")
    };
    let gelu = "Add intermediate.add, Gelu gelu.mul, Mul gelu";
    assert_eq!(folded("bert_layer", "intermediate"), gelu);
    assert_eq!(folded("gpt2_prefill", "mlp.fc"), "Add mlp.fc.add, Gelu mlp.gelu");
    assert_eq!(folded("llama_block", "gate_proj"), "Silu silu");
}

#[test]
fn two_operands_streamed_into_one_memory_are_told_apart() {
    // Layer `output` of BERT whole: 128 x 3072 activations and 3072 x 768 weights do not fit 256 KiB.
    let accelerator = hardware::find("simba_2x2").unwrap();
    let problem = Problem::new(network("bert_layer"), accelerator, Mapping::default()).unwrap();
    let options = RunOptions { mode: Mode::LayerByLayer, ..RunOptions::default() };
    // A run fails where its own check finds anything.
    let outcome = run(&problem, &options).unwrap_or_else(|error| panic!("{error}"));
    let streamed = outcome.evaluation.costs.nodes.iter().map(|node| node.cost.streamed.len());
    assert!(streamed.max().unwrap() >= 2);
}
