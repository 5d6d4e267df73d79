//! Bytes -> graph, and the nodes that matter in an order in which tensors are made before they are read.

use super::OnnxError;
use super::proto;
use petgraph::algo::toposort;
use petgraph::graph::DiGraph;
use prost::Message;
use prost::bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// The nodes that reach an output.
#[derive(Debug)]
pub(super) struct LiveNodes {
    /// Positions in the file, in topological order.
    pub order: Vec<usize>,
    /// Positions of the nodes that reach no output, in the order of the file.
    pub dead: Vec<usize>,
    /// Version of the standard operator set.
    pub opset: i64,
}

/// Decodes an ONNX model: its graph and the version of the standard operator set.
pub(super) fn decode(name: &str, bytes: Bytes) -> Result<(proto::Graph, i64), OnnxError> {
    let foreign = |reason: &str| OnnxError::NotOnnx { name: name.to_owned(), reason: reason.to_owned() };
    if bytes.is_empty() {
        return Err(foreign("the file is empty"));
    }
    if bytes.starts_with(b"version https://git-lfs") {
        return Err(foreign("it is a Git LFS pointer; `git lfs pull` fetches the model"));
    }
    let head = &bytes[..bytes.len().min(64)];
    if head.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) {
        return Err(foreign("it is text"));
    }
    // Writers put fields in order, so a model starts with its `ir_version`: field 1, a varint.
    let starts_well = bytes[0] == 0x08;
    let model = proto::Model::decode(bytes).map_err(|error| {
        if starts_well {
            OnnxError::Damaged { name: name.to_owned(), reason: error.to_string() }
        } else {
            foreign("its first bytes are not those of a protobuf model")
        }
    })?;
    let Some(graph) = model.graph else {
        return Err(foreign("it holds no graph"));
    };
    tracing::debug!(
        producer = model.producer_name,
        ir_version = model.ir_version,
        opsets = ?model.opset_import,
        nodes = graph.node.len(),
        "decoded ONNX model"
    );
    let standard = model.opset_import.iter().find(|set| matches!(set.domain.as_str(), "" | "ai.onnx"));
    Ok((graph, standard.map_or(1, |set| set.version)))
}

/// Sorts the nodes that reach an output topologically and finds the dead ones.
pub(super) fn live_nodes(graph: &proto::Graph, opset: i64) -> Result<LiveNodes, OnnxError> {
    let makers = makers(graph)?;
    let mut live = vec![false; graph.node.len()];
    let mut work: Vec<(String, &str)> = (graph.output.iter())
        .map(|output| ("the network's output".to_owned(), output.name.as_str()))
        .collect();
    if work.is_empty() {
        let reason = "the graph has no outputs".to_owned();
        return Err(OnnxError::Tensor { tensor: "output".to_owned(), reason });
    }
    while let Some((reader, tensor)) = work.pop() {
        let Some(maker) = makers.get(tensor) else {
            return Err(OnnxError::MissingTensor { reader, tensor: tensor.to_owned() });
        };
        let Maker::Node(index) = *maker else { continue };
        if !std::mem::replace(&mut live[index], true) {
            let node = &graph.node[index];
            let inputs = node.input.iter().filter(|input| !input.is_empty());
            work.extend(inputs.map(|input| (format!("node `{}`", label(node)), input.as_str())));
        }
    }
    let order = order(graph, &makers, &live)?;
    let dead = (0..graph.node.len()).filter(|index| !live[*index]).collect();
    Ok(LiveNodes { order, dead, opset })
}

/// A node's name, or that of its first output if it has none.
pub(super) fn label(node: &proto::Node) -> &str {
    match node.output.first() {
        Some(output) if node.name.is_empty() => output,
        _ => &node.name,
    }
}

#[derive(Clone, Copy)]
enum Maker {
    /// An input or initialiser.
    Given,
    /// A node, by its position in the file.
    Node(usize),
}

fn makers(graph: &proto::Graph) -> Result<BTreeMap<&str, Maker>, OnnxError> {
    let mut makers = BTreeMap::new();
    let twice = |tensor: &str, maker: String| OnnxError::MadeTwice { tensor: tensor.to_owned(), maker };
    let initialisers: BTreeSet<&str> = graph.initializer.iter().map(|tensor| tensor.name.as_str()).collect();
    if initialisers.len() != graph.initializer.len() {
        let mut seen = BTreeSet::new();
        let double = graph.initializer.iter().find(|tensor| !seen.insert(tensor.name.as_str()));
        return Err(twice(double.map_or("", |tensor| tensor.name.as_str()), "an initialiser".to_owned()));
    }
    makers.extend(initialisers.into_iter().map(|name| (name, Maker::Given)));
    // Up to IR version 3 initialisers are listed among the inputs too.
    makers.extend(graph.input.iter().map(|input| (input.name.as_str(), Maker::Given)));
    for (index, node) in graph.node.iter().enumerate() {
        for output in node.output.iter().filter(|output| !output.is_empty()) {
            if makers.insert(output, Maker::Node(index)).is_some() {
                return Err(twice(output, format!("node `{}`", label(node))));
            }
        }
    }
    Ok(makers)
}

fn order(
    graph: &proto::Graph,
    makers: &BTreeMap<&str, Maker>,
    live: &[bool],
) -> Result<Vec<usize>, OnnxError> {
    let mut dependencies = DiGraph::<usize, ()>::new();
    let nodes: Vec<_> = (0..graph.node.len()).map(|index| dependencies.add_node(index)).collect();
    for (index, node) in graph.node.iter().enumerate().filter(|(index, _)| live[*index]) {
        for input in &node.input {
            if let Some(Maker::Node(maker)) = makers.get(input.as_str()) {
                dependencies.add_edge(nodes[*maker], nodes[index], ());
            }
        }
    }
    let sorted = toposort(&dependencies, None).map_err(|cycle| {
        let node = &graph.node[dependencies[cycle.node_id()]];
        OnnxError::Cycle { node: label(node).to_owned() }
    })?;
    Ok(sorted.into_iter().map(|node| dependencies[node]).filter(|index| live[*index]).collect())
}
