"""The four networks of MLPerf Tiny (v1.0), batch normalisations folded.

Source: Banbury et al., "MLPerf Tiny Benchmark", NeurIPS 2021, and the reference models of its
repository (Keras). TensorFlow's `same` padding with a stride puts the odd element behind.
"""

from network import Network


def resnet8():
    """Image classification: ResNet-8 on CIFAR-10."""
    net = Network("resnet8", [1, 3, 32, 32])
    x = net.conv_relu("conv1", "input", 16, 3)
    for stage, outputs in enumerate([16, 32, 64], start=1):
        stride = 1 if stage == 1 else 2
        pads = [1] * 4 if stride == 1 else [0, 0, 1, 1]
        y = net.conv_relu(f"stack{stage}.conv1", x, outputs, 3, stride=stride, pads=pads)
        y = net.conv(f"stack{stage}.conv2", y, outputs, 3)
        if stride > 1:
            x = net.conv(f"stack{stage}.shortcut", x, outputs, 1, stride)
        x = net.relu(f"stack{stage}.relu", net.node("Add", f"stack{stage}.add", [x, y]))
    kernel = {"kernel_shape": [8, 8], "strides": [8, 8]}
    x = net.node("Flatten", "flatten", [net.node("AveragePool", "avgpool", [x], **kernel)])
    x = net.classifier("dense", x, 64, 10)
    net.save((net.node("Softmax", "softmax", [x], axis=1), [1, 10]))


def ds_cnn():
    """Keyword spotting: DS-CNN on 49 frames of 10 MFCC features, 12 words."""
    net = Network("ds_cnn", [1, 1, 49, 10])
    x = net.conv_relu("conv1", "input", 64, [10, 4], stride=2, pads=[4, 1, 5, 1])
    x = net.node("Dropout", "dropout1", [x])
    for block in range(1, 5):
        x = net.conv_relu(f"block{block}.depthwise", x, 64, 3, group=0)
        x = net.conv_relu(f"block{block}.pointwise", x, 64, 1)
    x = net.node("Dropout", "dropout2", [x])
    x = net.node("AveragePool", "avgpool", [x], kernel_shape=[25, 5], strides=[25, 5])
    x = net.classifier("dense", net.node("Flatten", "flatten", [x]), 64, 12)
    net.save((net.node("Softmax", "softmax", [x], axis=1), [1, 12]))


def mobilenetv1_vww():
    """Visual wake words: MobileNetV1, width 0.25, on 96 x 96 pixels, person or none."""
    net = Network("mobilenetv1_vww", [1, 3, 96, 96])
    x = net.conv_relu("conv1", "input", 8, 3, stride=2, pads=[0, 0, 1, 1])
    blocks = [(16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2)]
    blocks += [(128, 1)] * 5 + [(256, 2), (256, 1)]
    for index, (outputs, stride) in enumerate(blocks, start=1):
        pads = [1] * 4 if stride == 1 else [0, 0, 1, 1]
        name = f"block{index}"
        x = net.conv_relu(f"{name}.depthwise", x, net.channels[x], 3, stride=stride, pads=pads, group=0)
        x = net.conv_relu(f"{name}.pointwise", x, outputs, 1)
    kernel = {"kernel_shape": [3, 3], "strides": [3, 3]}
    x = net.node("Flatten", "flatten", [net.node("AveragePool", "avgpool", [x], **kernel)])
    x = net.classifier("dense", x, 256, 2)
    net.save((net.node("Softmax", "softmax", [x], axis=1), [1, 2]))


def autoencoder():
    """Anomaly detection: an autoencoder of fully connected layers on 5 frames of 128 mel bands."""
    net = Network("autoencoder", [1, 640])
    x, inputs = "input", 640
    widths = [128] * 4 + [8] + [128] * 4
    for index, outputs in enumerate(widths, start=1):
        x = net.relu(f"dense{index}.relu", net.classifier(f"dense{index}", x, inputs, outputs))
        inputs = outputs
    net.save((net.classifier("dense10", x, inputs, 640), [1, 640]))


TINY = [resnet8, ds_cnn, mobilenetv1_vww, autoencoder]
