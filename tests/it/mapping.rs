//! What mappings say about layers: dimensions by index, cuts of fused groups.

use millstream::library;
use millstream::mapping::{Mapping, resolve, yaml};
use millstream::workload::Workload;
use millstream::workload::onnx::{ReadOptions, parse};

fn network(name: &str) -> Workload {
    parse(name, library::workload(name).unwrap(), &ReadOptions::default()).unwrap()
}

fn resolved(workload: &Workload, text: &str) -> Mapping {
    resolve(yaml::parse("m.yaml", text, None).unwrap_or_else(|errors| panic!("{errors}")), workload)
}

/// Cuts in time and over cores of a layer, as written.
fn cuts(mapping: &Mapping, workload: &Workload, layer: &str) -> String {
    let layer = workload.layers.iter().find(|candidate| candidate.name == layer).unwrap();
    let entry = mapping.entry(layer).unwrap();
    let written = |splits: &Option<Vec<millstream::mapping::Split>>| {
        let splits = splits.iter().flatten();
        splits.map(|split| format!("{} {:?}", split.dim, split.pieces)).collect::<Vec<_>>().join(", ")
    };
    format!("{} | {}", written(&entry.intra_core_tiling), written(&entry.inter_core_tiling))
}

#[test]
fn a_group_s_cuts_reach_all_its_layers() {
    // Stream 2.1.1's own mapping of FSRCNN: 960 columns over 4 cores are 240, in tiles of 80; 540
    // rows in tiles of 36.
    let workload = network("fsrcnn");
    let names: Vec<&str> = workload.layers.iter().map(|layer| layer.name.as_str()).collect();
    let entry = |name: &&str| {
        format!(
            "- {{name: {name}, core_allocation: [[0, 1, 2, 3]], inter_core_tiling: [[{{dim: D1, split: 4}}]]}}\n"
        )
    };
    let text = format!(
        "layers:\n{}fused_groups:\n- name: g\n  layers: [{}]\n  intra_core_tiling:\n  \
         - {{dim: extract.D1, tile: 80}}\n  - {{dim: extract.D2, tile: 36}}\n",
        names.iter().map(entry).collect::<String>(),
        names.join(", ")
    );
    let mapping = resolved(&workload, &text);
    for name in names {
        assert_eq!(cuts(&mapping, &workload, name), "OX Tile(80), OY Tile(36) | OX Count(4)", "{name}");
    }
}

#[test]
fn a_layer_behind_a_stride_has_as_many_tiles() {
    // 112 rows in tiles of 8 are 14; the pooling makes 56 rows in tiles of 4.
    let workload = network("resnet18");
    let text = "\
layers:
- {name: Conv, core_allocation: [0], inter_core_tiling: ['D6, 2']}
- {name: Pool, core_allocation: [4], inter_core_tiling: []}
fused_groups:
- {name: g, layers: [conv1, maxpool], intra_core_tiling: [{dim: conv1.D2, tile: 8}, {dim: conv1.D6, tile: 16}]}
";
    let mapping = resolved(&workload, text);
    assert_eq!(cuts(&mapping, &workload, "conv1"), "OY Tile(8), K Tile(16) | K Count(2)");
    // 32 channels of a part in tiles of 16 are 2; the pooling has all 64 on one core.
    assert_eq!(cuts(&mapping, &workload, "maxpool"), "OY Tile(4), G Tile(32) | ");
    // A layer outside the group keeps its operator's entry, with its dimension named.
    assert_eq!(cuts(&mapping, &workload, "layer1.0.conv1"), " | K Count(2)");
}

#[test]
fn cuts_do_not_spread_into_sums() {
    // The channels that conv1 makes are what conv2 sums over.
    let workload = network("resnet18");
    let text = "\
layers: []
fused_groups:
- {name: g, layers: [layer1.0.conv1, layer1.0.conv2], intra_core_tiling: [{dim: layer1.0.conv1.D6, tile: 8}]}
";
    let mapping = resolved(&workload, text);
    assert_eq!(cuts(&mapping, &workload, "layer1.0.conv1"), "K Tile(8) | ");
    assert_eq!(cuts(&mapping, &workload, "layer1.0.conv2"), " | ");
}

#[test]
fn indices_of_products_and_others_are_axes() {
    let workload = network("bert_layer");
    let text = "\
- {name: MatMul, inter_core_tiling: ['D3, 4'], intra_core_tiling: ['D1, 8']}
- {name: Exp, inter_core_tiling: ['D1, 4']}
";
    let mapping = resolved(&workload, text);
    // One batch axis comes first, then rows, inner, columns; with 12 heads there are two.
    assert_eq!(cuts(&mapping, &workload, "query"), "D Count(8) | K Count(4)");
    assert_eq!(cuts(&mapping, &workload, "attention.scores"), "H Count(8) | C Count(4)");
    assert_eq!(cuts(&mapping, &workload, "attention.softmax/Exp"), " | D1 Count(4)");
    // Matrices have none.
    let workload = network("autoencoder");
    let mapping = resolved(&workload, "- {name: Gemm, inter_core_tiling: ['D2, 4']}");
    assert_eq!(cuts(&mapping, &workload, "dense1"), " | K Count(4)");
}

#[test]
fn groups_of_operators_are_ignored_with_a_note() {
    let text = "\
layers: [{name: Conv, core_allocation: [0]}]
fused_groups: [{name: g, layers: [Conv], intra_core_tiling: [{dim: Conv.D0, tile: 1}]}]
";
    let mapping = resolved(&network("resnet18"), text);
    assert!(mapping.stacks.is_empty() && mapping.stack_splits.is_empty());
    assert_eq!(
        mapping.notes.last().unwrap(),
        "fused groups name operators, not layers (`Conv`): they are ignored"
    );
}
