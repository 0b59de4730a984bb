"""What the scripts of this folder make of texts: files of lines, a share of them for testing."""

import hashlib
import os


def part_of(name):
    """For which set what has this name is, by a hash of it: one of twenty is for testing."""
    return "test" if hashlib.sha256(name.encode()).digest()[0] % 20 == 0 else "train"


def write(path, lines):
    """All of the file or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name("." + path.name)
    unfinished.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    os.replace(unfinished, path)
