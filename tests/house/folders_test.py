"""A folder can be seen at a glance."""

import collections
import os
import re
import unittest

from tests.house import repository

MOST = 25

# Folders with more, and why.
EXCEPTIONS = {}


def folder_sizes(paths):
    """Files in each folder, without those that say what is in it."""
    return collections.Counter(os.path.dirname(path) for path in paths
                               if os.path.basename(path) not in ("BUILD", "README.md"))


def too_large(paths):
    return {folder: size for folder, size in folder_sizes(paths).items() if size > EXCEPTIONS.get(folder, MOST)}


def explained_folders(paths):
    """Those with a README.md, and those that one above has a section about."""
    explained = set()
    for path in paths:
        if os.path.basename(path) != "README.md" or path.startswith("tests/"):
            continue
        folder = os.path.dirname(path)
        with open(os.path.join(repository.root(), path), encoding="utf-8") as file:
            sections = re.findall(r"^## (\S+)$", file.read(), re.MULTILINE)
        explained |= {folder, *(os.path.join(folder, section) for section in sections)}
    return explained


class Folders(unittest.TestCase):
    def setUp(self):
        self.paths = repository.files(repository.root())

    def test_no_folder_holds_more_than_can_be_seen(self):
        self.assertGreater(len(self.paths), 500)
        self.assertEqual(too_large(self.paths), {})

    def test_one_file_more_is_found(self):
        full = [f"graph/value/file_{i}.h" for i in range(MOST)]
        self.assertEqual(too_large(full + ["graph/value/BUILD", "graph/README.md", "graph/ir/graph.h"]), {})
        self.assertEqual(too_large(full + ["graph/value/one_more.h"]), {"graph/value": MOST + 1})

    def test_every_folder_of_sources_is_explained(self):
        folders = {os.path.dirname(path) for path in self.paths
                   if path.endswith(repository.SOURCE) and not path.startswith("tests/")}
        self.assertEqual(sorted(folders - explained_folders(self.paths)), [])


if __name__ == "__main__":
    unittest.main()
