#!/usr/bin/env python3
"""Writes the networks of this directory: ONNX models without weights.

    python -m venv venv && venv/bin/pip install onnx && venv/bin/python workloads/generate.py

Weights are declared as external data in files that do not exist, so that a model takes a few
kilobytes; Millstream needs their shapes only. The output is the same bytes on every run.
"""

from pathlib import Path

import onnx
from onnx import TensorProto, helper

HERE = Path(__file__).parent


class Network:
    """A chain of nodes; each method appends one and returns the name of its output."""

    def __init__(self, name, shape):
        self.name = name
        self.nodes = []
        self.weights = []
        self.input = helper.make_tensor_value_info("input", TensorProto.FLOAT, shape)

    def weight(self, name, shape):
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape)
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=f"{self.name}.weights")
        self.weights.append(tensor)
        return name

    def node(self, operator, name, inputs, **attributes):
        self.nodes.append(helper.make_node(operator, inputs, [name], name, **attributes))
        return name

    def conv(self, name, source, shape, stride=1, bias=True):
        """`shape` is [outputs, inputs, height, width]; padding keeps the size at stride 1."""
        inputs = [source, self.weight(f"{name}.weight", shape)]
        if bias:
            inputs.append(self.weight(f"{name}.bias", shape[:1]))
        kernel = shape[2:]
        pads = [extent // 2 for extent in kernel] * 2
        return self.node("Conv", name, inputs, kernel_shape=kernel, strides=[stride] * 2, pads=pads)

    def relu(self, name, source):
        return self.node("Relu", name, [source])

    def save(self, output, shape):
        result = helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, self.name, [self.input], [result], self.weights)
        opset = [helper.make_operatorsetid("", 17)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=8, producer_name="millstream")
        check(model)
        inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
        assert len(inferred.graph.value_info) == len(self.nodes) - 1, "a shape is not inferred"
        path = HERE / f"{self.name}.onnx"
        path.write_bytes(model.SerializeToString(deterministic=True))
        print(f"{path.name}: {len(self.nodes)} nodes, {path.stat().st_size} bytes")


def check(model):
    """The checker of `onnx`, which opens external data, on a copy whose weights are inputs."""
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    for weight in model.graph.initializer:
        info = helper.make_tensor_value_info(weight.name, weight.data_type, weight.dims)
        bare.graph.input.append(info)
    del bare.graph.initializer[:]
    onnx.checker.check_model(bare, full_check=True)


def resnet18():
    """ResNet-18 as torchvision defines it, exported for inference: each batch normalisation is
    folded into the convolution before it, which gets a bias."""
    net = Network("resnet18", [1, 3, 224, 224])
    x = net.relu("relu", net.conv("conv1", "input", [64, 3, 7, 7], stride=2))
    x = net.node("MaxPool", "maxpool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for stage, outputs in enumerate([64, 128, 256, 512], start=1):
        for block in range(2):
            name = f"layer{stage}.{block}"
            stride = 2 if stage > 1 and block == 0 else 1
            y = net.conv(f"{name}.conv1", x, [outputs, channels, 3, 3], stride)
            y = net.conv(f"{name}.conv2", net.relu(f"{name}.relu1", y), [outputs, outputs, 3, 3])
            if stride > 1:
                x = net.conv(f"{name}.downsample", x, [outputs, channels, 1, 1], stride)
            x = net.relu(f"{name}.relu2", net.node("Add", f"{name}.add", [y, x]))
            channels = outputs
    x = net.node("Flatten", "flatten", [net.node("GlobalAveragePool", "avgpool", [x])])
    parameters = [net.weight("fc.weight", [1000, 512]), net.weight("fc.bias", [1000])]
    net.save(net.node("Gemm", "fc", [x, *parameters], transB=1), [1, 1000])


def fsrcnn():
    """FSRCNN (d = 56, s = 12, m = 4) on 540 rows of 960 pixels, with the layers that the studies of
    DepFiN and Stream use: no activations, no biases, and the deconvolution as a 3x3 convolution
    with one output channel per pixel of a 4x4 block."""
    net = Network("fsrcnn", [1, 1, 540, 960])
    layers = [("extract", 56, 5), ("shrink", 12, 1)]
    layers += [(f"map{index}", 12, 3) for index in range(1, 5)]
    layers += [("expand", 56, 1), ("upscale", 16, 3)]
    x, channels = "input", 1
    for name, outputs, kernel in layers:
        x = net.conv(name, x, [outputs, channels, kernel, kernel], bias=False)
        channels = outputs
    net.save(x, [1, 16, 540, 960])


if __name__ == "__main__":
    resnet18()
    fsrcnn()
