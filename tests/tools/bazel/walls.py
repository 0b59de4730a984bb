"""Bazel refuses a wrong include. In a copy of the tree, libraries are planted that include what their folder may not.

With a dep it is visibility, made of the table in tools/bazel/arrows.bzl, that refuses; without one, that the header is
no input. A header of a dep's dep is an input, but tests/house/targets_test.py asks for the dep itself.

A step of tools/test: Bazel runs no test that runs Bazel.
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.realpath(__file__).rsplit("/", 4)[0])

from tests.tools.bazel.linked_tree import LinkedTree  # noqa: E402

# A folder, a header that it may not include, the target of that header.
WRONG = [
    ("graph/value", "graph/derive/adjoint.h", "//graph/derive:derive"),
    ("graph/ir", "ops/registry.h", "//ops:ops"),
    ("graph/derive", "graph/passes/run_passes.h", "//graph/passes:passes"),
    ("graph/lower", "graph/derive/partition.h", "//graph/derive:derive"),
    ("graph/prove", "graph/plan/streams.h", "//graph/plan:plan"),
    ("graph/prove", "graph/make_schedule.h", "//graph:make_schedule"),
    ("ops/forms", "ops/definitions/definitions.h", "//ops/definitions:definitions"),
    ("runtime/device", "graph/schedule/schedule.h", "//graph/schedule:schedule"),
    ("runtime/exec", "graph/make_program.h", "//graph:make_program"),
    ("runtime/exec", "graph/plan/streams.h", "//graph/plan:plan"),
    ("runtime/exec", "ops/host/host_kernels.h", "//ops/host:host"),
]
RIGHT = ("graph/plan", "graph/schedule/schedule.h", "//graph/schedule:schedule")

LIBRARY = """
load("@rules_cc//cc:defs.bzl", {name} = "cc_library")
{name}(name = "{name}", srcs = ["planted/{name}.cc"], deps = {deps})
"""


def plant(tree, folder, header, deps):
    """The label of a new library in the folder, whose one source includes the header."""
    planted = f"{folder}/planted"  # where no glob of the folder's own looks
    tree.open(planted)
    name = f"planted_{len(os.listdir(os.path.join(tree.place, planted)))}"
    tree.write(f"{planted}/{name}.cc", f'#include "{header}"\n')
    tree.write(f"{folder}/BUILD", tree.read(f"{folder}/BUILD") + LIBRARY.format(name=name, deps=deps))
    return f"//{folder}:{name}"


class Walls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.tree = LinkedTree(os.path.join(cls.folder.name, "tree"))

    @classmethod
    def tearDownClass(cls):
        cls.bazel("clean", "--expunge")  # ends the server too, and takes away what is write-protected
        cls.folder.cleanup()

    @classmethod
    def bazel(cls, *arguments):
        base = "--output_base=" + os.path.join(cls.folder.name, "base")
        return subprocess.run(["bazel", base, *arguments], cwd=cls.tree.place, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)

    def build(self, *arguments):
        # What was compiled without a sandbox, and lies in a cache, says nothing about what a sandbox would refuse.
        return self.bazel("build", "--noshow_progress", "--keep_going", "--symlink_prefix=/", "--disk_cache=", *arguments)

    def test_a_right_include_builds(self):
        folder, header, owner = RIGHT
        done = self.build(plant(self.tree, folder, header, [owner]))
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_dep_through_a_wall_is_refused(self):
        planted = {plant(self.tree, folder, header, [owner]): owner for folder, header, owner in WRONG}
        done = self.build("--nobuild", *planted)
        self.assertNotEqual(done.returncode, 0)
        for label, owner in planted.items():
            self.assertIn(f"target '{owner}' is not visible from target '{label}'", done.stdout)

    def test_an_include_without_a_dep_is_refused(self):
        """By the compiler, which in a sandbox does not see the header; else by Bazel, which reads what it has seen."""
        planted = {plant(self.tree, folder, header, []): header for folder, header, _ in WRONG}
        done = self.build(*planted)
        self.assertNotEqual(done.returncode, 0)
        for label, header in planted.items():
            source = re.escape(label[len("//"):].replace(":", "/planted/") + ".cc")
            header = re.escape(header)
            self.assertRegex(done.stdout, rf"{source}:1:10: fatal error: {header}: No such file|"
                                          rf"undeclared inclusion\(s\) in rule '{label}':(\n.*)*'{header}'")


if __name__ == "__main__":
    unittest.main()
