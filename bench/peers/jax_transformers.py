"""The transformers of the comparisons in JAX; layer for layer those of torch_transformers.py. Sequences are
(N, T, E), and the stream between the layers has the type of the products, which JAX makes fastest."""
import jax
import jax.numpy as jnp

from gpu_peer import GPTS, VITS


def layer_shapes(name, width):
    def linear(part, source, target):
        return {f"{name}/{part}/weight": (source, target), f"{name}/{part}/bias": (target,)}

    def norm(part):
        return {f"{name}/{part}/scale": (width,), f"{name}/{part}/shift": (width,)}

    return (norm("norm1") | linear("qkv", width, 3 * width) | linear("out", width, width) | norm("norm2")
            | linear("hidden", width, 4 * width) | linear("sum", 4 * width, width))


def layers_shapes(layers, width):
    shapes = {"norm/scale": (width,), "norm/shift": (width,)}
    for layer in range(layers):
        shapes |= layer_shapes(f"layer{layer}", width)
    return shapes


def linear(context, name, x):
    return x @ context.weight(name + "/weight") + context.weight(name + "/bias")


def norm(context, name, x, epsilon):
    wide = x.astype(jnp.float32)
    mean = wide.mean(-1, keepdims=True)
    centred = wide - mean
    inverse = jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + epsilon)
    made = centred * inverse * context.parameters[name + "/scale"] + context.parameters[name + "/shift"]
    return made.astype(x.dtype)


def attend(query, key, value, causal):
    # cuDNN's fused attention takes 16 bits and refuses odd lengths (197); those go by XLA's own.
    fused = query.dtype == jnp.bfloat16 and query.shape[1] % 64 == 0 and jax.default_backend() == "gpu"
    how = "cudnn" if fused else "xla"
    return jax.nn.dot_product_attention(query, key, value, is_causal=causal, implementation=how)


def layer(context, name, x, heads, causal, approximate, epsilon):
    batch, steps, width = x.shape
    parts = linear(context, name + "/qkv", norm(context, name + "/norm1", x, epsilon))
    query, key, value = jnp.moveaxis(parts.reshape(batch, steps, 3, heads, width // heads), 2, 0)
    attended = attend(query, key, value, causal).reshape(batch, steps, width)
    x = x + linear(context, name + "/out", attended)
    hidden = linear(context, name + "/hidden", norm(context, name + "/norm2", x, epsilon))
    return x + linear(context, name + "/sum", jax.nn.gelu(hidden, approximate=approximate))


def gpt(layers, width, heads, length, vocabulary):
    def shapes(_):
        return {"embedding": (vocabulary, width), "positions": (length, width)} | layers_shapes(layers, width)

    def logits(context, ids):
        x = context.weight("embedding")[ids] + context.weight("positions")
        for number in range(layers):
            x = layer(context, f"layer{number}", x, heads, True, True, 1e-5)
        x = norm(context, "norm", x, 1e-5)
        return (x @ context.weight("embedding").T).reshape(-1, vocabulary)

    return shapes, logits, None, (length,), vocabulary, "adamw"


def vit(layers, width, heads, image, patch, classes):
    count, numbers = (image // patch) ** 2, 3 * patch * patch

    def shapes(_):
        return ({"patches/weight": (numbers, width), "patches/bias": (width,), "class_token": (1, 1, width),
                 "positions": (count + 1, width), "classes/weight": (width, classes), "classes/bias": (classes,)}
                | layers_shapes(layers, width))

    def logits(context, images):
        batch, side = images.shape[0], image // patch
        cut = images.reshape(batch, side, patch, side, patch, 3).transpose(0, 1, 3, 2, 4, 5)
        x = linear(context, "patches", cut.reshape(batch, count, numbers))
        token = jnp.broadcast_to(context.weight("class_token"), (batch, 1, width))
        x = jnp.concatenate((token, x), 1) + context.weight("positions")
        for number in range(layers):
            x = layer(context, f"layer{number}", x, heads, False, False, 1e-6)
        return linear(context, "classes", norm(context, "norm", x[:, 0], 1e-6))

    return shapes, logits, None, (image, image, 3), classes, "adamw"


TRANSFORMERS = {name: gpt(*sizes) for name, sizes in GPTS.items()} | {name: vit(*sizes) for name, sizes in VITS.items()}
