"""What the peers of bench/preprocess share: random draws of Inception preprocessing, and the clock."""
import argparse
import json
import math
import random
import time
from pathlib import Path

SIDE = 224
# Of TF-slim's preprocessing: what is done to the colours, in one of four orders.
ORDERS = (("brightness", "saturation", "hue", "contrast"),
          ("saturation", "brightness", "contrast", "hue"),
          ("contrast", "hue", "brightness", "saturation"),
          ("hue", "saturation", "contrast", "brightness"))
FAST = ("brightness", "saturation")


def random_box(width, height, uniform=random.uniform):
    """(left, top, width, height), as src/data/recipe/preprocess.cpp draws it."""
    pixels = width * height
    for _ in range(100):
        area = uniform(0.05, 1) * pixels
        aspect = uniform(3 / 4, 4 / 3)
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if w <= width and h <= height and w * h >= 0.1 * pixels:
            return random.randrange(width - w + 1), random.randrange(height - h + 1), w, h
    return 0, 0, width, height


def draw_steps(fast):
    """Pairs (change, amount); neighbours that both want hue and saturation come as one ("hsv", hue, saturation)."""
    steps = []
    for change in random.choice(ORDERS):
        if fast and change not in FAST:
            continue
        if change in ("hue", "saturation"):
            hue = random.uniform(-0.2, 0.2) if change == "hue" else 0
            saturation = random.uniform(0.5, 1.5) if change == "saturation" else 1
            if steps and steps[-1][0] == "hsv":
                _, earlier_hue, earlier_saturation = steps.pop()
                hue, saturation = hue + earlier_hue, saturation * earlier_saturation
            steps.append(("hsv", hue, saturation))
        elif change == "brightness":
            steps.append((change, random.uniform(-32, 32)))
        else:
            steps.append((change, random.uniform(0.5, 1.5)))
    return steps


def time_peer(preprocess):
    """Calls preprocess(encoded, fast) for the images of a folder and prints how many it did a second."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--fast", action="store_true")
    args = parser.parse_args()
    images = [path.read_bytes() for path in sorted(args.folder.iterdir())]
    random.seed(1)
    for encoded in images:
        made = preprocess(encoded, args.fast)
        assert made.shape == (SIDE, SIDE, 3) and made.dtype == "uint8"
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < args.seconds:
        for encoded in images:
            preprocess(encoded, args.fast)
        count += len(images)
    print(json.dumps({"images_per_second": count / (time.perf_counter() - began)}))
