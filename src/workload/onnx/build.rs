//! Live nodes, in order -> layers, layout operators and tensors.
//!
//! The builder owns the workload under construction. Each node either adds to it, or gives another
//! name to a tensor: `Identity` does, and so does an operator that folds into its producer, whose
//! output then is the folded operator's. Initialisers and inputs become tensors when they are first
//! read, so what nobody reads leaves no trace.

use super::loops::{Nest, operand, required};
use super::node::{Fault, Node, invalid, written};
use super::precision::{self, Element};
use super::read::LiveNodes;
use super::{Activations, OnnxError, ReadOptions};
use super::{constant, elementwise, inputs, notes, product, proto, rearrange, window, written};
use crate::ids::{LayerId, TensorId};
use crate::workload::canonical::Unordered;
use crate::workload::{Layer, Layout, LayoutMap, MemoryOperand, Origin, Tensor, Workload};
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
    /// Inputs of the network that are weights.
    weights: BTreeSet<&'a str>,
    layer_names: BTreeSet<String>,
    /// Constants folded into layers.
    folded: BTreeSet<TensorId>,
    opset: i64,
    options: &'a ReadOptions,
}

/// Builds the workload, in the order of the file.
pub(super) fn build(
    name: &str,
    graph: &proto::Graph,
    live: &LiveNodes,
    options: &ReadOptions,
) -> Result<Unordered, OnnxError> {
    inputs::check_dims(graph, options)?;
    let mut builder = Builder::new(name, graph, live, options);
    let (aliases, readers) = (&builder.aliases, &builder.readers);
    let regions = written::regions(&written::Graph { graph, live, aliases, readers });
    for index in live.order.iter().filter(|index| !regions.inside.contains(*index)) {
        let node = Node(&graph.node[*index]);
        if let Some(region) = regions.last.get(index) {
            let root = builder.tensor(region.root)?;
            let added = elementwise::written_out(&mut builder, node, region.operator, root);
            added.map_err(|fault| node.error(fault))?;
            continue;
        }
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
    builder.workload.notes.extend(notes::dead_nodes(graph, &live.dead));
    builder.workload.notes.extend(notes::weights(&builder.weights));
    let known = |name: &str| builder.names.get(name).map(|id| builder.shape(*id));
    let contradictions = notes::contradictions(graph, known);
    builder.workload.notes.extend(contradictions);
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
            weights: inputs::weights(graph, live),
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
            "Constant" | "ConstantOfShape" | "Shape" | "Size" | "Range" => constant::add(self, node, inputs),
            "Conv" => window::convolution(self, node, inputs),
            "MaxPool" | "AveragePool" | "LpPool" | "GlobalMaxPool" | "GlobalAveragePool" | "GlobalLpPool"
            | "LRN" => window::pooling(self, node, inputs),
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
        self.add_layer_as(node, node.operator(), (shape, element), nest)
    }

    /// The same under another operator.
    pub fn add_layer_as(
        &mut self,
        node: Node<'a>,
        operator: &str,
        (shape, element): (Vec<u64>, Element),
        nest: Nest,
    ) -> Result<TensorId, Fault> {
        let output = node.output(0).ok_or_else(|| invalid("it has no output"))?;
        // Names identify layers in reports; a tensor's name is unique where a node's is not.
        let taken = self.layer_names.contains(node.name());
        let name = if taken { output } else { node.name() }.to_owned();
        let name = self.unused_name(name);
        let id = self.add_named_layer(name, operator, output.to_owned(), (shape, element), nest)?;
        self.names.insert(output, id);
        Ok(id)
    }

    /// The name, with a number behind it if a layer has it already.
    pub fn unused_name(&self, name: String) -> String {
        let mut numbered = (2..).map(|number| format!("{name}#{number}"));
        match self.layer_names.contains(&name) {
            true => numbered.find(|name| !self.layer_names.contains(name)).unwrap_or_default(),
            false => name,
        }
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
        self.workload.layers.push(Layer { name, operator, dims, operands, folded: Vec::new(), inference: 0 });
        Ok(id)
    }

    /// Folds a node into the layer that makes `input`, if nobody else reads that tensor.
    pub fn fold(&mut self, node: Node<'a>, input: TensorId, element: Element) -> bool {
        let (Some(read), Some(output)) =
            (node.0.input.iter().find(|name| self.names.get(name.as_str()) == Some(&input)), node.output(0))
        else {
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

    /// Folds nodes that together are the only readers of `input` into the layer that makes it; `node`
    /// is the last of them, `operator` what they are.
    pub fn fold_whole(&mut self, node: Node<'a>, operator: &str, input: TensorId) -> bool {
        let (Origin::Layer(layer), Some(output)) = (self.workload.tensor(input).origin, node.output(0))
        else {
            return false;
        };
        self.workload.layers[layer.index()].folded.push(format!("{operator} {}", node.name()));
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
            Fault::Operator => {
                OnnxError::MissingTensor { reader: "a node".to_owned(), tensor: name.to_owned() }
            }
        };
        let id = if let Some(tensor) = self.initialisers.get(name).copied() {
            let shape = constant::shape(&tensor.dims).map_err(fault)?;
            let element = Element(tensor.data_type);
            let id = self.add_tensor(name.to_owned(), shape, element, Origin::Constant).map_err(fault)?;
            self.values[id.index()] = constant::integers(tensor);
            id
        } else if let Some(input) = self.inputs.get(name).copied() {
            let (element, shape) = inputs::input_type(input, self.options)?;
            let weight = self.weights.contains(name);
            let origin = if weight { Origin::Constant } else { Origin::Input };
            self.add_tensor(name.to_owned(), shape, element, origin).map_err(fault)?
        } else {
            // An optional output that its operator does not make here.
            return Err(fault(Fault::Operator));
        };
        self.names.insert(name, id);
        Ok(id)
    }

    fn add_tensor(
        &mut self,
        name: String,
        shape: Vec<u64>,
        element: Element,
        origin: Origin,
    ) -> Result<TensorId, Fault> {
        if origin != Origin::Constant && shape.contains(&0) {
            return Err(invalid(format!("the shape {} has no elements", written(&shape))));
        }
        let elements = shape.iter().try_fold(1u64, |product, extent| product.checked_mul(*extent));
        if shape.iter().any(|extent| *extent > LIMIT) || elements.is_none_or(|count| count > 1 << 50) {
            return Err(invalid(format!("the shape {} is too large", written(&shape))));
        }
        if element.bits().is_none() {
            let number = element.0;
            return Err(invalid(format!("element type {number} is no number")));
        }
        let id = TensorId::from(self.workload.tensors.len());
        self.workload.tensors.push(Tensor { name, shape, element_bits: 0, origin });
        self.elements.push(element);
        self.values.push(None);
        Ok(id)
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
