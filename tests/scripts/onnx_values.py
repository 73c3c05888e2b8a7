#!/usr/bin/env python3
"""Evaluates FOLDER/graph.onnx in numpy, as ONNX specifies its operators, and compares with what we computed.

usage: onnx_values.py FOLDER. FOLDER/input is of the type of the graph's input, FOLDER/output an f32 tensor. Exit status 77 where Python's onnx is absent.
"""

import math
import os
import sys

SYSTEM_PYTHON = "/usr/bin/python3"

try:
    import numpy as np
    import onnx
    from onnx import checker, helper, numpy_helper
except ImportError:
    # Debian's packages belong to Debian's Python, which need not be the first one.
    if os.path.exists(SYSTEM_PYTHON) and os.path.realpath(sys.executable) != os.path.realpath(SYSTEM_PYTHON):
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON] + sys.argv)
    sys.exit(77)

TOLERANCE = 1e-5


def logistic(x):
    return 1 / (1 + np.exp(-x))


def windows(x, attributes, fill):
    """(N, C, h, w, kernel rows, kernel columns)"""
    (kh, kw), (sh, sw) = attributes["kernel_shape"], attributes["strides"]
    dh, dw = attributes.get("dilations", [1, 1])
    top, left, bottom, right = attributes["pads"]
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=fill)
    reach_h, reach_w = (kh - 1) * dh + 1, (kw - 1) * dw + 1
    h, w = (x.shape[2] - reach_h) // sh + 1, (x.shape[3] - reach_w) // sw + 1
    out = np.empty(x.shape[:2] + (h, w, kh, kw))
    for i in range(h):
        for j in range(w):
            out[:, :, i, j] = x[:, :, i * sh : i * sh + reach_h : dh, j * sw : j * sw + reach_w : dw]
    return out


def convolution(attributes, x, weight, bias=None):
    groups = attributes["group"]
    parts = zip(np.split(windows(x, attributes, 0), groups, axis=1), np.split(weight, groups))
    joined = np.concatenate([np.einsum("nchwkl,ockl->nohw", one, of_it) for one, of_it in parts], axis=1)
    return joined if bias is None else joined + bias[:, None, None]


def average_pool(attributes, x):
    sums = windows(x, attributes, 0).sum((4, 5))
    inside = windows(np.ones_like(x), attributes, 0).sum((4, 5))
    return sums / (np.prod(attributes["kernel_shape"]) if attributes["count_include_pad"] else inside)


def batch_norm(attributes, x, scale, bias, mean, variance):
    each = lambda values: values[:, None, None]
    return (x - each(mean)) / np.sqrt(each(variance) + attributes["epsilon"]) * each(scale) + each(bias)


def local_response_norm(attributes, x):
    size = attributes["size"]
    below, above = (size - 1) // 2, size // 2
    squares = np.stack([(x[:, max(0, c - below) : c + above + 1] ** 2).sum(1) for c in range(x.shape[1])], axis=1)
    return x / (attributes["bias"] + attributes["alpha"] / size * squares) ** attributes["beta"]


def softmax(attributes, x):
    powers = np.exp(x - x.max(attributes["axis"], keepdims=True))
    return powers / powers.sum(attributes["axis"], keepdims=True)


def pad(attributes, x, pads):
    return np.pad(x, list(zip(*np.split(pads.astype(int), 2))))


def cut(attributes, x, starts, ends, axes=None):
    box = [slice(None)] * x.ndim
    axes = np.arange(len(starts)) if axes is None else axes
    for start, end, axis in zip(starts.astype(int), ends.astype(int), axes.astype(int)):
        box[axis] = slice(start, end)
    return x[tuple(box)]


def layer_norm(attributes, x, scale, bias):
    assert attributes["axis"] == -1
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + attributes["epsilon"]) * scale + bias


def full(attributes, shape):
    return np.full(shape.astype(int), numpy_helper.to_array(attributes["value"])[0], np.float64)


def resize(attributes, x, region, scales):
    places, mode = attributes["coordinate_transformation_mode"].decode(), attributes["mode"].decode()
    for axis in (2, 3):
        size = x.shape[axis]
        made = int(round(size * scales[axis]))
        at = np.arange(made)
        if places == "align_corners":
            at = at * (size - 1) / max(1, made - 1)
        else:
            at = (at + 0.5) * size / made - 0.5 if places == "half_pixel" else at * size / made
        low = np.clip(np.floor(at).astype(int), 0, size - 1)
        high = np.minimum(low + 1, size - 1)
        share = np.clip(at, 0, size - 1) - low if mode == "linear" else np.zeros(made)
        share = share.reshape([-1 if i == axis else 1 for i in range(4)])
        x = (1 - share) * x.take(low, axis) + share * x.take(high, axis)
    return x


def transposed_convolution(attributes, x, weight):
    groups, (sh, sw), (top, left, bottom, right) = attributes["group"], attributes["strides"], attributes["pads"]
    (kh, kw), (dh, dw), (more_h, more_w) = attributes["kernel_shape"], attributes["dilations"], attributes["output_padding"]
    n, channels, h, w = x.shape
    each = weight.shape[1]
    out = np.zeros((n, each * groups, sh * (h - 1) + (kh - 1) * dh + 1 + more_h, sw * (w - 1) + (kw - 1) * dw + 1 + more_w))
    for g in range(groups):
        own = slice(g * channels // groups, (g + 1) * channels // groups)
        for i in range(kh):
            for j in range(kw):
                part = np.einsum("nchw,co->nohw", x[:, own], weight[own, :, i, j])
                out[:, g * each : (g + 1) * each, i * dh : i * dh + sh * h : sh, j * dw : j * dw + sw * w : sw][:, :, :h, :w] += part
    return out[:, :, top : out.shape[2] - bottom, left : out.shape[3] - right]


def sequence(step):
    """(T, N, I) -> (T, 1, N, H), `step` from (W x + its bias, R h + its bias, h, c) to (h, c)."""

    def run(attributes, x, weight, recurrent, bias):
        own, other = np.split(bias[0], 2)
        h = c = np.zeros((x.shape[1], attributes["hidden_size"]))
        outputs = []
        for at in x:
            h, c = step(attributes, at @ weight[0].T + own, h @ recurrent[0].T + other, h, c)
            outputs.append(h)
        return np.stack(outputs)[:, None]

    return run


def lstm(attributes, of_x, of_h, h, c):
    i, o, f, g = np.split(of_x + of_h, 4, axis=1)
    c = logistic(f) * c + logistic(i) * np.tanh(g)
    return logistic(o) * np.tanh(c), c


def gru(attributes, of_x, of_h, h, c):
    assert attributes["linear_before_reset"] == 1
    (xz, xr, xh), (hz, hr, hh) = np.split(of_x, 3, axis=1), np.split(of_h, 3, axis=1)
    z, r = logistic(xz + hz), logistic(xr + hr)
    return (1 - z) * np.tanh(xh + r * hh) + z * h, c


OPERATORS = {
    "Conv": convolution,
    "MaxPool": lambda attributes, x: windows(x, attributes, -np.inf).max((4, 5)),
    "AveragePool": average_pool,
    "BatchNormalization": batch_norm,
    "LRN": local_response_norm,
    "Concat": lambda attributes, *parts: np.concatenate(parts, attributes["axis"]),
    "LeakyRelu": lambda attributes, x: np.where(x < 0, attributes["alpha"] * x, x),
    "Pad": pad,
    "Slice": cut,
    "Mul": lambda attributes, a, b: a * b,
    "Add": lambda attributes, a, b: a + b,
    "Div": lambda attributes, a, b: a / b,
    "Neg": lambda attributes, x: -x,
    "Sqrt": lambda attributes, x: np.sqrt(x),
    "Erf": lambda attributes, x: np.vectorize(math.erf)(x),
    "Tanh": lambda attributes, x: np.tanh(x),
    "Relu": lambda attributes, x: np.maximum(x, 0),
    "Sigmoid": lambda attributes, x: logistic(x),
    "ReduceMean": lambda attributes, x: x.mean(tuple(attributes["axes"]), keepdims=bool(attributes["keepdims"])),
    "LayerNormalization": layer_norm,
    "GlobalAveragePool": lambda attributes, x: x.mean((2, 3), keepdims=True),
    "MatMul": lambda attributes, a, b: a @ b,
    "Transpose": lambda attributes, x: x.transpose(attributes["perm"]),
    "Unsqueeze": lambda attributes, x, axes: np.expand_dims(x, tuple(axes.astype(int))),
    "Gather": lambda attributes, x, indices: x.take(indices.astype(int), axis=attributes["axis"]),
    "Shape": lambda attributes, x: np.array(x.shape),
    "ConstantOfShape": full,
    "Flatten": lambda attributes, x: x.reshape(int(np.prod(x.shape[: attributes["axis"]])), -1),
    "Gemm": lambda attributes, a, b, c=0: a @ (b.T if attributes.get("transB") else b) + c,
    "Softmax": softmax,
    "Reshape": lambda attributes, x, shape: x.reshape(shape.astype(int)),
    "Squeeze": lambda attributes, x, axes: x.squeeze(tuple(axes.astype(int))),
    "Expand": lambda attributes, x, shape: x * np.ones(shape.astype(int)),
    "Identity": lambda attributes, x: x,
    "ReduceSum": lambda attributes, x, axes: x.sum(tuple(axes.astype(int)), keepdims=True),
    "Clip": lambda attributes, x, least, most: np.clip(x, least, most),
    "Selu": lambda attributes, x: attributes["gamma"] * np.where(x > 0, x, attributes["alpha"] * np.expm1(np.minimum(x, 0))),
    "Celu": lambda attributes, x: np.where(x > 0, x, attributes["alpha"] * np.expm1(np.minimum(x, 0) / attributes["alpha"])),
    "HardSigmoid": lambda attributes, x: np.clip(attributes["alpha"] * x + attributes["beta"], 0, 1),
    "Softplus": lambda attributes, x: np.log1p(np.exp(x)),
    "Softsign": lambda attributes, x: x / (1 + np.abs(x)),
    "ThresholdedRelu": lambda attributes, x: np.where(x > attributes["alpha"], x, 0),
    "Exp": lambda attributes, x: np.exp(x),
    "Log": lambda attributes, x: np.log(x),
    "Reciprocal": lambda attributes, x: 1 / x,
    "Pow": lambda attributes, x, exponent: x**exponent,
    "Abs": lambda attributes, x: np.abs(x),
    "Sin": lambda attributes, x: np.sin(x),
    "Cos": lambda attributes, x: np.cos(x),
    "Resize": resize,
    "ConvTranspose": transposed_convolution,
    "RNN": sequence(lambda attributes, of_x, of_h, h, c: (np.tanh(of_x + of_h), c)),
    "LSTM": sequence(lstm),
    "GRU": sequence(gru),
}


def main():
    folder = sys.argv[1]
    model = onnx.load(os.path.join(folder, "graph.onnx"))
    checker.check_model(model, full_check=True)
    values = {tensor.name: numpy_helper.to_array(tensor).astype(np.float64) for tensor in model.graph.initializer}
    given = model.graph.input[0]
    shape = [dim.dim_value for dim in given.type.tensor_type.shape.dim]
    kind = np.int32 if given.type.tensor_type.elem_type == onnx.TensorProto.INT32 else np.float32
    values[given.name] = np.fromfile(os.path.join(folder, "input"), kind).reshape(shape).astype(np.float64)
    for node in model.graph.node:
        attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        values[node.output[0]] = OPERATORS[node.op_type](attributes, *[values.get(name) for name in node.input])
    computed = values[model.graph.output[0].name]
    ours = np.fromfile(os.path.join(folder, "output"), np.float32).reshape(computed.shape)
    difference = np.abs(computed - ours).max() / max(1, np.abs(computed).max())
    if not difference < TOLERANCE:
        print(f"onnx_values: they differ by {difference}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
