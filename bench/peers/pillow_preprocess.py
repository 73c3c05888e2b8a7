"""Inception preprocessing by Pillow. Colours go through tables of 256 bytes, which Pillow applies in C: several
times faster than floats in NumPy, at the price of rounding after each step. Saturation alone is the exception:
Pillow's way to HSV and back takes twice as long as NumPy without it."""
import io
import random

import numpy as np
from PIL import Image, ImageStat

from preprocess_peer import SIDE, draw_steps, random_box, time_peer

METHODS = (Image.Resampling.BILINEAR, Image.Resampling.NEAREST, Image.Resampling.BICUBIC, Image.Resampling.BOX)
LEVELS = np.arange(256, dtype=np.float32)
SAME = list(range(256))


def table(values):
    return np.clip(values + 0.5, 0, 255).astype(np.uint8).tolist()


def saturate(image, amount):
    """Every channel c of a colour with the largest one v becomes v - (v - c) amount, as far as the saturation allows."""
    pixels = np.asarray(image)
    channels = [pixels[..., c].astype(np.float32) for c in range(3)]
    value = np.maximum(np.maximum(channels[0], channels[1]), channels[2])
    low = np.minimum(np.minimum(channels[0], channels[1]), channels[2])
    factor = np.minimum(amount, value / np.maximum(value - low, 1e-6))
    shift = value * (1 - factor) + 0.5
    made = np.empty_like(pixels)
    for c, channel in enumerate(channels):
        channel *= factor
        channel += shift
        np.clip(channel, 0, 255, out=channel)
        made[..., c] = channel
    return Image.fromarray(made)


def change(image, step):
    if step[0] == "brightness":
        return image.point(table(LEVELS + step[1]) * 3)
    if step[0] == "contrast":
        means = ImageStat.Stat(image).mean
        return image.point([level for mean in means for level in table((LEVELS - mean) * step[1] + mean)])
    _, hue, saturation = step
    if hue == 0:
        return saturate(image, saturation)
    turn = round(hue * 256) % 256
    turned = SAME[turn:] + SAME[:turn]
    return image.convert("HSV").point(turned + table(LEVELS * saturation) + SAME).convert("RGB")


def preprocess(encoded, fast):
    image = Image.open(io.BytesIO(encoded))
    left, top, width, height = random_box(*image.size)
    # libjpeg may decode at a smaller scale as long as the box keeps the resolution of the output.
    reduction = max((r for r in (1, 2, 4, 8) if min(width, height) >= r * SIDE), default=1)
    if reduction > 1:
        image.draft("RGB", (image.width // reduction, image.height // reduction))
    box = tuple(side / reduction for side in (left, top, left + width, top + height))
    if image.mode != "RGB":
        image = image.convert("RGB")
    method = METHODS[0] if fast else random.choice(METHODS)
    image = image.resize((SIDE, SIDE), method, box=box)
    if random.random() < 0.5:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    for step in draw_steps(fast):
        image = change(image, step)
    return np.asarray(image)


if __name__ == "__main__":
    time_peer(preprocess)
