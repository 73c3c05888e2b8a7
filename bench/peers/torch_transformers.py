"""The transformers of the comparisons in PyTorch; layer for layer those of src/networks/generator."""
import math

import torch
import torch.nn.functional as F
from torch import nn


def attend(query, key, value, causal):
    """(N, heads, T, D) each; by PyTorch's own kernels where it has them."""
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(query, key, value, is_causal=causal)
    scores = query @ key.transpose(-2, -1) * (1 / math.sqrt(query.shape[-1]))
    if causal:
        steps = scores.shape[-1]
        future = torch.ones(steps, steps, dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(future, float("-inf"))
    return scores.softmax(-1) @ value


class Layer(nn.Module):
    def __init__(self, width, heads, causal, unit, epsilon):
        super().__init__()
        self.heads, self.causal, self.unit = heads, causal, unit
        self.norm1, self.norm2 = nn.LayerNorm(width, epsilon), nn.LayerNorm(width, epsilon)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.hidden, self.sum = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, steps, width = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, steps, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        attended = attend(query, key, value, self.causal).transpose(1, 2).reshape(batch, steps, width)
        x = x + self.out(attended)
        return x + self.sum(self.unit(self.hidden(self.norm2(x))))


def gelu_tanh(x):
    return F.gelu(x, approximate="tanh")


class Gpt(nn.Module):
    """GPT-2: the weight of the last layer is the embedding."""

    def __init__(self, layers, width, heads, length, vocabulary):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.positions = nn.Parameter(0.02 * torch.randn(length, width))
        self.layers = nn.ModuleList(Layer(width, heads, True, gelu_tanh, 1e-5) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, ids):
        x = self.embedding(ids) + self.positions
        for layer in self.layers:
            x = layer(x)
        return F.linear(self.norm(x), self.embedding.weight).flatten(0, 1)


class Vit(nn.Module):
    def __init__(self, layers, width, heads, image, patch, classes):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.class_token = nn.Parameter(0.02 * torch.randn(1, 1, width))
        self.positions = nn.Parameter(0.02 * torch.randn((image // patch) ** 2 + 1, width))
        self.layers = nn.ModuleList(Layer(width, heads, False, F.gelu, 1e-6) for _ in range(layers))
        self.norm = nn.LayerNorm(width, 1e-6)
        self.classes = nn.Linear(width, classes)

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat((self.class_token.expand(x.shape[0], -1, -1), x), 1) + self.positions
        for layer in self.layers:
            x = layer(x)
        return self.classes(self.norm(x[:, 0]))


def gpt_batch(batch, length, vocabulary):
    """Ids, and as labels the next ones."""
    tokens = torch.randint(vocabulary, (batch, length + 1))
    return tokens[:, :-1].contiguous(), tokens[:, 1:].flatten()
