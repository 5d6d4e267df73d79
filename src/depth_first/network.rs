//! The network of a depth-first study: layers with the maps they read, and how far they reach in them.

use super::Rules;
use crate::accelerator::{ArrayMapping, CoreKind};
use crate::cn::refine::class_of_box;
use crate::cost::MappingConstraint;
use crate::costing::constraint;
use crate::ids::TensorId;
use crate::mapping::Mapping;
use crate::workload::nest::{LoopNest, NestOperand};
use crate::workload::{Dim, Layer, LayoutMap, Origin, Term, Workload};
use serde::{Deserialize, Serialize};

/// Layers in topological order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// Layers.
    pub stages: Vec<Stage>,
    /// Extents of the inputs along both axes.
    pub outside: Vec<[u64; 2]>,
}

/// A layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Name.
    pub name: String,
    /// Its loops, over the whole map.
    pub nest: LoopNest,
    /// The maps it reads, in the order of the equation.
    pub inputs: Vec<Input>,
    /// Spatial unrolling.
    pub constraint: MappingConstraint,
}

/// A map that a layer reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Position in the nest's operands.
    pub operand: usize,
    /// Where it comes from.
    pub from: Source,
    /// Place of the first output's first tap along both axes: minus the padding in front.
    #[serde(default)]
    pub offset: [i64; 2],
    /// Which share of the operand's channels it has: so many of so many.
    pub share: [u64; 2],
}

/// Where a map comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// An input of the network.
    Outside(usize),
    /// The output of a layer.
    Stage(usize),
}

/// The two axes of a map: x (columns), y (rows).
pub const AXES: [&str; 2] = ["OX", "OY"];

/// How outputs along an axis reach into an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// An output needs the input at its own place.
    Same,
    /// `stride*output + dilation*tap`.
    Window {
        /// Inputs between the windows of neighbouring outputs.
        stride: u64,
        /// Inputs between taps.
        dilation: u64,
        /// Taps.
        taps: u64,
    },
    /// Every output needs all of so many inputs.
    All(u64),
}

impl Reach {
    /// Inputs that so many neighbouring outputs need; skipped ones do not count (MODEL.md 1).
    pub fn span(self, outputs: u64) -> u64 {
        match self {
            Self::Same => outputs,
            Self::All(inputs) => inputs,
            Self::Window { stride, dilation, taps } => {
                let shared = gcd(stride, dilation);
                let (steps, gap) = (stride / shared, dilation / shared);
                outputs * taps - taps.saturating_sub(steps) * outputs.saturating_sub(gap)
            }
        }
    }

    /// Inputs between the windows of neighbouring outputs.
    pub fn stride(self) -> u64 {
        match self {
            Self::Window { stride, .. } => stride,
            Self::Same | Self::All(_) => 1,
        }
    }

    /// Inputs that so many outputs share with the outputs behind them.
    pub fn overlap(self, outputs: u64) -> u64 {
        match self {
            Self::Same | Self::All(_) => 0,
            Self::Window { stride, .. } => self.span(outputs).saturating_sub(stride * outputs),
        }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Why a workload has no depth-first study.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// A layout operator rearranges a map.
    #[error(
        "layer {layer} reads its input through {operator}: a depth-first study follows maps from layer to layer"
    )]
    Rearranged {
        /// The layer.
        layer: String,
        /// The layout operator in between.
        operator: String,
    },
    /// A map leaves the network in front of its last layer.
    #[error(
        "layer {layer} is an output of the network, but not its last layer: a depth-first study has one output"
    )]
    SecondOutput {
        /// The layer.
        layer: String,
    },
    /// There is nothing to study.
    #[error("workload `{workload}` has no layers")]
    NoLayers {
        /// The workload.
        workload: String,
    },
}

impl Network {
    /// The layers of a workload.
    ///
    /// # Errors
    /// [`NetworkError`]: a layout operator that rearranges maps (concatenations of channels are followed, and
    /// reshaping where the reader needs the whole map anyway), outputs of other layers than the last, or
    /// no layers.
    pub fn new(
        workload: &Workload,
        kind: &CoreKind,
        mapping: &Mapping,
        mix: bool,
        rules: Rules,
    ) -> Result<Self, NetworkError> {
        if workload.layers.is_empty() {
            return Err(NetworkError::NoLayers { workload: workload.name.clone() });
        }
        if let Some(layer) = second_output(workload) {
            return Err(NetworkError::SecondOutput { layer });
        }
        let mut outside: Vec<TensorId> = Vec::new();
        let mut extents = Vec::new();
        let mut stages = Vec::with_capacity(workload.layers.len());
        for layer in &workload.layers {
            let whole: Vec<_> = layer.dims.iter().map(|dim| 0..dim.size).collect();
            let nest = class_of_box(workload, layer, &whole).nest;
            let mut inputs = Vec::new();
            for (operand, description) in layer.operands.iter().enumerate().skip(1) {
                let Some(tensor) = description.tensor.filter(|_| !description.constant) else {
                    continue;
                };
                let whole = workload.tensor(tensor).shape.get(1).copied().unwrap_or(1);
                for tensor in maps_behind(workload, layer, operand, tensor, &nest)? {
                    let from = match workload.tensor(tensor).origin {
                        Origin::Layer(from) => Source::Stage(from.index()),
                        Origin::Constant => continue,
                        Origin::Input | Origin::Layout(_) => {
                            let known = outside.iter().position(|other| *other == tensor);
                            Source::Outside(known.unwrap_or_else(|| {
                                outside.push(tensor);
                                extents.push(extents_of(workload, layer, operand));
                                outside.len() - 1
                            }))
                        }
                    };
                    let part = workload.tensor(tensor).shape.get(1).copied().unwrap_or(1);
                    let share = if part < whole { [part, whole] } else { [1, 1] };
                    inputs.push(Input { operand, from, offset: offsets(layer, operand), share });
                }
            }
            let constraint = match (mapping.entry(layer), rules) {
                (None, Rules::Reference) => dataflow(kind, &nest),
                (entry, _) => constraint(entry, kind, &nest, mix),
            };
            stages.push(Stage { name: layer.name.clone(), nest, inputs, constraint });
        }
        Ok(Self { stages, outside: extents })
    }
}

/// A layer in front of the last one whose output leaves the network.
fn second_output(workload: &Workload) -> Option<String> {
    let mut open = workload.outputs.clone();
    while let Some(tensor) = open.pop() {
        match workload.tensor(tensor).origin {
            Origin::Layer(at) if at.index() + 1 < workload.layers.len() => {
                return Some(workload.layer(at).name.clone());
            }
            Origin::Layout(at) => open.extend(&workload.layouts[at as usize].inputs),
            Origin::Layer(_) | Origin::Input | Origin::Constant => {}
        }
    }
    None
}

/// The tensors that an operand reads, seen through concatenations of channels, and through reshaping where the
/// reader needs the whole map anyway.
fn maps_behind(
    workload: &Workload,
    layer: &Layer,
    operand: usize,
    tensor: TensorId,
    nest: &LoopNest,
) -> Result<Vec<TensorId>, NetworkError> {
    let (mut maps, mut open) = (Vec::new(), vec![tensor]);
    while let Some(tensor) = open.pop() {
        let Origin::Layout(at) = workload.tensor(tensor).origin else {
            maps.push(tensor);
            continue;
        };
        let layout = &workload.layouts[at as usize];
        let followed = match layout.map {
            LayoutMap::Reshape => !has_axes(&nest.operands[operand], nest),
            LayoutMap::Concat { axis } => axis == 1,
            _ => false,
        };
        if !followed {
            let (layer, operator) = (layer.name.clone(), layout.operator.clone());
            return Err(NetworkError::Rearranged { layer, operator });
        }
        open.extend(layout.inputs.iter().rev());
    }
    Ok(maps)
}

/// The axis of an operand's tensor that follows an axis of the output.
fn axis_of(layer: &Layer, operand: usize, axis: usize) -> Option<usize> {
    let along = |term: &Term| layer.dims[term.dim].dim.0 == AXES[axis];
    layer.operands[operand].axes.iter().position(|one| one.terms.iter().any(along))
}

fn offsets(layer: &Layer, operand: usize) -> [i64; 2] {
    [0, 1].map(|axis| axis_of(layer, operand, axis).map_or(0, |at| layer.operands[operand].axes[at].offset))
}

/// Extents along both axes of an input that comes from outside.
fn extents_of(workload: &Workload, layer: &Layer, operand: usize) -> [u64; 2] {
    let shape = layer.operands[operand].tensor.map(|tensor| &workload.tensor(tensor).shape);
    [0, 1].map(|axis| match (shape, axis_of(layer, operand, axis)) {
        (Some(shape), Some(at)) => shape[at],
        _ => 1,
    })
}

/// The core's dataflow as the reference's networks have it: where a layer lacks the channels K, its groups take
/// their place; array dimensions whose loops a layer lacks stay idle.
pub fn dataflow(kind: &CoreKind, nest: &LoopNest) -> MappingConstraint {
    let fixed = kind.dataflows.iter().map(|flow| {
        let unrolled = flow.unrolled.iter().map(|(dim, factor)| match dim.0.as_str() {
            _ if nest.size(dim) > 1 => (dim.clone(), *factor),
            "K" if nest.size(&Dim::new("G")) > 1 => (Dim::new("G"), *factor),
            _ => (dim.clone(), 1.0),
        });
        ArrayMapping { array_dim: flow.array_dim.clone(), unrolled: unrolled.collect() }
    });
    MappingConstraint { fixed: fixed.collect(), ..MappingConstraint::default() }
}

fn has_axes(operand: &NestOperand, nest: &LoopNest) -> bool {
    AXES.iter().any(|axis| operand.indices.iter().any(|index| on_axis(nest, index, axis)))
}

/// Whether an index moves along the axis of this loop dimension.
fn on_axis(nest: &LoopNest, index: &Dim, axis: &str) -> bool {
    let relation = nest.relations.iter().find(|relation| relation.derived == *index);
    match relation {
        Some(relation) => relation.terms.iter().any(|(dim, _)| dim.0 == axis),
        None => index.0 == axis,
    }
}

impl Stage {
    /// Extent of the whole output along an axis.
    pub fn extent(&self, axis: usize) -> u64 {
        self.nest.size(&Dim::new(AXES[axis]))
    }

    /// How the output reaches into an input along an axis; `whole` is the extent of the input.
    pub fn reach(&self, input: &Input, axis: usize, whole: u64) -> Reach {
        let operand = &self.nest.operands[input.operand];
        let index = operand.indices.iter().find(|index| on_axis(&self.nest, index, AXES[axis]));
        let Some(index) = index else {
            return Reach::All(whole);
        };
        let relation = self.nest.relations.iter().find(|relation| relation.derived == *index);
        relation.map_or(Reach::Same, |relation| {
            let [a, b] = &relation.terms;
            let ((_, stride), (tap, dilation)) = if a.0.0 == AXES[axis] { (a, b) } else { (b, a) };
            Reach::Window { stride: *stride, dilation: *dilation, taps: self.nest.size(tap) }
        })
    }

    /// Bits of an input at one place of both axes.
    pub fn input_bits_per_place(&self, input: &Input) -> u64 {
        self.bits_per_place(input.operand) * input.share[0] / input.share[1]
    }

    /// Whether it reads two maps by different operands, as additions do.
    pub fn has_second_map(&self) -> bool {
        self.inputs.iter().any(|input| input.operand != self.inputs[0].operand)
    }

    /// Bits of an operand at one place of both axes.
    pub fn bits_per_place(&self, operand: usize) -> u64 {
        let operand = &self.nest.operands[operand];
        let off =
            operand.indices.iter().filter(|index| AXES.iter().all(|axis| !on_axis(&self.nest, index, axis)));
        off.map(|index| self.size(index)).product::<u64>() * operand.bits
    }

    fn size(&self, index: &Dim) -> u64 {
        let relation = self.nest.relations.iter().find(|relation| relation.derived == *index);
        relation.map_or_else(|| self.nest.size(index), |relation| relation.extent)
    }

    /// Bits of all constants.
    pub fn weight_bits(&self) -> u64 {
        let constants = self.nest.operands.iter().filter(|operand| operand.constant);
        constants
            .map(|operand| {
                operand.indices.iter().map(|index| self.size(index)).product::<u64>() * operand.bits
            })
            .sum()
    }

    /// Whether it has an operand that is constant, with or without data.
    pub fn has_weights(&self) -> bool {
        self.nest.operands.iter().any(|operand| operand.constant)
    }

    /// The loops of a tile: `outputs` elements along each axis, `needed[input][axis]` of each input.
    pub fn tile(&self, outputs: [u64; 2], needed: &[[u64; 2]]) -> LoopNest {
        let mut nest = self.nest.clone();
        for (axis, size) in AXES.iter().zip(outputs) {
            nest.dims.iter_mut().filter(|(dim, _)| dim.0 == *axis).for_each(|(_, extent)| *extent = size);
        }
        for (input, needed) in self.inputs.iter().zip(needed) {
            for (axis, needed) in AXES.iter().zip(needed) {
                let indices = &self.nest.operands[input.operand].indices;
                let moved = nest.relations.iter_mut().filter(|relation| {
                    indices.contains(&relation.derived)
                        && relation.terms.iter().any(|(dim, _)| dim.0 == *axis)
                });
                moved.for_each(|relation| relation.extent = *needed);
            }
        }
        nest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_span_what_they_touch() {
        let window = |stride, dilation, taps| Reach::Window { stride, dilation, taps };
        // 60 outputs of a 3-tap window touch 62 inputs, two of which the next 60 touch again.
        assert_eq!((window(1, 1, 3).span(60), window(1, 1, 3).overlap(60)), (62, 2));
        // Stride 2: 2*(5-1)+3 = 11, of which one is shared.
        assert_eq!((window(2, 1, 3).span(5), window(2, 1, 3).overlap(5)), (11, 1));
        // Stride 2 with one tap skips every other input.
        assert_eq!((window(2, 1, 1).span(5), window(2, 1, 1).overlap(5)), (5, 0));
    }
}
