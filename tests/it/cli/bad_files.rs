//! YAML files that are none, or hold what no file should.

use super::{fails, folder, refuses};
use crate::readers::{CORE, edited};
use expect_test::{Expect, expect};

#[test]
fn no_yaml_at_all() {
    let dir = folder(&[
        ("empty.yaml", b""),
        ("blank.yaml", b"# only a comment\n"),
        ("binary.yaml", b"\x00\x01\xfe\xff"),
        ("garbage.yaml", b"\x01\x02: {[\n"),
        ("scalar.yaml", b"42\n"),
        ("list.yaml", b"[1, 2]\n"),
    ]);
    for (file, expected) in [
        (
            "empty.yaml",
            expect![[r#"
                error: the file holds nothing
                 --> empty.yaml:1:1
                  |
                1 |
                  | ^
                  |
                  = help: it is empty or all comments
            "#]],
        ),
        (
            "blank.yaml",
            expect![[r#"
                error: the file holds nothing
                 --> blank.yaml:1:1
                  |
                1 | # only a comment
                  | ^
                  |
                  = help: it is empty or all comments
            "#]],
        ),
        (
            "binary.yaml",
            expect![[r#"
            error: `binary.yaml` is not a text file: byte 2 is not UTF-8
             |
             = help: give the path of an accelerator or core file in YAML
        "#]],
        ),
        (
            "garbage.yaml",
            expect![[r#"
            error: this is not valid YAML: unexpected character: `\u{1}'
             --> garbage.yaml:1:1
              |
            1 | ␁␂: {[
              | ^ here
        "#]],
        ),
        (
            "scalar.yaml",
            expect![[r#"
                error: an accelerator must be a map
                 --> scalar.yaml:1:1
                  |
                1 | 42
                  | ^^ this is `42`
                  |
                  = help: write `key: value` lines; keys are name, cores, core_coordinates, offchip_core_id, offchip_core, unit_energy_cost, bandwidth, core_connectivity, core_memory_sharing, chiplets, graph
            "#]],
        ),
        (
            "list.yaml",
            expect![[r#"
                error: an accelerator must be a map
                 --> list.yaml:1:1
                  |
                1 | [1, 2]
                  | ^ this is a list
                  |
                  = help: write `key: value` lines; keys are name, cores, core_coordinates, offchip_core_id, offchip_core, unit_energy_cost, bandwidth, core_connectivity, core_memory_sharing, chiplets, graph
            "#]],
        ),
    ] {
        fails(dir.path(), &format!("show accelerator {file}"), 1, expected);
    }
    fails(
        dir.path(),
        "show mapping binary.yaml",
        1,
        expect![[r#"
        error: `binary.yaml` is not a text file: byte 2 is not UTF-8
         |
         = help: give the path of a mapping file in YAML
    "#]],
    );
    fails(
        dir.path(),
        "show workload empty.yaml",
        1,
        expect![[r#"
            error: the file holds nothing
             --> empty.yaml:1:1
              |
            1 |
              | ^
              |
              = help: it is empty or all comments
        "#]],
    );
    fails(
        dir.path(),
        "show workload scalar.yaml",
        1,
        expect![[r#"
        error: a workload must be a list
         --> scalar.yaml:1:1
          |
        1 | 42
          | ^^ this is `42`
    "#]],
    );
    fails(
        dir.path(),
        "show mapping scalar.yaml",
        1,
        expect![[r#"
            error: a mapping must be a map
             --> scalar.yaml:1:1
              |
            1 | 42
              | ^^ this is `42`
              |
              = help: write `key: value` lines; keys are layers, fused_groups
        "#]],
    );
}

#[test]
fn deep_nesting_and_bombs() {
    let deep = "[".repeat(100_000);
    refuses(
        "a.yaml",
        deep,
        "show mapping a.yaml",
        expect![[r#"
            error: lists and maps are nested too deeply
             --> a.yaml:1:256
              |
            1 | ...[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[...
              |                                                                  ^ here
        "#]],
    );
    let closed = format!("name: {}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    refuses(
        "a.yaml",
        closed,
        "show mapping a.yaml",
        expect![[r#"
            error: lists and maps are nested too deeply
             --> a.yaml:1:262
              |
            1 | ...[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[...
              |                                                                  ^ here
        "#]],
    );
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let references = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb += &format!("a{level}: &a{level} [{references}]\n");
    }
    refuses(
        "a.yaml",
        bomb,
        "show mapping a.yaml",
        expect![[r#"
            error: the file holds too many values
             --> a.yaml:6:15
              |
            6 | a5: &a5 [*a4, *a4, *a4, *a4, *a4, *a4, *a4, *a4, *a4, *a4]
              |               ^ here
              |
              = help: aliases (`*name`) count as often as they stand for a value
        "#]],
    );
}

#[test]
fn absurd_numbers() {
    let core = |from: &str, to: &str, expected: Expect| {
        refuses("a.yaml", edited(CORE, from, to), "show accelerator a.yaml", expected);
    };
    core(
        "size: 1024",
        "size: 99999999999999999999999999",
        expect![[r#"
            error: the size of a memory must be a whole number from 1
             --> a.yaml:4:11
              |
            4 |     size: 99999999999999999999999999
              |           ^^^^^^^^^^^^^^^^^^^^^^^^^^ this is `1e26`
        "#]],
    );
    core(
        "size: 1024",
        "size: 1e300",
        expect![[r#"
            error: the size of a memory must be a whole number from 1
             --> a.yaml:4:11
              |
            4 |     size: 1e300
              |           ^^^^^ this is `1e300`
        "#]],
    );
    core(
        "r_cost: 1",
        "r_cost: .nan",
        expect![[r#"
            error: a number must be finite
             --> a.yaml:5:13
              |
            5 |     r_cost: .nan
              |             ^ here
        "#]],
    );
    core(
        "r_cost: 1",
        "r_cost: -.inf",
        expect![[r#"
            error: a number must be finite
             --> a.yaml:5:13
              |
            5 |     r_cost: -.inf
              |             ^ here
        "#]],
    );
}
