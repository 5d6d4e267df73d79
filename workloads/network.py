"""Builds ONNX models without weights: nodes, shapes of weights, checks, the file."""

from pathlib import Path

import onnx
from onnx import TensorProto, helper, numpy_helper
import numpy

HERE = Path(__file__).parent


class Network:
    """A graph under construction; each method appends a node and returns the name of its output.

    Channels of tensors are followed so that a layer need not be told them."""

    def __init__(self, name, shape, inputs=("input",)):
        self.name = name
        self.nodes = []
        self.weights = []
        self.payloads = 0
        self.channels = {}
        self.inputs = []
        for tensor in inputs:
            self.add_input(tensor, shape)

    def add_input(self, name, shape):
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        self.channels[name] = shape[1]
        return name

    def weight(self, name, shape):
        """A parameter: its shape, and no values."""
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape)
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=f"{self.name}.weights")
        self.weights.append(tensor)
        return name

    def numbers(self, name, values, kind=numpy.int64):
        """A constant whose values matter: shapes, axes, scalars."""
        self.weights.append(numpy_helper.from_array(numpy.array(values, dtype=kind), name))
        self.payloads += 1
        return name

    def scalar(self, name, value):
        return self.numbers(name, value, numpy.float32)

    def node(self, operator, name, inputs, **attributes):
        self.nodes.append(helper.make_node(operator, inputs, [name], name, **attributes))
        self.channels[name] = self.channels.get(inputs[0])
        return name

    def split(self, name, source, sizes, axis):
        outputs = [f"{name}.{index}" for index in range(len(sizes))]
        inputs = [source, self.numbers(f"{name}.sizes", sizes)]
        self.nodes.append(helper.make_node("Split", inputs, outputs, name, axis=axis))
        return outputs

    def conv(self, name, source, outputs, kernel, stride=1, pads=None, group=1, bias=True):
        """Without `pads`, padding keeps the size at stride 1; `group` 0 is depthwise."""
        kernel = [kernel] * 2 if isinstance(kernel, int) else list(kernel)
        group = group or self.channels[source]
        shape = [outputs, self.channels[source] // group, *kernel]
        inputs = [source, self.weight(f"{name}.weight", shape)]
        if bias:
            inputs.append(self.weight(f"{name}.bias", [outputs]))
        pads = [extent // 2 for extent in kernel] * 2 if pads is None else pads
        attributes = {"group": group} if group > 1 else {}
        strides = [stride] * 2
        self.node("Conv", name, inputs, kernel_shape=kernel, strides=strides, pads=pads, **attributes)
        self.channels[name] = outputs
        return name

    def conv_relu(self, name, source, outputs, kernel, **options):
        return self.relu(f"{name}.relu", self.conv(name, source, outputs, kernel, **options))

    def relu(self, name, source):
        return self.node("Relu", name, [source])

    def relu6(self, name, source):
        bounds = [f"{self.name}.zero", f"{self.name}.six"]
        if not any(tensor.name == bounds[0] for tensor in self.weights):
            self.scalar(bounds[0], 0)
            self.scalar(bounds[1], 6)
        return self.node("Clip", name, [source, *bounds])

    def maxpool(self, name, source, kernel, stride, pads=(0, 0, 0, 0), **options):
        shape = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": list(pads)}
        return self.node("MaxPool", name, [source], **shape, **options)

    def classifier(self, name, source, inputs, outputs):
        """A fully connected layer on `[1, inputs]`."""
        weights = [self.weight(f"{name}.weight", [outputs, inputs]), self.weight(f"{name}.bias", [outputs])]
        return self.node("Gemm", name, [source, *weights], transB=1)

    def global_average(self, source):
        return self.node("Flatten", "flatten", [self.node("GlobalAveragePool", "avgpool", [source])])

    def linear(self, name, source, inputs, outputs, bias=True):
        """`x @ W + b` on the last axis, as exporters write it."""
        product = self.node("MatMul", name, [source, self.weight(f"{name}.weight", [inputs, outputs])])
        if not bias:
            return product
        return self.node("Add", f"{name}.add", [product, self.weight(f"{name}.bias", [outputs])])

    def reshape(self, name, source, shape):
        return self.node("Reshape", name, [source, self.numbers(f"{name}.shape", shape)])

    def transpose(self, name, source, order):
        return self.node("Transpose", name, [source], perm=order)

    def layer_norm(self, name, source, width):
        weights = [self.weight(f"{name}.weight", [width]), self.weight(f"{name}.bias", [width])]
        return self.node("LayerNormalization", name, [source, *weights], axis=-1)

    def save(self, *outputs):
        """Writes the file; `outputs` are pairs of name and shape."""
        results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs]
        graph = helper.make_graph(self.nodes, self.name, self.inputs, results, self.weights)
        opset = [helper.make_operatorsetid("", 17)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=8, producer_name="millstream")
        check(model)
        inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
        made = sum(len(node.output) for node in self.nodes)
        assert len(inferred.graph.value_info) == made - len(outputs), "a shape is not inferred"
        path = HERE / f"{self.name}.onnx"
        path.write_bytes(model.SerializeToString(deterministic=True))
        print(f"{path.name}: {len(self.nodes)} nodes, {path.stat().st_size} bytes")


def check(model):
    """The checker of `onnx`, which opens external data, on a copy whose weights are inputs."""
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    del bare.graph.initializer[:]
    for weight in model.graph.initializer:
        if weight.data_location == TensorProto.EXTERNAL:
            info = helper.make_tensor_value_info(weight.name, weight.data_type, weight.dims)
            bare.graph.input.append(info)
        else:
            bare.graph.initializer.append(weight)
    onnx.checker.check_model(bare, full_check=True)
