//! Tensors and their shapes from the index expressions of layers.
//!
//! An index that is a loop dimension spans its size. A derived index `s*a + d*b - p` spans
//! `s*(A-1) + d*(B-1) + 1` positions, of which padding is no data. A consumer reads the tensor of
//! its producer itself: spans that the producer's extent does not cover are padding, given by the
//! file or derived from the difference; rows that no window reaches may remain (fewer than the
//! stride). `g` followed by `k` or `c` is one channel axis, `K*g + k`, so that a grouped layer meets
//! one that is not. Equal numbers of elements under other shapes are read through a reshape.

use super::FileLayer;
use crate::diagnostic::Diagnostic;
use crate::document::Reading;
use crate::ids::{LayerId, TensorId};
use crate::workload::{Axis, Dim, Layer, Layout, LayoutMap, Operand, Origin, Tensor, Term, Workload};
use std::collections::{BTreeMap, BTreeSet};

/// Builds the workload; errors of shapes are added to the reading.
pub(super) fn build(
    reading: &mut Reading,
    name: &str,
    layers: &[FileLayer<'_>],
    positions: &BTreeMap<i128, usize>,
    order: &[usize],
) -> Workload {
    let workload = Workload {
        name: name.to_owned(),
        layers: Vec::new(),
        tensors: Vec::new(),
        layouts: Vec::new(),
        outputs: Vec::new(),
        notes: Vec::new(),
    };
    let mut builder = Builder {
        reading,
        layers,
        positions,
        workload,
        made: vec![None; layers.len()],
        padded: Vec::new(),
        repadded: Vec::new(),
        names: BTreeSet::new(),
    };
    order.iter().for_each(|position| builder.layer(*position));
    builder.finish()
}

struct Builder<'a, 'b> {
    reading: &'a mut Reading,
    layers: &'a [FileLayer<'b>],
    positions: &'a BTreeMap<i128, usize>,
    workload: Workload,
    /// Output tensor of each layer of the file.
    made: Vec<Option<TensorId>>,
    /// Layers whose padding follows from shapes.
    padded: Vec<String>,
    /// Layers whose given padding does not fit their input.
    repadded: Vec<String>,
    names: BTreeSet<String>,
}

impl Builder<'_, '_> {
    fn layer(&mut self, position: usize) {
        let layer = &self.layers[position];
        let id = LayerId::from(self.workload.layers.len());
        let mut operands = Vec::new();
        for (index, indexed) in layer.equation.operands.iter().enumerate() {
            let (bits, partial_bits) = layer.bits[index];
            let mut axes: Vec<DerivedAxis> = axes(layer, &indexed.indices);
            let tensor = match index {
                0 => {
                    let shape = axes.iter().map(|axis| axis.span).collect();
                    let tensor = self.tensor(layer, index, shape, Origin::Layer(id));
                    self.made[position] = Some(tensor);
                    Some(tensor)
                }
                _ if bits == 0 => None,
                _ => self.input(layer, index, &mut axes),
            };
            operands.push(Operand {
                name: indexed.name.clone(),
                memory: layer.memory(index),
                tensor,
                axes: axes.into_iter().map(|axis| axis.axis).collect(),
                bits,
                partial_bits,
                constant: index > 0 && (layer.is_constant(index) || bits == 0),
            });
        }
        self.workload.layers.push(Layer {
            name: layer.name.clone(),
            operator: layer.operator.clone(),
            dims: layer.dims.clone(),
            operands,
            folded: Vec::new(),
            inference: 0,
        });
    }

    /// The tensor of an input operand; sets the padding of its axes.
    fn input(&mut self, layer: &FileLayer<'_>, index: usize, axes: &mut [DerivedAxis]) -> Option<TensorId> {
        let (source, _) = layer.sources[index]?;
        if source == layer.id {
            let origin = if layer.is_constant(index) { Origin::Constant } else { Origin::Input };
            let shape = axes.iter_mut().map(|axis| axis.own_extent(layer)).collect();
            return Some(self.tensor(layer, index, shape, origin));
        }
        let tensor = self.made[*self.positions.get(&source)?]?;
        let shape = self.workload.tensor(tensor).shape.clone();
        if self.fit(layer, axes, &shape) {
            return Some(tensor);
        }
        let wanted: Vec<u64> = axes.iter_mut().map(|axis| axis.own_extent(layer)).collect();
        let elements = |shape: &[u64]| shape.iter().product::<u64>();
        if elements(&wanted) == elements(&shape) {
            return Some(self.reshape(layer, index, tensor, wanted));
        }
        self.mismatch(layer, index, source, &wanted, &shape);
        None
    }

    /// Fits the axes to the shape of the producer's tensor. False where they do not agree.
    fn fit(&mut self, layer: &FileLayer<'_>, axes: &mut [DerivedAxis], shape: &[u64]) -> bool {
        if axes.len() != shape.len() {
            return false;
        }
        let fits: Option<Vec<Fit>> =
            axes.iter().zip(shape).map(|(axis, extent)| axis.fit(layer, *extent)).collect();
        let Some(fits) = fits else { return false };
        for (axis, fit) in axes.iter_mut().zip(&fits) {
            axis.axis.offset = -(fit.front as i64);
        }
        if fits.iter().any(|fit| fit.padding == Padding::Replaced) {
            self.repadded.push(layer.name.clone());
        } else if fits.iter().any(|fit| fit.padding == Padding::Derived) {
            self.padded.push(layer.name.clone());
        }
        true
    }

    fn reshape(&mut self, layer: &FileLayer<'_>, index: usize, input: TensorId, shape: Vec<u64>) -> TensorId {
        let layout = self.workload.layouts.len() as u32;
        let output = self.tensor(layer, index, shape, Origin::Layout(layout));
        let name = self.workload.tensor(output).name.clone();
        self.workload.notes.push(format!(
            "layer {} reads {} reshaped to {}",
            layer.name,
            dimensions(&self.workload.tensor(input).shape),
            dimensions(&self.workload.tensor(output).shape)
        ));
        let operator = "Reshape".to_owned();
        let map = LayoutMap::Reshape;
        self.workload.layouts.push(Layout { name, operator, inputs: vec![input], output, map });
        output
    }

    fn mismatch(&mut self, layer: &FileLayer<'_>, index: usize, source: i128, wanted: &[u64], made: &[u64]) {
        let operand = &layer.equation.operands[index].name;
        let (wanted, made) = (dimensions(wanted), dimensions(made));
        let message = format!(
            "operand {operand} of layer {} needs {wanted}, but layer {source} makes {made}",
            layer.id
        );
        let error = Diagnostic::new(message)
            .label(format!("{made} comes from here"))
            .help("compare `loop_sizes` of both layers; `padding` covers what is missing in space");
        if let Some((_, node)) = layer.sources[index] {
            self.reading.error(node, error);
        }
    }

    fn tensor(&mut self, layer: &FileLayer<'_>, index: usize, shape: Vec<u64>, origin: Origin) -> TensorId {
        let id = TensorId::from(self.workload.tensors.len());
        let operand = &layer.equation.operands[index].name;
        let mut name = format!("{}.{operand}", layer.name);
        if !self.names.insert(name.clone()) {
            name = format!("{}#{}.{operand}", layer.name, layer.id);
        }
        let element_bits = layer.bits[index].0;
        self.workload.tensors.push(Tensor { name, shape, element_bits, origin });
        id
    }

    fn finish(mut self) -> Workload {
        let read: BTreeSet<TensorId> = (self.workload.layers.iter())
            .flat_map(|layer| layer.inputs().iter().filter_map(|operand| operand.tensor))
            .chain(self.workload.layouts.iter().flat_map(|layout| layout.inputs.iter().copied()))
            .collect();
        let outputs = self.made.iter().flatten().filter(|tensor| !read.contains(tensor));
        self.workload.outputs = outputs.copied().collect();
        let notes = [
            (self.padded, "is derived from the shape of its input, the front half rounded up"),
            (self.repadded, "does not fit its input and is derived from the shapes"),
        ];
        for (names, what) in notes {
            if let Some(first) = names.first() {
                let more = match names.len() {
                    1 => String::new(),
                    count => format!(" and {} more", count - 1),
                };
                self.workload.notes.push(format!("padding of layer {first}{more} {what}"));
            }
        }
        self.workload
    }
}

/// An axis with what its derivation needs.
struct DerivedAxis {
    axis: Axis,
    /// Positions it touches, padding included.
    span: u64,
    /// The derived dimension, if it is one, and the coefficient of its first term, the stride.
    derived: Option<(Dim, u64)>,
}

/// Where the padding of an axis comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Padding {
    Given,
    Derived,
    Replaced,
}

/// How an axis lies on a producer's axis.
struct Fit {
    front: u64,
    padding: Padding,
}

impl DerivedAxis {
    /// Extent of an axis whose tensor no layer makes: given, or the span without its padding.
    fn own_extent(&mut self, layer: &FileLayer<'_>) -> u64 {
        let Some((dim, _)) = &self.derived else {
            return self.span;
        };
        let (front, back) = layer.padding.get(dim).copied().unwrap_or((0, 0));
        self.axis.offset = -(front as i64);
        match layer.extents.get(dim) {
            Some((extent, _)) => *extent,
            None => self.span.saturating_sub(front + back).max(1),
        }
    }

    fn fit(&self, layer: &FileLayer<'_>, extent: u64) -> Option<Fit> {
        let Some((dim, stride)) = &self.derived else {
            return (self.span == extent).then_some(Fit { front: 0, padding: Padding::Given });
        };
        if layer.extents.get(dim).is_some_and(|(given, _)| *given != extent) {
            return None;
        }
        // Rows behind the last window remain unread; a stride of s leaves fewer than s of them.
        let covers = |padding: u64| extent + padding < self.span + stride;
        let given = layer.padding.get(dim).copied();
        if let Some((front, back)) = given
            && self.span <= extent + front + back
            && covers(front + back)
        {
            return Some(Fit { front, padding: Padding::Given });
        }
        let missing = self.span.saturating_sub(extent);
        // More padding than the window's own overhang would be rows of nothing but padding.
        let window = self.window(layer);
        if !covers(missing) || missing > 2 * window.saturating_sub(1) {
            return None;
        }
        let padding = match (given, missing) {
            (Some(_), _) => Padding::Replaced,
            (None, 0) => Padding::Given,
            (None, _) => Padding::Derived,
        };
        // Convolutions pad alike on both sides and may not reach the last padded row, so the front
        // half is the larger one: 224 wide, 7 wide, stride 2 misses 5 and has 3 in front.
        Some(Fit { front: missing.div_ceil(2), padding })
    }

    /// Positions that one window touches.
    fn window(&self, layer: &FileLayer<'_>) -> u64 {
        self.axis.terms.get(1).map_or(1, |term| term.coefficient * (layer.dims[term.dim].size - 1) + 1)
    }
}

/// Axes of an operand with zero offsets.
fn axes(layer: &FileLayer<'_>, indices: &[Dim]) -> Vec<DerivedAxis> {
    let weights = ["K", "C"].iter().all(|name| indices.contains(&Dim::new(name)));
    let mut axes: Vec<DerivedAxis> = Vec::new();
    let mut group: Option<usize> = None;
    for index in indices {
        let relation = layer.relations.iter().find(|relation| relation.derived == *index);
        let terms = match relation {
            Some(relation) => relation.terms.to_vec(),
            None => vec![(position(layer, index), 1)],
        };
        let reach = terms.iter().map(|(dim, factor)| factor * (layer.dims[*dim].size - 1));
        let span = reach.sum::<u64>() + 1;
        let channel = matches!(index.0.as_str(), "K" | "C") && !weights;
        if let (Some(group), true, Some(last)) = (group, channel, axes.last_mut()) {
            last.axis.terms =
                vec![Term { dim: group, coefficient: span }, Term { dim: terms[0].0, coefficient: 1 }];
            last.span *= span;
            continue;
        }
        group = (index.0 == "G").then_some(terms[0].0);
        axes.push(DerivedAxis {
            axis: Axis {
                terms: (terms.iter())
                    .map(|(dim, coefficient)| Term { dim: *dim, coefficient: *coefficient })
                    .collect(),
                offset: 0,
                sliding: relation.is_some(),
            },
            span,
            derived: relation.map(|relation| (relation.derived.clone(), relation.terms[0].1)),
        });
    }
    axes
}

/// Position of a loop dimension. Invariant: the equation was checked to have no other indices.
fn position(layer: &FileLayer<'_>, dim: &Dim) -> usize {
    layer.dims.iter().position(|candidate| candidate.dim == *dim).unwrap_or_default()
}

fn dimensions(shape: &[u64]) -> String {
    let extents: Vec<_> = shape.iter().map(ToString::to_string).collect();
    extents.join("x")
}
