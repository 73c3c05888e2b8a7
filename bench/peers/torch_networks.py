"""The networks of the comparisons in PyTorch; layer for layer those of src/networks."""
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from gpu_peer import GPTS, VITS
from torch_transformers import Gpt, Vit, gpt_batch


def deepmnist():
    return nn.Sequential(
        nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(3136, 1024), nn.ReLU(inplace=True), nn.Dropout(0.5),
        nn.Linear(1024, 10))


class ConvResponseNorm(nn.Module):
    """nn.LocalResponseNorm(9, 0.001, 0.75, 1), the sum over channels as a banded 1x1 convolution."""

    def __init__(self, channels):
        super().__init__()
        index = torch.arange(channels)
        band = ((index[:, None] - index).abs() <= 4).float() * (0.001 / 9)
        self.register_buffer("band", band.view(channels, channels, 1, 1))
        self.register_buffer("one", torch.ones(channels))

    def forward(self, images):
        root = F.conv2d(images.square(), self.band, self.one).rsqrt()
        return images * (root * root.sqrt())


class CifarNet(nn.Module):
    def __init__(self, lrn_as_conv):
        super().__init__()

        def response_norm():
            return (ConvResponseNorm(64) if lrn_as_conv
                    else nn.LocalResponseNorm(9, alpha=0.001, beta=0.75, k=1.0))

        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 5, padding=2), nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, ceil_mode=True), response_norm(),
            nn.Conv2d(64, 64, 5, padding=2), nn.ReLU(inplace=True),
            response_norm(), nn.MaxPool2d(3, 2, ceil_mode=True),
            nn.Flatten())
        self.dense1 = nn.Linear(2304, 384)
        self.dense2 = nn.Linear(384, 192)
        self.classes = nn.Linear(192, 10)

    def forward(self, images):
        hidden = F.relu(self.dense1(self.features(images)), inplace=True)
        return self.classes(F.relu(self.dense2(hidden), inplace=True))

    def penalty(self):
        return 0.002 * (self.dense1.weight.square().sum()
                        + self.dense2.weight.square().sum())


def conv_norm(inputs, outputs, size, stride):
    return [nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False),
            nn.BatchNorm2d(outputs)]


class BasicBlock(nn.Module):
    """Where the width doubles, the shortcut takes every other pixel and adds empty channels."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.main = nn.Sequential(*conv_norm(inputs, outputs, 3, stride), nn.ReLU(inplace=True),
                                  *conv_norm(outputs, outputs, 3, 1))
        self.stride = stride
        self.empty = (outputs - inputs) // 2

    def forward(self, images):
        shortcut = images
        if self.stride > 1:
            shortcut = F.pad(images[:, :, ::2, ::2], (0, 0, 0, 0, self.empty, self.empty))
        return F.relu(self.main(images).add_(shortcut), inplace=True)


def resnet20():
    layers = [*conv_norm(3, 16, 3, 1)]
    inputs = 16
    for outputs in (16, 32, 64):
        for _ in range(3):
            first_of_stage = outputs != inputs
            layers.append(BasicBlock(inputs, outputs, 2 if first_of_stage else 1))
            inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


class BottleneckBlock(nn.Module):
    """ResNet v1: the stride is on the first 1x1."""

    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.main = nn.Sequential(*conv_norm(inputs, width, 1, stride), nn.ReLU(inplace=True),
                                  *conv_norm(width, width, 3, 1), nn.ReLU(inplace=True),
                                  *conv_norm(width, outputs, 1, 1))
        self.shortcut = (nn.Sequential(*conv_norm(inputs, outputs, 1, stride)) if inputs != outputs
                         else nn.Identity())

    def forward(self, images):
        return F.relu(self.main(images).add_(self.shortcut(images)), inplace=True)


def resnet50():
    layers = [*conv_norm(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, ceil_mode=True)]
    inputs = 64
    for group, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << group
        for block in range(blocks):
            layers.append(BottleneckBlock(inputs, width, 2 if group > 0 and block == 0 else 1))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1001))


def fc(layers=4, width=1024, inputs=1000, classes=100):
    """`layers` hidden dense layers with ReLU, and one to the classes."""
    widths = [inputs, *[width] * layers, classes]
    made = []
    for source, target in zip(widths, widths[1:]):
        dense = nn.Linear(source, target)
        # So that numbers stay in range through any depth: the power of a product depends on what it multiplies.
        nn.init.kaiming_normal_(dense.weight, nonlinearity="relu")
        nn.init.zeros_(dense.bias)
        made += [dense, nn.ReLU(inplace=True)]
    return nn.Sequential(*made[:-1])


class LanguageModel(nn.Module):
    """An embedding, a stack of LSTM cells of its width, and a dense layer to the vocabulary at each step."""

    def __init__(self, layers=2, hidden=512, vocabulary=1024):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.cells = nn.LSTM(hidden, hidden, layers)  # time first: its fastest
        self.dense = nn.Linear(hidden, vocabulary)
        # Two biases that are only ever added are one; PyTorch's second stays zero and is not trained.
        for name, parameter in self.cells.named_parameters():
            if name.startswith("bias_hh"):
                nn.init.zeros_(parameter).requires_grad_(False)

    def forward(self, ids):
        hidden, _ = self.cells(self.embedding(ids))
        return self.dense(hidden.flatten(0, 1))


SEQUENCE_LENGTH, VOCABULARY = 32, 1024


def sequence_batch(network, batch):
    """Ids, and as labels the next ones; beyond a random length they are what cross_entropy ignores."""
    if network in GPTS:
        return gpt_batch(batch, *GPTS[network][3:])
    tokens = torch.randint(VOCABULARY, (SEQUENCE_LENGTH + 1, batch))
    lengths = torch.randint(1, SEQUENCE_LENGTH + 1, (batch,))
    masked = torch.arange(SEQUENCE_LENGTH)[:, None] >= lengths
    return tokens[:-1].contiguous(), tokens[1:].masked_fill(masked, -100).flatten()


# name: (builder, input shape, classes, default optimizer)
NETWORKS = {
    "deepmnist": (deepmnist, (1, 28, 28), 10, "adam"),
    "cifarnet": (CifarNet, (3, 24, 24), 10, "sgd"),
    "resnet20": (resnet20, (3, 32, 32), 10, "momentum"),
    "resnet50": (resnet50, (3, 224, 224), 1001, "momentum"),
    "fc": (fc, (1000,), 100, "adam"),
} | {
    name: (partial(Vit, *sizes), (3, sizes[3], sizes[3]), sizes[5], "adamw") for name, sizes in VITS.items()
}
# The same on sequences of ids.
SEQUENCE_NETWORKS = {
    "lstm": (LanguageModel, (SEQUENCE_LENGTH,), VOCABULARY, "sgd"),
} | {
    name: (partial(Gpt, *sizes), (sizes[3],), sizes[4], "adamw") for name, sizes in GPTS.items()
}
