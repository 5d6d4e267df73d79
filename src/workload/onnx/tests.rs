//! Small models built here, and what the reader makes of them.

use super::proto::{Attribute, Dimension, Extent, Graph, Model, Node, OperatorSet, Shape, Tensor, TensorType, Type, ValueInfo};
use super::{Activations, OnnxError, Precision, ReadOptions, parse};
use crate::workload::{LayoutMap, Origin, Workload};
use expect_test::{Expect, expect};
use prost::Message;
use prost::bytes::Bytes;

const FLOAT: i32 = 1;
const INT8: i32 = 3;
const INT64: i32 = 7;
const BFLOAT16: i32 = 16;

/// A model under construction.
#[derive(Clone)]
struct Net(Graph, i32);

/// Dimensions: numbers, or names for dynamic ones.
fn info(name: &str, elem_type: i32, dims: &[&str]) -> ValueInfo {
    let dim = |text: &&str| {
        let value = match text.parse() {
            Ok(number) => Some(Extent::Value(number)),
            Err(_) if *text == "?" => None,
            Err(_) => Some(Extent::Param((*text).to_owned())),
        };
        Dimension { value }
    };
    let shape = Some(Shape { dim: dims.iter().map(dim).collect() });
    let tensor_type = Some(TensorType { elem_type, shape });
    ValueInfo { name: name.to_owned(), r#type: Some(Type { tensor_type }) }
}

fn ints(name: &str, values: &[i64]) -> Attribute {
    Attribute { name: name.to_owned(), ints: values.to_vec(), ..Default::default() }
}

fn int(name: &str, value: i64) -> Attribute {
    Attribute { name: name.to_owned(), i: value, ..Default::default() }
}

fn text(name: &str, value: &'static str) -> Attribute {
    Attribute { name: name.to_owned(), s: Bytes::from_static(value.as_bytes()), ..Default::default() }
}

impl Net {
    fn new(dims: &[&str]) -> Self {
        Self::of_type(FLOAT, dims)
    }

    fn of_type(element: i32, dims: &[&str]) -> Self {
        let graph = Graph { input: vec![info("x", element, dims)], ..Default::default() };
        Self(graph, element)
    }

    fn weight(mut self, name: &str, dims: &[i64]) -> Self {
        let tensor = Tensor { name: name.to_owned(), data_type: self.1, dims: dims.to_vec(), ..Default::default() };
        self.0.initializer.push(tensor);
        self
    }

    fn indices(mut self, name: &str, values: &[i64]) -> Self {
        self.0.initializer.push(Tensor {
            name: name.to_owned(),
            data_type: INT64,
            dims: vec![values.len() as i64],
            int64_data: values.to_vec(),
            ..Default::default()
        });
        self
    }

    /// A node whose name is that of its first output.
    fn node(mut self, operator: &str, inputs: &[&str], outputs: &[&str], attributes: &[Attribute]) -> Self {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        self.0.node.push(Node {
            input: names(inputs),
            output: names(outputs),
            name: outputs[0].to_owned(),
            op_type: operator.to_owned(),
            attribute: attributes.to_vec(),
            domain: String::new(),
        });
        self
    }

    fn output(mut self, name: &str) -> Self {
        let output = ValueInfo { name: name.to_owned(), r#type: None };
        self.0.output.push(output);
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let opset_import = vec![OperatorSet { domain: String::new(), version: 17 }];
        let graph = Some(self.0.clone());
        Model { ir_version: 8, graph, opset_import, ..Default::default() }.encode_to_vec()
    }

    fn read(&self) -> Result<Workload, OnnxError> {
        parse("net", &self.bytes(), &ReadOptions::default())
    }

    fn read_with(&self, options: &ReadOptions) -> Workload {
        parse("net", &self.bytes(), options).unwrap()
    }

    fn fails(&self, expected: Expect) {
        expected.assert_eq(&self.read().unwrap_err().to_string());
    }
}

fn shape<'a>(workload: &'a Workload, name: &str) -> &'a [u64] {
    let tensor = workload.tensors.iter().find(|tensor| tensor.name == name);
    &tensor.unwrap_or_else(|| panic!("no tensor {name}")).shape
}

fn layers(workload: &Workload) -> Vec<String> {
    let line = |layer: &crate::workload::Layer| {
        let dims: Vec<_> = layer.dims.iter().map(|dim| format!("{}={}", dim.dim, dim.size)).collect();
        format!("{} {} {} {:?}", layer.operator, layer.name, dims.join(" "), layer.folded)
    };
    workload.layers.iter().map(line).collect()
}

/// x -> conv -> bn -> relu -> y
fn normalised() -> Net {
    Net::new(&["1", "4", "8", "8"])
        .weight("w", &[6, 4, 3, 3])
        .weight("scale", &[6])
        .weight("shift", &[6])
        .weight("mean", &[6])
        .weight("variance", &[6])
        .node("Conv", &["x", "w"], &["conv"], &[])
        .node("BatchNormalization", &["conv", "scale", "shift", "mean", "variance"], &["bn"], &[])
        .node("Relu", &["bn"], &["y"], &[])
        .output("y")
}

#[test]
fn normalisation_and_activation_fold_into_their_producer() {
    let workload = normalised().read().unwrap();
    assert_eq!(
        layers(&workload),
        [r#"Conv conv B=1 K=6 G=1 OX=6 OY=6 C=4 FX=3 FY=3 ["BatchNormalization bn", "Relu y"]"#]
    );
    assert_eq!(workload.tensor(workload.outputs[0]).name, "y");
    // 6 x 4 x 3 x 3 weights, 6 scales and 6 shifts; mean and variance merge into them.
    assert_eq!(workload.parameters(), 216 + 12);
}

#[test]
fn separate_activations_are_layers_and_normalisations_still_fold() {
    let options = ReadOptions { activations: Activations::Separate, ..Default::default() };
    assert_eq!(
        layers(&normalised().read_with(&options)),
        [
            r#"Conv conv B=1 K=6 G=1 OX=6 OY=6 C=4 FX=3 FY=3 ["BatchNormalization bn"]"#,
            "Relu y B=1 G=6 OY=6 OX=6 []"
        ]
    );
}

#[test]
fn an_activation_does_not_fold_where_the_tensor_before_it_is_also_read() {
    let workload = normalised().output("bn").read().unwrap();
    assert_eq!(layers(&workload).len(), 2);
    // A Dropout in between reads nothing itself.
    let net = Net::new(&["1", "8"])
        .weight("w", &[8, 8])
        .node("MatMul", &["x", "w"], &["a"], &[])
        .node("Dropout", &["a"], &["b"], &[])
        .node("Tanh", &["b"], &["y"], &[])
        .output("y");
    assert_eq!(layers(&net.read().unwrap()), [r#"MatMul a C=8 D=1 K=8 ["Tanh y"]"#]);
}

#[test]
fn only_scalars_and_vectors_fold_into_an_element_wise_producer() {
    let net = |dims: &[i64]| {
        Net::new(&["1", "4", "8", "8"])
            .weight("w", &[4, 4, 1, 1])
            .weight("c", dims)
            .node("Conv", &["x", "w"], &["conv"], &[])
            .node("Add", &["c", "conv"], &["y"], &[])
            .output("y")
            .read()
            .unwrap()
    };
    assert_eq!(net(&[4, 1, 1]).layers[0].folded, ["Add y"]);
    assert_eq!(net(&[4, 1, 1]).parameters(), 16 + 4);
    let positions = net(&[1, 4, 8, 8]);
    assert_eq!(positions.layers.len(), 2);
    let weights = &positions.layers[1].operands[1];
    assert!(weights.constant && weights.name == "W");
}

#[test]
fn rectangular_kernels_keep_height_and_width_apart() {
    let attributes =
        [ints("strides", &[2, 1]), ints("dilations", &[1, 2]), ints("pads", &[2, 1, 2, 3]), int("group", 2)];
    let workload = Net::new(&["1", "8", "20", "30"])
        .weight("w", &[6, 4, 5, 3])
        .node("Conv", &["x", "w"], &["y"], &attributes)
        .output("y")
        .read()
        .unwrap();
    // Height: (20 + 4 - 5) / 2 + 1 = 10; width: 30 + 4 - 5 + 1 = 30.
    assert_eq!(shape(&workload, "y"), [1, 6, 10, 30]);
    expect![[r#"
        Conv O[B][3G+K][OY][OX] W[3G+K][C][FY][FX] I[B][4G+C][2OY+FY-2][OX+2FX-1]
        B=1 K=3 G=2 OX=30 OY=10 C=4 FX=3 FY=5"#]]
    .assert_eq(&equation(&workload, 0));
}

#[test]
fn products_have_the_dimensions_of_the_reference() {
    let transposed = Net::new(&["16", "256"])
        .weight("w", &[128, 256])
        .weight("b", &[128])
        .node("Gemm", &["x", "w", "b"], &["y"], &[int("transB", 1)])
        .output("y");
    expect![[r#"
        Gemm O[D][K] I[D][C] W[K][C]
        C=256 D=16 K=128"#]]
    .assert_eq(&equation(&transposed.read().unwrap(), 0));
    let batched = Net::new(&["1", "4", "64", "32"])
        .node("Transpose", &["x"], &["t"], &[ints("perm", &[0, 1, 3, 2])])
        .node("MatMul", &["x", "t"], &["y"], &[])
        .output("y")
        .read()
        .unwrap();
    expect![[r#"
        MatMul O[B][H][D][K] I[B][H][D][C] W[B][H][C][K]
        C=32 D=64 K=64 B=1 H=4"#]]
    .assert_eq(&equation(&batched, 0));
    assert!(batched.layers[0].inputs().iter().all(|operand| !operand.constant));
    let weights_first = Net::new(&["2", "32", "10"])
        .weight("w", &[8, 32])
        .node("MatMul", &["w", "x"], &["y"], &[])
        .output("y");
    expect![[r#"
        MatMul O[B][K][D] I[B][C][D] W[K][C]
        C=32 D=10 K=8 B=2"#]]
    .assert_eq(&equation(&weights_first.read().unwrap(), 0));
}

#[test]
fn broadcast_axes_have_no_terms() {
    let workload = Net::new(&["1", "4", "8", "8"])
        .node("GlobalAveragePool", &["x"], &["mean"], &[])
        .node("Mul", &["x", "mean"], &["y"], &[])
        .output("y")
        .read()
        .unwrap();
    expect![[r#"
        GlobalAveragePool O[B][G][OY][OX] W[FX][FY] I[B][G][OY+FY][OX+FX]
        B=1 G=4 OY=1 OX=1 FX=8 FY=8"#]]
    .assert_eq(&equation(&workload, 0));
    expect![[r#"
        Mul O[B][G][OY][OX] W[B][G][0][0] I[B][G][OY][OX]
        B=1 G=4 OY=8 OX=8"#]]
    .assert_eq(&equation(&workload, 1));
}

#[test]
fn softmax_is_the_reductions_it_consists_of() {
    let workload =
        Net::new(&["4", "10"]).node("Softmax", &["x"], &["y"], &[]).output("y").read().unwrap();
    let equations: Vec<String> = (0..4).map(|index| equation(&workload, index)).collect();
    expect![[r#"
        ReduceMax O[D0][0] I[D0][D1]
        D0=4 D1=10
        Exp O[D0][D1] W[D0][0] I[D0][D1]
        D0=4 D1=10
        ReduceSum O[D0][0] I[D0][D1]
        D0=4 D1=10
        Div O[D0][D1] W[D0][0] I[D0][D1]
        D0=4 D1=10"#]]
    .assert_eq(&equations.join("\n"));
}

/// A layer as an equation, and its dimensions.
fn equation(workload: &Workload, index: usize) -> String {
    let layer = &workload.layers[index];
    let axis = |axis: &crate::workload::Axis| {
        let terms: Vec<String> = (axis.terms.iter())
            .map(|term| match term.coefficient {
                1 => layer.dims[term.dim].dim.to_string(),
                coefficient => format!("{coefficient}{}", layer.dims[term.dim].dim),
            })
            .collect();
        match (terms.is_empty(), axis.offset) {
            (true, offset) => format!("[{offset}]"),
            (false, 0) => format!("[{}]", terms.join("+")),
            (false, offset) => format!("[{}{offset:+}]", terms.join("+")),
        }
    };
    let operands: Vec<String> = (layer.operands.iter())
        .map(|operand| format!("{}{}", operand.name, operand.axes.iter().map(axis).collect::<String>()))
        .collect();
    let dims: Vec<String> = layer.dims.iter().map(|dim| format!("{}={}", dim.dim, dim.size)).collect();
    format!("{} {}\n{}", layer.operator, operands.join(" "), dims.join(" "))
}

#[test]
fn padding_is_chosen_by_auto_pad() {
    let net = |mode| {
        Net::new(&["1", "1", "5", "6"])
            .weight("w", &[1, 1, 2, 3])
            .node("Conv", &["x", "w"], &["y"], &[ints("strides", &[2, 2]), text("auto_pad", mode)])
            .output("y")
            .read()
            .unwrap()
    };
    let offsets = |workload: &Workload| {
        let input = &workload.layers[0].operands[2];
        [input.axes[2].offset, input.axes[3].offset]
    };
    // Height: 3 outputs span 6 of 5 rows; width: 3 outputs span 7 of 6 columns: one element is added.
    assert_eq!(shape(&net("SAME_UPPER"), "y"), [1, 1, 3, 3]);
    assert_eq!(offsets(&net("SAME_UPPER")), [0, 0]);
    assert_eq!(offsets(&net("SAME_LOWER")), [-1, -1]);
    assert_eq!(shape(&net("VALID"), "y"), [1, 1, 2, 2]);
}

#[test]
fn shapes_computed_in_the_graph_are_followed() {
    // y = x as [x.shape[0], -1]
    let workload = Net::new(&["3", "4", "5"])
        .indices("zero", &[0])
        .indices("rest", &[-1])
        .node("Shape", &["x"], &["shape"], &[])
        .node("Gather", &["shape", "zero"], &["batch"], &[])
        .node("Concat", &["batch", "rest"], &["target"], &[int("axis", 0)])
        .node("Relu", &["x"], &["r"], &[])
        .node("Reshape", &["r", "target"], &["y"], &[])
        .output("y")
        .read()
        .unwrap();
    assert_eq!(shape(&workload, "y"), [3, 20]);
    assert_eq!(workload.layouts[0].map, LayoutMap::Reshape);
    // Neither the shape nor the indices are data of the network.
    assert_eq!(workload.parameters(), 0);
    assert_eq!(workload.tensors.len(), 3);
}

#[test]
fn attributes_and_inputs_mean_the_same_in_every_operator_set() {
    let base = || Net::new(&["2", "1", "6"]).indices("axes", &[1]).indices("from", &[5]).indices("to", &[0]);
    let base = || base().indices("last", &[-1]).indices("by", &[-2]);
    let sliced = ["x", "from", "to", "last", "by"];
    let by_input = base()
        .node("Slice", &sliced, &["s"], &[])
        .node("Squeeze", &["s", "axes"], &["y"], &[])
        .output("y")
        .read()
        .unwrap();
    assert_eq!(shape(&by_input, "s"), [2, 1, 3]);
    assert_eq!(
        by_input.layouts[0].map,
        LayoutMap::Slice { starts: vec![0, 0, 5], steps: vec![1, 1, -2] }
    );
    let attributes = [ints("starts", &[1]), ints("ends", &[i64::MAX]), ints("axes", &[2])];
    let by_attribute = base()
        .node("Slice", &["x"], &["s"], &attributes)
        .node("Squeeze", &["s"], &["y"], &[ints("axes", &[1])])
        .output("y")
        .read()
        .unwrap();
    assert_eq!(shape(&by_attribute, "y"), [2, 5]);
}

#[test]
fn depth_to_space_is_three_layouts() {
    let workload = Net::new(&["1", "8", "2", "3"])
        .node("DepthToSpace", &["x"], &["y"], &[int("blocksize", 2)])
        .output("y")
        .read()
        .unwrap();
    assert_eq!(shape(&workload, "y"), [1, 2, 4, 6]);
    assert_eq!(workload.layouts.len(), 3);
}

#[test]
fn precisions_follow_the_file_or_the_user() {
    let bits = |element, precision| {
        let options = ReadOptions { precision, ..Default::default() };
        let workload = Net::of_type(element, &["1", "8"])
            .weight("w", &[8, 8])
            .node("MatMul", &["x", "w"], &["y"], &[])
            .output("y")
            .read_with(&options);
        let [o, i, w] = workload.layers[0].operands.as_slice() else { panic!("three operands") };
        ([i.bits, w.bits, o.bits, o.partial_bits], workload.notes.len())
    };
    assert_eq!(bits(FLOAT, Precision::Auto), ([8, 8, 8, 16], 1));
    assert_eq!(bits(FLOAT, Precision::File), ([32, 32, 32, 32], 0));
    assert_eq!(bits(BFLOAT16, Precision::Auto), ([16, 16, 16, 32], 0));
    assert_eq!(bits(INT8, Precision::Auto), ([8, 8, 8, 16], 0));
    let fixed = Precision::Fixed { act: 8, weight: 4, partial: 20 };
    assert_eq!(bits(BFLOAT16, fixed), ([8, 4, 8, 20], 0));
}

#[test]
fn an_initialiser_of_two_layers_is_one_tensor() {
    let workload = Net::new(&["1", "8"])
        .weight("w", &[8, 8])
        .node("MatMul", &["x", "w"], &["h"], &[])
        .node("MatMul", &["h", "w"], &["y"], &[])
        .output("y")
        .read()
        .unwrap();
    assert_eq!(workload.parameters(), 64);
    assert_eq!(workload.layers[0].operands[2].tensor, workload.layers[1].operands[2].tensor);
}

#[test]
fn dynamic_dimensions_are_bound_by_name_or_by_place() {
    let net = Net::new(&["batch", "3", "?"]).node("Relu", &["x"], &["y"], &[]).output("y");
    let dims = [("batch".to_owned(), 4), ("x.2".to_owned(), 7)].into();
    let workload = net.read_with(&ReadOptions { dims, ..Default::default() });
    assert_eq!(shape(&workload, "y"), [4, 3, 7]);
}

#[test]
fn what_no_output_needs_is_dropped_with_a_note() {
    let mut net = normalised()
        .node("Sigmoid", &["bn"], &["unused"], &[])
        .node("Loop", &["unused"], &["unused too"], &[]);
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
    node("Conv", &[ints("dilations", &[4, 1])]).fails(expect![
        "node `y` (Conv, makes tensor `y`): a window of 9 on 8 elements"
    ]);
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
    Net::new(&["batch", "4"]).node("Relu", &["x"], &["y"], &[]).output("y").fails(expect![
        "dimension 0 of tensor `x` is dynamic (`batch`): bind it with `--dim batch=VALUE`"
    ]);
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
    let error = super::load(path, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("cannot read `no/such.onnx`: "), "{error}");
}

/// Everything but names.
fn nameless(mut workload: Workload) -> Workload {
    workload.layers.iter_mut().for_each(|layer| {
        layer.name.clear();
        layer.folded.iter_mut().for_each(|folded| {
            folded.truncate(folded.find(' ').unwrap_or(0));
        });
    });
    workload.tensors.iter_mut().for_each(|tensor| tensor.name.clear());
    workload.layouts.iter_mut().for_each(|layout| layout.name.clear());
    workload
}

#[test]
fn order_in_the_file_and_names_change_nothing_but_names() {
    let bytes = include_bytes!("../../../workloads/resnet18.onnx").as_slice();
    let model = Model::decode(bytes).unwrap();
    let expected = nameless(parse("net", bytes, &ReadOptions::default()).unwrap());
    for seed in 1..6u64 {
        let mut shuffled = model.clone();
        let graph = shuffled.graph.as_mut().unwrap();
        let renamed = |name: &str| format!("{:016x}", seeded(seed, name.as_bytes()));
        graph.node.sort_by_key(|node| seeded(seed, node.name.as_bytes()));
        graph.initializer.sort_by_key(|tensor| seeded(seed + 9, tensor.name.as_bytes()));
        for node in &mut graph.node {
            node.name = renamed(&format!("node {}", node.name));
            node.input.iter_mut().chain(&mut node.output).for_each(|name| *name = renamed(name));
        }
        graph.initializer.iter_mut().for_each(|tensor| tensor.name = renamed(&tensor.name));
        graph.input.iter_mut().chain(&mut graph.output).for_each(|info| info.name = renamed(&info.name));
        let workload = parse("net", &shuffled.encode_to_vec(), &ReadOptions::default()).unwrap();
        assert_eq!(nameless(workload), expected, "seed {seed}");
    }
}

/// FNV-1a, so that the order is the same on every machine.
fn seeded(seed: u64, bytes: &[u8]) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn damaged_bytes_never_panic() {
    let good = include_bytes!("../../../workloads/resnet18.onnx").as_slice();
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

#[test]
fn every_tensor_is_made_by_what_it_names() {
    let workload = normalised().read().unwrap();
    for (index, layer) in workload.layers.iter().enumerate() {
        let output = workload.tensor(layer.output().tensor.unwrap());
        assert_eq!(output.origin, Origin::Layer(index.into()));
    }
}
