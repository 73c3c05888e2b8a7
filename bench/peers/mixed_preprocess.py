"""Inception preprocessing that takes the faster of Pillow and OpenCV for each part: Pillow decodes and crops, OpenCV
resizes and changes colours."""
import io

import cv2
import numpy as np
from PIL import Image

from opencv_preprocess import finish
from preprocess_peer import random_box, time_peer


def preprocess(encoded, fast):
    image = Image.open(io.BytesIO(encoded))
    left, top, width, height = random_box(*image.size)
    if image.mode != "RGB":
        image = image.convert("RGB")
    part = np.asarray(image.crop((left, top, left + width, top + height)))
    return finish(part, fast, is_bgr=False)


if __name__ == "__main__":
    cv2.setNumThreads(1)
    time_peer(preprocess)
