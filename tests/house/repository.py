"""The source tree that a test is run in: its folders, its files, and what they include."""

import collections
import os
import re

SOURCE = (".h", ".cc", ".cu")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)

Include = collections.namedtuple("Include", "file line header")


def root():
    """The working tree itself, to which Bazel's copy of this file is a link."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


def files(base):
    """Paths of all files from `base`, without what Bazel, git and Python leave there."""
    found = []
    for folder, folders, names in os.walk(base):
        folders[:] = [f for f in folders if not f.startswith(".") and f != "__pycache__"
                      and not os.path.islink(os.path.join(folder, f))]
        found += [os.path.relpath(os.path.join(folder, name), base) for name in names]
    return sorted(found)


def read(base, path):
    with open(os.path.join(base, path), encoding="utf-8") as file:
        return file.read()


def includes_of(path, text):
    return [Include(path, text.count("\n", 0, match.start(1)) + 1, match.group(1)) for match in INCLUDE.finditer(text)]


def includes(base):
    """What sources include from this repository: from below a folder at its top."""
    own = tuple(name + "/" for name in os.listdir(base))
    return [include for path in files(base) if path.endswith(SOURCE)
            for include in includes_of(path, read(base, path)) if include.header.startswith(own)]
