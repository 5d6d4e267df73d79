//! What is refused, dropped or noted, in exact words.

use super::*;

#[test]
fn what_no_output_needs_is_dropped_with_a_note() {
    let mut net = normalised().node("Sigmoid", &["bn"], &["unused"], &[]).node(
        "Loop",
        &["unused"],
        &["unused too"],
        &[],
    );
    net.0.value_info = vec![info("conv", FLOAT, &["1", "6", "7", "6"])];
    let workload = net.read().unwrap();
    assert_eq!(workload.layers.len(), 1);
    expect![[r#"
        dropped, because no output needs them: unused, unused too
        tensor `conv` is 1x6x6x6, though the file says 1x6x7x6
        float32 counts as not yet quantised: 8-bit activations and weights, 16-bit partial sums (`--precision file` keeps 32 bits)"#]]
    .assert_eq(&workload.notes.join("\n"));
}

#[test]
fn errors_name_the_node_and_the_tensor() {
    let x = || Net::new(&["1", "4", "8", "8"]);
    let node = |operator, attributes: &[Attribute]| {
        x().weight("w", &[4, 4, 3, 3]).node(operator, &["x", "w"], &["y"], attributes).output("y")
    };
    node("ConvTranspose", &[])
        .fails(expect!["node `y`: operator `ConvTranspose`, which makes tensor `y`, is not supported"]);
    node("Conv", &[int("group", 3)]).fails(expect![
        "node `y` (Conv, makes tensor `y`): a kernel 4x4x3x3 with group 3 on an input 1x4x8x8"
    ]);
    node("Conv", &[ints("dilations", &[4, 1])])
        .fails(expect!["node `y` (Conv, makes tensor `y`): a window of 9 on 8 elements"]);
    x().node("Relu", &["z"], &["y"], &[])
        .output("y")
        .fails(expect!["node `y` reads tensor `z`, which no node, input or initialiser makes"]);
    x().node("Relu", &["b"], &["a"], &[])
        .node("Relu", &["a"], &["b"], &[])
        .output("b")
        .fails(expect!["the graph has a cycle through node `b`"]);
    x().node("Relu", &["x"], &["y"], &[])
        .node("Tanh", &["x"], &["y"], &[])
        .output("y")
        .fails(expect!["tensor `y` is made twice, the second time by node `y`"]);
    x().weight("shape", &[2])
        .node("Reshape", &["x", "shape"], &["y"], &[])
        .output("y")
        .fails(expect!["node `y` (Reshape, makes tensor `y`): the values of `shape` are not in the file"]);
    x().node("Shape", &["y"], &["s"], &[])
        .node("MaxPool", &["x"], &["y"], &[])
        .output("y")
        .fails(expect!["node `y` (MaxPool, makes tensor `y`): it has no kernel_shape"]);
    Net::new(&["batch", "4"])
        .node("Relu", &["x"], &["y"], &[])
        .output("y")
        .fails(expect!["dimension 0 of tensor `x` is dynamic (`batch`): bind it with `--dim batch=VALUE`"]);
    Net::new(&["1", "?"])
        .node("Relu", &["x"], &["y"], &[])
        .output("y")
        .fails(expect!["dimension 1 of tensor `x` is dynamic: bind it with `--dim x.1=VALUE`"]);
    Net::new(&["9999999999", "9999999999"])
        .node("Relu", &["x"], &["y"], &[])
        .output("y")
        .fails(expect!["tensor `x`: the shape 9999999999x9999999999 is too large"]);
}

#[test]
fn a_name_that_binds_nothing_is_an_error() {
    let net = Net::new(&["batch", "4"]).node("Relu", &["x"], &["y"], &[]).output("y");
    let options = ReadOptions { dims: [("bach".to_owned(), 4)].into(), ..Default::default() };
    expect!["no dimension of this network is called `bach`; its dynamic dimensions: `batch`"]
        .assert_eq(&parse("net", &net.bytes(), &options).unwrap_err().to_string());
}

#[test]
fn other_bytes_are_told_from_damaged_models() {
    let fails = |bytes: &[u8], expected: Expect| {
        expected.assert_eq(&parse("net", bytes, &ReadOptions::default()).unwrap_err().to_string());
    };
    let model = normalised().bytes();
    fails(b"", expect!["`net` is not an ONNX model: the file is empty"]);
    fails(b"- id: 0\n  name: conv1\n", expect!["`net` is not an ONNX model: it is text"]);
    fails(
        b"version https://git-lfs.github.com/spec/v1\n",
        expect!["`net` is not an ONNX model: it is a Git LFS pointer; `git lfs pull` fetches the model"],
    );
    fails(
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        expect!["`net` is not an ONNX model: its first bytes are not those of a protobuf model"],
    );
    let error = parse("net", &model[..model.len() / 2], &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, OnnxError::Damaged { .. }), "{error}");
    let path = std::path::Path::new("no/such.onnx");
    let error = crate::workload::onnx::load(path, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("cannot read `no/such.onnx`: "), "{error}");
}

#[test]
fn damaged_bytes_never_panic() {
    let good = include_bytes!("../../../../workloads/resnet18.onnx").as_slice();
    let mut refused = 0;
    for case in 0..400u64 {
        let mut bytes = good.to_vec();
        for change in 0..1 + case % 4 {
            let random = seeded(case, &change.to_le_bytes());
            let at = (random >> 16) as usize % bytes.len();
            bytes[at] = random as u8;
        }
        refused += usize::from(parse("net", &bytes, &ReadOptions::default()).is_err());
    }
    assert!(refused > 100, "{refused} of 400 refused");
}
