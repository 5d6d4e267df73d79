//! Activation functions written out in elementary operators: `x * Sigmoid(x)` is Silu,
//! `x / 2 * (1 + Erf(x / sqrt 2))` is Gelu, and so is its form with Tanh and a cube.
//!
//! A region is a set of element-wise nodes with one input tensor, its root, and one output: all of
//! them read only the root, one another and scalar constants, and nobody outside reads the root or
//! what is made in between. Such a region computes each element from the element at the same place,
//! so it costs and moves what one activation function does. Regions without an activation function
//! (squares of a norm) are left as they are.

use super::elementwise::{is_activation, is_binary, is_unary};
use super::node::Node;
use super::proto;
use super::read::LiveNodes;
use std::collections::{BTreeMap, BTreeSet};

/// Regions by the position of their last node in the file.
#[derive(Debug, Default)]
pub(super) struct Regions<'a> {
    /// The regions.
    pub last: BTreeMap<usize, Region<'a>>,
    /// Positions of all their nodes but the last ones, and of the Identity nodes between them.
    pub inside: BTreeSet<usize>,
}

/// One activation function.
#[derive(Debug)]
pub(super) struct Region<'a> {
    /// The tensor of which it is a function.
    pub root: &'a str,
    /// What it is, as far as its operators tell.
    pub operator: &'static str,
    nodes: BTreeSet<usize>,
}

/// What [`regions`] must know of a graph.
pub(super) struct Graph<'g, 'a> {
    /// The nodes.
    pub graph: &'a proto::Graph,
    /// Which of them matter, in order.
    pub live: &'g LiveNodes,
    /// The tensor behind a name made by `Identity`.
    pub aliases: &'g BTreeMap<&'a str, &'a str>,
    /// Number of times the data of a tensor is read.
    pub readers: &'g BTreeMap<&'a str, usize>,
}

/// Finds the regions; of nested ones the largest.
pub(super) fn regions<'a>(given: &Graph<'_, 'a>) -> Regions<'a> {
    let scalars = scalars(given.graph);
    let constants: BTreeSet<&str> =
        given.graph.initializer.iter().map(|tensor| tensor.name.as_str()).collect();
    // What a tensor is a function of: the root and the nodes in between.
    let mut made: BTreeMap<&str, (&'a str, BTreeSet<usize>)> = BTreeMap::new();
    let mut candidates: Vec<(usize, Region<'a>)> = Vec::new();
    for &index in &given.live.order {
        let node = Node(&given.graph.node[index]);
        let Some(output) = node.output(0) else { continue };
        let inputs: Vec<&str> = node.0.input.iter().map(|name| given.behind(name)).collect();
        let data: Vec<&str> = inputs.iter().copied().filter(|name| !scalars.contains(name)).collect();
        let elementwise = match data.len() {
            1 if inputs.len() == 1 => is_unary(node.operator()),
            1 => is_binary(node.operator()) || node.operator() == "Clip",
            2 => is_binary(node.operator()),
            _ => false,
        };
        let known = node.is_standard() || is_activation(node.operator());
        if !elementwise || !known || data.iter().any(|name| constants.contains(name)) {
            continue;
        }
        let sources: Vec<_> =
            data.iter().map(|name| made.get(name).cloned().unwrap_or((name, BTreeSet::new()))).collect();
        let root = sources[0].0;
        if sources.iter().any(|(other, _)| *other != root) {
            continue;
        }
        let mut nodes: BTreeSet<usize> = sources.into_iter().flat_map(|(_, nodes)| nodes).collect();
        nodes.insert(index);
        if data.len() == 2
            && let Some(operator) = given.operator(&nodes)
        {
            candidates.push((index, Region { root, operator, nodes: nodes.clone() }));
        }
        made.insert(output, (root, nodes));
    }
    let mut found = Regions::default();
    for (last, region) in candidates.into_iter().rev() {
        let taken =
            region.nodes.iter().any(|node| found.inside.contains(node) || found.last.contains_key(node));
        if !taken && given.is_closed(last, &region) {
            found.inside.extend(region.nodes.iter().filter(|node| **node != last));
            found.last.insert(last, region);
        }
    }
    let gone: BTreeSet<&str> =
        found.inside.iter().filter_map(|node| Node(&given.graph.node[*node]).output(0)).collect();
    let names = given.live.order.iter().filter(|index| {
        let output = Node(&given.graph.node[**index]).output(0);
        output.is_some_and(|output| given.aliases.get(output).is_some_and(|behind| gone.contains(behind)))
    });
    found.inside.extend(names);
    found
}

impl<'a> Graph<'_, 'a> {
    fn behind(&self, name: &'a str) -> &'a str {
        self.aliases.get(name).copied().unwrap_or(name)
    }

    /// The activation function among the nodes names what they make together.
    fn operator(&self, nodes: &BTreeSet<usize>) -> Option<&'static str> {
        nodes.iter().find_map(|node| match self.graph.node[*node].op_type.as_str() {
            "Sigmoid" => Some("Silu"),
            "Erf" | "Tanh" => Some("Gelu"),
            "HardSigmoid" | "Clip" | "Relu6" => Some("HardSwish"),
            "Softplus" => Some("Mish"),
            _ => None,
        })
    }

    /// Whether nobody outside reads the root or what is made in between.
    fn is_closed(&self, last: usize, region: &Region<'a>) -> bool {
        let outputs = region.nodes.iter().filter(|node| **node != last);
        let outputs = outputs.filter_map(|node| Node(&self.graph.node[*node]).output(0));
        outputs.chain([region.root]).all(|tensor| {
            let reads = region.nodes.iter().flat_map(|node| &self.graph.node[*node].input);
            let inside = reads.filter(|name| self.behind(name) == tensor).count();
            self.readers.get(tensor) == Some(&inside)
        })
    }
}

/// Constants of one element.
fn scalars(graph: &proto::Graph) -> BTreeSet<&str> {
    let single = |dims: &[i64]| dims.iter().all(|extent| *extent == 1);
    let initialisers = graph.initializer.iter().filter(|tensor| single(&tensor.dims));
    let mut scalars: BTreeSet<&str> = initialisers.map(|tensor| tensor.name.as_str()).collect();
    for node in graph.node.iter().map(Node).filter(|node| node.operator() == "Constant") {
        let tensor = node.attribute("value").and_then(|attribute| attribute.t.as_ref());
        let number = node.attribute("value_float").or_else(|| node.attribute("value_int"));
        if tensor.is_some_and(|tensor| single(&tensor.dims)) || number.is_some() {
            scalars.extend(node.output(0));
        }
    }
    scalars
}
