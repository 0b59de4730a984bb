"""What Bazel knows of a source is all that it uses: it is in a target, and what it includes is in a direct dep."""

import collections
import os
import tempfile
import unittest

from tests.house import build_files, repository

RULES = ("cc_library", "cc_binary", "cc_test", "cuda_library")


class Targets:
    """The C++ targets below `base`."""

    def __init__(self, base):
        self.base, self.paths = base, repository.files(base)
        self.targets = [t for t in build_files.targets(base, self.paths) if t.kind in RULES]
        self.owners = collections.defaultdict(set)  # of a header: those that give it to others
        self.users = collections.defaultdict(list)  # of a source: those that compile it
        for target in self.targets:
            for header in target.hdrs:
                self.owners[header].add(target.label)
            for source in target.srcs + target.hdrs:
                self.users[source].append(target)

    def forgotten(self):
        return [path for path in self.paths if path.endswith(repository.SOURCE) and path not in self.users]

    def with_two_owners(self):
        return {header: sorted(labels) for header, labels in self.owners.items() if len(labels) > 1}

    def undeclared(self):
        """A sentence for each include of a header that the including target has neither itself nor in a direct dep."""
        return [f"{include.file}:{include.line} includes {include.header}, which {target.label} does not depend on"
                for include in repository.includes(self.base) if include.header in self.paths
                for target in self.users[include.file]
                if target not in self.users[include.header] and not self.owners[include.header] & set(target.deps)]


class TheRepository(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.repository = Targets(repository.root())

    def test_every_source_is_in_a_target(self):
        self.assertGreater(len(self.repository.targets), 200)
        self.assertEqual(self.repository.forgotten(), [])

    def test_a_header_is_given_by_one_target(self):
        self.assertEqual(self.repository.with_two_owners(), {})

    def test_what_is_included_is_a_direct_dep(self):
        self.assertEqual(self.repository.undeclared(), [])


BUILD = """
load("@rules_cc//cc:defs.bzl", "cc_library")
load(":defs.bzl", "FLAGS")

package(default_visibility = ["//visibility:public"])

cc_library(name = "low", hdrs = glob(["*.h"], exclude = ["other.h"]), copts = FLAGS)
[cc_library(name = name, hdrs = [name + ".h"]) for name in ["other"]]
"""


class Planted(unittest.TestCase):
    def targets(self, deps, files=()):
        """a/ gives low.h and other.h; b/b.cc includes low.h."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        texts = {"a/BUILD": BUILD, "a/low.h": "", "a/other.h": "", "b/b.cc": '#include "a/low.h"\n',
                 "b/BUILD": f'cc_library(name = "b", srcs = select({{"x": ["b.cc"], "y": []}}), deps = {deps})'}
        for path, text in {**texts, **dict(files)}.items():
            os.makedirs(os.path.join(folder.name, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(folder.name, path), "w", encoding="utf-8") as file:
                file.write(text)
        return Targets(folder.name)

    def test_a_direct_dep_is_enough(self):
        for deps in (["//a:low"], ["//a:other", "//a:low"]):
            self.assertEqual(self.targets(deps).undeclared(), [])

    def test_an_include_without_a_dep_is_found(self):
        for deps in ([], ["//a:other"]):
            self.assertEqual(self.targets(deps).undeclared(),
                             ["b/b.cc:1 includes a/low.h, which //b:b does not depend on"])

    def test_a_source_without_a_target_is_found(self):
        self.assertEqual(self.targets([], {"b/forgotten.cc": ""}.items()).forgotten(), ["b/forgotten.cc"])

    def test_a_header_of_two_targets_is_found(self):
        twice = BUILD + 'cc_library(name = "twice", hdrs = ["low.h"])\n'
        found = self.targets([], {"a/BUILD": twice}.items()).with_two_owners()
        self.assertEqual(found, {"a/low.h": ["//a:low", "//a:twice"]})


if __name__ == "__main__":
    unittest.main()
