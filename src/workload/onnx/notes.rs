//! What a user should know about a file that loads.

use super::node::written;
use super::proto;
use super::read::label;
use std::collections::BTreeSet;

/// Nodes that were dropped.
pub(super) fn dead_nodes(graph: &proto::Graph, dead: &[usize]) -> Option<String> {
    let mut names: Vec<&str> = dead.iter().map(|index| label(&graph.node[*index])).collect();
    names.sort_unstable();
    let count = names.len();
    let listed = names[..count.min(8)].join(", ");
    let more = if count > 8 { format!(" and {} more", count - 8) } else { String::new() };
    (count > 0).then(|| format!("dropped, because no output needs them: {listed}{more}"))
}

/// Inputs of the network that count as weights.
pub(super) fn weights(names: &BTreeSet<&str>) -> Option<String> {
    let listed: Vec<&str> = names.iter().copied().collect();
    let listed = listed.join(", ");
    (!names.is_empty()).then(|| format!("inputs that are read as weights only count as constants: {listed}"))
}

/// Shapes in the file that contradict what inference found; `known` gives the latter by name.
pub(super) fn contradictions<'b>(
    graph: &proto::Graph,
    known: impl Fn(&str) -> Option<&'b [u64]>,
) -> Vec<String> {
    let mut notes = Vec::new();
    for info in graph.value_info.iter().chain(&graph.output) {
        let tensor_type = info.r#type.as_ref().and_then(|of| of.tensor_type.as_ref());
        let dims = tensor_type.and_then(|of| of.shape.as_ref());
        let (Some(dims), Some(shape)) = (dims, known(&info.name)) else { continue };
        let fits = dims.dim.len() == shape.len()
            && dims.dim.iter().zip(shape).all(|(dim, extent)| match dim.value {
                Some(proto::Extent::Value(value)) => value <= 0 || value as u64 == *extent,
                _ => true,
            });
        if !fits {
            let file: Vec<String> = dims.dim.iter().map(written_dimension).collect();
            let (file, shape) = (file.join("x"), written(shape));
            notes.push(format!("tensor `{}` is {shape}, though the file says {file}", info.name));
        }
    }
    notes.sort();
    notes
}

fn written_dimension(dim: &proto::Dimension) -> String {
    match &dim.value {
        Some(proto::Extent::Value(value)) => value.to_string(),
        Some(proto::Extent::Param(name)) => name.clone(),
        None => "?".to_owned(),
    }
}
