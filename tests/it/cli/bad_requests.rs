//! Command lines that name what is not there, or ask for what nothing can do.

use super::model::{Model, small};
use super::{fails, folder, refuses, run, text};
use expect_test::expect;

#[test]
fn files_and_names_that_do_not_exist() {
    let dir = folder(&[]);
    let dir = dir.path();
    fails(
        dir,
        "run -w missing.onnx -a tpu_like",
        1,
        expect![[r#"
        error: there is no file `missing.onnx`
         |
         = help: give the path of an ONNX file, or of a workload in YAML
    "#]],
    );
    fails(
        dir,
        "run -w missing.yaml -a tpu_like",
        1,
        expect![[r#"
        error: there is no file `missing.yaml`
         |
         = help: give the path of a workload file in YAML
    "#]],
    );
    fails(
        dir,
        "run -w resnet18 -a missing.yaml",
        1,
        expect![[r#"
        error: there is no file `missing.yaml`
         |
         = help: give the path of an accelerator or core file in YAML
    "#]],
    );
    fails(
        dir,
        "run -w resnet18 -a tpu_like -m missing.yaml",
        1,
        expect![[r#"
        error: there is no file `missing.yaml`
         |
         = help: give the path of a mapping file in YAML
    "#]],
    );
    fails(
        dir,
        "run -w resnet18 -a tpu_like --costs missing.csv",
        1,
        expect![[r#"
        error: there is no file `missing.csv`
         |
         = help: give the path of a costs file in CSV
    "#]],
    );
    fails(
        dir,
        "run -w resnet81 -a tpu_like",
        1,
        expect![[r#"
            error: there is no workload `resnet81`: neither a file nor shipped
             |
             = help: did you mean `resnet18`?
             = help: shipped are autoencoder, bert_layer, dmcnn_vd, ds_cnn, fsrcnn, gpt2_decode, gpt2_prefill, inception_v1, llama_block, mc_cnn, mobilenetv1, mobilenetv1_vww, mobilenetv2, resnet18, resnet50, resnet8, squeezenet, vgg16, vit_b16, depfin_fsrcnn, diana_resnet18_segment, jia_resnet50_segment
        "#]],
    );
    fails(
        dir,
        "run -w resnet18 -a tpu_like_quad",
        1,
        expect![[r#"
            error: there is no accelerator `tpu_like_quad`: neither a file nor shipped
             |
             = help: did you mean `tpu_like_df`?
             = help: shipped are ascend_like, ascend_like_df, ascend_like_quad_core, chiplets_4x4, depfin, diana, edge_tpu_like, edge_tpu_like_df, edge_tpu_like_quad_core, eyeriss_like, eyeriss_like_quad_core, fusemax, hetero_quad_core, jia_aimc, mesh_16_core, meta_prototype, meta_prototype_df, meta_prototype_quad_core, simba, simba_2x2, tesla_npu_like, tesla_npu_like_df, tesla_npu_like_quad_core, testing_four_core, testing_two_core, tpu_like, tpu_like_df, tpu_like_quad_core
        "#]],
    );
    fails(
        dir,
        "show workload nothing_like_it",
        1,
        expect![[r#"
            error: there is no workload `nothing_like_it`: neither a file nor shipped
             |
             = help: shipped are autoencoder, bert_layer, dmcnn_vd, ds_cnn, fsrcnn, gpt2_decode, gpt2_prefill, inception_v1, llama_block, mc_cnn, mobilenetv1, mobilenetv1_vww, mobilenetv2, resnet18, resnet50, resnet8, squeezenet, vgg16, vit_b16, depfin_fsrcnn, diana_resnet18_segment, jia_resnet50_segment
        "#]],
    );
    fails(
        dir,
        "cost -w resnet18 -a tpu_like --explain conv",
        1,
        expect![[r#"
        error: --explain: the workload has no layer `conv`; did you mean `conv1`?
    "#]],
    );
}

#[test]
fn folders_instead_of_files() {
    let dir = folder(&[]);
    std::fs::create_dir(dir.path().join("sub")).unwrap();
    std::fs::create_dir(dir.path().join("sub.yaml")).unwrap();
    fails(
        dir.path(),
        "show workload sub",
        1,
        expect![[r#"
        error: `sub` is a folder
         |
         = help: give the path of an ONNX file, or of a workload in YAML
    "#]],
    );
    fails(
        dir.path(),
        "show workload sub.yaml",
        1,
        expect![[r#"
        error: `sub.yaml` is a folder
         |
         = help: give the path of a workload file in YAML
    "#]],
    );
    fails(
        dir.path(),
        "show accelerator sub",
        1,
        expect![[r#"
        error: `sub` is a folder
         |
         = help: give the path of an accelerator or core file in YAML
    "#]],
    );
    fails(
        dir.path(),
        "show mapping sub.yaml",
        1,
        expect![[r#"
        error: `sub.yaml` is a folder
         |
         = help: give the path of a mapping file in YAML
    "#]],
    );
}

#[test]
fn usage() {
    let dir = folder(&[]);
    let dir = dir.path();
    fails(
        dir,
        "run -w resnet18",
        2,
        expect![[r#"
        error: the following required arguments were not provided:
          --accelerator <NAME|FILE>

        Usage: millstream run --workload <NAME|FILE> --accelerator <NAME|FILE>

        For more information, try '--help'.
    "#]],
    );
    fails(
        dir,
        "run -w resnet18 -a tpu_like --dim batch",
        2,
        expect![[r#"
        error: invalid value 'batch' for '--dim <NAME=VALUE>': expected NAME=VALUE, for example batch=1

        For more information, try '--help'.
    "#]],
    );
    fails(
        dir,
        "run -w resnet18 -a tpu_like --dim batch=0",
        2,
        expect![[r#"
        error: invalid value 'batch=0' for '--dim <NAME=VALUE>': the value must be a whole number above zero

        For more information, try '--help'.
    "#]],
    );
    fails(
        dir,
        "run -w resnet18 -a tpu_like --precision act=8",
        2,
        expect![[r#"
        error: invalid value 'act=8' for '--precision <PRECISION>': expected auto, file, or act=BITS,weight=BITS,partial=BITS

        For more information, try '--help'.
    "#]],
    );
    fails(
        dir,
        "run -w resnet18 -a tpu_like --policy ilq",
        2,
        expect![[r#"
            error: invalid value 'ilq' for '--policy <POLICY>'
              [possible values: ilp, greedy, fixed, genetic, random, exhaustive]

              tip: a similar value exists: 'ilp'

            For more information, try '--help'.
        "#]],
    );
    fails(
        dir,
        "run -w resnet18 -a tpu_like -o",
        2,
        expect![[r#"
        error: a value is required for '--output <DIR>' but none was supplied

        For more information, try '--help'.
    "#]],
    );
    fails(
        dir,
        "run -w resnet18 -a tpu_like --outptu out",
        2,
        expect![[r#"
        error: unexpected argument '--outptu' found

          tip: a similar argument exists: '--output'

        Usage: millstream run --workload <NAME|FILE> --accelerator <NAME|FILE> --output <DIR>

        For more information, try '--help'.
    "#]],
    );
    fails(
        dir,
        "schema cores",
        2,
        expect![[r#"
        error: invalid value 'cores' for '<KIND>'
          [possible values: accelerator, core, mapping, workload, costs]

          tip: a similar value exists: 'core'

        For more information, try '--help'.
    "#]],
    );
    fails(
        dir,
        "rnu",
        2,
        expect![[r#"
        error: unrecognized subcommand 'rnu'

        Usage: millstream [OPTIONS] <COMMAND>

        For more information, try '--help'.
    "#]],
    );
}

#[test]
fn no_core_executes_the_layer() {
    let dir = folder(&[
        ("small.onnx", &small()),
        ("a.yaml", b"name: a\ncores: {0: pool.yaml, 1: dram.yaml}\noffchip_core_id: 1\n"),
        ("pool.yaml", include_bytes!("../../../hardware/cores/pooling.yaml")),
        ("dram.yaml", include_bytes!("../../../hardware/cores/dram.yaml")),
    ]);
    fails(
        dir.path(),
        "run -w small.onnx -a a.yaml",
        1,
        expect![[r#"
        error: layer y (Conv): no core executes it; core 0 executes MaxPool, AveragePool, GlobalAveragePool, GlobalMaxPool. Add Conv to the operator_types of a core, or name cores for it in a mapping
    "#]],
    );
}

/// Every memory holds 8 bits: not even one partial sum of 16 bits.
#[test]
fn a_cn_too_large_for_any_core() {
    let core = include_str!("../../../hardware/cores/testing_core.yaml");
    let tiny = core.replace("size: ", "size: 8 # ");
    let dir = folder(&[
        ("small.onnx", &small()),
        ("a.yaml", b"name: a\ncores: {0: tiny.yaml, 1: dram.yaml}\noffchip_core_id: 1\n"),
        ("tiny.yaml", tiny.as_bytes()),
        ("dram.yaml", include_bytes!("../../../hardware/cores/dram.yaml")),
    ]);
    fails(
        dir.path(),
        "run -w small.onnx -a a.yaml",
        1,
        expect![[r#"
            error: layer y on core 0 (testing_core): no loop order fits the memories: even the smallest tile of O needs 16 bits in rf_2B of 8 bits; enlarge the memory or keep the layer off the core (`core_allocation`)
        "#]],
    );
}

/// ZigZag's own mapping files have entries as examples.
#[test]
fn entries_for_nothing_are_noted() {
    let dir = folder(&[("small.onnx", &small()), ("m.yaml", b"- name: Conv\n- name: example_of_layer\n")]);
    let output = run(dir.path(), "cost -w small.onnx -a testing_two_core -m m.yaml");
    let printed = text(&output.stdout);
    let note = "note: mapping entry `example_of_layer` names neither a layer nor an operator of small";
    assert!(printed.contains(note), "{printed}");
}

#[test]
fn mappings_that_do_not_fit() {
    let mapping = |text: &str, expected: expect_test::Expect| {
        let dir = folder(&[("small.onnx", &small()), ("m.yaml", text.as_bytes())]);
        fails(dir.path(), "run -w small.onnx -a testing_two_core -m m.yaml", 1, expected);
    };
    mapping(
        "- name: y\n  core_allocation: [0, 9]\n",
        expect![[r#"
        error: testing_two_core has no core 9
         --> m.yaml:2:24
          |
        2 |   core_allocation: [0, 9]
          |                        ^ its compute cores are 0, 1
    "#]],
    );
    mapping(
        "- name: y\n  inter_core_tiling: ['Q, 2']\n",
        expect![[r#"
        error: mapping entry `y`: layer y has no dimension Q; its dimensions: B, K, G, OX, OY, C, FX, FY
         --> m.yaml:1:9
          |
        1 | - name: y
          |         ^
    "#]],
    );
    mapping(
        "- name: y\n  inter_core_tiling: ['K, 2']\n  allocation: [0]\n",
        expect![[r#"
        error: mapping entry `y`: layer y has 2 parts, but `allocation` names 1 cores
         --> m.yaml:1:9
          |
        1 | - name: y
          |         ^
    "#]],
    );
    mapping(
        "layers: []\nfused_groups: [{layers: [z]}]\n",
        expect![[r#"
        error: the mapping fuses layer `z`, which workload small does not have
    "#]],
    );
    let dir = folder(&[("small.onnx", &small())]);
    fails(
        dir.path(),
        "run -w small.onnx -a testing_two_core --policy fixed",
        1,
        expect![[r#"
        error: --policy fixed needs a core for every layer, but the mapping leaves layer y open: give its entry an `allocation` or a single core (a result's mapping.yaml has them)
    "#]],
    );
}

#[test]
fn costs_that_do_not_fit() {
    let costs = |text: &str, expected: expect_test::Expect| {
        let dir = folder(&[("small.onnx", &small()), ("c.csv", text.as_bytes())]);
        fails(dir.path(), "run -w small.onnx -a testing_two_core --costs c.csv", 1, expected);
    };
    costs(
        "layer,core,energy_pj\ny,0,1\n",
        expect![[r#"
        error: c.csv:1: no column `latency_cycles`; a costs file needs layer, core, latency_cycles and energy_pj (found: layer, core, energy_pj)
    "#]],
    );
    costs(
        "layer,core,latency_cycles,energy_pj\ny,0,-5,1\n",
        expect![[r#"
        error: c.csv:2: column `latency_cycles` holds `-5`; expected a number that is not negative
    "#]],
    );
    costs(
        "layer,core,latency_cycles,energy_pj\nz,0,5,1\n",
        expect![[r#"
        error: c.csv: a row for layer `z`, which workload small does not have; did you mean `y`?
    "#]],
    );
}

#[test]
fn dimensions_left_open() {
    let open = Model::input(&["batch", "4", "8", "8"]).node("Relu", &["x"], "y").output("y");
    refuses(
        "net.onnx",
        &open,
        "show workload net.onnx",
        expect![[r#"
        error: net.onnx: dimension 0 of tensor `x` is dynamic (`batch`): bind it with `--dim batch=VALUE`
    "#]],
    );
    refuses(
        "net.onnx",
        &open,
        "show workload net.onnx --dim bach=1",
        expect![[r#"
        error: net.onnx: no dimension of this network is called `bach`; its dynamic dimensions: `batch`
    "#]],
    );
}
