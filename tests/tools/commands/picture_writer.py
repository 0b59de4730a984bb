"""Writes small PNG files, and tar archives of them, as a user's data would be."""

import io
import os
import random
import struct
import tarfile
import zlib


def png(height, width, rows):
    """Of grey rows."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    raw = b"".join(b"\0" + bytes(row) for row in rows)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))


def picture(label, seed):
    """Brighter below in class 0, above in class 1, all dark in class 2; of any size."""
    chance = random.Random(f"{label} {seed}")
    height, width = chance.randint(20, 40), chance.randint(20, 40)
    bright = {0: lambda y: y > height // 2, 1: lambda y: y <= height // 2, 2: lambda _: False}[label]
    return png(height, width, [[chance.randint(0, 60) + 180 * bright(y) for _ in range(width)] for y in range(height)])


CLASSES = ("below", "above", "dark")


def write_folder(folder, count):
    """FOLDER/CLASS/NUMBER.png: so many of each class."""
    for label, name in enumerate(CLASSES):
        os.makedirs(os.path.join(folder, name))
        for i in range(count):
            with open(os.path.join(folder, name, f"{i}.png"), "wb") as file:
                file.write(picture(label, i))


def write_shard(path, count, labels=(0, 1, 2), names=None):
    """A WebDataset archive of the same; `names`: of labels that are written otherwise."""
    names = names or {}
    with tarfile.open(path, "w") as tar:
        for i in range(count):
            for label in labels:
                for end, data in ("png", picture(label, i)), ("cls", str(names.get((label, i), label)).encode()):
                    info = tarfile.TarInfo(f"{i:03}-{label}.{end}")
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))
