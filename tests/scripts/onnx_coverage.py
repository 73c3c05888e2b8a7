#!/usr/bin/env python3
"""Exports networks of many kinds by PyTorch to FOLDER, each NAME.onnx with PyTorch's losses of some steps, NAME.json.

usage: onnx_coverage.py FOLDER [--set N] [NAME...]; without names all, without a set of operators each with its own.
Exit status 77 where PyTorch is absent (Debian: python3-torch, python3-onnx).
The input of all steps is numbers(...), which a reader can make again.
"""

import copy
import json
import os
import sys
import warnings

SYSTEM_PYTHON = "/usr/bin/python3"

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError:
    # Debian's packages belong to Debian's Python, which need not be the first one.
    if os.path.exists(SYSTEM_PYTHON) and os.path.realpath(sys.executable) != os.path.realpath(SYSTEM_PYTHON):
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON] + sys.argv)
    sys.exit(77)

import pytorch_images
import pytorch_modern

BATCH, SIDE, STEPS = 8, 32, 6
RATES, LESS = (0.02, 0.1, 0.5, 1.0, 2.0), 0.97
# Recurrent layers are written otherwise where PyTorch computes beforehand what it can: with their weights in ONNX's order.
FOLDED = "_folded"
NETWORKS = {**pytorch_images.NETWORKS, **pytorch_modern.NETWORKS}
NETWORKS.update({name + FOLDED: NETWORKS[name] for name in ("lstm_language", "gru_language", "lstm_rows", "gru_rows")})


def numbers(count):
    """Numbers from 0 to 2^24, by a linear congruence modulo 2^32."""
    state, made = 1, []
    for _ in range(count):
        state = (1664525 * state + 1013904223) % 2**32
        made.append(state >> 8)
    return torch.tensor(made)


def is_sequence(name):
    return name.removesuffix(FOLDED) in pytorch_modern.SEQUENCES


def sample_of(name):
    if is_sequence(name):
        length = pytorch_modern.STEPS + 1
        return numbers(BATCH * length).remainder(pytorch_modern.VOCABULARY).reshape(BATCH, length)
    return (numbers(BATCH * 3 * SIDE * SIDE) / 2**23 - 1).reshape(BATCH, 3, SIDE, SIDE)


def losses_of(network, given, labels, rate):
    losses, optimizer = [], torch.optim.SGD(network.parameters(), rate)
    for _ in range(STEPS):
        logits = network(given)
        loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1))
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return losses


def write(name, folder, wanted):
    torch.manual_seed(11)
    make, opset = NETWORKS[name]
    opset = wanted or opset
    network, sample = make(), sample_of(name)
    with torch.no_grad():  # norms and biases that start at ones and zeros would hide what is left out
        for parameter in network.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    given = sample[:, :-1].contiguous() if is_sequence(name) else sample
    labels = sample[:, 1:] if is_sequence(name) else torch.arange(BATCH) % pytorch_images.CLASSES
    folded = name.endswith(FOLDED)
    network.train()
    torch.onnx.export(network, given, os.path.join(folder, name + ".onnx"), opset_version=opset, input_names=["input"], output_names=["output"],
                      training=torch.onnx.TrainingMode.EVAL if folded else torch.onnx.TrainingMode.TRAINING, do_constant_folding=folded,
                      dynamic_axes={"input": {0: "batch"}, "output": {0: "batch"}})
    for rate in RATES:  # the first at which the loss falls so far that a wrong gradient would be seen
        losses = losses_of(copy.deepcopy(network), given, labels, rate)
        if losses[-1] < LESS * losses[0]:
            break
    with open(os.path.join(folder, name + ".json"), "w") as file:
        json.dump({"batch": BATCH, "rate": rate, "labels": labels.reshape(-1).tolist(), "losses": losses}, file)
        file.write("\n")


def main():
    folder, names, wanted = sys.argv[1], sys.argv[2:], 0
    if names[:1] == ["--set"]:
        names, wanted = names[2:], int(names[1])
    os.makedirs(folder, exist_ok=True)
    torch.set_num_threads(1)  # they would wait for each other where there is one core
    warnings.filterwarnings("ignore")
    for name in names or NETWORKS:
        write(name, folder, wanted)


if __name__ == "__main__":
    main()
