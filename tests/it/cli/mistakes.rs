//! Typical mistakes of newcomers in YAML files, each led to its line.

use super::{fails, folder, run, text};
use crate::readers::{ACCELERATOR, CORE, WORKLOAD, edited};
use expect_test::{Expect, expect};

const MAPPING: &str = "\
- name: Conv
  core_allocation: [0, 1]
  intra_core_tiling: ['OY, all']
- name: conv1
  inter_core_tiling: ['K, 4']
";

/// Checks the message for one replacement in a core, accelerator, mapping or workload.
#[track_caller]
fn mistake(base: &str, from: &str, to: &str, expected: Expect) {
    let file = edited(base, from, to);
    let line = match base {
        MAPPING => "run -w resnet18 -a a.yaml -m file.yaml",
        WORKLOAD => "show workload file.yaml",
        _ => "show accelerator file.yaml",
    };
    let dir = folder(&[
        ("file.yaml", file.as_bytes()),
        ("a.yaml", ACCELERATOR.as_bytes()),
        ("testing_core.yaml", include_bytes!("../../../hardware/cores/testing_core.yaml")),
        ("dram.yaml", include_bytes!("../../../hardware/cores/dram.yaml")),
    ]);
    fails(dir.path(), line, 1, expected);
}

#[test]
fn a_unit_behind_a_number() {
    mistake(
        CORE,
        "size: 1024",
        "size: 2 KiB",
        expect![[r#"
        error: the size of a memory must be a whole number from 1
         --> file.yaml:4:11
          |
        4 |     size: 2 KiB
          |           ^^^^^ this is `2 KiB`
          |
          = help: write the number alone: the unit of a key is fixed (docs/formats.md)
    "#]],
    );
    mistake(
        ACCELERATOR,
        "bandwidth: 64}",
        "bandwidth: 64 bit/cycle}",
        expect![[r#"
        error: the bandwidth of a connection must be a whole number from 1
         --> file.yaml:5:44
          |
        5 |   - {type: link, cores: [0, 1], bandwidth: 64 bit/cycle}
          |                                            ^^^^^^^^^^^^ this is `64 bit/cycle`
          |
          = help: write the number alone: the unit of a key is fixed (docs/formats.md)
    "#]],
    );
}

#[test]
fn swapped_ports() {
    mistake(
        CORE,
        "type: read,",
        "type: write,",
        expect![[r#"
        error: a write port cannot carry `I1, tl`
         --> file.yaml:9:64
          |
        9 |       - {name: r, type: write, bandwidth_max: 64, allocation: ['I1, tl', 'I2, tl', 'O, tl', 'O, th']}
          |                                                                ^^^^^^^^ tl reads the memory
          |
          = help: give it to another port, or make this one `read_write`

        error: a write port cannot carry `I2, tl`
         --> file.yaml:9:74
          |
        9 |       - {name: r, type: write, bandwidth_max: 64, allocation: ['I1, tl', 'I2, tl', 'O, tl', 'O, th']}
          |                                                                          ^^^^^^^^ tl reads the memory
          |
          = help: give it to another port, or make this one `read_write`

        error: a write port cannot carry `O, tl`
         --> file.yaml:9:84
          |
        9 |       - {name: r, type: write, bandwidth_max: 64, allocation: ['I1, tl', 'I2, tl', 'O, tl', 'O, th']}
          |                                                                                    ^^^^^^^ tl reads the memory
          |
          = help: give it to another port, or make this one `read_write`

        error: a write port cannot carry `O, th`
         --> file.yaml:9:93
          |
        9 |       - {name: r, type: write, bandwidth_max: 64, allocation: ['I1, tl', 'I2, tl', 'O, tl', 'O, th']}
          |                                                                                             ^^^^^^^ th reads the memory
          |
          = help: give it to another port, or make this one `read_write`
    "#]],
    );
}

#[test]
fn a_missing_operand_in_an_allocation() {
    mistake(
        CORE,
        "'I2, tl', ",
        "",
        expect![[r#"
        error: memory `sram` has no port for `I2, tl`
         --> file.yaml:3:3
          |
        3 |   sram:
          |   ^^^^
          |
          = help: add `I2, tl` to the allocation of one of its ports
    "#]],
    );
    mistake(
        CORE,
        "'O, fl', ",
        "",
        expect![[r#"
        error: memory `sram` has no port for `O, fl`
         --> file.yaml:3:3
          |
        3 |   sram:
          |   ^^^^
          |
          = help: add `O, fl` to the allocation of one of its ports
    "#]],
    );
}

#[test]
fn a_served_dimension_that_does_not_exist() {
    mistake(
        CORE,
        "served_dimensions: [D1]",
        "served_dimensions: [D1, D4]",
        expect![[r#"
        error: the array has no dimension `D4`
          --> file.yaml:11:29
           |
        11 |     served_dimensions: [D1, D4]
           |                             ^^ its dimensions are D1
    "#]],
    );
}

#[test]
fn a_link_to_itself() {
    mistake(
        ACCELERATOR,
        "cores: [0, 1],",
        "cores: [0, 0],",
        expect![[r#"
        error: a connection joins a core to itself
         --> file.yaml:5:25
          |
        5 |   - {type: link, cores: [0, 0], bandwidth: 64}
          |                         ^ each core may stand here once
    "#]],
    );
}

#[test]
fn a_disconnected_core() {
    let text = edited(ACCELERATOR, "cores: [0, 1, 2], ", "cores: [0, 2], ");
    let text = edited(&text, "cores: [0, 1],", "cores: [0, 2],");
    let dir = folder(&[
        ("file.yaml", text.as_bytes()),
        ("testing_core.yaml", include_bytes!("../../../hardware/cores/testing_core.yaml")),
        ("dram.yaml", include_bytes!("../../../hardware/cores/dram.yaml")),
    ]);
    fails(
        dir.path(),
        "show accelerator file.yaml",
        1,
        expect![[r#"
        error: core 1 has no path to DRAM
         --> file.yaml:2:34
          |
        2 | cores: {0: testing_core.yaml, 1: testing_core.yaml, 2: dram.yaml}
          |                                  ^^^^^^^^^^^^^^^^^
          |
          = help: join it to the DRAM core by a link or a bus in `core_connectivity`
    "#]],
    );
}

#[test]
fn a_mapping_entry_for_a_layer_that_does_not_exist() {
    mistake(
        MAPPING,
        "name: conv1",
        "name: layer1.0.conv3",
        expect![[r#"
        error: mapping entry `layer1.0.conv3` names neither a layer nor an operator of workload resnet18; did you mean `layer1.0.conv1`?
         --> file.yaml:4:9
          |
        4 | - name: layer1.0.conv3
          |         ^^^^^^^^^^^^^^
    "#]],
    );
}

/// ZigZag cuts such a factor and files of Stream rely on it: a note with the line, not an error.
#[test]
fn an_unrolling_larger_than_the_array() {
    let core = edited(CORE, "operational_array:", "dataflows: {D1: ['K, 8']}\noperational_array:");
    let mapping =
        edited(MAPPING, "core_allocation:", "spatial_mapping: {D1: ['K, 4096']}\n  core_allocation:");
    let dir = folder(&[
        ("core.yaml", core.as_bytes()),
        ("m.yaml", mapping.as_bytes()),
        ("small.onnx", &super::model::small()),
    ]);
    let note = |line: &str| {
        let printed = text(&run(dir.path(), line).stdout);
        printed
            .lines()
            .find(|line| line.contains("yaml:"))
            .map(|line| line.to_owned() + "\n")
            .unwrap_or(printed)
    };
    expect![[r#"
        note: core.yaml:12: 8 iterations of K over the 4 units of D1 do not fit and are cut to 4
    "#]]
    .assert_eq(&note("show accelerator core.yaml"));
    expect![[r#"
        note        m.yaml:2: 4096 iterations of K over the 16 units of D1 do not fit and are cut to 16
    "#]]
    .assert_eq(&note("run -w resnet18 -a testing_two_core -m m.yaml"));
}

#[test]
fn a_duplicate_id() {
    mistake(
        ACCELERATOR,
        "1: testing_core.yaml",
        "0: testing_core.yaml",
        expect![[r#"
        error: `0` is given twice in `cores`
         --> file.yaml:2:31
          |
        2 | cores: {0: testing_core.yaml, 0: testing_core.yaml, 2: dram.yaml}
          |                               ^ a second time here
          |
          = help: keep one of the two
    "#]],
    );
    mistake(
        WORKLOAD,
        "- id: 1",
        "- id: 0",
        expect![[r#"
        error: two layers have the id 0
         --> file.yaml:9:3
          |
        9 | - id: 0
          |   ^^
          |
          = help: give every layer its own id
    "#]],
    );
}

#[test]
fn unknown_operator_types() {
    mistake(
        CORE,
        "name: tiny",
        "name: tiny\noperator_types: {Conv: 1}",
        expect![[r#"
            error: `operator_types` must be a list
             --> file.yaml:2:17
              |
            2 | operator_types: {Conv: 1}
              |                 ^ this is a map
        "#]],
    );
    let core = edited(
        include_str!("../../../hardware/cores/testing_core.yaml"),
        "name:",
        "operator_types: [Conv2d]\nname:",
    );
    let dir = folder(&[
        ("small.onnx", &super::model::small()),
        ("a.yaml", ACCELERATOR.as_bytes()),
        ("testing_core.yaml", core.as_bytes()),
        ("dram.yaml", include_bytes!("../../../hardware/cores/dram.yaml")),
    ]);
    fails(
        dir.path(),
        "run -w small.onnx -a a.yaml",
        1,
        expect![[r#"
            error: layer y (Conv): no core executes it; core 0 executes Conv2d (is `Conv2d` meant as Conv?); core 1 executes Conv2d (is `Conv2d` meant as Conv?). Add Conv to the operator_types of a core, or name cores for it in a mapping
        "#]],
    );
}

#[test]
fn a_negative_size() {
    mistake(
        CORE,
        "size: 1024",
        "size: -1024",
        expect![[r#"
        error: the size of a memory must be a whole number from 1
         --> file.yaml:4:11
          |
        4 |     size: -1024
          |           ^^^^^ this is `-1024`
    "#]],
    );
    mistake(
        CORE,
        "sizes: [4]",
        "sizes: [-4]",
        expect![[r#"
        error: the size of an array dimension must be a whole number from 0
          --> file.yaml:16:11
           |
        16 |   sizes: [-4]
           |           ^^ this is `-4`
    "#]],
    );
    mistake(
        WORKLOAD,
        "loop_sizes: [1, ",
        "loop_sizes: [-1, ",
        expect![[r#"
            error: the size of a loop must be a whole number from 1
             --> file.yaml:6:16
              |
            6 |   loop_sizes: [-1, 8, 3, 16, 3]
              |                ^^ this is `-1`
        "#]],
    );
}

#[test]
fn a_memory_without_operands() {
    mistake(
        CORE,
        "operands: [I1, I2, O]",
        "operands: []",
        expect![[r#"
            error: memory `sram` holds no operand
             --> file.yaml:7:15
              |
            7 |     operands: []
              |               ^
              |
              = help: list what it holds, for example `[I1, I2, O]`, or drop the memory
        "#]],
    );
    mistake(
        CORE,
        "    operands: [I1, I2, O]\n",
        "",
        expect![[r#"
        error: a memory has no `operands`
         --> file.yaml:3:3
          |
        3 |   sram:
          |   ^^^^ `operands` is missing here
    "#]],
    );
}

#[test]
fn a_missing_core_file() {
    mistake(
        ACCELERATOR,
        "1: testing_core.yaml",
        "1: testing_cor.yaml",
        expect![[r#"
            error: core file `testing_cor.yaml` does not exist
             --> file.yaml:2:34
              |
            2 | cores: {0: testing_core.yaml, 1: testing_cor.yaml, 2: dram.yaml}
              |                                  ^^^^^^^^^^^^^^^^
              |
              = help: looked for cores/testing_cor.yaml, testing_cor.yaml
        "#]],
    );
}

#[test]
fn a_key_at_the_wrong_level() {
    mistake(
        CORE,
        "    size: 1024\n",
        "    sizes: [4]\n    size: 1024\n",
        expect![[r#"
        error: unknown key `sizes` in a memory
         --> file.yaml:4:5
          |
        4 |     sizes: [4]
          |     ^^^^^
          |
          = help: `sizes` is a key of an operational array: check the indentation
    "#]],
    );
    mistake(
        CORE,
        "name: tiny",
        "name: tiny\nserved_dimensions: [D1]",
        expect![[r#"
        error: unknown key `served_dimensions` in a core
         --> file.yaml:2:1
          |
        2 | served_dimensions: [D1]
          | ^^^^^^^^^^^^^^^^^
          |
          = help: `served_dimensions` is a key of a memory: check the indentation
    "#]],
    );
    mistake(
        ACCELERATOR,
        "name: pair",
        "name: pair\nlatency: 4",
        expect![[r#"
        error: unknown key `latency` in an accelerator
         --> file.yaml:2:1
          |
        2 | latency: 4
          | ^^^^^^^
          |
          = help: `latency` is a key of a connection: check the indentation
    "#]],
    );
}

#[test]
fn indentation_by_tabs() {
    mistake(
        CORE,
        "    size: 1024",
        "\tsize: 1024",
        expect![[r#"
        error: a line is indented by a tab
         --> file.yaml:4:1
          |
        4 |     size: 1024
          | ^ a tab stands here
          |
          = help: indent by spaces: YAML allows no tabs there
    "#]],
    );
    mistake(
        CORE,
        "    size: 1024",
        "  \tsize: 1024",
        expect![[r#"
        error: a line is indented by a tab
         --> file.yaml:4:3
          |
        4 |       size: 1024
          |   ^ a tab stands here
          |
          = help: indent by spaces: YAML allows no tabs there
    "#]],
    );
}
