//! Canonical order: ids that depend on the graph's structure only.
//!
//! Depth-first post-order from the outputs, in their order: a layer's inputs are numbered before it,
//! activations (I1) before weights or a second input (I2), through layout operators. Names and the
//! order of nodes in a file have no influence, and what reaches no output is dropped. Constants that
//! no operand reads (folded biases) come last, ordered by shape and bits; among equals, which are
//! interchangeable, by name.

use super::{Operand, Origin, Workload};
use crate::ids::{LayerId, TensorId};

/// A workload whose ids follow a file.
#[derive(Clone, Debug)]
pub struct Unordered {
    /// Layers, tensors and layout operators in any order.
    pub workload: Workload,
    /// Constants that stay though nothing reads them.
    pub kept: Vec<TensorId>,
}

/// Renumbers a workload.
pub fn canonical(unordered: Unordered) -> Workload {
    let Unordered { workload, kept } = unordered;
    let mut order = Order::new(&workload);
    for output in &workload.outputs {
        order.visit(&workload, *output);
    }
    let mut kept: Vec<TensorId> = kept.into_iter().filter(|id| order.tensor[id.index()].is_none()).collect();
    kept.sort_by_key(|id| {
        let tensor = workload.tensor(*id);
        (tensor.shape.clone(), tensor.element_bits, tensor.name.clone())
    });
    for id in kept {
        order.number_tensor(id);
    }
    order.apply(workload)
}

/// New numbers, and old ones in their order.
struct Order {
    tensor: Vec<Option<TensorId>>,
    layer: Vec<Option<LayerId>>,
    layout: Vec<Option<u32>>,
    tensors: Vec<TensorId>,
    layers: Vec<LayerId>,
    layouts: Vec<u32>,
}

impl Order {
    fn new(workload: &Workload) -> Self {
        Self {
            tensor: vec![None; workload.tensors.len()],
            layer: vec![None; workload.layers.len()],
            layout: vec![None; workload.layouts.len()],
            tensors: Vec::new(),
            layers: Vec::new(),
            layouts: Vec::new(),
        }
    }

    /// Numbers a tensor after everything it depends on.
    fn visit(&mut self, workload: &Workload, output: TensorId) {
        let mut stack = vec![(output, false)];
        while let Some((id, entered)) = stack.pop() {
            if self.tensor[id.index()].is_some() {
                continue;
            }
            if entered {
                self.number(workload, id);
                continue;
            }
            stack.push((id, true));
            stack.extend(sources(workload, id).into_iter().rev().map(|source| (source, false)));
        }
    }

    fn number(&mut self, workload: &Workload, id: TensorId) {
        match workload.tensor(id).origin {
            Origin::Input | Origin::Constant => {}
            Origin::Layer(layer) => {
                self.layer[layer.index()] = Some(LayerId::from(self.layers.len()));
                self.layers.push(layer);
            }
            Origin::Layout(layout) => {
                self.layout[layout as usize] = Some(self.layouts.len() as u32);
                self.layouts.push(layout);
            }
        }
        self.number_tensor(id);
    }

    fn number_tensor(&mut self, id: TensorId) {
        self.tensor[id.index()] = Some(TensorId::from(self.tensors.len()));
        self.tensors.push(id);
    }

    fn apply(self, workload: Workload) -> Workload {
        let tensor =
            |id: TensorId| self.tensor[id.index()].expect("what is read is numbered before its reader");
        let layers = self.layers.iter().map(|old| {
            let mut layer = workload.layer(*old).clone();
            for operand in &mut layer.operands {
                operand.tensor = operand.tensor.map(tensor);
            }
            layer
        });
        let layouts = self.layouts.iter().map(|old| {
            let mut layout = workload.layouts[*old as usize].clone();
            layout.inputs.iter_mut().for_each(|input| *input = tensor(*input));
            layout.output = tensor(layout.output);
            layout
        });
        let tensors = self.tensors.iter().map(|old| {
            let mut new = workload.tensor(*old).clone();
            new.origin = match new.origin {
                Origin::Layer(layer) => {
                    Origin::Layer(self.layer[layer.index()].expect("numbered with its tensor"))
                }
                Origin::Layout(layout) => {
                    Origin::Layout(self.layout[layout as usize].expect("numbered with its tensor"))
                }
                given => given,
            };
            new
        });
        Workload {
            layers: layers.collect(),
            layouts: layouts.collect(),
            tensors: tensors.collect(),
            outputs: workload.outputs.iter().map(|id| tensor(*id)).collect(),
            name: workload.name,
            notes: workload.notes,
        }
    }
}

/// The tensors from which a tensor is made, in the order in which they are numbered.
fn sources(workload: &Workload, id: TensorId) -> Vec<TensorId> {
    match workload.tensor(id).origin {
        Origin::Input | Origin::Constant => Vec::new(),
        Origin::Layer(layer) => {
            let mut inputs: Vec<&Operand> = workload.layer(layer).inputs().iter().collect();
            inputs.sort_by_key(|operand| operand.memory);
            inputs.into_iter().filter_map(|operand| operand.tensor).collect()
        }
        Origin::Layout(layout) => workload.layouts[layout as usize].inputs.clone(),
    }
}
