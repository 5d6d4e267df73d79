"""Transformers: single layers of language models, and a vision transformer."""

import numpy
from network import Network


def heads(net, name, source, tokens, count, width):
    """[1, tokens, count * width] as [1, count, tokens, width]."""
    shaped = net.reshape(f"{name}.heads", source, [1, tokens, count, width])
    return net.transpose(f"{name}.transpose", shaped, [0, 2, 1, 3])


def attend(net, name, query, key, value, tokens, width, mask=None):
    """softmax(q k^T / sqrt(width)) v, heads joined again; `width` is that of all heads together."""
    flipped = net.transpose(f"{name}.key_transposed", key, [0, 1, 3, 2])
    scores = net.node("MatMul", f"{name}.scores", [query, flipped])
    scores = net.node("Div", f"{name}.scaled", [scores, net.scalar(f"{name}.scale", 8)])
    if mask:
        scores = net.node("Add", f"{name}.masked", [scores, mask])
    weights = net.node("Softmax", f"{name}.softmax", [scores], axis=-1)
    mixed = net.node("MatMul", f"{name}.context", [weights, value])
    mixed = net.transpose(f"{name}.context_transposed", mixed, [0, 2, 1, 3])
    return net.reshape(f"{name}.joined", mixed, [1, tokens, width])


def gelu(net, name, x):
    """x / 2 * (1 + erf(x / sqrt 2)), written out."""
    y = net.node("Div", f"{name}.div", [x, net.scalar(f"{name}.sqrt2", numpy.sqrt(2))])
    y = net.node("Add", f"{name}.add", [net.node("Erf", f"{name}.erf", [y]), net.scalar(f"{name}.one", 1)])
    y = net.node("Mul", f"{name}.mul", [x, y])
    return net.node("Mul", name, [y, net.scalar(f"{name}.half", 0.5)])


def gelu_tanh(net, name, x):
    """x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))), written out as GPT-2 does."""
    y = net.node("Pow", f"{name}.pow", [x, net.scalar(f"{name}.three", 3)])
    y = net.node("Mul", f"{name}.mul1", [y, net.scalar(f"{name}.cubic", 0.044715)])
    y = net.node("Add", f"{name}.add1", [x, y])
    y = net.node("Mul", f"{name}.mul2", [y, net.scalar(f"{name}.scale", numpy.sqrt(2 / numpy.pi))])
    y = net.node("Add", f"{name}.add2", [net.node("Tanh", f"{name}.tanh", [y]), net.scalar(f"{name}.one", 1)])
    half = net.node("Mul", f"{name}.half_x", [x, net.scalar(f"{name}.half", 0.5)])
    return net.node("Mul", name, [half, y])


def bert_layer():
    """One encoder layer of BERT-base, sequence 128: 12 heads of 64, 3072 in between, normalised
    after each half."""
    net = Network("bert_layer", [1, 128, 768], inputs=["hidden"])
    query, key, value = (
        heads(net, name, net.linear(name, "hidden", 768, 768), 128, 12, 64)
        for name in ["query", "key", "value"]
    )
    context = attend(net, "attention", query, key, value, 128, 768)
    x = net.node("Add", "attention.residual", [net.linear("attention.output", context, 768, 768), "hidden"])
    x = net.layer_norm("attention.norm", x, 768)
    y = gelu(net, "gelu", net.linear("intermediate", x, 768, 3072))
    y = net.node("Add", "residual", [net.linear("output", y, 3072, 768), x])
    net.save((net.layer_norm("norm", y, 768), [1, 128, 768]))


def gpt2(name, tokens, past):
    """One block of GPT-2 small; its keys and values leave the network, those of `past` tokens enter it."""
    net = Network(name, [1, tokens, 768], inputs=["hidden"])
    total = tokens + past
    x = net.layer_norm("ln_1", "hidden", 768)
    joint = net.linear("attn.qkv", x, 768, 3 * 768)
    parts = net.split("attn.split", joint, [768] * 3, axis=2)
    query, key, value = (
        heads(net, f"attn.{part}", source, tokens, 12, 64)
        for part, source in zip(["query", "key", "value"], parts)
    )
    if past:
        cached = [net.add_input(f"past.{part}", [1, 12, past, 64]) for part in ["key", "value"]]
        key = net.node("Concat", "present.key", [cached[0], key], axis=2)
        value = net.node("Concat", "present.value", [cached[1], value], axis=2)
    mask = net.weight("attn.mask", [1, 1, tokens, total]) if tokens > 1 else None
    context = attend(net, "attn", query, key, value, tokens, 768, mask)
    x = net.node("Add", "attn.residual", [net.linear("attn.proj", context, 768, 768), "hidden"])
    y = net.linear("mlp.fc", net.layer_norm("ln_2", x, 768), 768, 3072)
    y = net.linear("mlp.proj", gelu_tanh(net, "mlp.gelu", y), 3072, 768)
    y = net.node("Add", "residual", [y, x])
    net.save((y, [1, tokens, 768]), (key, [1, 12, total, 64]), (value, [1, 12, total, 64]))


def gpt2_prefill():
    """128 tokens at once."""
    gpt2("gpt2_prefill", 128, 0)


def gpt2_decode():
    """One token after 1023 others."""
    gpt2("gpt2_decode", 1, 1023)


def rms_norm(net, name, x, width):
    """x / sqrt(mean(x^2) + e) * w, written out."""
    y = net.node("Pow", f"{name}.pow", [x, net.scalar(f"{name}.two", 2)])
    y = net.node("ReduceMean", f"{name}.mean", [y], axes=[-1])
    y = net.node("Add", f"{name}.add", [y, net.scalar(f"{name}.epsilon", 1e-5)])
    y = net.node("Div", f"{name}.div", [x, net.node("Sqrt", f"{name}.sqrt", [y])])
    return net.node("Mul", name, [y, net.weight(f"{name}.weight", [width])])


def rotated(net, name, x, width):
    """x * cos + [-x2, x1] * sin, where x1 and x2 are the halves of the last axis."""
    first, second = net.split(f"{name}.halves", x, [width // 2] * 2, axis=3)
    turned = net.node("Concat", f"{name}.turned", [net.node("Neg", f"{name}.neg", [second]), first], axis=3)
    straight = net.node("Mul", f"{name}.cos", [x, "rope.cos"])
    turned = net.node("Mul", f"{name}.sin", [turned, "rope.sin"])
    return net.node("Add", f"{name}.rope", [straight, turned])


def repeated(net, name, x, count, group, tokens, width):
    """Grouped-query attention: each head of keys or values serves `group` heads of queries."""
    y = net.node("Unsqueeze", f"{name}.unsqueeze", [x, net.numbers(f"{name}.axis", [2])])
    shape = [1, count, group, tokens, width]
    y = net.node("Expand", f"{name}.expand", [y, net.numbers(f"{name}.repeated", shape)])
    return net.reshape(f"{name}.repeat", y, [1, count * group, tokens, width])


def llama_block():
    """One block of Llama 3.2 1B, 128 tokens: 32 heads of 64 for queries, 8 for keys and values,
    RMS normalisation, rotary positions, SwiGLU with 8192 in between."""
    tokens, width, inner, count, shared, head = 128, 2048, 8192, 32, 8, 64
    net = Network("llama_block", [1, tokens, width], inputs=["hidden"])
    for table in ["rope.cos", "rope.sin"]:
        net.weight(table, [1, 1, tokens, head])
    x = rms_norm(net, "input_norm", "hidden", width)
    query = heads(net, "q", net.linear("q_proj", x, width, count * head, bias=False), tokens, count, head)
    key = heads(net, "k", net.linear("k_proj", x, width, shared * head, bias=False), tokens, shared, head)
    value = heads(net, "v", net.linear("v_proj", x, width, shared * head, bias=False), tokens, shared, head)
    query, key = rotated(net, "q", query, head), rotated(net, "k", key, head)
    group = count // shared
    key = repeated(net, "k", key, shared, group, tokens, head)
    value = repeated(net, "v", value, shared, group, tokens, head)
    mask = net.weight("attn.mask", [1, 1, tokens, tokens])
    context = attend(net, "attn", query, key, value, tokens, width, mask)
    projected = net.linear("o_proj", context, width, width, bias=False)
    x = net.node("Add", "attn.residual", [projected, "hidden"])
    y = rms_norm(net, "post_norm", x, width)
    gate = net.linear("gate_proj", y, width, inner, bias=False)
    gate = net.node("Mul", "silu", [gate, net.node("Sigmoid", "silu.sigmoid", [gate])])
    up = net.linear("up_proj", y, width, inner, bias=False)
    y = net.node("Mul", "swiglu", [gate, up])
    y = net.linear("down_proj", y, inner, width, bias=False)
    net.save((net.node("Add", "residual", [x, y]), [1, tokens, width]))


def vit_b16():
    """ViT-B/16 as torchvision defines it: 196 patches and a class token, 12 layers."""
    net = Network("vit_b16", [1, 3, 224, 224])
    tokens, width = 197, 768
    patches = net.conv("patches", "input", width, 16, stride=16, pads=[0] * 4)
    patches = net.reshape("patches.flat", patches, [1, width, tokens - 1])
    patches = net.transpose("patches.transpose", patches, [0, 2, 1])
    x = net.node("Concat", "tokens", [net.weight("class_token", [1, 1, width]), patches], axis=1)
    x = net.node("Add", "position", [x, net.weight("position.embedding", [1, tokens, width])])
    for layer in range(12):
        name = f"layer{layer}"
        y = net.layer_norm(f"{name}.ln_1", x, width)
        joint = net.linear(f"{name}.qkv", y, width, 3 * width)
        parts = net.split(f"{name}.split", joint, [width] * 3, axis=2)
        query, key, value = (
            heads(net, f"{name}.{part}", source, tokens, 12, 64)
            for part, source in zip(["query", "key", "value"], parts)
        )
        context = attend(net, f"{name}.attention", query, key, value, tokens, width)
        projected = net.linear(f"{name}.out_proj", context, width, width)
        x = net.node("Add", f"{name}.residual1", [x, projected])
        y = net.linear(f"{name}.mlp1", net.layer_norm(f"{name}.ln_2", x, width), width, 3072)
        y = net.linear(f"{name}.mlp2", gelu(net, f"{name}.gelu", y), 3072, width)
        x = net.node("Add", f"{name}.residual2", [x, y])
    x = net.layer_norm("ln", x, width)
    x = net.node("Gather", "class", [x, net.numbers("class.index", 0)], axis=1)
    net.save((net.classifier("head", x, width, 1000), [1, 1000]))


TRANSFORMERS = [bert_layer, gpt2_prefill, gpt2_decode, llama_block, vit_b16]
