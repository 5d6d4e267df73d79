//! The text of the readers' errors: one broken file each.

use crate::readers::{ACCELERATOR, CORE, MAPPING, WORKLOAD, accelerator, edited, shipped_core, workload};
use expect_test::{Expect, expect};
use millstream::accelerator::yaml::{self as hardware, File};
use millstream::mapping;

/// Checks the errors of a core, accelerator, mapping or workload after one replacement.
fn refused(base: &str, from: &str, to: &str, expected: Expect) {
    let text = edited(base, from, to);
    let error = match base {
        MAPPING => {
            let accelerator = accelerator(ACCELERATOR).unwrap();
            mapping::yaml::parse("m.yaml", &text, Some(&accelerator)).unwrap_err().to_string()
        }
        WORKLOAD => workload(&text).unwrap_err(),
        _ => accelerator(&text).unwrap_err(),
    };
    expected.assert_eq(&(error + "\n"));
}

#[test]
fn unknown_keys_name_the_nearest() {
    refused(
        CORE,
        "    size:",
        "    sise:",
        expect![[r#"
        error: unknown key `sise` in a memory
         --> a.yaml:4:5
          |
        4 |     sise: 1024
          |     ^^^^
          |
          = help: did you mean `size`?
    "#]],
    );
    refused(
        ACCELERATOR,
        "offchip_core_id",
        "offchip_core_ids",
        expect![[r#"
        error: unknown key `offchip_core_ids` in an accelerator
         --> a.yaml:3:1
          |
        3 | offchip_core_ids: 2
          | ^^^^^^^^^^^^^^^^
          |
          = help: did you mean `offchip_core_id`?
    "#]],
    );
    refused(
        ACCELERATOR,
        "name: pair",
        "name: pair\ngraph: {type: ring}",
        expect![[r#"
        error: unknown graph `ring`
         --> a.yaml:2:15
          |
        2 | graph: {type: ring}
          |               ^^^^ must be 2d_mesh or bus
    "#]],
    );
    refused(
        MAPPING,
        "core_allocation",
        "core_alocation",
        expect![[r#"
        error: unknown key `core_alocation` in the mapping of a layer
         --> m.yaml:2:3
          |
        2 |   core_alocation: [0, 1]
          |   ^^^^^^^^^^^^^^
          |
          = help: did you mean `core_allocation`?
    "#]],
    );
}

#[test]
fn syntax_duplicates_and_types() {
    refused(
        CORE,
        "[I1, I2, O]",
        "[I1, I2, O",
        expect![[r#"
        error: this is not valid YAML: illegal placement of ':' indicator
         --> a.yaml:8:10
          |
        8 |     ports:
          |          ^ here
    "#]],
    );
    refused(
        CORE,
        "    r_cost: 1\n",
        "    r_cost: 1\n    r_cost: 3\n",
        expect![[r#"
        error: `r_cost` is given twice in a memory
         --> a.yaml:6:5
          |
        6 |     r_cost: 3
          |     ^^^^^^ a second time here
          |
          = help: keep one of the two
    "#]],
    );
    refused(
        CORE,
        "size: 1024",
        "size: 2 KiB",
        expect![[r#"
            error: the size of a memory must be a whole number from 1
             --> a.yaml:4:11
              |
            4 |     size: 2 KiB
              |           ^^^^^ this is `2 KiB`
              |
              = help: write the number alone: the unit of a key is fixed (docs/formats.md)
        "#]],
    );
    refused(
        CORE,
        "    size: 1024\n",
        "",
        expect![[r#"
        error: a memory has no `size`
         --> a.yaml:3:3
          |
        3 |   sram:
          |   ^^^^ `size` is missing here
    "#]],
    );
    refused(
        ACCELERATOR,
        "1: testing_core.yaml",
        "0: testing_core.yaml",
        expect![[r#"
        error: `0` is given twice in `cores`
         --> a.yaml:2:31
          |
        2 | cores: {0: testing_core.yaml, 0: testing_core.yaml, 2: dram.yaml}
          |                               ^ a second time here
          |
          = help: keep one of the two
    "#]],
    );
}

#[test]
fn memories_and_ports() {
    refused(
        CORE,
        "'I2, tl', ",
        "",
        expect![[r#"
        error: memory `sram` has no port for `I2, tl`
         --> a.yaml:3:3
          |
        3 |   sram:
          |   ^^^^
          |
          = help: add `I2, tl` to the allocation of one of its ports
    "#]],
    );
    refused(
        CORE,
        "'O, th'",
        "'O, th', 'O, fh'",
        expect![[r#"
        error: a read port cannot carry `O, fh`
         --> a.yaml:9:101
          |
        9 |       - {name: r, type: read, bandwidth_max: 64, allocation: ['I1, tl', 'I2, tl', 'O, tl', 'O, th', 'O, fh']}
          |                                                                                                     ^^^^^^^ fh writes the memory
          |
          = help: give it to another port, or make this one `read_write`
    "#]],
    );
    refused(
        CORE,
        "operands: [I1, I2, O]",
        "operands: [I1, O]",
        expect![[r#"
        error: the memory does not hold operand I2
         --> a.yaml:9:73
          |
        9 |       - {name: r, type: read, bandwidth_max: 64, allocation: ['I1, tl', 'I2, tl', 'O, tl', 'O, th']}
          |                                                                         ^^^^^^^^
          |
          = help: add I2 to `operands` or drop this line

        error: the memory does not hold operand I2
          --> a.yaml:10:74
           |
        10 |       - {name: w, type: write, bandwidth_max: 64, allocation: ['I1, fh', 'I2, fh', 'O, fl', 'O, fh']}
           |                                                                          ^^^^^^^^
           |
           = help: add I2 to `operands` or drop this line
    "#]],
    );
    refused(
        CORE,
        "'I1, tl'",
        "'I1 tl'",
        expect![[r#"
        error: a port carries an operand in a direction
         --> a.yaml:9:63
          |
        9 |       - {name: r, type: read, bandwidth_max: 64, allocation: ['I1 tl', 'I2, tl', 'O, tl', 'O, th']}
          |                                                               ^^^^^^^ expected for example `I1, tl`
          |
          = help: operands are I1, I2, O; tl and th read the memory, fh and fl write it
    "#]],
    );
    refused(
        CORE,
        "type: read",
        "type: raed",
        expect![[r#"
        error: unknown port type `raed`
         --> a.yaml:9:25
          |
        9 |       - {name: r, type: raed, bandwidth_max: 64, allocation: ['I1, tl', 'I2, tl', 'O, tl', 'O, th']}
          |                         ^^^^ must be read, write or read_write
          |
          = help: did you mean `read`?
    "#]],
    );
    refused(
        CORE,
        "bandwidth_max: 64",
        "bandwidth_max: 0",
        expect![[r#"
        error: `bandwidth_max` must be at least 1
         --> a.yaml:9:46
          |
        9 |       - {name: r, type: read, bandwidth_max: 0, allocation: ['I1, tl', 'I2, tl', 'O, tl', 'O, th']}
          |                                              ^ nothing can move at zero bits per cycle
    "#]],
    );
    refused(
        CORE,
        "served_dimensions: [D1]",
        "served_dimensions: [D1, D2]",
        expect![[r#"
        error: the array has no dimension `D2`
          --> a.yaml:11:29
           |
        11 |     served_dimensions: [D1, D2]
           |                             ^^ its dimensions are D1
    "#]],
    );
    refused(
        CORE,
        "sizes: [4]",
        "sizes: [4, 4]",
        expect![[r#"
        error: 1 dimension(s) of the array but 2 size(s)
          --> a.yaml:16:10
           |
        16 |   sizes: [4, 4]
           |          ^ one size per dimension is needed
    "#]],
    );
}

#[test]
fn connections() {
    refused(
        ACCELERATOR,
        "cores: [0, 1],",
        "cores: [0, 7],",
        expect![[r#"
        error: there is no core 7
         --> a.yaml:5:29
          |
        5 |   - {type: link, cores: [0, 7], bandwidth: 64}
          |                             ^ `cores` has 0 to 2
    "#]],
    );
    refused(
        ACCELERATOR,
        "cores: [0, 1],",
        "cores: [1, 1],",
        expect![[r#"
        error: a connection joins a core to itself
         --> a.yaml:5:25
          |
        5 |   - {type: link, cores: [1, 1], bandwidth: 64}
          |                         ^ each core may stand here once
    "#]],
    );
    refused(
        ACCELERATOR,
        "bandwidth: 128",
        "bandwidth: 0",
        expect![[r#"
        error: the bandwidth of a connection must be at least 1
         --> a.yaml:6:46
          |
        6 |   - {type: bus, cores: [0, 1, 2], bandwidth: 0}
          |                                              ^ nothing can move at zero bits per cycle
    "#]],
    );
    refused(
        ACCELERATOR,
        "type: bus",
        "type: link",
        expect![[r#"
        error: a link joins two cores, not 3
         --> a.yaml:6:25
          |
        6 |   - {type: link, cores: [0, 1, 2], bandwidth: 128}
          |                         ^
          |
          = help: use `type: bus` for a medium that several cores share
    "#]],
    );
    refused(
        ACCELERATOR,
        "bandwidth: 64}",
        "bandwidth: 64, unit_energy_cost: 1, energy_per_bit: 2}",
        expect![[r#"
            error: both `energy_per_bit` and `unit_energy_cost` are given
             --> a.yaml:5:85
              |
            5 |   - {type: link, cores: [0, 1], bandwidth: 64, unit_energy_cost: 1, energy_per_bit: 2}
              |                                                                                     ^ the energy of a transfer would be ambiguous
              |
              = help: keep `energy_per_bit` (pJ per bit) or `unit_energy_cost` (pJ per active cycle)
        "#]],
    );
    let cut = edited(ACCELERATOR, "{type: link, cores: [0, 1], bandwidth: 64}", "");
    let cut = edited(&cut, "  - \n", "");
    let error = accelerator(&edited(&cut, "[0, 1, 2], ", "[0, 2], ")).unwrap_err();
    expect![[r#"
        error: core 1 has no path to DRAM
         --> a.yaml:2:34
          |
        2 | cores: {0: testing_core.yaml, 1: testing_core.yaml, 2: dram.yaml}
          |                                  ^^^^^^^^^^^^^^^^^
          |
          = help: join it to the DRAM core by a link or a bus in `core_connectivity`"#]]
    .assert_eq(&error);
}

#[test]
fn core_files_of_an_accelerator() {
    refused(
        ACCELERATOR,
        "1: testing_core.yaml",
        "1: testing_cor.yaml",
        expect![[r#"
        error: core file `testing_cor.yaml` does not exist
         --> a.yaml:2:34
          |
        2 | cores: {0: testing_core.yaml, 1: testing_cor.yaml, 2: dram.yaml}
          |                                  ^^^^^^^^^^^^^^^^
    "#]],
    );
    refused(
        ACCELERATOR,
        "offchip_core_id: 2",
        "offchip_core_id: 3",
        expect![[r#"
        error: there is no core 3
         --> a.yaml:3:18
          |
        3 | offchip_core_id: 3
          |                  ^ `cores` has 0 to 2
    "#]],
    );
    let error = hardware::find("tpu_like_quad").unwrap_err().to_string();
    expect![[r#"
        error: `tpu_like_quad` is neither a file nor a shipped accelerator
         |
         = help: did you mean `tpu_like_df`?"#]]
    .assert_eq(&error);
    let broken = |name: &str| {
        let file = File { name: name.to_owned(), text: edited(CORE, "    w_cost: 2\n", "") };
        if name == "testing_core.yaml" { Ok(file) } else { shipped_core(name) }
    };
    let error = hardware::parse("a.yaml", ACCELERATOR, &broken).unwrap_err();
    expect![[r#"
        error: a memory has no `w_cost`
         --> testing_core.yaml:3:3
          |
        3 |   sram:
          |   ^^^^ `w_cost` is missing here"#]]
    .assert_eq(&error.to_string());
}

#[test]
fn mappings() {
    refused(
        MAPPING,
        "[0, 1]",
        "[0, 9, 2]",
        expect![[r#"
        error: pair has no core 9
         --> m.yaml:2:24
          |
        2 |   core_allocation: [0, 9, 2]
          |                        ^ its compute cores are 0, 1

        error: core 2 of pair computes nothing
         --> m.yaml:2:27
          |
        2 |   core_allocation: [0, 9, 2]
          |                           ^ its compute cores are 0, 1
    "#]],
    );
    refused(
        MAPPING,
        "'OY, all'",
        "OY",
        expect![[r#"
        error: a tiling is a dimension and a number of pieces
         --> m.yaml:3:23
          |
        3 |   intra_core_tiling: [OY]
          |                       ^^ expected for example `K, 4`, `OY, all` or `K, *`
    "#]],
    );
    refused(
        MAPPING,
        "'K, 4'",
        "{dim: K}",
        expect![[r#"
        error: a tiling needs one of `split` and `tile`
         --> m.yaml:4:23
          |
        4 |   inter_core_tiling: [{dim: K}]
          |                       ^
          |
          = help: `split` is how many pieces, `tile` how large
    "#]],
    );
}

#[test]
fn workloads() {
    refused(
        WORKLOAD,
        "{A: 0, I: 0}",
        "{A: 0, I: 4}",
        expect![[r#"
        error: there is no layer 4
          --> w.yaml:15:29
           |
        15 |   operand_source: {A: 0, I: 4}
           |                             ^ the source of this operand
           |
           = help: write 1 for weights and inputs of the network
    "#]],
    );
    refused(
        WORKLOAD,
        "[1, 8, 16]",
        "[1, 4, 16]",
        expect![[r#"
        error: operand A of layer 1 needs 1x4x16, but layer 0 makes 1x8x16
          --> w.yaml:15:23
           |
        15 |   operand_source: {A: 0, I: 0}
           |                       ^ 1x8x16 comes from here
           |
           = help: compare `loop_sizes` of both layers; `padding` covers what is missing in space

        error: operand I of layer 1 needs 1x4x16, but layer 0 makes 1x8x16
          --> w.yaml:15:29
           |
        15 |   operand_source: {A: 0, I: 0}
           |                             ^ 1x8x16 comes from here
           |
           = help: compare `loop_sizes` of both layers; `padding` covers what is missing in space
    "#]],
    );
    refused(
        WORKLOAD,
        "I[b][c][iy]",
        "I[b][c][ix]",
        expect![[r#"
        error: there is no dimension IX
         --> w.yaml:3:46
          |
        3 |   equation: O[b][k][oy]+=W[k][c][fy]*I[b][c][ix]
          |                                              ^ neither in `loop_dims` nor defined in `dimension_relations`
          |
          = help: did you mean `iy`?
    "#]],
    );
    refused(
        WORKLOAD,
        "W[k][c][fy]*I",
        "W[k][c][fy]-I",
        expect![[r#"
        error: this is not the equation of a layer
         --> w.yaml:3:37
          |
        3 |   equation: O[b][k][oy]+=W[k][c][fy]-I[b][c][iy]
          |                                     ^ expected `*`, `+` or the end
          |
          = help: write for example `O[b][k]+=W[k][c]*I[b][c]`
    "#]],
    );
    refused(
        WORKLOAD,
        "W: 8, I: 8",
        "W: 8, J: 8",
        expect![[r#"
        error: the equation has no operand J
         --> w.yaml:7:48
          |
        7 |   operand_precision: {O: 16, O_final: 8, W: 8, J: 8}
          |                                                ^ its operands are O, W, I

        error: operand I has no precision
         --> w.yaml:7:22
          |
        7 |   operand_precision: {O: 16, O_final: 8, W: 8, J: 8}
          |                      ^
          |
          = help: add `I: 8` (bits of one element)
    "#]],
    );
    refused(
        WORKLOAD,
        "iy=1*oy+1*fy",
        "iy=oy",
        expect![[r#"
        error: this is not a relation of two loop dimensions
         --> w.yaml:4:25
          |
        4 |   dimension_relations: [iy=oy]
          |                         ^^^^^ expected for example `ix=2*ox+1*fx`

        error: there is no dimension IY
         --> w.yaml:3:46
          |
        3 |   equation: O[b][k][oy]+=W[k][c][fy]*I[b][c][iy]
          |                                              ^ neither in `loop_dims` nor defined in `dimension_relations`
          |
          = help: did you mean `oy`?
    "#]],
    );
    refused(
        WORKLOAD,
        "{W: 0, I: 0}",
        "{W: 0, I: 1}",
        expect![[r#"
        error: layer 0 depends on itself
         --> w.yaml:1:3
          |
        1 | - id: 0
          |   ^^
          |
          = help: follow its `operand_source`: the layers form a cycle
    "#]],
    );
}

#[test]
fn all_errors_are_reported_at_once() {
    let text = edited(CORE, "size: 1024", "size: none");
    let text = edited(&text, "unit_area", "unit_aera");
    let text = edited(&text, "type: read", "type: raed");
    let errors = hardware::parse("a.yaml", &text, &shipped_core).unwrap_err();
    let messages: Vec<_> = errors.errors().iter().map(|error| error.message.as_str()).collect();
    expect![[r#"
        unknown key `unit_aera` in an operational array
        the size of a memory must be a whole number from 1
        unknown port type `raed`"#]]
    .assert_eq(&messages.join("\n"));
}
