//! The YAML readers: what they accept.

use expect_test::expect;
use millstream::accelerator::Accelerator;
use millstream::accelerator::yaml::{self as hardware, File};
use millstream::diagnostic::Diagnostic;
use millstream::mapping::{self, Mapping};
use millstream::workload::Workload;
use std::path::{Path, PathBuf};

pub(crate) const CORE: &str = "\
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

pub(crate) const ACCELERATOR: &str = "\
name: pair
cores: {0: testing_core.yaml, 1: testing_core.yaml, 2: dram.yaml}
offchip_core_id: 2
core_connectivity:
  - {type: link, cores: [0, 1], bandwidth: 64}
  - {type: bus, cores: [0, 1, 2], bandwidth: 128}
";

pub(crate) const MAPPING: &str = "\
- name: conv1
  core_allocation: [0, 1]
  intra_core_tiling: ['OY, all']
  inter_core_tiling: ['K, 4']
";

pub(crate) const WORKLOAD: &str = "\
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
pub(crate) fn edited(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from} is not in the text");
    text.replacen(from, to, 1)
}

pub(crate) fn shipped_core(name: &str) -> Result<File, Diagnostic> {
    let stem = name.trim_end_matches(".yaml");
    match millstream::library::core(stem) {
        Some(text) => Ok(File { name: name.to_owned(), text: text.to_owned() }),
        None => Err(Diagnostic::new(format!("core file `{name}` does not exist"))),
    }
}

pub(crate) fn accelerator(text: &str) -> Result<Accelerator, String> {
    hardware::parse("a.yaml", text, &shipped_core).map_err(|errors| errors.to_string())
}

pub(crate) fn workload(text: &str) -> Result<Workload, String> {
    millstream::workload::yaml::parse("w.yaml", text).map_err(|errors| errors.to_string())
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
    "#]]
    .assert_eq(&written);
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
    let text = edited(
        WORKLOAD,
        "equation: O[b][g][oy]=A[b][g][oy]+I[b][g][oy]",
        "\
equation: O[b][g][k][oy]=A[g][k][c][fy]*I[b][g][c][iy]
  dimension_relations: [iy=2*oy+1*fy]",
    );
    let text = edited(&text, "loop_dims: [B, G, OY]", "loop_dims: [B, G, K, C, OY, FY]");
    let text = edited(&text, "[1, 8, 16]", "[1, 2, 5, 4, 8, 3]");
    let read = workload(&edited(&text, "{A: 0, I: 0}", "{A: 1, I: 0}")).unwrap();
    let input = &read.layers[1].operands[2];
    // Channel 4*g + c; row 2*oy + fy - 1: 17 rows needed, 16 there, the missing one is in front.
    assert_eq!(
        input.axes[1].terms.iter().map(|t| (t.dim, t.coefficient)).collect::<Vec<_>>(),
        [(1, 4), (3, 1)]
    );
    assert_eq!(input.axes[2].offset, -1);
    let output = read.layers[1].operands[0].tensor.unwrap();
    assert_eq!(read.tensor(output).shape, [1, 10, 8]);
    expect!["padding of layer layer_1 is derived from the shape of its input, the front half rounded up"]
        .assert_eq(&read.notes.join("\n"));
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
    // That folder holds no core file for DRAM.
    let dram = "core file `offchip.yaml` does not exist";
    let no_dram = [
        ("single_testing_core_offchip", dram),
        ("dual_testing_core_offchip", dram),
        ("quad_testing_core_offchip", dram),
        missing[0],
    ];
    let elsewhere = [
        ("dual_testing_core_offchip", "core file `shared_testing_core1.yaml` does not exist"),
        ("testing_workload_for_2_cores", "an accelerator must be a map"),
    ];
    let zigzag = [("generic_array_cacti", "2 ports for `O, tl`")];
    for (folder, refused) in [
        ("stream/inputs/main/examples/hardware", &[] as &[_]),
        ("stream/inputs/main/testing/hardware", &missing),
        ("newest/inputs/stream_2_1_1_hardware", &[]),
        ("stream/inputs/c5742c6e/examples/hardware", &[]),
        ("stream/inputs/70eb6751/examples/hardware", &[]),
        ("stream/inputs/70eb6751/examples/hardware", &[]),
        ("stream/inputs/70eb6751/testing/hardware", &missing),
        ("stream/inputs/c5742c6e/testing/hardware", &no_dram),
        ("stream/inputs/70eb6751/testing/shared", &elsewhere),
        ("stream/inputs/c5742c6e/testing/shared", &elsewhere),
        ("stream/inputs/main/testing/shared", &elsewhere),
        ("stream/inputs/study/hardware", &[]),
        ("zigzag/inputs/hardware", &zigzag),
        ("defines/inputs/hardware", &[]),
    ] {
        all_load(folder, hardware::load, refused);
    }
}

#[test]
fn lone_cores_of_the_reference_give_their_top_memory_as_dram() {
    for path in reference("zigzag/inputs/hardware").unwrap_or_default() {
        let Ok(accelerator) = hardware::load(&path) else {
            continue;
        };
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
        assert_eq!(again.stack_splits, read.stack_splits, "{written}");
        Ok(read)
    };
    for folder in [
        "stream/inputs/main/examples/mapping",
        "stream/inputs/main/testing/mapping",
        "stream/inputs/c5742c6e/examples/mapping",
        "stream/inputs/70eb6751/examples/mapping",
        "stream/inputs/70eb6751/testing/mapping",
        "stream/inputs/c5742c6e/testing/mapping",
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
    for revision in ["main", "c5742c6e", "70eb6751"] {
        all_load(&format!("stream/inputs/{revision}/testing/workload"), load, &refused);
        all_load(&format!("stream/inputs/{revision}/examples/workload"), load, &[]);
    }
}

#[test]
fn a_graph_of_2023_is_a_mesh_with_helpers() {
    let text = "\
name: old
cores: [testing_core.yaml, testing_core.yaml, testing_core.yaml, testing_core.yaml, simd.yaml, dram.yaml]
graph:
  {type: 2d_mesh, nb_rows: 2, nb_cols: 2, bandwidth: 64, unit_energy_cost: 0, simd_core_id: 4, offchip_core_id: 5}
";
    let read = accelerator(text).unwrap();
    let ends =
        |link: &millstream::accelerator::Link| link.cores.iter().map(|core| core.0).collect::<Vec<_>>();
    let links: Vec<_> = read.links.iter().map(ends).collect();
    let mesh = [[0, 1], [0, 2], [1, 3], [2, 3]];
    assert_eq!(links[..4], mesh);
    assert_eq!(links[4..8], [[0, 4], [1, 4], [2, 4], [3, 4]]);
    // Nothing joins the DRAM, so every core gets a link to it.
    assert_eq!(links[8..], [[0, 5], [1, 5], [2, 5], [3, 5], [4, 5]]);
    let wrong = accelerator(&edited(text, "nb_rows: 2", "nb_rows: 3")).unwrap_err();
    assert!(wrong.contains("a mesh of 3 x 2 for 4 cores"), "{wrong}");
}
