#!/usr/bin/env python3
"""Times training steps of one network in eager PyTorch; prints one JSON object."""
import argparse
import json
import math
import statistics
import time

import torch
import torch.nn.functional as F

from torch_networks import NETWORKS, SEQUENCE_NETWORKS, CifarNet, sequence_batch

POOL_BATCHES = 4


def make_optimizer(name, parameters):
    # Measured on the CPU: foreach is faster for SGD and slower for Adam. Fused Adam needs a GPU.
    if name == "adam":
        return torch.optim.Adam(parameters, lr=1e-4, foreach=False)
    if name == "adamw":
        return torch.optim.AdamW(parameters, lr=1e-4, foreach=False)
    momentum = 0.9 if name == "momentum" else 0.0
    return torch.optim.SGD(parameters, lr=0.1, momentum=momentum, foreach=True)


class WeightAverage:
    def __init__(self, parameters):
        self.weights = [p.detach() for p in parameters]
        self.averages = [w.clone() for w in self.weights]
        self.updates = 0

    def update(self):
        decay = min(0.9999, (1 + self.updates) / (10 + self.updates))
        self.updates += 1
        torch._foreach_mul_(self.averages, decay)
        torch._foreach_add_(self.averages, self.weights, alpha=1 - decay)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", choices=[*NETWORKS, *SEQUENCE_NETWORKS], required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--optimizer", choices=("sgd", "momentum", "adam", "adamw"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--no-ema", action="store_true", help="cifarnet: no average of the weights")
    parser.add_argument("--lrn-as-conv", action="store_true",
                        help="cifarnet: a hand-made response norm, faster than nn.LocalResponseNorm")
    args = parser.parse_args()
    if min(args.batch, args.threads, args.steps) < 1 or args.warmup < 0:
        parser.error("--batch, --threads and --steps must be at least 1, --warmup at least 0")
    return args


def main():
    args = parse_arguments()
    torch.set_num_threads(args.threads)
    torch.set_num_interop_threads(1)
    torch.manual_seed(args.seed)

    build, shape, classes, default_optimizer = (NETWORKS | SEQUENCE_NETWORKS)[args.network]
    optimizer_name = args.optimizer or default_optimizer
    model = (build(args.lrn_as_conv) if build is CifarNet else build()).train()
    if args.network in SEQUENCE_NETWORKS:
        pool = [sequence_batch(args.network, args.batch) for _ in range(POOL_BATCHES)]
    else:
        pool = [(torch.randn(args.batch, *shape), torch.randint(classes, (args.batch,)))
                for _ in range(POOL_BATCHES)]
    if args.channels_last and len(shape) == 3:
        model = model.to(memory_format=torch.channels_last)
        pool = [(x.contiguous(memory_format=torch.channels_last), y) for x, y in pool]

    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = make_optimizer(optimizer_name, parameters)
    penalty = getattr(model, "penalty", None)
    average = WeightAverage(parameters) if args.network == "cifarnet" and not args.no_ema else None

    def step(images, labels):
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(images), labels)
        if penalty:
            loss = loss + penalty()
        loss.backward()
        optimizer.step()
        if average:
            average.update()
        return loss

    step_seconds = []
    for index in range(args.warmup + args.steps):
        images, labels = pool[index % POOL_BATCHES]
        start = time.perf_counter()
        loss = step(images, labels)
        step_seconds.append(time.perf_counter() - start)
    del step_seconds[:args.warmup]

    final_loss = loss.item()
    median = statistics.median(step_seconds)
    print(json.dumps({
        "framework": "pytorch",
        "version": torch.__version__,
        "network": args.network,
        "batch": args.batch,
        "threads": torch.get_num_threads(),
        "optimizer": optimizer_name,
        "parameters": sum(p.numel() for p in parameters),
        "steps": args.steps,
        "warmup_steps": args.warmup,
        "step_seconds": step_seconds,
        "median_seconds": median,
        "mean_seconds": statistics.fmean(step_seconds),
        "min_seconds": min(step_seconds),
        "images_per_second": args.batch / median,
        "final_loss": final_loss if math.isfinite(final_loss) else None,
    }))


if __name__ == "__main__":
    main()
