#!/usr/bin/env python3
"""Times training steps of one network in JAX on a GPU; prints one JSON object a line for each mode and
precision.

jit    one jitted step with donated state, called in a Python loop
loop   lax.fori_loop over many steps inside one jit
tuned  the same with 2x2 pools and response norms written so that XLA makes faster code of them"""
import gc
import math
import os

# Grows as needed: the other side of a comparison wants memory, too.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
from jax import lax

from gpu_peer import (EMA_DECAY, GPTS, POOL_BATCHES, check_arguments, emit, finite, learning_rate, make_parser,
                      measure, one_line)
from jax_networks import NETWORKS as IMAGE_NETWORKS, Context
from jax_transformers import TRANSFORMERS

NETWORKS = IMAGE_NETWORKS | TRANSFORMERS
MODES = ("jit", "loop", "tuned")
TUNABLE = ("deepmnist", "cifarnet")
STEPS_PER_LOOP = {"deepmnist": 50, "cifarnet": 50, "resnet50": 5, "fc": 2, "transformer": 50, "gpt_char": 10}
DECAY = 0.01  # AdamW of the peers decays all
MATMUL_PRECISION = {"f32": "float32", "tf32": "tensorfloat32", "bf16": "default"}


def first_value(name, shape, key):
    if len(shape) > 1:
        return jax.random.normal(key, shape) * math.sqrt(2 / math.prod(shape[:-1]))
    return jnp.ones(shape) if name.endswith(("/gamma", "/scale")) else jnp.zeros(shape)


def first_state(args):
    shapes = NETWORKS[args.network][0](args)
    keys = jax.random.split(jax.random.key(args.seed), len(shapes))
    parameters = {name: first_value(name, shape, key) for (name, shape), key in zip(shapes.items(), keys)}
    slots = {"adam": 2, "adamw": 2, "momentum": 1, "sgd": 0}[args.optimizer]
    state = {"parameters": parameters, "step": jnp.int32(0), "loss": jnp.float32(0),
             "slots": [jax.tree.map(jnp.zeros_like, parameters) for _ in range(slots)]}
    state["statistics"] = {}
    for name, shape in shapes.items():
        if name.endswith("/gamma"):
            layer = name.removesuffix("/gamma")
            state["statistics"] |= {layer + "/mean": jnp.zeros(shape), layer + "/variance": jnp.ones(shape)}
    if args.network == "cifarnet":
        state["average"] = jax.tree.map(jnp.copy, parameters)
    return state


def updated(args, parameters, gradients, slots, step):
    rate = learning_rate(args.network, args.optimizer)
    if args.optimizer == "sgd":
        return jax.tree.map(lambda p, g: p - rate * g, parameters, gradients), slots
    if args.optimizer == "momentum":
        velocity = jax.tree.map(lambda v, g: 0.9 * v + g, slots[0], gradients)
        return jax.tree.map(lambda p, v: p - rate * v, parameters, velocity), [velocity]
    time = (step + 1).astype(jnp.float32)
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, slots[0], gradients)
    square = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, slots[1], gradients)
    corrected = rate * jnp.sqrt(1 - 0.999 ** time) / (1 - 0.9 ** time)
    decay = rate * DECAY if args.optimizer == "adamw" else 0.0
    moved = jax.tree.map(lambda p, m, v: (1 - decay) * p - corrected * m / (jnp.sqrt(v) + 1e-8), parameters, mean,
                         square)
    return moved, [mean, square]


def make_step(args, precision, tuned):
    _, logits_of, penalty, _, _, _ = NETWORKS[args.network]
    dtype = jnp.bfloat16 if precision == "bf16" else jnp.float32

    def loss_of(parameters, statistics, images, labels, key):
        context = Context(parameters, statistics, key, dtype, tuned)
        inputs = images if args.network in GPTS else images.astype(dtype)
        logits = logits_of(context, inputs).astype(jnp.float32)
        chances = jax.nn.log_softmax(logits)
        loss = -jnp.take_along_axis(chances, labels.reshape(-1, 1), axis=1).mean()
        return loss + (penalty(parameters) if penalty else 0), context.statistics

    def step(state, images, labels):
        index = state["step"] % POOL_BATCHES
        key = jax.random.fold_in(jax.random.key(args.seed, impl="rbg"), state["step"])
        batch = [lax.dynamic_index_in_dim(pool, index, keepdims=False) for pool in (images, labels)]
        (loss, statistics), gradients = jax.value_and_grad(loss_of, has_aux=True)(
            state["parameters"], state["statistics"], *batch, key)
        parameters, slots = updated(args, state["parameters"], gradients, state["slots"], state["step"])
        made = {"parameters": parameters, "step": state["step"] + 1, "loss": loss, "slots": slots,
                "statistics": statistics}
        if "average" in state:
            made["average"] = jax.tree.map(lambda a, p: EMA_DECAY * a + (1 - EMA_DECAY) * p,
                                           state["average"], parameters)
        return made

    return step


class Training:
    """One network in one mode. run(n) starts at least n steps and returns how many."""

    def __init__(self, args, mode, precision):
        shape, classes = NETWORKS[args.network][3:5]
        if args.network == "fc":
            shape, classes = (args.inputs,), args.classes
        images_key, labels_key = jax.random.split(jax.random.key(args.seed + 1))
        pool = (POOL_BATCHES, args.batch, *shape)
        if args.network in GPTS:
            self.images = jax.random.randint(images_key, pool, 0, classes)
        else:
            self.images = jax.random.normal(images_key, pool)
        labels = pool if args.network in GPTS else pool[:2]
        self.labels = jax.random.randint(labels_key, labels, 0, classes)
        self.state = jax.jit(first_state, static_argnums=0)(Hashable(args))
        self.parameters = sum(p.size for p in self.state["parameters"].values())
        step = make_step(args, precision, mode == "tuned")
        self.steps_per_call = 1
        if mode != "jit":
            # A trip count that XLA knows spares it asking the device after every step.
            self.steps_per_call = STEPS_PER_LOOP.get(args.network, 2)

        def several(state, images, labels):
            return lax.fori_loop(0, self.steps_per_call, lambda _, s: step(s, images, labels), state)

        self.call = jax.jit(step if mode == "jit" else several, donate_argnums=0)

    def run(self, steps):
        calls = -(-steps // self.steps_per_call)
        for _ in range(calls):
            self.state = self.call(self.state, self.images, self.labels)
        return calls * self.steps_per_call

    def synchronize(self):
        jax.block_until_ready(self.state)


class Hashable:
    """Options as a static argument of a jitted function."""

    def __init__(self, args):
        self.__dict__.update(vars(args))


def time_one(args, mode, precision):
    gc.collect()
    result = {"framework": "jax", "version": jax.__version__, "network": args.network, "batch": args.batch,
              "optimizer": args.optimizer, "mode": mode, "precision": precision}
    try:
        with jax.default_matmul_precision(MATMUL_PRECISION[precision]):
            training = Training(args, mode, precision)
            result["parameters"] = training.parameters
            result |= measure(args, training.run, training.synchronize)
        # Of the process so far: JAX has no way to begin anew.
        memory = jax.local_devices()[0].memory_stats() or {}
        result |= {"final_loss": finite(float(training.state["loss"])),
                   "memory_bytes": memory.get("peak_bytes_in_use")}
    except Exception as error:
        result["error"] = one_line(error)
    return result


def parse_arguments():
    parser = make_parser(__doc__, NETWORKS, MODES)
    parser.add_argument("--allow-cpu", action="store_true", help="without a GPU, to try this program out")
    args = parser.parse_args()
    check_arguments(parser, args)
    args.optimizer = args.optimizer or NETWORKS[args.network][5]
    return args


def main():
    args = parse_arguments()
    if jax.default_backend() == "cpu" and not args.allow_cpu:
        raise SystemExit("jax_cuda.py: JAX found no GPU")
    for precision in args.precisions:
        for mode in args.modes:
            if mode != "tuned" or args.network in TUNABLE:
                emit(time_one(args, mode, precision))
                jax.clear_caches()


if __name__ == "__main__":
    main()
