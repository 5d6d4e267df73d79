//! Files compiled into the binary, so that an installed Millstream works anywhere.
//!
//! What a YAML file is about stands in its first line, as a comment; of networks in ONNX, here.

/// A shipped file.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// Name by which `-w`, `-a` and `-m` find it.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// Contents.
    pub bytes: &'static [u8],
}

macro_rules! networks {
    ($($name:literal: $about:literal,)*) => {
        &[$(Shipped {
            name: $name,
            about: $about,
            bytes: include_bytes!(concat!("../workloads/", $name, ".onnx")),
        }),*]
    };
}

macro_rules! texts {
    ($folder:literal: $($name:literal,)*) => {
        &[$(($name, include_str!(concat!($folder, $name, ".yaml")))),*]
    };
}

/// Networks in ONNX.
const NETWORKS: &[Shipped] = networks![
    "autoencoder": "MLPerf Tiny anomaly detection, 10 fully connected layers",
    "bert_layer": "one encoder layer of BERT-base, sequence 128",
    "dmcnn_vd": "demosaicing, 20 convolutions on 512x768 pixels",
    "ds_cnn": "MLPerf Tiny keyword spotting, DS-CNN on 49x10",
    "fsrcnn": "super-resolution, 8 convolutions on 540x960 pixels",
    "gpt2_decode": "one block of GPT-2 small, one token after 1023 cached ones",
    "gpt2_prefill": "one block of GPT-2 small, 128 tokens",
    "inception_v1": "GoogLeNet with its branches, 224x224",
    "llama_block": "one block of Llama 3.2 1B, 128 tokens: RMSNorm, RoPE, GQA, SwiGLU",
    "mc_cnn": "features for stereo matching, 4 convolutions on 1242x376 pixels",
    "mobilenetv1": "image classification, MobileNetV1 on 224x224",
    "mobilenetv1_vww": "MLPerf Tiny visual wake words, MobileNetV1 0.25 on 96x96",
    "mobilenetv2": "MobileNetV2 1.0, 224x224",
    "resnet18": "ResNet-18, 224x224",
    "resnet50": "ResNet-50, 224x224",
    "resnet8": "MLPerf Tiny image classification, ResNet-8 on 32x32",
    "squeezenet": "SqueezeNet 1.1, 224x224",
    "vgg16": "VGG-16, 224x224",
    "vit_b16": "vision transformer ViT-B/16, 224x224",
];

/// Networks in ZigZag's YAML.
const NETWORK_TEXTS: &[(&str, &str)] =
    texts!["../workloads/": "depfin_fsrcnn", "diana_resnet18_segment", "jia_resnet50_segment",];

/// Accelerators (and single cores with their DRAM).
const ACCELERATORS: &[(&str, &str)] = texts!["../hardware/":
    "ascend_like",
    "ascend_like_df",
    "ascend_like_quad_core",
    "chiplets_4x4",
    "depfin",
    "diana",
    "edge_tpu_like",
    "edge_tpu_like_df",
    "edge_tpu_like_quad_core",
    "eyeriss_like",
    "eyeriss_like_quad_core",
    "fusemax",
    "hetero_quad_core",
    "jia_aimc",
    "mesh_16_core",
    "meta_prototype",
    "meta_prototype_df",
    "meta_prototype_quad_core",
    "simba",
    "simba_2x2",
    "tesla_npu_like",
    "tesla_npu_like_df",
    "tesla_npu_like_quad_core",
    "testing_four_core",
    "testing_two_core",
    "tpu_like",
    "tpu_like_df",
    "tpu_like_quad_core",
];

/// Core files.
const CORES: &[(&str, &str)] = texts!["../hardware/cores/":
    "ascend_like",
    "depfin_core",
    "depfin_dram",
    "diana_aimc",
    "diana_digital",
    "diana_l2",
    "diana_pooling",
    "diana_simd",
    "dram",
    "dram_simba",
    "edge_tpu_like",
    "eyeriss_like",
    "fusemax_array",
    "fusemax_vec",
    "hbm",
    "jia_aimc_dram",
    "jia_aimc_first",
    "jia_aimc_inner",
    "jia_aimc_wide",
    "meta_prototype",
    "pooling",
    "simba_chiplet",
    "simd",
    "tesla_npu_like",
    "testing_core",
    "tpu_like",
];

/// Mappings.
const MAPPINGS: &[(&str, &str)] = texts!["../hardware/mappings/": "depfin", "diana", "jia_aimc",];

/// A shipped network; its bytes are ONNX, or YAML where [`is_text`] says so.
pub fn workload(name: &str) -> Option<&'static [u8]> {
    all_workloads().find(|shipped| shipped.name == name).map(|shipped| shipped.bytes)
}

/// Whether a shipped network is YAML.
pub fn is_text(name: &str) -> bool {
    NETWORK_TEXTS.iter().any(|(candidate, _)| *candidate == name)
}

/// Names of the shipped networks.
pub fn workloads() -> impl Iterator<Item = &'static str> {
    all_workloads().map(|shipped| shipped.name)
}

/// The shipped networks, those in ONNX first.
pub fn all_workloads() -> impl Iterator<Item = Shipped> {
    NETWORKS.iter().copied().chain(described(NETWORK_TEXTS))
}

/// Text of a shipped accelerator.
pub fn accelerator(name: &str) -> Option<&'static str> {
    text(ACCELERATORS, name)
}

/// Text of a shipped core file.
pub fn core(name: &str) -> Option<&'static str> {
    text(CORES, name)
}

/// Text of a shipped mapping.
pub fn mapping(name: &str) -> Option<&'static str> {
    text(MAPPINGS, name)
}

/// Names of the shipped accelerators.
pub fn accelerators() -> impl Iterator<Item = &'static str> {
    ACCELERATORS.iter().map(|(name, _)| *name)
}

/// Names of the shipped core files.
pub fn cores() -> impl Iterator<Item = &'static str> {
    CORES.iter().map(|(name, _)| *name)
}

/// Names of the shipped mappings.
pub fn mappings() -> impl Iterator<Item = &'static str> {
    MAPPINGS.iter().map(|(name, _)| *name)
}

/// Everything shipped, by the option that takes it.
pub fn sections() -> [(&'static str, Vec<Shipped>); 4] {
    [
        ("workloads (-w)", all_workloads().collect()),
        ("accelerators (-a)", described(ACCELERATORS).collect()),
        ("cores (-a, alone)", described(CORES).collect()),
        ("mappings (-m)", described(MAPPINGS).collect()),
    ]
}

fn text(files: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    files.iter().find(|(candidate, _)| *candidate == name).map(|(_, text)| *text)
}

/// The first line of a file says what it is.
fn described(files: &'static [(&str, &str)]) -> impl Iterator<Item = Shipped> {
    files.iter().map(|(name, text)| Shipped {
        name,
        about: text.lines().next().unwrap_or_default().trim_start_matches("# ").trim_end_matches('.'),
        bytes: text.as_bytes(),
    })
}
