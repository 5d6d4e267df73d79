//! Files compiled into the binary, so that an installed Millstream works anywhere.

/// Accelerators (and single cores with their DRAM) by name.
const ACCELERATORS: &[(&str, &str)] = &[
    ("eyeriss_like", include_str!("../hardware/eyeriss_like.yaml")),
    ("hetero_quad_core", include_str!("../hardware/hetero_quad_core.yaml")),
    ("meta_prototype", include_str!("../hardware/meta_prototype.yaml")),
    ("testing_four_core", include_str!("../hardware/testing_four_core.yaml")),
    ("testing_two_core", include_str!("../hardware/testing_two_core.yaml")),
    ("tpu_like", include_str!("../hardware/tpu_like.yaml")),
    ("tpu_like_quad_core", include_str!("../hardware/tpu_like_quad_core.yaml")),
];

/// Core files by name.
const CORES: &[(&str, &str)] = &[
    ("dram", include_str!("../hardware/cores/dram.yaml")),
    ("eyeriss_like", include_str!("../hardware/cores/eyeriss_like.yaml")),
    ("meta_prototype", include_str!("../hardware/cores/meta_prototype.yaml")),
    ("pooling", include_str!("../hardware/cores/pooling.yaml")),
    ("simd", include_str!("../hardware/cores/simd.yaml")),
    ("testing_core", include_str!("../hardware/cores/testing_core.yaml")),
    ("tpu_like", include_str!("../hardware/cores/tpu_like.yaml")),
];

/// Networks by name.
const WORKLOADS: &[(&str, &[u8])] = &[
    ("fsrcnn", include_bytes!("../workloads/fsrcnn.onnx")),
    ("resnet18", include_bytes!("../workloads/resnet18.onnx")),
];

/// Bytes of a shipped network (ONNX).
pub fn workload(name: &str) -> Option<&'static [u8]> {
    WORKLOADS.iter().find(|(candidate, _)| *candidate == name).map(|(_, bytes)| *bytes)
}

/// Names of the shipped networks.
pub fn workloads() -> impl Iterator<Item = &'static str> {
    WORKLOADS.iter().map(|(name, _)| *name)
}

/// Text of a shipped accelerator.
pub fn accelerator(name: &str) -> Option<&'static str> {
    text(ACCELERATORS, name)
}

/// Text of a shipped core file.
pub fn core(name: &str) -> Option<&'static str> {
    text(CORES, name)
}

/// Names of the shipped accelerators.
pub fn accelerators() -> impl Iterator<Item = &'static str> {
    ACCELERATORS.iter().map(|(name, _)| *name)
}

/// Names of the shipped core files.
pub fn cores() -> impl Iterator<Item = &'static str> {
    CORES.iter().map(|(name, _)| *name)
}

fn text(files: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    files.iter().find(|(candidate, _)| *candidate == name).map(|(_, text)| *text)
}
