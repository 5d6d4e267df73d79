//! Live nodes, in order -> layers, layout operators and tensors.
//!
//! The builder owns the workload under construction. Each node either adds to it, or gives another
//! name to a tensor: `Identity` does, and so does an operator that folds into its producer, whose
//! output then is the folded operator's. Initialisers and inputs become tensors when they are first
//! read, so what nobody reads leaves no trace.

use super::node::{Fault, Node, invalid, written};
use super::precision::{self, Element};
use super::read::{LiveNodes, label};
use super::{Activations, OnnxError, ReadOptions};
use super::{constant, elementwise, product, proto, rearrange, window};
use crate::ids::{LayerId, TensorId};
use crate::workload::canonical::Unordered;
use crate::workload::{Axis, Dim, Layer, Layout, LayoutMap, LoopDim, MemoryOperand, Operand};
use crate::workload::{Origin, Tensor, Term, Workload};
use std::collections::{BTreeMap, BTreeSet};

/// Largest extent of a tensor, a pad, stride or dilation. Products of two such numbers and a few
/// sums of them fit 64 bits, so that nothing later has to check.
pub(super) const LIMIT: u64 = 1 << 30;

/// The workload under construction.
pub(super) struct Builder<'a> {
    workload: Workload,
    elements: Vec<Element>,
    values: Vec<Option<Vec<i64>>>,
    names: BTreeMap<&'a str, TensorId>,
    initialisers: BTreeMap<&'a str, &'a proto::Tensor>,
    inputs: BTreeMap<&'a str, &'a proto::ValueInfo>,
    /// Number of times the data of a tensor is read, by the name below all `Identity` nodes.
    readers: BTreeMap<&'a str, usize>,
    aliases: BTreeMap<&'a str, &'a str>,
    layer_names: BTreeSet<String>,
    /// Constants folded into layers.
    folded: BTreeSet<TensorId>,
    opset: i64,
    options: &'a ReadOptions,
}

/// A layer's loop nest while its tensors have no ids yet.
pub(super) struct Nest {
    /// Loop dimensions.
    pub dims: Vec<LoopDim>,
    /// Index of each output axis.
    pub output: Vec<Axis>,
    /// Input operands in the order of the equation.
    pub inputs: Vec<Operand>,
}

/// Builds the workload, in the order of the file.
pub(super) fn build(
    name: &str,
    graph: &proto::Graph,
    live: &LiveNodes,
    options: &ReadOptions,
) -> Result<Unordered, OnnxError> {
    check_dims(graph, options)?;
    let mut builder = Builder::new(name, graph, live, options);
    for index in &live.order {
        let node = Node(&graph.node[*index]);
        let mut inputs = Vec::new();
        for input in &node.0.input {
            inputs.push(if input.is_empty() { None } else { Some(builder.tensor(input)?) });
        }
        builder.step(node, &inputs).map_err(|fault| node.error(fault))?;
    }
    for output in &graph.output {
        let id = builder.tensor(&output.name)?;
        if !builder.workload.outputs.contains(&id) {
            builder.workload.outputs.push(id);
        }
    }
    builder.note_dead(graph, &live.dead);
    builder.note_shapes(graph);
    builder.finish()
}

impl<'a> Builder<'a> {
    fn new(name: &str, graph: &'a proto::Graph, live: &LiveNodes, options: &'a ReadOptions) -> Self {
        let mut aliases: BTreeMap<&str, &str> = BTreeMap::new();
        let mut reads: Vec<&str> = graph.output.iter().map(|output| output.name.as_str()).collect();
        for index in &live.order {
            let node = Node(&graph.node[*index]);
            match node.operator() {
                operator if is_alias(operator) && node.is_standard() => {
                    if let (Some(output), Some(input)) = (node.output(0), node.input(0)) {
                        aliases.insert(output, aliases.get(input).copied().unwrap_or(input));
                    }
                }
                "Shape" | "Size" => {}
                _ => reads.extend(node.0.input.iter().map(String::as_str)),
            }
        }
        let mut readers: BTreeMap<&str, usize> = BTreeMap::new();
        for name in reads {
            *readers.entry(aliases.get(name).copied().unwrap_or(name)).or_default() += 1;
        }
        let workload = Workload {
            name: name.to_owned(),
            layers: Vec::new(),
            tensors: Vec::new(),
            layouts: Vec::new(),
            outputs: Vec::new(),
            notes: Vec::new(),
        };
        Self {
            workload,
            elements: Vec::new(),
            values: Vec::new(),
            names: BTreeMap::new(),
            initialisers: graph.initializer.iter().map(|tensor| (tensor.name.as_str(), tensor)).collect(),
            inputs: graph.input.iter().map(|input| (input.name.as_str(), input)).collect(),
            readers,
            aliases,
            layer_names: BTreeSet::new(),
            folded: BTreeSet::new(),
            opset: live.opset,
            options,
        }
    }

    fn step(&mut self, node: Node<'a>, inputs: &[Option<TensorId>]) -> Result<(), Fault> {
        let operator = node.operator();
        if !node.is_standard() && !elementwise::is_activation(operator) {
            return Err(Fault::Operator);
        }
        match operator {
            _ if is_alias(operator) => self.alias(node, required(inputs, 0)?),
            "Constant" | "ConstantOfShape" | "Shape" | "Size" | "Range" => {
                constant::add(self, node, inputs)
            }
            "Conv" => window::convolution(self, node, inputs),
            "MaxPool" | "AveragePool" | "LpPool" | "GlobalMaxPool" | "GlobalAveragePool"
            | "GlobalLpPool" | "LRN" => window::pooling(self, node, inputs),
            "Gemm" => product::gemm(self, node, inputs),
            "MatMul" => product::matmul(self, node, inputs),
            _ if elementwise::handles(operator) => elementwise::add(self, node, inputs),
            _ if rearrange::handles(operator) => rearrange::add(self, node, inputs),
            _ => Err(Fault::Operator),
        }
    }

    fn alias(&mut self, node: Node<'a>, input: TensorId) -> Result<(), Fault> {
        if let Some(mask) = node.output(1)
            && self.is_read(mask)
        {
            return Err(super::node::unsupported(format!("its mask `{mask}` is read")));
        }
        let output = node.output(0).ok_or_else(|| invalid("it has no output"))?;
        self.names.insert(output, input);
        Ok(())
    }

    /// Shape of a tensor.
    pub fn shape(&self, id: TensorId) -> &[u64] {
        &self.workload.tensor(id).shape
    }

    /// Element type of a tensor.
    pub fn element(&self, id: TensorId) -> Element {
        self.elements[id.index()]
    }

    /// Whether the contents of a tensor are known before the run.
    pub fn is_constant(&self, id: TensorId) -> bool {
        self.workload.tensor(id).origin == Origin::Constant
    }

    /// Values of a small integer tensor, if they are in the file.
    pub fn values(&self, id: TensorId) -> Option<&[i64]> {
        self.values[id.index()].as_deref()
    }

    /// Values that the operator's meaning depends on.
    pub fn needed_values(&self, id: TensorId) -> Result<&[i64], Fault> {
        self.values(id).ok_or_else(|| {
            let tensor = self.workload.tensor(id);
            match tensor.origin {
                Origin::Constant => invalid(format!("the values of `{}` are not in the file", tensor.name)),
                _ => super::node::unsupported(format!("`{}` is computed at run time", tensor.name)),
            }
        })
    }

    /// Whether a live node reads the data of a tensor, or it leaves the network.
    pub fn is_read(&self, name: &str) -> bool {
        self.readers.contains_key(name)
    }

    /// Version of the standard operator set.
    pub fn opset(&self) -> i64 {
        self.opset
    }

    /// Gives a tensor the name by which nodes read it.
    pub fn rename(&mut self, id: TensorId, name: &'a str) {
        name.clone_into(&mut self.workload.tensors[id.index()].name);
        self.names.insert(name, id);
    }

    /// Whether activation functions are layers of their own.
    pub fn separates_activations(&self) -> bool {
        self.options.activations == Activations::Separate
    }

    /// Keeps a constant that is folded into a layer among the tensors: it is a parameter.
    pub fn keep_folded(&mut self, id: TensorId) {
        self.folded.insert(id);
    }

    /// Adds a constant made by a node.
    pub fn add_constant(
        &mut self,
        name: &'a str,
        shape: Vec<u64>,
        element: Element,
        values: Option<Vec<i64>>,
    ) -> Result<(), Fault> {
        let id = self.add_tensor(name.to_owned(), shape, element, Origin::Constant)?;
        self.values[id.index()] = values;
        self.names.insert(name, id);
        Ok(())
    }

    /// Adds a layout operator; `output` is `None` for a step in between, which gets a derived name.
    pub fn add_layout(
        &mut self,
        node: Node<'a>,
        inputs: Vec<TensorId>,
        output: Option<&'a str>,
        shape: Vec<u64>,
        map: LayoutMap,
    ) -> Result<TensorId, Fault> {
        let index = self.workload.layouts.len();
        let name = output.map_or_else(|| format!("{}/step{index}", node.name()), str::to_owned);
        let origin = Origin::Layout(u32::try_from(index).map_err(|_| invalid("too many nodes"))?);
        let id = self.add_tensor(name, shape, self.element(inputs[0]), origin)?;
        self.workload.layouts.push(Layout {
            name: node.name().to_owned(),
            operator: node.operator().to_owned(),
            inputs,
            output: id,
            map,
        });
        if let Some(output) = output {
            self.names.insert(output, id);
        }
        Ok(id)
    }

    /// Adds a layer that makes the node's first output.
    pub fn add_layer(
        &mut self,
        node: Node<'a>,
        shape: Vec<u64>,
        element: Element,
        nest: Nest,
    ) -> Result<TensorId, Fault> {
        let output = node.output(0).ok_or_else(|| invalid("it has no output"))?;
        // Names identify layers in reports; a tensor's name is unique where a node's is not.
        let taken = self.layer_names.contains(node.name());
        let name = if taken { output } else { node.name() }.to_owned();
        let id = self.add_named_layer(name, node.operator(), output.to_owned(), (shape, element), nest)?;
        self.names.insert(output, id);
        Ok(id)
    }

    /// Adds a layer that is one step of a node and makes a tensor between its steps.
    pub fn add_named_layer(
        &mut self,
        name: String,
        operator: &str,
        output: String,
        (shape, element): (Vec<u64>, Element),
        nest: Nest,
    ) -> Result<TensorId, Fault> {
        let Nest { dims, output: axes, inputs } = nest;
        let operations = dims.iter().try_fold(1u64, |product, dim| product.checked_mul(dim.size));
        if operations.is_none_or(|operations| operations > i64::MAX as u64) {
            return Err(invalid("it has more than 2^63 operations"));
        }
        let layer = LayerId::from(self.workload.layers.len());
        let id = self.add_tensor(output, shape, element, Origin::Layer(layer))?;
        let mut operands = vec![operand("O", MemoryOperand::O, Some(id), axes, false)];
        operands.extend(inputs);
        self.layer_names.insert(name.clone());
        let operator = operator.to_owned();
        self.workload.layers.push(Layer { name, operator, dims, operands, folded: Vec::new() });
        Ok(id)
    }

    /// Folds a node into the layer that makes `input`, if nobody else reads that tensor.
    pub fn fold(&mut self, node: Node<'a>, input: TensorId, element: Element) -> bool {
        let (Some(read), Some(output)) = (
            node.0.input.iter().find(|name| self.names.get(name.as_str()) == Some(&input)),
            node.output(0),
        ) else {
            return false;
        };
        let root = self.aliases.get(read.as_str()).copied().unwrap_or(read);
        let Origin::Layer(layer) = self.workload.tensor(input).origin else { return false };
        if self.readers.get(root) != Some(&1) {
            return false;
        }
        let folded = format!("{} {}", node.operator(), node.name());
        self.workload.layers[layer.index()].folded.push(folded);
        self.elements[input.index()] = element;
        self.rename(input, output);
        true
    }

    /// The tensor of that name; an initialiser or input is added when it is first read.
    fn tensor(&mut self, name: &'a str) -> Result<TensorId, OnnxError> {
        if let Some(id) = self.names.get(name) {
            return Ok(*id);
        }
        let fault = |fault| match fault {
            Fault::Invalid(reason) | Fault::Unsupported(reason) => {
                OnnxError::Tensor { tensor: name.to_owned(), reason }
            }
            Fault::Operator => OnnxError::MissingTensor { reader: "a node".to_owned(), tensor: name.to_owned() },
        };
        let id = if let Some(tensor) = self.initialisers.get(name).copied() {
            let shape = constant::shape(&tensor.dims).map_err(fault)?;
            let element = Element(tensor.data_type);
            let id =
                self.add_tensor(name.to_owned(), shape, element, Origin::Constant).map_err(fault)?;
            self.values[id.index()] = constant::integers(tensor);
            id
        } else if let Some(input) = self.inputs.get(name).copied() {
            let (element, shape) = self.input_type(input)?;
            self.add_tensor(name.to_owned(), shape, element, Origin::Input).map_err(fault)?
        } else {
            // An optional output that its operator does not make here.
            return Err(fault(Fault::Operator));
        };
        self.names.insert(name, id);
        Ok(id)
    }

    fn input_type(&self, input: &proto::ValueInfo) -> Result<(Element, Vec<u64>), OnnxError> {
        let untyped = |reason: &str| OnnxError::Tensor {
            tensor: input.name.clone(),
            reason: reason.to_owned(),
        };
        let tensor_type = input.r#type.as_ref().and_then(|of| of.tensor_type.as_ref());
        let tensor_type = tensor_type.ok_or_else(|| untyped("the input is no dense tensor"))?;
        let dims = tensor_type.shape.as_ref().ok_or_else(|| untyped("the input has no shape"))?;
        let mut shape = Vec::new();
        for (axis, dim) in dims.dim.iter().enumerate() {
            let extent = match binding(&input.name, axis, dim) {
                Binding::Fixed(extent) => extent,
                Binding::Free { bind, label } => *self.options.dims.get(&bind).ok_or(
                    OnnxError::UnboundDimension { tensor: input.name.clone(), axis, label, bind },
                )?,
            };
            shape.push(extent);
        }
        Ok((Element(tensor_type.elem_type), shape))
    }

    fn add_tensor(
        &mut self,
        name: String,
        shape: Vec<u64>,
        element: Element,
        origin: Origin,
    ) -> Result<TensorId, Fault> {
        if origin != Origin::Constant && shape.contains(&0) {
            return Err(invalid(format!("tensor `{name}` has no elements ({})", written(&shape))));
        }
        let elements = shape.iter().try_fold(1u64, |product, extent| product.checked_mul(*extent));
        if shape.iter().any(|extent| *extent > LIMIT) || elements.is_none_or(|count| count > 1 << 50) {
            return Err(invalid(format!("tensor `{name}` is too large ({})", written(&shape))));
        }
        if element.bits().is_none() {
            let number = element.0;
            return Err(invalid(format!("tensor `{name}` has element type {number}, which is no number")));
        }
        let id = TensorId::from(self.workload.tensors.len());
        self.workload.tensors.push(Tensor { name, shape, element_bits: 0, origin });
        self.elements.push(element);
        self.values.push(None);
        Ok(id)
    }

    fn note_dead(&mut self, graph: &proto::Graph, dead: &[usize]) {
        let mut names: Vec<&str> = dead.iter().map(|index| label(&graph.node[*index])).collect();
        names.sort_unstable();
        if !names.is_empty() {
            let count = names.len();
            let listed = names[..count.min(8)].join(", ");
            let more = if count > 8 { format!(" and {} more", count - 8) } else { String::new() };
            self.workload.notes.push(format!("dropped, because no output needs them: {listed}{more}"));
        }
    }

    /// Shapes in the file that contradict what inference found.
    fn note_shapes(&mut self, graph: &proto::Graph) {
        let mut notes = Vec::new();
        for info in graph.value_info.iter().chain(&graph.output) {
            let Some(id) = self.names.get(info.name.as_str()) else { continue };
            let tensor_type = info.r#type.as_ref().and_then(|of| of.tensor_type.as_ref());
            let Some(dims) = tensor_type.and_then(|of| of.shape.as_ref()) else { continue };
            let shape = self.shape(*id);
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
        self.workload.notes.extend(notes);
    }

    fn finish(mut self) -> Result<Unordered, OnnxError> {
        let total = |mut sizes: Box<dyn Iterator<Item = u64> + '_>, what| {
            let sum = sizes.try_fold(0u64, u64::checked_add).filter(|sum| *sum <= i64::MAX as u64);
            sum.map(|_| ()).ok_or(OnnxError::TooLarge { what })
        };
        total(Box::new(self.workload.layers.iter().map(Layer::operations)), "operations")?;
        total(Box::new(self.workload.tensors.iter().map(|tensor| 128 * tensor.elements())), "bits")?;
        precision::assign(&mut self.workload, &self.elements, self.options.precision);
        Ok(Unordered { workload: self.workload, kept: self.folded.into_iter().collect() })
    }
}

/// Nodes whose output is their input. `DequantizeLinear` is one because its input is what is stored.
fn is_alias(operator: &str) -> bool {
    matches!(operator, "Identity" | "Dropout" | "DequantizeLinear")
}

enum Binding {
    Fixed(u64),
    Free { bind: String, label: Option<String> },
}

/// A dimension's extent, or the name by which the user binds it: its own, else `tensor.axis`.
fn binding(tensor: &str, axis: usize, dim: &proto::Dimension) -> Binding {
    match &dim.value {
        Some(proto::Extent::Value(value)) if *value > 0 => Binding::Fixed(*value as u64),
        Some(proto::Extent::Param(name)) if !name.is_empty() => {
            Binding::Free { bind: name.clone(), label: Some(name.clone()) }
        }
        _ => Binding::Free { bind: format!("{tensor}.{axis}"), label: None },
    }
}

/// Refuses a `--dim` that binds nothing: a misspelt name would silently change nothing.
fn check_dims(graph: &proto::Graph, options: &ReadOptions) -> Result<(), OnnxError> {
    let mut known = BTreeSet::new();
    for input in &graph.input {
        let tensor_type = input.r#type.as_ref().and_then(|of| of.tensor_type.as_ref());
        let dims = tensor_type.and_then(|of| of.shape.as_ref());
        for (axis, dim) in dims.iter().flat_map(|shape| shape.dim.iter().enumerate()) {
            if let Binding::Free { bind, .. } = binding(&input.name, axis, dim) {
                known.insert(bind);
            }
        }
    }
    match options.dims.keys().find(|name| !known.contains(*name)) {
        None => Ok(()),
        Some(name) => {
            let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Err(OnnxError::UnknownDimension { name: name.clone(), known })
        }
    }
}

fn written_dimension(dim: &proto::Dimension) -> String {
    match &dim.value {
        Some(proto::Extent::Value(value)) => value.to_string(),
        Some(proto::Extent::Param(name)) => name.clone(),
        None => "?".to_owned(),
    }
}

/// An input that the operator cannot do without.
pub(super) fn required(inputs: &[Option<TensorId>], index: usize) -> Result<TensorId, Fault> {
    inputs.get(index).copied().flatten().ok_or_else(|| invalid(format!("input {index} is missing")))
}

/// An input that may be left out.
pub(super) fn optional(inputs: &[Option<TensorId>], index: usize) -> Option<TensorId> {
    inputs.get(index).copied().flatten()
}

/// A loop dimension.
pub(super) fn loop_dim(name: &str, size: u64) -> LoopDim {
    LoopDim { dim: Dim::new(name), size }
}

/// An operand whose bits are given later.
pub(super) fn operand(
    name: &str,
    memory: MemoryOperand,
    tensor: Option<TensorId>,
    axes: Vec<Axis>,
    constant: bool,
) -> Operand {
    Operand { name: name.to_owned(), memory, tensor, axes, bits: 0, partial_bits: 0, constant }
}

/// The index along an axis is a sum of `coefficient * dim`; no term: the axis is read at 0.
pub(super) fn digits(terms: &[(usize, u64)]) -> Axis {
    let terms = terms.iter().map(|(dim, coefficient)| Term { dim: *dim, coefficient: *coefficient });
    Axis { terms: terms.collect(), offset: 0, sliding: false }
}

/// The index along an axis is one loop dimension.
pub(super) fn along(dim: usize) -> Axis {
    digits(&[(dim, 1)])
}
