//! ONNX files that are no networks, or networks that no machine runs.

use super::model::{Model, small};
use super::{folder, refuses, run, text};
use expect_test::{Expect, expect};

#[track_caller]
fn refused(contents: &[u8], expected: Expect) {
    refuses("net.onnx", contents, "show workload net.onnx", expected);
}

#[test]
fn other_files() {
    refused(
        b"",
        expect![[r#"
            error: `net.onnx` is not an ONNX model: the file is empty
             |
             = help: `-w` takes ONNX files, and workloads in YAML by files that end in .yaml
        "#]],
    );
    refused(
        b"hello, world",
        expect![[r#"
            error: `net.onnx` is not an ONNX model: it is text
             |
             = help: `-w` takes ONNX files, and workloads in YAML by files that end in .yaml
        "#]],
    );
    refused(
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        expect![[r#"
            error: `net.onnx` is not an ONNX model: its first bytes are not those of a protobuf model
             |
             = help: `-w` takes ONNX files, and workloads in YAML by files that end in .yaml
        "#]],
    );
    let model = small();
    refused(
        &model[..model.len() / 2],
        expect![[r#"
            error: `net.onnx` is a truncated or damaged ONNX model: failed to decode Protobuf message: Model.graph: buffer underflow
             |
             = help: export or download the file again
        "#]],
    );
}

#[test]
fn unsupported_operators() {
    let x = || Model::input(&["1", "4", "8", "8"]);
    refused(
        &x().node("Einsum", &["x"], "y").output("y"),
        expect![[r#"
        error: net.onnx: node `y`: operator `Einsum`, which makes tensor `y`, is not supported
         |
         = help: replace the node or cut the network in front of it; nothing is left out silently
    "#]],
    );
    refused(
        &x().node("MaxPool", &["x"], "y").output("y"),
        expect![[r#"
        error: net.onnx: node `y` (MaxPool, makes tensor `y`): it has no kernel_shape
         |
         = help: the file contradicts ONNX: export it again, or check it with ONNX's own checker
    "#]],
    );
}

#[test]
fn graphs_that_are_none() {
    let x = || Model::input(&["1", "4", "8", "8"]);
    refused(
        &x().node("Relu", &["b"], "a").node("Relu", &["a"], "b").output("b"),
        expect![[r#"
        error: net.onnx: the graph has a cycle through node `b`
         |
         = help: the file contradicts ONNX: export it again, or check it with ONNX's own checker
    "#]],
    );
    refused(
        &x().node("Relu", &["z"], "y").output("y"),
        expect![[r#"
        error: net.onnx: node `y` reads tensor `z`, which no node, input or initialiser makes
         |
         = help: the file contradicts ONNX: export it again, or check it with ONNX's own checker
    "#]],
    );
    refused(
        &x().node("Relu", &["x"], "y").node("Tanh", &["x"], "y").output("y"),
        expect![[r#"
        error: net.onnx: tensor `y` is made twice, the second time by node `y`
         |
         = help: the file contradicts ONNX: export it again, or check it with ONNX's own checker
    "#]],
    );
}

#[test]
fn absurd_sizes() {
    let relu = |dims: &[&str]| Model::input(dims).node("Relu", &["x"], "y").output("y");
    refused(
        &relu(&["9999999999", "9999999999"]),
        expect![[r#"
            error: net.onnx: tensor `x`: the shape 9999999999x9999999999 is too large
             |
             = help: an axis may have up to 2^30 elements, a tensor up to 2^50
        "#]],
    );
    refused(
        &relu(&["1", "-4", "8", "8"]),
        expect![[r#"
        error: net.onnx: dimension 1 of tensor `x` is dynamic: bind it with `--dim x.1=VALUE`
    "#]],
    );
    refused(
        &relu(&["0", "4"]),
        expect![[r#"
        error: net.onnx: dimension 0 of tensor `x` is dynamic: bind it with `--dim x.0=VALUE`
    "#]],
    );
    refused(
        &relu(&["9223372036854775807", "9223372036854775807"]),
        expect![[r#"
            error: net.onnx: tensor `x`: the shape 9223372036854775807x9223372036854775807 is too large
             |
             = help: an axis may have up to 2^30 elements, a tensor up to 2^50
        "#]],
    );
    let window = |kernel: &[i64], strides: &[i64]| {
        let attributes: [(&str, &[i64]); 2] = [("kernel_shape", kernel), ("strides", strides)];
        Model::input(&["1", "4", "8", "8"]).node_with("MaxPool", &["x"], "y", &attributes).output("y")
    };
    refused(
        &window(&[i64::MAX, 3], &[1, 1]),
        expect![[r#"
        error: net.onnx: node `y` (MaxPool, makes tensor `y`): kernel_shape is 9223372036854775807
         |
         = help: the file contradicts ONNX: export it again, or check it with ONNX's own checker
    "#]],
    );
    refused(
        &window(&[3, 3], &[0, 1]),
        expect![[r#"
        error: net.onnx: node `y` (MaxPool, makes tensor `y`): strides is 0
         |
         = help: the file contradicts ONNX: export it again, or check it with ONNX's own checker
    "#]],
    );
    refused(
        &window(&[-3, 3], &[1, 1]),
        expect![[r#"
        error: net.onnx: node `y` (MaxPool, makes tensor `y`): kernel_shape is -3
         |
         = help: the file contradicts ONNX: export it again, or check it with ONNX's own checker
    "#]],
    );
    let weight = |dims: &[i64]| {
        let model = Model::input(&["1", "4", "8", "8"]).weight("w", dims);
        model.node("Conv", &["x", "w"], "y").output("y")
    };
    refused(
        &weight(&[-4, 4, 3, 3]),
        expect![[r#"
        error: net.onnx: tensor `w`: its shape is [-4, 4, 3, 3]
         |
         = help: the file contradicts ONNX: export it again, or check it with ONNX's own checker
    "#]],
    );
    refused(
        &weight(&[i64::MAX, 4, 3, 3]),
        expect![[r#"
            error: net.onnx: tensor `w`: the shape 9223372036854775807x4x3x3 is too large
             |
             = help: an axis may have up to 2^30 elements, a tensor up to 2^50
        "#]],
    );
    refused(
        &weight(&[]),
        expect![[r#"
        error: net.onnx: node `y` (Conv, makes tensor `y`): a kernel scalar on an input 1x4x8x8
         |
         = help: the file contradicts ONNX: export it again, or check it with ONNX's own checker
    "#]],
    );
}

/// 10^9 rows, each a CN: refused by count, not by running out of memory.
#[test]
fn absurd_counts() {
    let tall = Model::input(&["1", "1", "1000000000", "1"]).weight("w", &[1, 1, 1, 1]);
    let tall = tall.node("Conv", &["x", "w"], "v").weight("u", &[1, 1, 1, 1]).node("Conv", &["v", "u"], "y");
    let dir = folder(&[("net.onnx", &tall.output("y"))]);
    let output = run(dir.path(), "show cns net.onnx tpu_like_quad_core");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    expect![[r#"
        error: the tiling gives 1000000000 CNs, more than 16777216: use coarser tiles
    "#]]
    .assert_eq(&text(&output.stderr));
    let output = run(dir.path(), "run -w net.onnx -a testing_two_core --stacks all");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    expect![[r#"
        error: the tiling gives 2000000000 CNs, more than 16777216: use coarser tiles
    "#]]
    .assert_eq(&text(&output.stderr));
}

/// 20 000 nodes in a chain: no recursion over the graph.
#[test]
fn long_chains_are_no_problem() {
    let mut model = Model::input(&["1", "2"]);
    let mut last = "x".to_owned();
    for number in 0..20_000 {
        let name = format!("n{number}");
        model = model.node("Neg", &[&last], &name);
        last = name;
    }
    let dir = folder(&[("net.onnx", &model.output(&last))]);
    let output = run(dir.path(), "show workload net.onnx");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}
