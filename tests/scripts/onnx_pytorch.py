#!/usr/bin/env python3
"""Exports small networks by PyTorch to FOLDER, each NAME.onnx with the input of one step and its loss, NAME.json.

usage: onnx_pytorch.py FOLDER [SET]. With a SET of operators all are of that set, and what PyTorch can compute beforehand
it does; without one the files are those of tests/golden/kept/onnx. Exit status 77 where PyTorch is absent (Debian: python3-torch, python3-onnx).
"""

import json
import os
import sys

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

VOCABULARY, STEPS, WIDTH, HEADS, BATCH = 23, 8, 16, 2, 3


class CausalAttention(nn.Module):
    """As nanoGPT has it: one projection for queries, keys and values, and a mask that is kept."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.register_buffer("mask", torch.tril(torch.ones(STEPS, STEPS)).view(1, 1, STEPS, STEPS))

    def forward(self, x):
        batch, steps, width = x.size()
        q, k, v = self.qkv(x).split(WIDTH, dim=2)
        k = k.view(batch, steps, HEADS, width // HEADS).transpose(1, 2)
        q = q.view(batch, steps, HEADS, width // HEADS).transpose(1, 2)
        v = v.view(batch, steps, HEADS, width // HEADS).transpose(1, 2)
        scores = (q @ k.transpose(-2, -1)) * (1.0 / (k.size(-1) ** 0.5))
        scores = scores.masked_fill(self.mask[:, :, :steps, :steps] == 0, float("-inf"))
        y = F.softmax(scores, dim=-1) @ v
        return self.out(y.transpose(1, 2).contiguous().view(batch, steps, width))


class TanhGelu(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh((2.0 / torch.pi) ** 0.5 * (x + 0.044715 * torch.pow(x, 3.0))))


class Block(nn.Module):
    def __init__(self, attention, unit):
        super().__init__()
        self.norm1, self.norm2, self.attention = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH), attention
        self.into, self.unit, self.out = nn.Linear(WIDTH, 4 * WIDTH), unit, nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.out(self.unit(self.into(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(STEPS, WIDTH)
        self.blocks = nn.ModuleList([Block(CausalAttention(), TanhGelu()) for _ in range(2)])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids):
        steps = ids.size(1)
        places = torch.arange(0, steps, dtype=torch.long).unsqueeze(0)
        x = self.tokens(ids) + self.places(places)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class GptOfLayers(nn.Module):
    """PyTorch's own layers, which attend step by step, with a mask that is added."""

    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Parameter(torch.randn(1, STEPS, WIDTH))
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 2 * WIDTH, 0.0, "gelu", batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, VOCABULARY)
        self.register_buffer("mask", torch.triu(torch.full((STEPS, STEPS), float("-inf")), diagonal=1))

    def forward(self, ids):
        x = self.tokens(ids) + self.places
        return self.head(self.layers(x, self.mask))


class SeparateAttention(nn.Module):
    """As BERT has it: three projections, and heads that are split by a computed shape."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def heads(self, x):
        return x.view(x.size()[:-1] + (HEADS, WIDTH // HEADS)).permute(0, 2, 1, 3)

    def forward(self, x):
        q, k, v = self.heads(self.q(x)), self.heads(self.k(x)), self.heads(self.v(x))
        weights = nn.Softmax(dim=-1)(torch.matmul(q, k.transpose(-1, -2)) / (WIDTH // HEADS) ** 0.5)
        y = torch.matmul(weights, v).permute(0, 2, 1, 3).contiguous()
        return self.out(y.view(y.size()[:-2] + (WIDTH,)))


class BertLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.norm1, self.norm2 = SeparateAttention(), nn.LayerNorm(WIDTH, 1e-12), nn.LayerNorm(WIDTH, 1e-12)
        self.into, self.out = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.out(F.gelu(self.into(x))))


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places, self.types = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(12, WIDTH), nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, 1e-12)
        self.layers = nn.ModuleList([BertLayer() for _ in range(2)])
        self.head = nn.Linear(WIDTH, VOCABULARY)
        self.register_buffer("place_ids", torch.arange(12).expand((1, -1)))

    def forward(self, ids):
        x = self.tokens(ids) + self.types(torch.zeros_like(ids)) + self.places(self.place_ids[:, : ids.size(1)])
        x = self.norm(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


class RmsNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class LlamaAttention(nn.Module):
    """Rotary positions, and heads that share their keys and values."""

    def __init__(self):
        super().__init__()
        self.size, self.shared = 4, 2
        self.q = nn.Linear(WIDTH, 4 * self.size, bias=False)
        self.k, self.v = nn.Linear(WIDTH, 2 * self.size, bias=False), nn.Linear(WIDTH, 2 * self.size, bias=False)
        self.out = nn.Linear(4 * self.size, WIDTH, bias=False)
        angles = torch.outer(torch.arange(STEPS).float(), 10000.0 ** (-torch.arange(0, self.size, 2).float() / self.size))
        angles = torch.cat((angles, angles), dim=-1)
        self.register_buffer("cos", angles.cos()[None, None])
        self.register_buffer("sin", angles.sin()[None, None])

    def rotated(self, x):
        a, b = x[..., : self.size // 2], x[..., self.size // 2 :]
        return x * self.cos + torch.cat((-b, a), dim=-1) * self.sin

    def repeated(self, x):
        batch, heads, steps, size = x.shape
        x = x[:, :, None, :, :].expand(batch, heads, self.shared, steps, size)
        return x.reshape(batch, heads * self.shared, steps, size)

    def forward(self, x):
        batch, steps, _ = x.shape
        split = lambda y, heads: y.view(batch, steps, heads, self.size).transpose(1, 2)
        q, k, v = self.rotated(split(self.q(x), 4)), self.rotated(split(self.k(x), 2)), split(self.v(x), 2)
        scores = q @ self.repeated(k).transpose(2, 3) / self.size**0.5
        places = torch.arange(steps)
        scores = scores + (places[:, None] < places[None]).float() * torch.finfo(torch.float32).min
        y = F.softmax(scores, dim=-1) @ self.repeated(v)
        return self.out(y.transpose(1, 2).reshape(batch, steps, -1))


class LlamaBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2, self.attention = RmsNorm(), RmsNorm(), LlamaAttention()
        self.gate, self.up = nn.Linear(WIDTH, 2 * WIDTH, bias=False), nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.down = nn.Linear(2 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.blocks = nn.Embedding(VOCABULARY, WIDTH), nn.ModuleList([LlamaBlock(), LlamaBlock()])
        self.norm, self.head = RmsNorm(), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, ids):
        x = self.tokens(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class JoinedAttention(nn.Module):
    """As timm has it: the projection is reshaped to five dimensions and taken apart."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        batch, steps, width = x.shape
        qkv = self.qkv(x).reshape(batch, steps, 3, HEADS, width // HEADS).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        weights = ((q * (width // HEADS) ** -0.5) @ k.transpose(-2, -1)).softmax(dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, steps, width))


class Vit(nn.Module):
    def __init__(self, pooled=False):
        super().__init__()
        self.patches, self.pooled = nn.Conv2d(3, WIDTH, 4, 4), pooled
        self.first, self.places = nn.Parameter(torch.randn(1, 1, WIDTH)), nn.Parameter(torch.randn(1, 5, WIDTH))
        self.blocks = nn.ModuleList([Block(JoinedAttention(), nn.GELU()) for _ in range(2)])
        self.norm, self.head = nn.LayerNorm(WIDTH, 1e-6), nn.Linear(WIDTH, 10)

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat((self.first.expand(x.shape[0], -1, -1), x), dim=1) + self.places
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return self.head(x.mean(dim=1) if self.pooled else x[:, 0])


NETWORKS = {
    # name: (network, set of operators)
    "gpt": (Gpt, 13),
    "gpt_of_layers": (GptOfLayers, 14),
    "bert": (Bert, 15),
    "llama": (Llama, 16),
    "vit": (Vit, 17),
    "vit_pooled": (lambda: Vit(True), 13),
}


def write(name, folder, wanted):
    torch.manual_seed(7)
    make, opset = NETWORKS[name]
    opset = wanted or opset
    network = make()
    with torch.no_grad():  # norms and biases that start at ones and zeros would hide what is left out
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    is_vit = name.startswith("vit")
    sample = torch.randn(BATCH, 3, 8, 8) if is_vit else torch.randint(0, VOCABULARY, (BATCH, STEPS + 1))
    given = sample if is_vit else sample[:, :-1].contiguous()
    labels = torch.randint(0, 10, (BATCH,)) if is_vit else sample[:, 1:]
    network.train()  # in training mode PyTorch's own layers run the ops that are exported
    logits = network(given)
    loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1))
    torch.onnx.export(network, given, os.path.join(folder, name + ".onnx"), opset_version=opset, input_names=["input"],
                      output_names=["output"], training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=bool(wanted),
                      dynamic_axes={"input": {0: "batch"}, "output": {0: "batch"}})
    with open(os.path.join(folder, name + ".json"), "w") as file:
        json.dump({"batch": BATCH, "input": sample.reshape(-1).tolist(), "labels": labels.reshape(-1).tolist(),
                   "loss": loss.item()}, file)
        file.write("\n")


def main():
    folder, wanted = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
    os.makedirs(folder, exist_ok=True)
    torch.set_num_threads(1)  # they would wait for each other where there is one core
    for name in NETWORKS:
        write(name, folder, wanted)


if __name__ == "__main__":
    main()
