"""Convolutional networks for images of 224 x 224 pixels, and FSRCNN."""

from network import Network


def resnet18():
    """ResNet-18 as torchvision defines it."""
    net = Network("resnet18", [1, 3, 224, 224])
    x = net.relu("relu", net.conv("conv1", "input", 64, 7, stride=2))
    x = net.maxpool("maxpool", x, 3, 2, [1] * 4)
    for stage, outputs in enumerate([64, 128, 256, 512], start=1):
        for block in range(2):
            name = f"layer{stage}.{block}"
            stride = 2 if stage > 1 and block == 0 else 1
            y = net.conv(f"{name}.conv1", x, outputs, 3, stride)
            y = net.conv(f"{name}.conv2", net.relu(f"{name}.relu1", y), outputs, 3)
            if stride > 1:
                x = net.conv(f"{name}.downsample", x, outputs, 1, stride)
            x = net.relu(f"{name}.relu2", net.node("Add", f"{name}.add", [y, x]))
    net.save((net.classifier("fc", net.global_average(x), 512, 1000), [1, 1000]))


def resnet50():
    """ResNet-50 as torchvision defines it: the stride is in the 3x3 convolution."""
    net = Network("resnet50", [1, 3, 224, 224])
    x = net.relu("relu", net.conv("conv1", "input", 64, 7, stride=2))
    x = net.maxpool("maxpool", x, 3, 2, [1] * 4)
    for stage, (width, blocks) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)], start=1):
        for block in range(blocks):
            name = f"layer{stage}.{block}"
            stride = 2 if stage > 1 and block == 0 else 1
            y = net.conv_relu(f"{name}.conv1", x, width, 1)
            y = net.conv_relu(f"{name}.conv2", y, width, 3, stride=stride)
            y = net.conv(f"{name}.conv3", y, 4 * width, 1)
            if block == 0:
                x = net.conv(f"{name}.downsample", x, 4 * width, 1, stride)
            x = net.relu(f"{name}.relu", net.node("Add", f"{name}.add", [y, x]))
    net.save((net.classifier("fc", net.global_average(x), 2048, 1000), [1, 1000]))


def mobilenetv2():
    """MobileNetV2, width 1.0, as torchvision defines it; ReLU6 is a Clip."""
    net = Network("mobilenetv2", [1, 3, 224, 224])
    x = net.relu6("stem.relu6", net.conv("stem", "input", 32, 3, 2))
    block = 0
    for expand, outputs, repeats, stride in [
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ]:
        for repeat in range(repeats):
            name = f"block{block}"
            block += 1
            inputs = net.channels[x]
            step = stride if repeat == 0 else 1
            y = x
            if expand > 1:
                y = net.relu6(f"{name}.expand.relu6", net.conv(f"{name}.expand", y, expand * inputs, 1))
            y = net.conv(f"{name}.depthwise", y, net.channels[y], 3, step, group=0)
            y = net.conv(f"{name}.project", net.relu6(f"{name}.depthwise.relu6", y), outputs, 1)
            x = net.node("Add", f"{name}.add", [x, y]) if step == 1 and inputs == outputs else y
    x = net.relu6("head.relu6", net.conv("head", x, 1280, 1))
    net.save((net.classifier("classifier", net.global_average(x), 1280, 1000), [1, 1000]))


def squeezenet():
    """SqueezeNet 1.1 as torchvision defines it; Dropout is part of the file."""
    net = Network("squeezenet", [1, 3, 224, 224])
    x = net.conv_relu("conv1", "input", 64, 3, stride=2, pads=[0] * 4)
    fires = [(16, 64), (16, 64), None, (32, 128), (32, 128), None]
    fires += [(48, 192), (48, 192), (64, 256), (64, 256)]
    x = net.maxpool("maxpool1", x, 3, 2, ceil_mode=1)
    for index, fire in enumerate(fires, start=2):
        name = f"fire{index}"
        if fire is None:
            x = net.maxpool(f"maxpool{index}", x, 3, 2, ceil_mode=1)
            continue
        squeeze, expand = fire
        x = net.conv_relu(f"{name}.squeeze", x, squeeze, 1)
        one = net.conv_relu(f"{name}.expand1x1", x, expand, 1)
        three = net.conv_relu(f"{name}.expand3x3", x, expand, 3)
        x = net.node("Concat", f"{name}.concat", [one, three], axis=1)
        net.channels[x] = 2 * expand
    x = net.node("Dropout", "dropout", [x])
    x = net.conv_relu("classifier", x, 1000, 1)
    net.save((net.global_average(x), [1, 1000]))


def inception_v1():
    """GoogLeNet as in the paper: 5x5 kernels, local response normalisation, no auxiliary heads."""
    net = Network("inception_v1", [1, 3, 224, 224])
    lrn = {"size": 5, "alpha": 1e-4, "beta": 0.75, "bias": 1.0}
    x = net.conv_relu("conv1", "input", 64, 7, stride=2)
    x = net.maxpool("pool1", x, 3, 2, ceil_mode=1)
    x = net.conv_relu("conv2.reduce", net.node("LRN", "norm1", [x], **lrn), 64, 1)
    x = net.conv_relu("conv2", x, 192, 3)
    x = net.maxpool("pool2", net.node("LRN", "norm2", [x], **lrn), 3, 2, ceil_mode=1)
    # Outputs of 1x1; 3x3 reduce, 3x3; 5x5 reduce, 5x5; projection after the pooling.
    modules = [
        ("3a", 64, 96, 128, 16, 32, 32),
        ("3b", 128, 128, 192, 32, 96, 64),
        ("pool3",),
        ("4a", 192, 96, 208, 16, 48, 64),
        ("4b", 160, 112, 224, 24, 64, 64),
        ("4c", 128, 128, 256, 24, 64, 64),
        ("4d", 112, 144, 288, 32, 64, 64),
        ("4e", 256, 160, 320, 32, 128, 128),
        ("pool4",),
        ("5a", 256, 160, 320, 32, 128, 128),
        ("5b", 384, 192, 384, 48, 128, 128),
    ]
    for name, *widths in modules:
        if not widths:
            x = net.maxpool(name, x, 3, 2, ceil_mode=1)
            continue
        one, reduce3, three, reduce5, five, projection = widths
        branches = [
            net.conv_relu(f"{name}.1x1", x, one, 1),
            net.conv_relu(f"{name}.3x3", net.conv_relu(f"{name}.3x3.reduce", x, reduce3, 1), three, 3),
            net.conv_relu(f"{name}.5x5", net.conv_relu(f"{name}.5x5.reduce", x, reduce5, 1), five, 5),
            net.conv_relu(f"{name}.project", net.maxpool(f"{name}.pool", x, 3, 1, [1] * 4), projection, 1),
        ]
        x = net.node("Concat", f"{name}.concat", branches, axis=1)
        net.channels[x] = one + three + five + projection
    x = net.node("Dropout", "dropout", [net.global_average(x)])
    net.save((net.classifier("classifier", x, 1024, 1000), [1, 1000]))


def vgg16():
    """VGG-16 (configuration D) as torchvision defines it."""
    net = Network("vgg16", [1, 3, 224, 224])
    x = "input"
    for stage, (outputs, count) in enumerate([(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)], start=1):
        for index in range(1, count + 1):
            x = net.conv_relu(f"conv{stage}_{index}", x, outputs, 3)
        x = net.maxpool(f"pool{stage}", x, 2, 2)
    x = net.node("Flatten", "flatten", [x])
    x = net.relu("fc6.relu", net.classifier("fc6", x, 512 * 7 * 7, 4096))
    x = net.relu("fc7.relu", net.classifier("fc7", x, 4096, 4096))
    net.save((net.classifier("fc8", x, 4096, 1000), [1, 1000]))


def fsrcnn():
    """FSRCNN (d = 56, s = 12, m = 4) on 540 rows of 960 pixels, with the layers that the studies of
    DepFiN and Stream use: no activations, no biases, and the deconvolution as a 3x3 convolution
    with one output channel per pixel of a 4x4 block."""
    net = Network("fsrcnn", [1, 1, 540, 960])
    layers = [("extract", 56, 5), ("shrink", 12, 1)]
    layers += [(f"map{index}", 12, 3) for index in range(1, 5)]
    layers += [("expand", 56, 1), ("upscale", 16, 3)]
    x = "input"
    for name, outputs, kernel in layers:
        x = net.conv(name, x, outputs, kernel, bias=False)
    net.save((x, [1, 16, 540, 960]))


def mobilenetv1():
    """MobileNetV1, width 1, on 224 x 224 pixels (Howard et al., 2017, table 1)."""
    net = Network("mobilenetv1", [1, 3, 224, 224])
    x = net.conv_relu("conv1", "input", 32, 3, stride=2, pads=[1] * 4)
    blocks = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)]
    blocks += [(512, 1)] * 5 + [(1024, 2), (1024, 1)]
    for index, (outputs, stride) in enumerate(blocks, start=1):
        name = f"block{index}"
        x = net.conv_relu(f"{name}.depthwise", x, net.channels[x], 3, stride=stride, pads=[1] * 4, group=0)
        x = net.conv_relu(f"{name}.pointwise", x, outputs, 1)
    x = net.node("Flatten", "flatten", [net.node("GlobalAveragePool", "avgpool", [x])])
    x = net.classifier("fc", x, 1024, 1000)
    net.save((net.node("Softmax", "softmax", [x], axis=1), [1, 1000]))


def dmcnn_vd():
    """DMCNN-VD: demosaicing by 20 convolutions (Syu et al., 2018) on 512 rows of 768 pixels."""
    net = Network("dmcnn_vd", [1, 3, 512, 768])
    x = "input"
    for index in range(1, 21):
        x = net.conv(f"conv{index}", x, 64 if index < 20 else 3, 3, bias=False)
    net.save((x, [1, 3, 512, 768]))


def mc_cnn():
    """MC-CNN fast: features for stereo matching by 4 convolutions (Zbontar and LeCun, 2016), on 1242 rows of 376
    pixels, KITTI's image on its side, as in the study of DeFiNES."""
    net = Network("mc_cnn", [1, 1, 1242, 376])
    x = "input"
    for index in range(1, 5):
        x = net.conv(f"conv{index}", x, 64, 3, bias=False)
    net.save((x, [1, 64, 1242, 376]))


CONVOLUTIONAL = [resnet18, resnet50, mobilenetv1, mobilenetv2, squeezenet, inception_v1, vgg16, fsrcnn, dmcnn_vd, mc_cnn]
