#!/usr/bin/env python3
"""Every network that `trainyard networks export` writes passes ONNX's own checker, with and without weights.

usage: onnx_checker_test.py TRAINYARD. Exit status 77 where Python's onnx is absent (Debian: python3-onnx).
"""

import json
import os
import subprocess
import sys
import tempfile

SYSTEM_PYTHON = "/usr/bin/python3"

try:
    import onnx
    from onnx import checker, shape_inference
except ImportError:
    # Debian's packages belong to Debian's Python, which need not be the first one.
    if os.path.exists(SYSTEM_PYTHON) and os.path.realpath(sys.executable) != os.path.realpath(SYSTEM_PYTHON):
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON] + sys.argv)
    print("skipped: Python's onnx is absent (Debian: python3-onnx)")
    sys.exit(77)


def command(trainyard, *words):
    return json.loads(subprocess.run([trainyard, "networks", *words, "--json"], check=True, capture_output=True).stdout)


def sizes(value):
    return [dim.dim_value for dim in value.type.tensor_type.shape.dim]


def check(trainyard, network, folder, weights):
    file = os.path.join(folder, "network.onnx")
    command(trainyard, "export", network["name"], "--to", file, "--batch", "3", "--weights", weights)
    model = onnx.load(file)
    checker.check_model(model, full_check=True)
    # What ONNX infers, having forgotten what we say, is what we say.
    said = {value.name: sizes(value) for value in model.graph.value_info}
    del model.graph.value_info[:]
    # The class token of a vision transformer has the batch that its input says: shapes follow from data, too.
    inferred = shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True).graph.value_info
    found = {value.name: sizes(value) for value in inferred if value.name in said}
    assert len(found) > 0.9 * len(said), (network["name"], len(found), len(said))
    for name, shape in found.items():
        assert shape == said[name], (network["name"], name, shape, said[name])
    trained = model.graph.initializer if weights != "none" else model.graph.input
    numbers = 0
    for tensor in trained:
        if tensor.doc_string == "parameter":
            count = 1
            for dim in (tensor.dims if weights != "none" else sizes(tensor)):
                count *= dim
            numbers += count
    if network["family"] != "rnn":  # whose bias is there twice in ONNX
        assert numbers == network["parameters"], (network["name"], numbers, network["parameters"])


def main():
    trainyard = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        # Experts and upsampling have no form in ONNX here.
        networks = [network for network in command(trainyard)["networks"] if network["name"] not in ("gpt_moe", "retinanet")]
        for network in networks:
            check(trainyard, network, folder, "none")
        for network in networks:
            if network["parameters"] < 2_000_000:
                check(trainyard, network, folder, "initial")
    print(f"{len(networks)} networks pass")


if __name__ == "__main__":
    main()
