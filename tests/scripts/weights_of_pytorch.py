#!/usr/bin/env python3
"""Writes the weights of FOLDER/lenet.onnx as torch.save does, in every type and form.

usage: weights_of_pytorch.py FOLDER. Exit status 77 where Python's torch or onnx is absent.
"""

import collections
import os
import sys

SYSTEM_PYTHON = "/usr/bin/python3"

try:
    import onnx
    import torch
    from onnx import numpy_helper
except ImportError:
    # Debian's packages belong to Debian's Python, which need not be the first one.
    if os.path.exists(SYSTEM_PYTHON) and os.path.realpath(sys.executable) != os.path.realpath(SYSTEM_PYTHON):
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON] + sys.argv)
    sys.exit(77)


def main():
    folder = sys.argv[1]
    save = lambda what, name, **options: torch.save(what, os.path.join(folder, name), **options)
    weights = collections.OrderedDict()
    for tensor in onnx.load(os.path.join(folder, "lenet.onnx")).graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT and len(tensor.dims) > 0:
            weights[tensor.name.replace("/", ".")] = torch.from_numpy(numpy_helper.to_array(tensor).copy())
    save(weights, "plain.pt")
    # A matrix that lies by columns in its storage, and a vector in the middle of another.
    strided = collections.OrderedDict(weights)
    strided["logits.weight"] = strided["logits.weight"].t().contiguous().t()
    strided["logits.bias"] = torch.cat([torch.ones(3), strided["logits.bias"]])[3:]
    parameters = collections.OrderedDict((name, torch.nn.Parameter(one)) for name, one in strided.items())
    save({"epoch": 3, "lr": 0.1, "losses": [2.3, 1.9], "seen": 1 << 40, "best": None, "state_dict": parameters}, "training.pth")
    for name in ("double", "half", "bfloat16"):
        save({key: one.to(getattr(torch, name)) for key, one in weights.items()}, name + ".pt")
    save(weights, "legacy.pt", _use_new_zipfile_serialization=False)
    save({"state_dict": weights, "optimizer": torch.optim.SGD([torch.nn.Parameter(torch.zeros(2))], 0.1)}, "pickled_optimizer.pt")
    return 0


if __name__ == "__main__":
    sys.exit(main())
