//! Layers, layout operators, folding, bits.

use super::*;

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
    let workload = Net::new(&["4", "10"]).node("Softmax", &["x"], &["y"], &[]).output("y").read().unwrap();
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
    assert_eq!(by_input.layouts[0].map, LayoutMap::Slice { starts: vec![0, 0, 5], steps: vec![1, 1, -2] });
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
fn every_tensor_is_made_by_what_it_names() {
    let workload = normalised().read().unwrap();
    for (index, layer) in workload.layers.iter().enumerate() {
        let output = workload.tensor(layer.output().tensor.unwrap());
        assert_eq!(output.origin, Origin::Layer(index.into()));
    }
}
