//! ONNX files written byte by byte: the messages of `onnx.proto` that the tests need.

/// A field with a varint.
fn number(tag: u64, value: i64) -> Vec<u8> {
    [varint(tag << 3), varint(value as u64)].concat()
}

/// A field with bytes: a string or a message.
fn bytes(tag: u64, contents: &[u8]) -> Vec<u8> {
    [varint(tag << 3 | 2), varint(contents.len() as u64), contents.to_vec()].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

/// A name and a float32 shape; words are dynamic dimensions.
fn value_info(name: &str, dims: &[&str]) -> Vec<u8> {
    let dim = |text: &&str| match text.parse() {
        Ok(size) => bytes(1, &number(1, size)),
        Err(_) => bytes(1, &bytes(2, text.as_bytes())),
    };
    let shape: Vec<u8> = dims.iter().flat_map(dim).collect();
    let tensor = [number(1, 1), bytes(2, &shape)].concat();
    [bytes(1, name.as_bytes()), bytes(2, &bytes(1, &tensor))].concat()
}

/// A graph under construction.
#[derive(Default)]
pub struct Model(Vec<u8>);

impl Model {
    /// An input of this shape, called `x`.
    pub fn input(dims: &[&str]) -> Self {
        Self(bytes(11, &value_info("x", dims)))
    }

    /// A float32 initialiser without contents.
    pub fn weight(mut self, name: &str, dims: &[i64]) -> Self {
        let dims: Vec<u8> = dims.iter().flat_map(|dim| number(1, *dim)).collect();
        let tensor = [dims, number(2, 1), bytes(8, name.as_bytes())].concat();
        self.0.extend(bytes(5, &tensor));
        self
    }

    /// A node that is called after its output.
    pub fn node(self, operator: &str, inputs: &[&str], output: &str) -> Self {
        self.node_with(operator, inputs, output, &[])
    }

    /// A node with attributes that are lists of integers.
    pub fn node_with(
        mut self,
        operator: &str,
        inputs: &[&str],
        output: &str,
        attributes: &[(&str, &[i64])],
    ) -> Self {
        let mut node: Vec<u8> = inputs.iter().flat_map(|input| bytes(1, input.as_bytes())).collect();
        for (tag, text) in [(2, output), (3, output), (4, operator)] {
            node.extend(bytes(tag, text.as_bytes()));
        }
        for (name, values) in attributes {
            let values: Vec<u8> = values.iter().flat_map(|value| number(8, *value)).collect();
            node.extend(bytes(5, &[bytes(1, name.as_bytes()), values].concat()));
        }
        self.0.extend(bytes(1, &node));
        self
    }

    /// The file, with this output.
    pub fn output(self, name: &str) -> Vec<u8> {
        let graph = [self.0, bytes(12, &bytes(1, name.as_bytes()))].concat();
        [number(1, 8), bytes(7, &graph), bytes(8, &number(2, 17))].concat()
    }
}

/// `x -> conv -> y`: a 3x3 convolution of 4 channels on 8 x 8 elements.
pub fn small() -> Vec<u8> {
    Model::input(&["1", "4", "8", "8"]).weight("w", &[4, 4, 3, 3]).node("Conv", &["x", "w"], "y").output("y")
}
