//! The YAML readers: what they accept, and the text of their errors.

use expect_test::{Expect, expect};
use millstream::accelerator::Accelerator;
use millstream::accelerator::yaml::{self as hardware, File};
use millstream::diagnostic::Diagnostic;
use millstream::mapping::{self, Mapping};
use millstream::workload::Workload;
use std::path::{Path, PathBuf};

const CORE: &str = "\
name: tiny
memories:
  sram:
    size: 1024
    r_cost: 1
    w_cost: 2
    operands: [I1, I2, O]
    ports:
      - {name: r, type: read, bandwidth_max: 64, allocation: ['I1, tl', 'I2, tl', 'O, tl', 'O, th']}
      - {name: w, type: write, bandwidth_max: 64, allocation: ['I1, fh', 'I2, fh', 'O, fl', 'O, fh']}
    served_dimensions: [D1]
operational_array:
  unit_energy: 0.5
  unit_area: 0.1
  dimensions: [D1]
  sizes: [4]
";

const ACCELERATOR: &str = "\
name: pair
cores: {0: testing_core.yaml, 1: testing_core.yaml, 2: dram.yaml}
offchip_core_id: 2
core_connectivity:
  - {type: link, cores: [0, 1], bandwidth: 64}
  - {type: bus, cores: [0, 1, 2], bandwidth: 128}
";

const MAPPING: &str = "\
- name: conv1
  core_allocation: [0, 1]
  intra_core_tiling: ['OY, all']
  inter_core_tiling: ['K, 4']
";

const WORKLOAD: &str = "\
- id: 0
  operator_type: Conv
  equation: O[b][k][oy]+=W[k][c][fy]*I[b][c][iy]
  dimension_relations: [iy=1*oy+1*fy]
  loop_dims: [B, K, C, OY, FY]
  loop_sizes: [1, 8, 3, 16, 3]
  operand_precision: {O: 16, O_final: 8, W: 8, I: 8}
  operand_source: {W: 0, I: 0}
- id: 1
  operator_type: Add
  equation: O[b][g][oy]=A[b][g][oy]+I[b][g][oy]
  loop_dims: [B, G, OY]
  loop_sizes: [1, 8, 16]
  operand_precision: {O: 8, A: 8, I: 8}
  operand_source: {A: 0, I: 0}
";

/// The text with one replacement, which must be possible.
fn edited(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from} is not in the text");
    text.replacen(from, to, 1)
}

fn shipped_core(name: &str) -> Result<File, Diagnostic> {
    let stem = name.trim_end_matches(".yaml");
    match millstream::library::core(stem) {
        Some(text) => Ok(File { name: name.to_owned(), text: text.to_owned() }),
        None => Err(Diagnostic::new(format!("core file `{name}` does not exist"))),
    }
}

fn accelerator(text: &str) -> Result<Accelerator, String> {
    hardware::parse("a.yaml", text, &shipped_core).map_err(|errors| errors.to_string())
}

fn workload(text: &str) -> Result<Workload, String> {
    millstream::workload::yaml::parse("w.yaml", text).map_err(|errors| errors.to_string())
}

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
fn the_bases_are_accepted() {
    for text in [CORE, ACCELERATOR] {
        accelerator(text).unwrap_or_else(|errors| panic!("{errors}"));
    }
    mapping::yaml::parse("m.yaml", MAPPING, None).unwrap_or_else(|errors| panic!("{errors}"));
    workload(WORKLOAD).unwrap_or_else(|errors| panic!("{errors}"));
}

#[test]
fn unknown_keys_name_the_nearest() {
    refused(CORE, "    size:", "    sise:", expect![[r#"
        error: unknown key `sise` in a memory
         --> a.yaml:4:5
          |
        4 |     sise: 1024
          |     ^^^^
          |
          = help: did you mean `size`?
    "#]]);
    refused(ACCELERATOR, "offchip_core_id", "offchip_core_ids", expect![[r#"
        error: unknown key `offchip_core_ids` in an accelerator
         --> a.yaml:3:1
          |
        3 | offchip_core_ids: 2
          | ^^^^^^^^^^^^^^^^
          |
          = help: did you mean `offchip_core_id`?
    "#]]);
    refused(ACCELERATOR, "name: pair", "name: pair\ngraph: {}", expect![[r#"
        error: unknown key `graph` in an accelerator
         --> a.yaml:2:1
          |
        2 | graph: {}
          | ^^^^^
          |
          = help: list links and buses in `core_connectivity`; `graph` is of a dialect that is not read
    "#]]);
    refused(MAPPING, "core_allocation", "core_alocation", expect![[r#"
        error: unknown key `core_alocation` in the mapping of a layer
         --> m.yaml:2:3
          |
        2 |   core_alocation: [0, 1]
          |   ^^^^^^^^^^^^^^
          |
          = help: did you mean `core_allocation`?
    "#]]);
}

#[test]
fn syntax_duplicates_and_types() {
    refused(CORE, "[I1, I2, O]", "[I1, I2, O", expect![[r#"
        error: this is not valid YAML: illegal placement of ':' indicator
         --> a.yaml:8:10
          |
        8 |     ports:
          |          ^ here
    "#]]);
    refused(CORE, "    r_cost: 1\n", "    r_cost: 1\n    r_cost: 3\n", expect![[r#"
        error: `r_cost` is given twice in a memory
         --> a.yaml:6:5
          |
        6 |     r_cost: 3
          |     ^^^^^^ a second time here
          |
          = help: keep one of the two
    "#]]);
    refused(CORE, "size: 1024", "size: 2 KiB", expect![[r#"
        error: the size of a memory must be a whole number from 0
         --> a.yaml:4:11
          |
        4 |     size: 2 KiB
          |           ^^^^^ this is `2 KiB`
    "#]]);
    refused(CORE, "    size: 1024\n", "", expect![[r#"
        error: a memory has no `size`
         --> a.yaml:3:3
          |
        3 |   sram:
          |   ^^^^ `size` is missing here
    "#]]);
    refused(ACCELERATOR, "1: testing_core.yaml", "0: testing_core.yaml", expect![[r#"
        error: `0` is given twice in `cores`
         --> a.yaml:2:31
          |
        2 | cores: {0: testing_core.yaml, 0: testing_core.yaml, 2: dram.yaml}
          |                               ^ a second time here
          |
          = help: keep one of the two
    "#]]);
}

#[test]
fn memories_and_ports() {
    refused(CORE, "'I2, tl', ", "", expect![[r#"
        error: memory `sram` has no port for `I2, tl`
         --> a.yaml:3:3
          |
        3 |   sram:
          |   ^^^^
          |
          = help: add `I2, tl` to the allocation of one of its ports
    "#]]);
    refused(CORE, "'O, th'", "'O, th', 'O, fh'", expect![[r#"
        error: a read port cannot carry `O, fh`
         --> a.yaml:9:101
          |
        9 |       - {name: r, type: read, bandwidth_max: 64, allocation: ['I1, tl', 'I2, tl', 'O, tl', 'O, th', 'O, fh']}
          |                                                                                                     ^^^^^^^ fh writes the memory
          |
          = help: give it to another port, or make this one `read_write`
    "#]]);
    refused(CORE, "operands: [I1, I2, O]", "operands: [I1, O]", expect![[r#"
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
    "#]]);
    refused(CORE, "'I1, tl'", "'I1 tl'", expect![[r#"
        error: a port carries an operand in a direction
         --> a.yaml:9:63
          |
        9 |       - {name: r, type: read, bandwidth_max: 64, allocation: ['I1 tl', 'I2, tl', 'O, tl', 'O, th']}
          |                                                               ^^^^^^^ expected for example `I1, tl`
          |
          = help: operands are I1, I2, O; tl and th read the memory, fh and fl write it
    "#]]);
    refused(CORE, "type: read", "type: raed", expect![[r#"
        error: unknown port type `raed`
         --> a.yaml:9:25
          |
        9 |       - {name: r, type: raed, bandwidth_max: 64, allocation: ['I1, tl', 'I2, tl', 'O, tl', 'O, th']}
          |                         ^^^^ must be read, write or read_write
          |
          = help: did you mean `read`?
    "#]]);
    refused(CORE, "bandwidth_max: 64", "bandwidth_max: 0", expect![[r#"
        error: `bandwidth_max` must be at least 1
         --> a.yaml:9:46
          |
        9 |       - {name: r, type: read, bandwidth_max: 0, allocation: ['I1, tl', 'I2, tl', 'O, tl', 'O, th']}
          |                                              ^ nothing can move at zero bits per cycle
    "#]]);
    refused(CORE, "served_dimensions: [D1]", "served_dimensions: [D1, D2]", expect![[r#"
        error: the array has no dimension `D2`
          --> a.yaml:11:29
           |
        11 |     served_dimensions: [D1, D2]
           |                             ^^ its dimensions are D1
    "#]]);
    refused(CORE, "sizes: [4]", "sizes: [4, 4]", expect![[r#"
        error: 1 dimension(s) of the array but 2 size(s)
          --> a.yaml:16:10
           |
        16 |   sizes: [4, 4]
           |          ^ one size per dimension is needed
    "#]]);
}

#[test]
fn connections() {
    refused(ACCELERATOR, "cores: [0, 1],", "cores: [0, 7],", expect![[r#"
        error: there is no core 7
         --> a.yaml:5:29
          |
        5 |   - {type: link, cores: [0, 7], bandwidth: 64}
          |                             ^ `cores` has 0 to 2
    "#]]);
    refused(ACCELERATOR, "cores: [0, 1],", "cores: [1, 1],", expect![[r#"
        error: a connection joins a core to itself
         --> a.yaml:5:25
          |
        5 |   - {type: link, cores: [1, 1], bandwidth: 64}
          |                         ^ each core may stand here once
    "#]]);
    refused(ACCELERATOR, "bandwidth: 128", "bandwidth: 0", expect![[r#"
        error: the bandwidth of a connection must be at least 1
         --> a.yaml:6:46
          |
        6 |   - {type: bus, cores: [0, 1, 2], bandwidth: 0}
          |                                              ^ nothing can move at zero bits per cycle
    "#]]);
    refused(ACCELERATOR, "type: bus", "type: link", expect![[r#"
        error: a link joins two cores, not 3
         --> a.yaml:6:25
          |
        6 |   - {type: link, cores: [0, 1, 2], bandwidth: 128}
          |                         ^
          |
          = help: use `type: bus` for a medium that several cores share
    "#]]);
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
          = help: join it to the DRAM core by a link or a bus in `core_connectivity`"#]].assert_eq(&error);
}

#[test]
fn core_files_of_an_accelerator() {
    refused(ACCELERATOR, "1: testing_core.yaml", "1: testing_cor.yaml", expect![[r#"
        error: core file `testing_cor.yaml` does not exist
         --> a.yaml:2:34
          |
        2 | cores: {0: testing_core.yaml, 1: testing_cor.yaml, 2: dram.yaml}
          |                                  ^^^^^^^^^^^^^^^^
    "#]]);
    refused(ACCELERATOR, "offchip_core_id: 2", "offchip_core_id: 3", expect![[r#"
        error: there is no core 3
         --> a.yaml:3:18
          |
        3 | offchip_core_id: 3
          |                  ^ `cores` has 0 to 2
    "#]]);
    let error = hardware::find("tpu_like_quad").unwrap_err().to_string();
    expect![[r#"
        error: `tpu_like_quad` is neither a file nor a shipped accelerator
         |
         = help: did you mean `tpu_like_quad_core`?"#]].assert_eq(&error);
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
          |   ^^^^ `w_cost` is missing here"#]].assert_eq(&error.to_string());
}

#[test]
fn mappings() {
    refused(MAPPING, "[0, 1]", "[0, 9, 2]", expect![[r#"
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
    "#]]);
    refused(MAPPING, "'OY, all'", "OY", expect![[r#"
        error: a tiling is a dimension and a number of pieces
         --> m.yaml:3:23
          |
        3 |   intra_core_tiling: [OY]
          |                       ^^ expected for example `K, 4`, `OY, all` or `K, *`
    "#]]);
    refused(MAPPING, "'K, 4'", "{dim: K}", expect![[r#"
        error: a tiling needs one of `split` and `tile`
         --> m.yaml:4:23
          |
        4 |   inter_core_tiling: [{dim: K}]
          |                       ^
          |
          = help: `split` is how many pieces, `tile` how large
    "#]]);
}

#[test]
fn workloads() {
    refused(WORKLOAD, "{A: 0, I: 0}", "{A: 0, I: 4}", expect![[r#"
        error: there is no layer 4
          --> w.yaml:15:29
           |
        15 |   operand_source: {A: 0, I: 4}
           |                             ^ the source of this operand
           |
           = help: write 1 for weights and inputs of the network
    "#]]);
    refused(WORKLOAD, "[1, 8, 16]", "[1, 4, 16]", expect![[r#"
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
    "#]]);
    refused(WORKLOAD, "I[b][c][iy]", "I[b][c][ix]", expect![[r#"
        error: there is no dimension IX
         --> w.yaml:3:46
          |
        3 |   equation: O[b][k][oy]+=W[k][c][fy]*I[b][c][ix]
          |                                              ^ neither in `loop_dims` nor defined in `dimension_relations`
          |
          = help: did you mean `iy`?
    "#]]);
    refused(WORKLOAD, "W[k][c][fy]*I", "W[k][c][fy]-I", expect![[r#"
        error: this is not the equation of a layer
         --> w.yaml:3:37
          |
        3 |   equation: O[b][k][oy]+=W[k][c][fy]-I[b][c][iy]
          |                                     ^ expected `*`, `+` or the end
          |
          = help: write for example `O[b][k]+=W[k][c]*I[b][c]`
    "#]]);
    refused(WORKLOAD, "W: 8, I: 8", "W: 8, J: 8", expect![[r#"
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
    "#]]);
    refused(WORKLOAD, "iy=1*oy+1*fy", "iy=oy", expect![[r#"
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
    "#]]);
    refused(WORKLOAD, "{W: 0, I: 0}", "{W: 0, I: 1}", expect![[r#"
        error: layer 0 depends on itself
         --> w.yaml:1:3
          |
        1 | - id: 0
          |   ^^
          |
          = help: follow its `operand_source`: the layers form a cycle
    "#]]);
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
        the size of a memory must be a whole number from 0
        unknown port type `raed`"#]].assert_eq(&messages.join("\n"));
}

#[test]
fn a_mapping_survives_writing_and_reading() {
    let text = "\
layers:
- name: /layer1/Conv
  core_allocation: [0, 1, 3]
  intra_core_tiling: ['OY, all', {dim: OX, tile: 3}]
  inter_core_tiling: ['K, 2', 'G, *']
  allocation: [3, 1]
  rank: 4
  spatial_mapping: {D1: ['K, 3.857', 'C, 2'], D2: ['OX, 4']}
  spatial_mapping_hint: {D3: [FX, FY]}
  memory_operand_links: {O: O, W: I2, I: I1}
- {name: 'true', inter_core_tiling: []}
- {name: '12: # odd \"name\"', rank: 0}
fused_groups:
- {name: first, layers: [/layer1/Conv, 'true']}
";
    let read = mapping::yaml::parse("m.yaml", text, None).unwrap();
    let written = mapping::write(&read);
    let again = mapping::yaml::parse("again.yaml", &written, None);
    assert_eq!(again.unwrap_or_else(|errors| panic!("{errors}\n{written}")), read);
    expect![[r#"
        layers:
        - name: /layer1/Conv
          rank: 4
          core_allocation: [0, 1, 3]
          allocation: [3, 1]
          intra_core_tiling:
          - OY, all
          - {dim: OX, tile: 3}
          inter_core_tiling:
          - K, 2
          - G, *
          spatial_mapping:
            D1:
            - K, 3.857
            - C, 2
            D2:
            - OX, 4
          spatial_mapping_hint:
            D3: [FX, FY]
          memory_operand_links:
            O: O
            W: I2
            I: I1
        - name: "true"
          inter_core_tiling: []
        - name: "12: # odd \"name\""
          rank: 0
        fused_groups:
        - layers: [/layer1/Conv, "true"]
    "#]].assert_eq(&written);
    expect![[r#"
        mapping: 3 entries, 1 fused stacks

          layer             rank  cores   allocation  in time          over cores  spatial                                  links
          /layer1/Conv      4     0-1, 3  3 1         OY all, OX by 3  K /2, G *   D1: K 3.857 x C 2, D2: OX 4, D3: FX|FY?  O=O W=I2 I=I1
          true                    any                                  uncut
          12: # odd "name"  0     any

          stack 0: /layer1/Conv, true
    "#]].assert_eq(&read.to_string());
}

#[test]
fn a_workload_meets_its_producers() {
    let read = workload(WORKLOAD).unwrap();
    let [conv, add] = read.layers.as_slice() else { panic!("two layers") };
    assert_eq!((conv.name.as_str(), add.name.as_str()), ("layer_0", "layer_1"));
    assert_eq!(add.operands[1].tensor, conv.operands[0].tensor);
    assert_eq!(add.operands[2].tensor, conv.operands[0].tensor);
    // 16 rows of 3 without padding need 18.
    assert_eq!(read.tensor(conv.operands[2].tensor.unwrap()).shape, [1, 3, 18]);
    assert_eq!(read.outputs, [add.operands[0].tensor.unwrap()]);
    assert_eq!((conv.operands[0].bits, conv.operands[0].partial_bits), (8, 16));
    assert!(conv.operands[1].constant && !conv.operands[2].constant);
    assert_eq!(read.operations(), 8 * 3 * 16 * 3 + 8 * 16);
}

#[test]
fn layers_come_in_canonical_order_whatever_the_file_says() {
    let (first, second) = WORKLOAD.split_at(WORKLOAD.find("- id: 1").unwrap());
    let turned = workload(&format!("{second}{first}")).unwrap();
    assert_eq!(turned, workload(WORKLOAD).unwrap());
}

#[test]
fn padding_follows_from_shapes_and_groups_are_channels() {
    // A second convolution, 3 wide, stride 2, two groups of four channels: 16 rows give 8.
    let text = edited(WORKLOAD, "equation: O[b][g][oy]=A[b][g][oy]+I[b][g][oy]", "\
equation: O[b][g][k][oy]=A[g][k][c][fy]*I[b][g][c][iy]
  dimension_relations: [iy=2*oy+1*fy]");
    let text = edited(&text, "loop_dims: [B, G, OY]", "loop_dims: [B, G, K, C, OY, FY]");
    let text = edited(&text, "[1, 8, 16]", "[1, 2, 5, 4, 8, 3]");
    let read = workload(&edited(&text, "{A: 0, I: 0}", "{A: 1, I: 0}")).unwrap();
    let input = &read.layers[1].operands[2];
    // Channel 4*g + c; row 2*oy + fy - 1: 17 rows needed, 16 there, the missing one is in front.
    assert_eq!(input.axes[1].terms.iter().map(|t| (t.dim, t.coefficient)).collect::<Vec<_>>(), [(1, 4), (3, 1)]);
    assert_eq!(input.axes[2].offset, -1);
    let output = read.layers[1].operands[0].tensor.unwrap();
    assert_eq!(read.tensor(output).shape, [1, 10, 8]);
    expect!["padding of layer layer_1 is derived from the shape of its input, the front half rounded up"].assert_eq(&read.notes.join("\n"));
}

#[test]
fn positional_ports_of_2024_are_read() {
    let from = CORE.find("    ports:").unwrap();
    let until = CORE.find("    served").unwrap();
    let old = "    r_bw: 64\n    w_bw: 32\n    r_port: 1\n    w_port: 1\n    rw_port: 0
    min_r_granularity: 8\n    ports:\n      - {fh: w_port_1, tl: r_port_1}
      - {fh: w_port_1, tl: r_port_1}\n      - {fh: w_port_1, tl: r_port_1, fl: w_port_1, th: r_port_1}\n";
    let read = accelerator(&format!("{}{old}{}", &CORE[..from], &CORE[until..])).unwrap();
    let ports = &read.kinds[0].memories[0].ports;
    let widths = ports.iter().map(|port| (port.bandwidth_min.0, port.bandwidth_max.0));
    assert_eq!(widths.collect::<Vec<_>>(), [(8, 64), (32, 32)]);
    let today = accelerator(CORE).unwrap();
    let sorted = |accelerator: &Accelerator, port: usize| {
        let mut allocation = accelerator.kinds[0].memories[0].ports[port].allocation.clone();
        allocation.sort();
        allocation
    };
    assert_eq!([0, 1].map(|port| sorted(&read, port)), [0, 1].map(|port| sorted(&today, port)));
}

fn reference(part: &str) -> Option<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/reference").join(part);
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: {} is not there", folder.display());
        return None;
    };
    let mut files: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    files.sort();
    Some(files)
}

/// Loads every file of a folder of the reference; the refused ones must be those of the list, each
/// with a part of its message.
fn all_load<T: std::fmt::Display>(
    folder: &str,
    load: impl Fn(&Path) -> Result<T, millstream::diagnostic::Diagnostics>,
    refused: &[(&str, &str)],
) {
    for path in reference(folder).unwrap_or_default() {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let known = refused.iter().find(|(refused, _)| *refused == name);
        match (load(&path), known) {
            (Ok(read), None) => println!("{folder}/{name}: {read}"),
            (Ok(_), Some(_)) => panic!("{folder}/{name} is listed as refused, but loads"),
            (Err(errors), None) => panic!("{folder}/{name} does not load:\n{errors}"),
            (Err(errors), Some((_, part))) => {
                assert!(errors.to_string().contains(part), "{folder}/{name}:\n{errors}");
            }
        }
    }
}

#[test]
fn hardware_of_the_reference_loads() {
    let missing = [("simple_example_hw", "core file `meta_prototype.yaml` does not exist")];
    let old_array = [("meta_prototype_dual_core_simd_offchip", "unknown key `multipliers`")];
    let imc = "in-memory computing arrays are not modelled";
    let zigzag = [("aimc", imc), ("dimc", imc), ("generic_array_cacti", "2 ports for `O, tl`")];
    for (folder, refused) in [
        ("stream/inputs/main/examples/hardware", &[] as &[_]),
        ("stream/inputs/main/testing/hardware", &missing),
        ("newest/inputs/stream_2_1_1_hardware", &[]),
        ("stream/inputs/c5742c6e/examples/hardware", &old_array),
        ("stream/inputs/70eb6751/examples/hardware", &old_array),
        ("stream/inputs/study/hardware", &[]),
        ("zigzag/inputs/hardware", &zigzag),
    ] {
        all_load(folder, hardware::load, refused);
    }
}

#[test]
fn lone_cores_of_the_reference_give_their_top_memory_as_dram() {
    for path in reference("zigzag/inputs/hardware").unwrap_or_default() {
        let Ok(accelerator) = hardware::load(&path) else { continue };
        assert!(accelerator.dram.is_empty());
        let levels = accelerator.kinds[0].memories.len();
        let split = accelerator.with_dram();
        if path.ends_with("gemm_l1.yaml") {
            let error = split.unwrap_err().to_string();
            assert!(error.contains("core gemm_l1 has no memory for I1 but `l1`"), "{error}");
            continue;
        }
        let split = split.unwrap_or_else(|errors| panic!("{}: {errors}", path.display()));
        assert_eq!((split.dram.len(), split.kinds[0].memories.len()), (1, levels - 1));
    }
}

#[test]
fn mappings_of_the_reference_load_and_survive_writing() {
    let load = |path: &Path| {
        let read = mapping::yaml::load(path, None)?;
        let written = mapping::write(&read);
        let again: Mapping = mapping::yaml::parse("again.yaml", &written, None)?;
        assert_eq!((&again.entries, &again.stacks), (&read.entries, &read.stacks), "{written}");
        Ok(read)
    };
    for folder in [
        "stream/inputs/main/examples/mapping",
        "stream/inputs/main/testing/mapping",
        "stream/inputs/c5742c6e/examples/mapping",
        "stream/inputs/study/mapping",
        "newest/inputs/automatic_mappings",
        "zigzag/inputs/mapping",
        "zigzag/inputs/mapping_extra",
    ] {
        all_load(folder, load, &[]);
    }
    let wrong = [("bad_key", "did you mean `core_allocation`?")];
    all_load("newest/inputs/stream_2conv_mappings", load, &wrong);
}

#[test]
fn workloads_of_the_reference_load() {
    let load = |path: &Path| {
        let read = millstream::workload::yaml::load(path)?;
        Ok(format!("{} layers, {} operations", read.layers.len(), read.operations()))
    };
    all_load("zigzag/inputs/workload", load, &[]);
    let refused = [
        ("simple_example_workload", "the equation has no operand Y"),
        ("testing_workload_for_1_core", "needs 1x8x5x3758, but layer 1 makes 1x16x5x3760"),
    ];
    all_load("stream/inputs/main/testing/workload", load, &refused);
}
