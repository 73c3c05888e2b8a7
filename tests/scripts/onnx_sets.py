#!/usr/bin/env python3
"""Writes one small network in several sets of ONNX's operators to FOLDER, as set_N.onnx, and with its batch said in several ways.

usage: onnx_sets.py FOLDER. Sets are 9, 11, 13, 15, 17 and the newest that this onnx can write. Operators whose form changed between
them: Clip, Pad, Slice, Dropout, Squeeze, ReduceMean, Upsample or Resize, BatchNormalization, Split.
Exit status 77 where Python's onnx is absent (Debian: python3-onnx).
"""

import os
import sys

SYSTEM_PYTHON = "/usr/bin/python3"

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    # Debian's packages belong to Debian's Python, which need not be the first one.
    if os.path.exists(SYSTEM_PYTHON) and os.path.realpath(sys.executable) != os.path.realpath(SYSTEM_PYTHON):
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON] + sys.argv)
    sys.exit(77)

SETS = (9, 11, 13, 15, 17)
FIXED_BATCH = 4


class Numbers:
    """The same numbers in every run and on every machine."""

    def __init__(self):
        self.state = 1

    def draw(self, *dims):
        count = int(np.prod(dims))
        values = np.empty(count, dtype=np.float32)
        for i in range(count):
            self.state = (1664525 * self.state + 1013904223) % 2**32
            values[i] = (self.state >> 8) / 2**24 - 0.5
        return values.reshape(dims)


class Network:
    """x (N, 2, 8, 8) -> y (N, 5)"""

    def __init__(self, opset):
        self.opset, self.nodes, self.weights, self.numbers = opset, [], [], Numbers()

    def weight(self, name, values):
        self.weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def integers(self, name, *values):
        return self.weight(name, np.asarray(values, dtype=np.int64))

    def add(self, kind, inputs, output, **attributes):
        outputs = output if isinstance(output, list) else [output]
        self.nodes.append(helper.make_node(kind, inputs, outputs, name=outputs[0], **attributes))
        return output

    def convolution(self):
        self.add("Conv", ["x", self.weight("w", self.numbers.draw(4, 2, 3, 3))], "conv", pads=[1, 1, 1, 1])
        ones, zeros = np.ones(4, np.float32), np.zeros(4, np.float32)
        names = [self.weight(n, v) for n, v in (("scale", ones), ("offset", zeros), ("mean", zeros), ("var", ones))]
        self.add("BatchNormalization", ["conv"] + names, "norm")
        if self.opset < 11:
            self.add("Clip", ["norm"], "clip", min=0.0, max=6.0)
        else:
            bounds = [self.weight("least", np.float32(0)), self.weight("most", np.float32(6))]
            self.add("Clip", ["norm"] + bounds, "clip")

    def movements(self):
        if self.opset < 11:
            self.add("Pad", ["clip"], "pad", pads=[0, 0, 1, 1, 0, 0, 1, 1])
        else:
            self.add("Pad", ["clip", self.integers("pads", 0, 0, 1, 1, 0, 0, 1, 1)], "pad")
        if self.opset < 10:
            self.add("Slice", ["pad"], "slice", axes=[2, 3], starts=[1, 1], ends=[9, 9])
        else:
            bounds = [self.integers(n, *v) for n, v in (("starts", (1, 1)), ("ends", (9, 9)), ("axes", (2, 3)))]
            self.add("Slice", ["pad"] + bounds, "slice")
        self.add("MaxPool", ["slice"], "pool", kernel_shape=[2, 2], strides=[2, 2])
        scales = self.weight("scales", np.array([1, 1, 2, 2], np.float32))
        if self.opset < 10:
            self.add("Upsample", ["pool", scales], "large", mode="nearest")
        elif self.opset < 11:
            self.add("Resize", ["pool", scales], "large", mode="nearest")
        else:
            roi = self.weight("roi", np.array([], np.float32)) if self.opset < 13 else ""
            self.add("Resize", ["pool", roi, scales], "large", mode="nearest",
                     coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        if self.opset < 13:
            self.add("Split", ["large"], ["left", "right"], axis=1, split=[2, 2])
        else:
            self.add("Split", ["large", self.integers("parts", 2, 2)], ["left", "right"], axis=1)
        self.add("Concat", ["right", "left"], "joined", axis=1)

    def head(self, shape):
        if self.opset < 18:
            self.add("ReduceMean", ["joined"], "rows", axes=[3], keepdims=1)
        else:
            self.add("ReduceMean", ["joined", self.integers("mean_axes", 3)], "rows", keepdims=1)
        if self.opset < 13:
            self.add("Squeeze", ["rows"], "squeezed", axes=[3])
        else:
            self.add("Squeeze", ["rows", self.integers("squeezed_axes", 3)], "squeezed")
        self.add("Reshape", ["squeezed", self.integers("shape", *shape)], "flat")
        if self.opset < 12:
            self.add("Dropout", ["flat"], "dropped", ratio=0.0)
        else:
            self.add("Dropout", ["flat", self.weight("ratio", np.float32(0))], "dropped")
        self.add("Gemm", ["dropped", self.weight("v", self.numbers.draw(5, 32)), self.weight("b", self.numbers.draw(5))],
                 "y", transB=1)

    def save(self, path, batch, shape):
        self.convolution()
        self.movements()
        self.head(shape)
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 2, 8, 8])
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 5])
        graph = helper.make_graph(self.nodes, "small", [x], [y], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], producer_name="test")
        model.ir_version = min(model.ir_version, 8)
        onnx.checker.check_model(model)
        onnx.save(model, path)


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)

    def save(name, opset, batch, shape):
        Network(opset).save(os.path.join(folder, name + ".onnx"), batch, shape)

    for opset in sorted({*SETS, onnx.defs.onnx_opset_version()}):
        save(f"set_{opset}", opset, "N", (0, -1))
    save("unnamed", 13, None, (-1, 32))
    save("fixed", 13, FIXED_BATCH, (FIXED_BATCH, -1))
    save("one", 13, 1, (1, 32))
    return 0


if __name__ == "__main__":
    sys.exit(main())
