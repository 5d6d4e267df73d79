//! Small models built here, and what the reader makes of them.

mod errors;
mod layers;
mod order;
mod written;

use super::proto::{
    Attribute, Dimension, Extent, Graph, Model, Node, OperatorSet, Shape, Tensor, TensorType, Type, ValueInfo,
};
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
        let tensor =
            Tensor { name: name.to_owned(), data_type: self.1, dims: dims.to_vec(), ..Default::default() };
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

/// FNV-1a, so that the order is the same on every machine.
fn seeded(seed: u64, bytes: &[u8]) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
