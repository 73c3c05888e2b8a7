"""More networks as PyTorch's users write them, narrow: of mobile classifiers, with norms of rows, for pixels and boxes, recurrent.

Each is a module without arguments that returns logits; those of SEQUENCES take token ids, all others images (N, 3, 32, 32).
"""

import torch
from torch import nn
from torch.nn import functional as F

from pytorch_images import CLASSES, SqueezeExcite, conv_norm

VOCABULARY, STEPS = 23, 7


class Inverted(nn.Module):
    """An inverted residual: wider, by the depth, narrower, and added where shapes agree."""

    def __init__(self, inputs, outputs, stride, wider, kernel=3, unit=nn.ReLU6, excite=None):
        super().__init__()
        middle = inputs * wider
        layers = [conv_norm(inputs, middle, 1, unit=unit)] if wider != 1 else []
        layers.append(conv_norm(middle, middle, kernel, stride, middle, unit))
        if excite is not None:
            layers.append(SqueezeExcite(middle, max(2, middle // 4), *excite))
        self.layers = nn.Sequential(*layers, conv_norm(middle, outputs, 1, unit=None))
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.layers(x) if self.adds else self.layers(x)


class Mobile(nn.Module):
    """A stem, inverted residuals, and a head of its own kind."""

    def __init__(self, unit, blocks, width, head):
        super().__init__()
        self.features = nn.Sequential(conv_norm(3, 8, 3, 2, unit=unit), *blocks)
        self.pool, self.classifier, self.mean = nn.AdaptiveAvgPool2d(1), head, head[0].__class__ is nn.Dropout
        self.width = width

    def forward(self, x):
        x = self.features(x)
        x = x.mean([2, 3]) if self.mean else torch.flatten(self.pool(x), 1)
        return self.classifier(x)


def mobilenet_v2():
    blocks = [Inverted(8, 8, 1, 1), Inverted(8, 12, 2, 3), Inverted(12, 12, 1, 3), conv_norm(12, 24, 1, unit=nn.ReLU6)]
    return Mobile(nn.ReLU6, blocks, 24, nn.Sequential(nn.Dropout(0.0), nn.Linear(24, CLASSES)))


def mobilenet_v3():
    excite = (nn.ReLU, nn.Hardsigmoid)
    blocks = [Inverted(8, 8, 1, 1, unit=nn.ReLU, excite=excite), Inverted(8, 12, 2, 3, 5, nn.Hardswish, excite),
              Inverted(12, 12, 1, 3, 5, nn.Hardswish, excite), conv_norm(12, 24, 1, unit=nn.Hardswish)]
    return Mobile(nn.Hardswish, blocks, 24, nn.Sequential(nn.Linear(24, 16), nn.Hardswish(inplace=True), nn.Dropout(0.0), nn.Linear(16, CLASSES)))


def efficientnet():
    excite = (nn.SiLU, nn.Sigmoid)
    blocks = [Inverted(8, 8, 1, 1, 3, nn.SiLU, excite), Inverted(8, 12, 2, 4, 5, nn.SiLU, excite),
              Inverted(12, 12, 1, 4, 3, nn.SiLU, excite), conv_norm(12, 24, 1, unit=nn.SiLU)]
    return Mobile(nn.SiLU, blocks, 24, nn.Sequential(nn.Linear(24, CLASSES)))


def mnasnet():
    blocks = [Inverted(8, 8, 1, 1, unit=nn.ReLU), Inverted(8, 12, 2, 3, 5, nn.ReLU), Inverted(12, 12, 1, 3, 5, nn.ReLU), conv_norm(12, 24, 1)]
    return Mobile(nn.ReLU, blocks, 24, nn.Sequential(nn.Dropout(0.0), nn.Linear(24, CLASSES)))


class Shuffled(nn.Module):
    """ShuffleNet V2's unit: one half of the channels goes by, then the halves are mixed."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        half = outputs // 2
        self.stride, first = stride, inputs if stride > 1 else half
        self.branch2 = nn.Sequential(conv_norm(first, half, 1), conv_norm(half, half, 3, stride, half, None), conv_norm(half, half, 1))
        self.branch1 = nn.Sequential(conv_norm(inputs, inputs, 3, stride, inputs, None), conv_norm(inputs, half, 1)) if stride > 1 else None

    def forward(self, x):
        if self.stride == 1:
            x1, x2 = x.chunk(2, dim=1)
            y = torch.cat((x1, self.branch2(x2)), dim=1)
        else:
            y = torch.cat((self.branch1(x), self.branch2(x)), dim=1)
        n, channels, height, width = y.size()
        y = y.view(n, 2, channels // 2, height, width)
        return torch.transpose(y, 1, 2).contiguous().view(n, channels, height, width)


class ShuffleNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(conv_norm(3, 8, 3, 2), nn.MaxPool2d(3, 2, 1), Shuffled(8, 16, 2), Shuffled(16, 16, 1), conv_norm(16, 24, 1))
        self.fc = nn.Linear(24, CLASSES)

    def forward(self, x):
        return self.fc(self.features(x).mean([2, 3]))


class ChannelNorm(nn.LayerNorm):
    def forward(self, x):
        return F.layer_norm(x.permute(0, 2, 3, 1), self.normalized_shape, self.weight, self.bias, self.eps).permute(0, 3, 1, 2)


class ConvNextBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.depth, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width), nn.LayerNorm(width, eps=1e-6)
        self.into, self.out = nn.Linear(width, 3 * width), nn.Linear(3 * width, width)
        self.layer_scale = nn.Parameter(0.1 * torch.ones(width, 1, 1))

    def forward(self, x):
        y = self.norm(self.depth(x).permute(0, 2, 3, 1))
        return x + self.layer_scale * self.out(F.gelu(self.into(y))).permute(0, 3, 1, 2)


class ConvNext(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 4, 4), ChannelNorm(8, eps=1e-6))
        self.body = nn.Sequential(ConvNextBlock(8), ChannelNorm(8, eps=1e-6), nn.Conv2d(8, 16, 2, 2), ConvNextBlock(16))
        self.head = nn.Sequential(ChannelNorm(16, eps=1e-6), nn.Flatten(1), nn.Linear(16, CLASSES))

    def forward(self, x):
        return self.head(F.adaptive_avg_pool2d(self.body(self.stem(x)), 1))


class WindowAttention(nn.Module):
    """Swin's: steps see those of their window, with a bias for each pair of places."""

    def __init__(self, width, heads, side):
        super().__init__()
        self.heads, self.side = heads, side
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.bias = nn.Parameter(0.1 * torch.randn(heads, side * side, side * side))

    def forward(self, x):
        n, height, width, channels = x.shape
        s, size = self.side, channels // self.heads
        x = x.view(n, height // s, s, width // s, s, channels).permute(0, 1, 3, 2, 4, 5).reshape(-1, s * s, channels)
        q, k, v = self.qkv(x).reshape(x.size(0), s * s, 3, self.heads, size).permute(2, 0, 3, 1, 4).unbind(0)
        weights = (q * size**-0.5) @ k.transpose(-2, -1) + self.bias.unsqueeze(0)
        y = (weights.softmax(-1) @ v).transpose(1, 2).reshape(x.size(0), s * s, channels)
        y = self.out(y).view(n, height // s, width // s, s, s, channels)
        return y.permute(0, 1, 3, 2, 4, 5).reshape(n, height, width, channels)


class Swin(nn.Module):
    """Two blocks, the second with windows that are shifted by a roll, and merged patches."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 12, 4, 4)
        self.norms = nn.ModuleList([nn.LayerNorm(12) for _ in range(4)])
        self.attention = nn.ModuleList([WindowAttention(12, 2, 4) for _ in range(2)])
        self.into, self.back = nn.ModuleList([nn.Linear(12, 24) for _ in range(2)]), nn.ModuleList([nn.Linear(24, 12) for _ in range(2)])
        self.merge, self.norm, self.head = nn.Linear(48, 16, bias=False), nn.LayerNorm(48), nn.Linear(16, CLASSES)

    def forward(self, x):
        x = self.patches(x).permute(0, 2, 3, 1)
        for i in range(2):
            y = self.norms[2 * i](x)
            y = torch.roll(y, (-2, -2), (1, 2)) if i == 1 else y
            y = self.attention[i](y)
            x = x + (torch.roll(y, (2, 2), (1, 2)) if i == 1 else y)
            x = x + self.back[i](F.gelu(self.into[i](self.norms[2 * i + 1](x))))
        parts = [x[:, i::2, j::2, :] for j in (0, 1) for i in (0, 1)]
        x = self.merge(self.norm(torch.cat(parts, -1)))
        return self.head(x.flatten(1, 2).mean(1))


class UNet(nn.Module):
    """Logits of pixels, whose mean is asked for the class of the image."""

    def __init__(self, mode):
        super().__init__()
        double = lambda inputs, outputs: nn.Sequential(conv_norm(inputs, outputs, 3), conv_norm(outputs, outputs, 3))
        self.down1, self.down2, self.middle = double(3, 6), double(6, 8), double(8, 12)
        self.up2 = nn.ConvTranspose2d(12, 8, 2, 2) if mode == "transposed" else nn.Sequential(
            nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), nn.Conv2d(12, 8, 1))
        self.up1 = nn.ConvTranspose2d(8, 6, 4, 2, 1) if mode == "transposed" else nn.Sequential(
            nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False), nn.Conv2d(8, 6, 1))
        self.out2, self.out1, self.pixels = double(16, 8), double(12, 6), nn.Conv2d(6, CLASSES, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        y = self.out2(torch.cat([self.up2(self.middle(F.max_pool2d(b, 2))), b], 1))
        return self.pixels(self.out1(torch.cat([self.up1(y), a], 1))).mean((2, 3))


class GroupNormNet(nn.Module):
    """Group and instance norms, and the less usual units."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1), nn.GroupNorm(4, 8), nn.ELU(), nn.Conv2d(8, 12, 3, 2, 1), nn.InstanceNorm2d(12, affine=True),
            nn.PReLU(12), nn.ReflectionPad2d(1), nn.Conv2d(12, 12, 3), nn.Softplus(), nn.Conv2d(12, 12, 1), nn.Mish(), nn.Hardtanh(-1, 2))
        self.fc = nn.Linear(12, CLASSES)

    def forward(self, x):
        return self.fc(self.layers(x).amax((2, 3)))


class Yolo(nn.Module):
    """A backbone with pools of three sizes, up and down again, logits of boxes whose mean is asked for the class."""

    def __init__(self):
        super().__init__()
        conv = lambda inputs, outputs, kernel, stride=1: conv_norm(inputs, outputs, kernel, stride, unit=nn.SiLU)
        self.stem, self.csp1, self.csp2 = conv(3, 8, 3, 2), conv(8, 4, 1), nn.Sequential(conv(8, 4, 1), conv(4, 4, 3))
        self.down, self.squeeze, self.joined = conv(8, 12, 3, 2), conv(12, 6, 1), conv(24, 12, 1)
        self.lateral, self.out, self.head = conv(12, 8, 1), conv(16, 8, 3), nn.Conv2d(8, CLASSES, 1)
        self.heads, self.pool = nn.Conv2d(12, CLASSES, 1), nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        x = self.stem(x)
        wide = torch.cat((self.csp1(x), self.csp2(x)), 1)
        y = self.squeeze(self.down(wide))
        pools = [y]
        for _ in range(3):
            pools.append(self.pool(pools[-1]))
        deep = self.joined(torch.cat(pools, 1))
        up = F.interpolate(self.lateral(deep), scale_factor=2, mode="nearest")
        boxes = [self.head(self.out(torch.cat((up, wide), 1))), self.heads(deep)]
        return torch.cat([part.flatten(2) for part in boxes], 2).mean(2)


class Recurrent(nn.Module):
    """A language model of two layers, logits of each step."""

    def __init__(self, cell):
        super().__init__()
        self.tokens, self.cells, self.head = nn.Embedding(VOCABULARY, 12), cell(12, 16, 2, batch_first=True), nn.Linear(16, VOCABULARY)

    def forward(self, ids):
        return self.head(self.cells(self.tokens(ids))[0])


class RowReader(nn.Module):
    """Reads the rows of an image and classifies by the last state."""

    def __init__(self, cell, both=False):
        super().__init__()
        self.cells, self.head = cell(96, 16, batch_first=True, bidirectional=both), nn.Linear(32 if both else 16, CLASSES)

    def forward(self, images):
        rows = images.permute(0, 2, 1, 3).flatten(2)
        states, last = self.cells(rows)
        last = last[0] if isinstance(last, tuple) else last
        return self.head(torch.cat((last[-2], last[-1]), 1) if self.cells.bidirectional else last[-1])


NETWORKS = {
    # name: (network, set of operators)
    "mobilenet_v2": (mobilenet_v2, 16),
    "mobilenet_v3": (mobilenet_v3, 17),
    "efficientnet": (efficientnet, 13),
    "mnasnet": (mnasnet, 14),
    "shufflenet_v2": (ShuffleNet, 15),
    "convnext": (ConvNext, 16),
    "swin": (Swin, 17),
    "unet": (lambda: UNet("transposed"), 13),
    "unet_bilinear": (lambda: UNet("bilinear"), 14),
    "group_norms": (GroupNormNet, 15),
    "yolo": (Yolo, 16),
    "lstm_language": (lambda: Recurrent(nn.LSTM), 13),
    "gru_language": (lambda: Recurrent(nn.GRU), 14),
    "lstm_rows": (lambda: RowReader(nn.LSTM, True), 15),
    "gru_rows": (lambda: RowReader(nn.GRU), 16),
}
SEQUENCES = ("lstm_language", "gru_language")
