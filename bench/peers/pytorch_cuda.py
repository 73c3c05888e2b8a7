#!/usr/bin/env python3
"""Times training steps of one network in PyTorch on a GPU; prints one JSON object a line for each mode and
precision.

eager    as people write it
fused    the same with the fused optimizer
graph    the whole step, fused optimizer included, captured once as a CUDA graph; batches are copied into its
         fixed inputs before every replay
compile  forward, loss and backward by torch.compile(mode="reduce-overhead"), fused optimizer
autotune the same with mode="max-autotune", which also measures kernels of its own for products"""
import gc

import torch
import torch.nn.functional as F

from gpu_peer import (EMA_DECAY, POOL_BATCHES, check_arguments, emit, finite, learning_rate, make_parser,
                      measure, one_line)
from torch_networks import NETWORKS, SEQUENCE_NETWORKS, sequence_batch

# The compiled ones last: they are tried only with the memory format that was best before, and keep their memory.
MODES = ("eager", "fused", "graph", "compile", "autotune")
COMPILED = {"compile": "reduce-overhead", "autotune": "max-autotune"}
FORMATS = {"channels_last": torch.channels_last, "contiguous": torch.contiguous_format}
CAPTURE_WARMUP = 3


def build_model(args):
    build = (NETWORKS | SEQUENCE_NETWORKS)[args.network][0]
    if args.network == "fc":
        return build(args.layers, args.width, args.inputs, args.classes)
    return build(args.lrn_as_conv) if args.network == "cifarnet" else build()


def make_batch(args, memory_format):
    if args.network in SEQUENCE_NETWORKS:
        return tuple(tensor.cuda() for tensor in sequence_batch(args.network, args.batch))
    _, shape, classes, _ = NETWORKS[args.network]
    if args.network == "fc":
        shape, classes = (args.inputs,), args.classes
    return (torch.randn(args.batch, *shape, device="cuda").contiguous(memory_format=FORMATS[memory_format]),
            torch.randint(classes, (args.batch,), device="cuda"))


def make_optimizer(args, parameters, mode):
    rate = learning_rate(args.network, args.optimizer)
    how = {} if mode == "eager" else {"fused": True}
    if args.optimizer == "adam":
        return torch.optim.Adam(parameters, lr=rate, capturable=mode == "graph", **how)
    if args.optimizer == "adamw":
        return torch.optim.AdamW(parameters, lr=rate, capturable=mode == "graph", **how)
    return torch.optim.SGD(parameters, lr=rate, momentum=0.9 if args.optimizer == "momentum" else 0.0, **how)


class Training:
    """One network in one mode. run(n) starts n steps on the pool's batches in turn and returns n."""

    def __init__(self, args, mode, precision, memory_format):
        torch.manual_seed(args.seed)
        self.mode, self.precision = mode, precision
        self.count = 0
        with torch.device("cuda"):
            self.model = build_model(args).train()
        if memory_format == "channels_last":
            self.model = self.model.to(memory_format=torch.channels_last)
        self.pool = [make_batch(args, memory_format) for _ in range(POOL_BATCHES)]
        self.penalised = hasattr(self.model, "penalty")
        parameters = [p for p in self.model.parameters() if p.requires_grad]
        self.parameters = sum(p.numel() for p in parameters)
        self.optimizer = make_optimizer(args, parameters, mode)
        self.weights = [p.detach() for p in parameters]
        self.averages = [w.clone() for w in self.weights] if args.network == "cifarnet" else None
        self.loss_of = self.compute_loss
        if mode in COMPILED:
            self.loss_of = torch.compile(self.compute_loss, mode=COMPILED[mode], dynamic=False)
        if mode == "graph":
            self.capture()

    def compute_loss(self, images, labels):
        # Each weight is used once a step, so a cache of casts gains nothing; it must be off while capturing.
        with torch.autocast("cuda", torch.bfloat16, enabled=self.precision == "bf16", cache_enabled=False):
            logits = self.model(images)
        loss = F.cross_entropy(logits.float(), labels)
        return loss + self.model.penalty() if self.penalised else loss

    def step(self, images, labels):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss_of(images, labels)
        loss.backward()
        self.optimizer.step()
        if self.averages:
            torch._foreach_lerp_(self.averages, self.weights, 1 - EMA_DECAY)
        return loss

    def load(self, batch):
        for fixed, fresh in zip(self.fixed, batch):
            fixed.copy_(fresh)

    def capture(self):
        self.fixed = [torch.empty_like(tensor) for tensor in self.pool[0]]
        self.load(self.pool[0])
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(CAPTURE_WARMUP):
                self.step(*self.fixed)
        torch.cuda.current_stream().wait_stream(side)
        self.optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.step(*self.fixed)

    def run(self, steps):
        for _ in range(steps):
            batch = self.pool[self.count % POOL_BATCHES]
            self.count += 1
            if self.mode == "graph":
                self.load(batch)
                self.graph.replay()
            else:
                if self.mode in COMPILED:
                    torch.compiler.cudagraph_mark_step_begin()
                self.loss = self.step(*batch)
        return steps


def between_events(run, steps):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    done = run(steps)
    end.record()
    return done, lambda: start.elapsed_time(end) / 1e3


def set_precision(precision):
    # bf16: the products that autocast leaves in f32 may use tf32, as ours do.
    fast = precision != "f32"
    torch.set_float32_matmul_precision("high" if fast else "highest")
    torch.backends.cudnn.allow_tf32 = fast


def time_one(args, mode, precision, memory_format):
    set_precision(precision)
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    result = {"framework": "pytorch", "version": torch.__version__, "network": args.network,
              "batch": args.batch, "optimizer": args.optimizer, "mode": mode, "precision": precision,
              "memory_format": memory_format}
    try:
        training = Training(args, mode, precision, memory_format)
        result["parameters"] = training.parameters
        result |= measure(args, training.run, torch.cuda.synchronize, between_events)
        result |= {"final_loss": finite(float(training.loss)),
                   "memory_bytes": torch.cuda.max_memory_allocated()}
    except Exception as error:
        result["error"] = one_line(error)
    return result


def parse_arguments():
    parser = make_parser(__doc__, [*NETWORKS, *SEQUENCE_NETWORKS], MODES)
    parser.add_argument("--formats", default=None, help="channels_last,contiguous (default: both, "
                        "resnet50 channels_last); the compiled mode takes the best of them")
    parser.add_argument("--lrn-as-conv", action="store_true",
                        help="cifarnet: a hand-made response norm, faster than nn.LocalResponseNorm")
    args = parser.parse_args()
    check_arguments(parser, args)
    formats = args.formats or ("contiguous" if args.network in ("fc", *SEQUENCE_NETWORKS) else
                               "channels_last" if args.network == "resnet50" else
                               "channels_last,contiguous")
    args.formats = formats.split(",")
    if any(name not in FORMATS for name in args.formats):
        parser.error(f"--formats '{formats}': of {', '.join(FORMATS)}")
    args.optimizer = args.optimizer or (NETWORKS | SEQUENCE_NETWORKS)[args.network][3]
    return args


def main():
    args = parse_arguments()
    torch.backends.cudnn.benchmark = True
    best = {}  # precision: (seconds, memory format)
    for mode in (mode for mode in MODES if mode in args.modes):
        for precision in args.precisions:
            formats = args.formats
            if mode in COMPILED:
                formats = [best.get(precision, (0, formats[0]))[1]]
            for memory_format in formats:
                result = time_one(args, mode, precision, memory_format)
                emit(result)
                if "error" not in result:
                    found = (result["median_seconds"], memory_format)
                    best[precision] = min(best.get(precision, found), found)


if __name__ == "__main__":
    main()
