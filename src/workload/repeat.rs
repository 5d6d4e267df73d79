//! Several independent inferences as one workload: layers, activations and layout operators once per
//! inference, constants shared (`run --inferences N`).
//!
//! ```text
//! ids of inference k:  layer l -> k*L + l      constants stay, other tensors are appended
//! ```
//! Names are those of the network; [`Layer::inference`] tells the copies apart. With that, tiling,
//! placement, costs, simulation, bounds and verification of N inferences need nothing of their own: a
//! constant that is still on chip when the next inference needs it is not loaded again.

use super::{Layer, Layout, Operand, Origin, Tensor, Workload};
use crate::ids::{LayerId, TensorId};

impl Workload {
    /// The workload of `inferences` independent inputs.
    pub fn repeated(&self, inferences: u32) -> Self {
        let mut repeated = self.clone();
        for inference in 1..inferences {
            let copy = Copy::new(self, &mut repeated, inference);
            repeated.layers.extend(self.layers.iter().map(|layer| copy.layer(layer)));
            repeated.layouts.extend(self.layouts.iter().map(|layout| copy.layout(layout)));
            repeated.outputs.extend(self.outputs.iter().map(|output| copy.tensor(*output)));
        }
        repeated
    }

    /// How many inferences its layers stand for.
    pub fn inferences(&self) -> u32 {
        self.layers.last().map_or(1, |layer| layer.inference + 1)
    }

    /// Layers of one inference.
    pub fn layers_per_inference(&self) -> usize {
        self.layers.len() / self.inferences() as usize
    }
}

/// The tensors of one more inference.
struct Copy {
    inference: u32,
    tensors: Vec<TensorId>,
}

impl Copy {
    /// Adds the tensors of an inference.
    fn new(single: &Workload, repeated: &mut Workload, inference: u32) -> Self {
        let mut tensors = Vec::with_capacity(single.tensors.len());
        for (at, tensor) in single.tensors.iter().enumerate() {
            let origin = match tensor.origin {
                Origin::Constant => {
                    tensors.push(TensorId::from(at));
                    continue;
                }
                Origin::Input => Origin::Input,
                Origin::Layer(layer) => {
                    Origin::Layer(LayerId(inference * single.layers.len() as u32 + layer.0))
                }
                Origin::Layout(layout) => Origin::Layout(inference * single.layouts.len() as u32 + layout),
            };
            tensors.push(TensorId::from(repeated.tensors.len()));
            repeated.tensors.push(Tensor { origin, ..tensor.clone() });
        }
        Self { inference, tensors }
    }

    fn tensor(&self, id: TensorId) -> TensorId {
        self.tensors[id.index()]
    }

    fn layer(&self, layer: &Layer) -> Layer {
        let operand = |operand: &Operand| Operand {
            tensor: operand.tensor.map(|tensor| self.tensor(tensor)),
            ..operand.clone()
        };
        let operands = layer.operands.iter().map(operand).collect();
        Layer { operands, inference: self.inference, ..layer.clone() }
    }

    fn layout(&self, layout: &Layout) -> Layout {
        Layout {
            inputs: layout.inputs.iter().map(|input| self.tensor(*input)).collect(),
            output: self.tensor(layout.output),
            ..layout.clone()
        }
    }
}
