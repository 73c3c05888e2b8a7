"""Classifiers of images as PyTorch's users write them, narrow: the kinds that torchvision has, from AlexNet to RegNet.

Each is a module without arguments that takes (N, 3, 32, 32) and returns (N, 10).
"""

import torch
from torch import nn
from torch.nn import functional as F

CLASSES = 10


def conv_norm(inputs, outputs, kernel, stride=1, groups=1, unit=nn.ReLU):
    """Convolution, norm and unit; no unit where that is None."""
    padding = kernel // 2 if isinstance(kernel, int) else tuple(k // 2 for k in kernel)
    layers = [nn.Conv2d(inputs, outputs, kernel, stride, padding, groups=groups, bias=False), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, *([] if unit is None else [unit(inplace=True)]))


class AlexNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 5, 2, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2),
            nn.Conv2d(8, 12, 5, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2),
            nn.Conv2d(12, 16, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(16, 8, 3, padding=1), nn.ReLU(inplace=True))
        self.pool = nn.AdaptiveAvgPool2d((3, 3))
        self.classifier = nn.Sequential(nn.Dropout(0.0), nn.Linear(72, 24), nn.ReLU(inplace=True), nn.Dropout(0.0),
                                        nn.Linear(24, 24), nn.ReLU(inplace=True), nn.Linear(24, CLASSES))

    def forward(self, x):
        return self.classifier(torch.flatten(self.pool(self.features(x)), 1))


class Vgg(nn.Module):
    def __init__(self):
        super().__init__()
        layers, inputs = [], 3
        for outputs in (6, "pool", 8, "pool", 12, 12, "pool", 16, 16, "pool"):
            if outputs == "pool":
                layers.append(nn.MaxPool2d(2, 2))
            else:
                layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
                inputs = outputs
        self.features, self.pool = nn.Sequential(*layers), nn.AdaptiveAvgPool2d((2, 2))
        self.classifier = nn.Sequential(nn.Linear(64, 24), nn.ReLU(True), nn.Dropout(0.0), nn.Linear(24, CLASSES))

    def forward(self, x):
        return self.classifier(torch.flatten(self.pool(self.features(x)), 1))


class Residual(nn.Module):
    """relu(x + f(x)); where stride or width change, x goes through a convolution of 1 x 1."""

    def __init__(self, layers, inputs, outputs, stride):
        super().__init__()
        self.layers, self.shortcut = nn.Sequential(*layers), None
        if stride != 1 or inputs != outputs:
            self.shortcut = conv_norm(inputs, outputs, 1, stride, unit=None)

    def forward(self, x):
        y = self.layers(x)
        y += x if self.shortcut is None else self.shortcut(x)
        return F.relu(y, inplace=True)


def basic_block(inputs, outputs, stride):
    return Residual([conv_norm(inputs, outputs, 3, stride), conv_norm(outputs, outputs, 3, unit=None)], inputs, outputs, stride)


def bottleneck(inputs, outputs, stride, groups=1):
    middle = outputs // 2
    return Residual([conv_norm(inputs, middle, 1), conv_norm(middle, middle, 3, stride, groups),
                     conv_norm(middle, outputs, 1, unit=None)], inputs, outputs, stride)


class ResNet(nn.Module):
    def __init__(self, block):
        super().__init__()
        self.stem = nn.Sequential(conv_norm(3, 8, 7, 2), nn.MaxPool2d(3, 2, 1))
        self.stages = nn.Sequential(block(8, 8, 1), block(8, 16, 2), block(16, 24, 2))
        self.pool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(24, CLASSES)

    def forward(self, x):
        return self.fc(torch.flatten(self.pool(self.stages(self.stem(x))), 1))


class DenseLayer(nn.Module):
    def __init__(self, inputs, growth):
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(inputs), nn.Conv2d(inputs, 2 * growth, 1, bias=False)
        self.norm2, self.conv2 = nn.BatchNorm2d(2 * growth), nn.Conv2d(2 * growth, growth, 3, padding=1, bias=False)

    def forward(self, parts):
        y = self.conv1(F.relu(self.norm1(torch.cat(parts, 1))))
        return self.conv2(F.relu(self.norm2(y)))


class DenseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv_norm(3, 8, 3, 2), nn.MaxPool2d(3, 2, 1))
        self.blocks = nn.ModuleList([nn.ModuleList([DenseLayer(8 + 4 * i, 4) for i in range(3)]) for _ in range(2)])
        self.transition = nn.Sequential(nn.BatchNorm2d(20), nn.ReLU(inplace=True), nn.Conv2d(20, 8, 1, bias=False), nn.AvgPool2d(2, 2))
        self.norm, self.classifier = nn.BatchNorm2d(20), nn.Linear(20, CLASSES)

    def forward(self, x):
        parts = [self.stem(x)]
        for layer in self.blocks[0]:
            parts.append(layer(parts))
        parts = [self.transition(torch.cat(parts, 1))]
        for layer in self.blocks[1]:
            parts.append(layer(parts))
        x = F.relu(self.norm(torch.cat(parts, 1)), inplace=True)
        return self.classifier(torch.flatten(F.adaptive_avg_pool2d(x, (1, 1)), 1))


class Fire(nn.Module):
    def __init__(self, inputs, squeezed, outputs):
        super().__init__()
        self.squeeze, self.unit = nn.Conv2d(inputs, squeezed, 1), nn.ReLU(inplace=True)
        self.expand1, self.expand3 = nn.Conv2d(squeezed, outputs, 1), nn.Conv2d(squeezed, outputs, 3, padding=1)

    def forward(self, x):
        x = self.unit(self.squeeze(x))
        return torch.cat([self.unit(self.expand1(x)), self.unit(self.expand3(x))], 1)


class SqueezeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, ceil_mode=True),
            Fire(8, 4, 8), Fire(16, 4, 8), nn.MaxPool2d(3, 2, ceil_mode=True), Fire(16, 6, 12))
        self.classifier = nn.Sequential(nn.Dropout(0.0), nn.Conv2d(24, CLASSES, 1), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((1, 1)))

    def forward(self, x):
        return torch.flatten(self.classifier(self.features(x)), 1)


class Inception(nn.Module):
    """GoogLeNet's branches, and one of Inception V3 with kernels of one row and one column."""

    def __init__(self, inputs):
        super().__init__()
        self.branch1, self.branch2 = conv_norm(inputs, 4, 1), nn.Sequential(conv_norm(inputs, 4, 1), conv_norm(4, 6, 3))
        self.branch3 = nn.Sequential(conv_norm(inputs, 3, 1), conv_norm(3, 4, (1, 7)), conv_norm(4, 4, (7, 1)))
        self.branch4 = nn.Sequential(nn.MaxPool2d(3, 1, 1, ceil_mode=True), conv_norm(inputs, 4, 1))
        self.branch5 = conv_norm(inputs, 3, 1)

    def forward(self, x):
        mean = F.avg_pool2d(x, 3, 1, 1)
        return torch.cat([self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x), self.branch5(mean)], 1)


class GoogLeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv_norm(3, 8, 7, 2), nn.MaxPool2d(3, 2, ceil_mode=True))
        self.body = nn.Sequential(Inception(8), Inception(21), nn.MaxPool2d(2, 2, ceil_mode=True), Inception(21))
        self.pool, self.dropout, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Dropout(0.0), nn.Linear(21, CLASSES)

    def forward(self, x):
        # torchvision scales its input to what ImageNet's weights were trained with.
        parts = [torch.unsqueeze(x[:, i], 1) * (s / 0.5) + (m - 0.5) / 0.5
                 for i, (s, m) in enumerate(((0.229, 0.485), (0.224, 0.456), (0.225, 0.406)))]
        x = self.pool(self.body(self.stem(torch.cat(parts, 1))))
        return self.fc(self.dropout(torch.flatten(x, 1)))


class SqueezeExcite(nn.Module):
    """x * gate(...): a factor for each channel of each image."""

    def __init__(self, channels, squeezed, unit, gate):
        super().__init__()
        self.pool, self.fc1, self.fc2 = nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, squeezed, 1), nn.Conv2d(squeezed, channels, 1)
        self.unit, self.gate = unit(), gate()

    def forward(self, x):
        return self.gate(self.fc2(self.unit(self.fc1(self.pool(x))))) * x


class RegNet(nn.Module):
    """Bottlenecks in groups, with squeeze and excite."""

    def __init__(self):
        super().__init__()
        blocks = []
        for inputs, outputs in ((8, 16), (16, 24)):
            layers = [conv_norm(inputs, outputs, 1), conv_norm(outputs, outputs, 3, 2, outputs // 4),
                      SqueezeExcite(outputs, inputs // 4, nn.ReLU, nn.Sigmoid), conv_norm(outputs, outputs, 1, unit=None)]
            blocks.append(Residual(layers, inputs, outputs, 2))
        self.stem, self.blocks = conv_norm(3, 8, 3, 2), nn.Sequential(*blocks)
        self.pool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(24, CLASSES)

    def forward(self, x):
        return self.fc(self.pool(self.blocks(self.stem(x))).flatten(start_dim=1))


NETWORKS = {
    # name: (network, set of operators)
    "alexnet": (AlexNet, 13),
    "vgg": (Vgg, 14),
    "resnet_basic": (lambda: ResNet(basic_block), 15),
    "resnet_bottleneck": (lambda: ResNet(bottleneck), 16),
    "densenet": (DenseNet, 17),
    "squeezenet": (SqueezeNet, 13),
    "googlenet": (GoogLeNet, 14),
    "regnet": (RegNet, 15),
}
