"""The networks of the comparisons in JAX; layer for layer those of src/networks. Images lie NHWC.

Each network is `parameters(sizes)`, a dict of name to shape, and `logits(context, images)`."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


class Context:
    """What the layers of one pass see: the weights as they are multiplied, the running statistics (replaced
    by layers that change them), a key for dropout, and whether to use the faster forms of some layers."""

    def __init__(self, parameters, statistics, key, dtype, tuned):
        self.parameters, self.statistics, self.key = parameters, dict(statistics), key
        self.dtype, self.tuned = dtype, tuned

    def weight(self, name):
        return self.parameters[name].astype(self.dtype)


def conv(context, name, images, stride=1, padding="SAME", bias=True):
    made = lax.conv_general_dilated(images, context.weight(name + "/weight"), (stride, stride), padding,
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return made + context.weight(name + "/bias") if bias else made


def dense(context, name, x):
    return x @ context.weight(name + "/weight") + context.weight(name + "/bias")


def max_pool(images, size, stride):
    # A first value that is a constant of the same type lets JAX see a pool, which it can differentiate.
    least = np.asarray(-np.inf, images.dtype)
    return lax.reduce_window(images, least, lax.max, (1, size, size, 1), (1, stride, stride, 1), "SAME")


def halve(context, images):
    """A 2x2 pool; reshaped, its gradient is made of fusible elementwise work instead of a scatter."""
    if not context.tuned:
        return max_pool(images, 2, 2)
    n, height, width, channels = images.shape
    return images.reshape(n, height // 2, 2, width // 2, 2, channels).max(axis=(2, 4))


def response_norm(context, images):
    squares = images * images
    if context.tuned:  # the sum over neighbouring channels as a product with a banded matrix
        index = jnp.arange(images.shape[-1])
        band = (abs(index[:, None] - index) <= 4).astype(images.dtype)
        sums = squares @ band
    else:
        zero = np.asarray(0, images.dtype)
        sums = lax.reduce_window(squares, zero, lax.add, (1, 1, 1, 9), (1, 1, 1, 1), "SAME")
    return images * (1 + (0.001 / 9) * sums) ** -0.75


def dropout(context, x, rate):
    keep = jax.random.bernoulli(context.key, 1 - rate, x.shape)
    return jnp.where(keep, x / (1 - rate), 0).astype(x.dtype)


def batch_norm(context, name, images):
    wide = images.astype(jnp.float32)
    mean = wide.mean(axis=(0, 1, 2))
    variance = (wide * wide).mean(axis=(0, 1, 2)) - mean * mean
    for key, fresh in (("/mean", mean), ("/variance", variance)):
        context.statistics[name + key] = 0.9 * context.statistics[name + key] + 0.1 * lax.stop_gradient(fresh)
    scale = context.parameters[name + "/gamma"] * lax.rsqrt(variance + 1e-5)
    return ((wide - mean) * scale + context.parameters[name + "/beta"]).astype(images.dtype)


def layer(shapes, name, *weight):
    shapes[name + "/weight"] = weight
    shapes[name + "/bias"] = weight[-1:]


def deepmnist_parameters(_):
    shapes = {}
    layer(shapes, "conv1", 5, 5, 1, 32)
    layer(shapes, "conv2", 5, 5, 32, 64)
    layer(shapes, "fc1", 3136, 1024)
    layer(shapes, "logits", 1024, 10)
    return shapes


def deepmnist(context, x):
    x = halve(context, jax.nn.relu(conv(context, "conv1", x)))
    x = halve(context, jax.nn.relu(conv(context, "conv2", x)))
    x = jax.nn.relu(dense(context, "fc1", x.reshape(x.shape[0], -1)))
    return dense(context, "logits", dropout(context, x, 0.5))


def cifarnet_parameters(_):
    shapes = {}
    layer(shapes, "conv1", 5, 5, 3, 64)
    layer(shapes, "conv2", 5, 5, 64, 64)
    layer(shapes, "local3", 2304, 384)
    layer(shapes, "local4", 384, 192)
    layer(shapes, "logits", 192, 10)
    return shapes


def cifarnet(context, x):
    x = max_pool(jax.nn.relu(conv(context, "conv1", x)), 3, 2)
    x = jax.nn.relu(conv(context, "conv2", response_norm(context, x)))
    x = max_pool(response_norm(context, x), 3, 2)
    x = jax.nn.relu(dense(context, "local3", x.reshape(x.shape[0], -1)))
    return dense(context, "logits", jax.nn.relu(dense(context, "local4", x)))


def cifarnet_penalty(parameters):
    return 0.002 * sum(jnp.sum(parameters[name + "/weight"] ** 2) for name in ("local3", "local4"))


def resnet50_blocks():
    """(name, channels in, width, stride) of each bottleneck block; ResNet v1."""
    inputs = 64
    for group, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            yield f"group{group}/block{block}", inputs, 64 << group, 2 if group > 0 and block == 0 else 1
            inputs = 256 << group


def conv_norm(context, name, images, stride=1, padding=0):
    made = conv(context, name, images, stride, ((padding, padding),) * 2, bias=False)
    return batch_norm(context, name, made)


def resnet50_parameters(_):
    shapes = {}

    def conv_norm_shapes(name, size, inputs, outputs):
        shapes[name + "/weight"] = (size, size, inputs, outputs)
        shapes[name + "/gamma"] = shapes[name + "/beta"] = (outputs,)

    conv_norm_shapes("stem", 7, 3, 64)
    for name, inputs, width, _ in resnet50_blocks():
        if inputs != 4 * width:
            conv_norm_shapes(name + "/projection", 1, inputs, 4 * width)
        conv_norm_shapes(name + "/conv1", 1, inputs, width)
        conv_norm_shapes(name + "/conv2", 3, width, width)
        conv_norm_shapes(name + "/conv3", 1, width, 4 * width)
    layer(shapes, "logits", 2048, 1001)
    return shapes


def resnet50(context, x):
    x = max_pool(jax.nn.relu(conv_norm(context, "stem", x, 2, 3)), 3, 2)
    for name, inputs, width, stride in resnet50_blocks():
        beside = x if inputs == 4 * width else conv_norm(context, name + "/projection", x, stride)
        x = jax.nn.relu(conv_norm(context, name + "/conv1", x, stride))
        x = jax.nn.relu(conv_norm(context, name + "/conv2", x, 1, 1))
        x = jax.nn.relu(conv_norm(context, name + "/conv3", x) + beside)
    return dense(context, "logits", x.mean(axis=(1, 2)))


def fc_parameters(sizes):
    shapes = {}
    inputs = sizes.inputs
    for index in range(sizes.layers + 1):
        outputs = sizes.classes if index == sizes.layers else sizes.width
        layer(shapes, f"fc{index}", inputs, outputs)
        inputs = outputs
    return shapes


def fc(context, x):
    layers = sum(name.endswith("/weight") for name in context.parameters)
    for index in range(layers - 1):
        x = jax.nn.relu(dense(context, f"fc{index}", x))
    return dense(context, f"fc{layers - 1}", x)


# name: (parameters, logits, penalty, input shape, classes, default optimizer)
NETWORKS = {
    "deepmnist": (deepmnist_parameters, deepmnist, None, (28, 28, 1), 10, "adam"),
    "cifarnet": (cifarnet_parameters, cifarnet, cifarnet_penalty, (24, 24, 3), 10, "sgd"),
    "resnet50": (resnet50_parameters, resnet50, None, (224, 224, 3), 1001, "momentum"),
    "fc": (fc_parameters, fc, None, None, None, "sgd"),
}
