"""The peer of `benchmark decode`: the same work on the same files in Pillow, or in torchvision, on one thread.

Called with [--torchvision] FOLDER SIZE. Waits for lines "COUNT" on standard input, reads, decodes, cuts, scales and mirrors
so many pictures at random, and answers each with the seconds that they took. Ends with the input.
"""

import argparse
import math
import os
import random
import sys
import time

import numpy
import PIL
from PIL import Image

Image.MAX_IMAGE_PIXELS = None  # as ours: the files are known
LEAST_AREA = 0.08


def part(width, height):
    """As torchvision's RandomResizedCrop: left, top, right, bottom."""
    for _ in range(10):
        area = width * height * random.uniform(LEAST_AREA, 1)
        aspect = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            left, top = random.randint(0, width - w), random.randint(0, height - h)
            return left, top, left + w, top + h
    return 0, 0, width, height


def shown(path, size):
    with Image.open(path) as file:
        picture = file.convert("RGB")
    picture = picture.crop(part(*picture.size)).resize((size, size), Image.BILINEAR)
    if random.random() < 0.5:
        picture = picture.transpose(Image.FLIP_LEFT_RIGHT)
    return numpy.array(picture)


def torchvision_shown(size):
    import torch
    from torchvision.io import ImageReadMode, decode_image, read_file
    from torchvision.transforms import v2
    torch.set_num_threads(1)
    transform = v2.Compose([v2.RandomResizedCrop(size, (LEAST_AREA, 1), antialias=True), v2.RandomHorizontalFlip()])
    return lambda path, _: transform(decode_image(read_file(path), ImageReadMode.RGB)).numpy()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--torchvision", action="store_true")
    parser.add_argument("folder")
    parser.add_argument("size", type=int)
    arguments = parser.parse_args()
    name, show = f"Pillow {PIL.__version__}", shown
    if arguments.torchvision:
        import torchvision
        name, show = f"torchvision {torchvision.__version__}", torchvision_shown(arguments.size)
    paths = sorted(os.path.join(folder, file) for folder, _, files in os.walk(arguments.folder) for file in files)
    print(name, "ready", sep="\n", flush=True)
    for line in sys.stdin:
        chosen = random.sample(paths, min(int(line), len(paths)))
        begin = time.perf_counter()
        for path in chosen:
            show(path, arguments.size)
        print(time.perf_counter() - begin, flush=True)


if __name__ == "__main__":
    main()
