"""Inception preprocessing by OpenCV, on one thread. Colours go through tables of 256 bytes: faster than floats, at
the price of rounding after each step. OpenCV decodes whole images: it does not say a JPEG's size before that, and
boxes of images of 500 pixels are never twice the output's size, so IMREAD_REDUCED_COLOR_2 would not serve."""
import random

import cv2
import numpy as np

from preprocess_peer import SIDE, draw_steps, random_box, time_peer

METHODS = (cv2.INTER_LINEAR, cv2.INTER_NEAREST, cv2.INTER_CUBIC, cv2.INTER_AREA)
LEVELS = np.arange(256, dtype=np.float32)
BYTES = np.arange(256, dtype=np.uint8)
FLAGS = cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION


def table(values):
    return np.clip(values + 0.5, 0, 255).astype(np.uint8)


def change(image, step, is_bgr):
    """The changed image; after the first trip to HSV, which every order has, it is RGB."""
    if step[0] == "brightness":
        return cv2.LUT(image, table(LEVELS + step[1])), is_bgr
    if step[0] == "contrast":
        means = np.array(cv2.mean(image)[:3], dtype=np.float32)
        return cv2.LUT(image, table((LEVELS[:, None] - means) * step[1] + means)[None]), is_bgr
    _, hue, saturation = step
    image = cv2.cvtColor(image, cv2.COLOR_BGR2HSV_FULL if is_bgr else cv2.COLOR_RGB2HSV_FULL)
    turned = BYTES + np.uint8(round(hue * 256) % 256)
    image = cv2.LUT(image, np.stack((turned, table(LEVELS * saturation), BYTES), axis=1)[None])
    return cv2.cvtColor(image, cv2.COLOR_HSV2RGB_FULL), False


def finish(part, fast, is_bgr):
    """All that comes after decoding and cropping."""
    method = METHODS[0] if fast else random.choice(METHODS)
    image = cv2.resize(part, (SIDE, SIDE), interpolation=method)
    if random.random() < 0.5:
        image = cv2.flip(image, 1)
    for step in draw_steps(fast):
        image, is_bgr = change(image, step, is_bgr)
    return image


def preprocess(encoded, fast):
    image = cv2.imdecode(np.frombuffer(encoded, np.uint8), FLAGS)
    left, top, width, height = random_box(image.shape[1], image.shape[0])
    return finish(image[top:top + height, left:left + width], fast, is_bgr=True)


if __name__ == "__main__":
    cv2.setNumThreads(1)
    time_peer(preprocess)
