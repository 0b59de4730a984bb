"""Bazel refuses a wrong include. In a copy of the tree, libraries are planted that include what their folder may not.

With a dep it is visibility, made of the table in tools/bazel/arrows.bzl, that refuses; without one, that the header is
no input. A header of a dep's dep is an input, but tests/house/targets_test.py asks for the dep itself.

A step of tools/test: Bazel runs no test that runs Bazel.
"""

import os
import re
import subprocess
import tempfile
import unittest

ROOT = os.path.realpath(__file__).rsplit("/", 4)[0]

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


class Tree:
    """The checkout as links, but for folders in which something is planted."""

    def __init__(self, place):
        self.place = place
        os.mkdir(place)
        for name in os.listdir(ROOT):
            if not name.startswith("bazel-") and name != ".git":
                os.symlink(os.path.join(ROOT, name), os.path.join(place, name))

    def open(self, folder):
        """Makes the folder one of its own, with links to what is in it."""
        path = os.path.join(self.place, folder)
        if os.path.dirname(folder):
            self.open(os.path.dirname(folder))
        if os.path.islink(path):
            os.unlink(path)
            os.mkdir(path)
            for name in os.listdir(os.path.join(ROOT, folder)):
                os.symlink(os.path.join(ROOT, folder, name), os.path.join(path, name))

    def plant(self, folder, header, deps):
        """The label of a new library in the folder, whose one source includes the header."""
        self.open(folder)
        path = os.path.join(self.place, folder)
        planted = os.path.join(path, "planted")  # where no glob of the folder's own looks
        os.makedirs(planted, exist_ok=True)
        name = f"planted_{len(os.listdir(planted))}"
        with open(os.path.join(planted, name + ".cc"), "w", encoding="utf-8") as file:
            file.write(f'#include "{header}"\n')
        build = os.path.join(path, "BUILD")
        with open(build, encoding="utf-8") as file:
            text = file.read()
        os.unlink(build)
        with open(build, "w", encoding="utf-8") as file:
            file.write(text + LIBRARY.format(name=name, deps=deps))
        return f"//{folder}:{name}"


class Walls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.tree = Tree(os.path.join(cls.folder.name, "tree"))

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
        done = self.build(self.tree.plant(folder, header, [owner]))
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_dep_through_a_wall_is_refused(self):
        planted = {self.tree.plant(folder, header, [owner]): owner for folder, header, owner in WRONG}
        done = self.build("--nobuild", *planted)
        self.assertNotEqual(done.returncode, 0)
        for label, owner in planted.items():
            self.assertIn(f"target '{owner}' is not visible from target '{label}'", done.stdout)

    def test_an_include_without_a_dep_is_refused(self):
        """By the compiler, which in a sandbox does not see the header; else by Bazel, which reads what it has seen."""
        planted = {self.tree.plant(folder, header, []): header for folder, header, _ in WRONG}
        done = self.build(*planted)
        self.assertNotEqual(done.returncode, 0)
        for label, header in planted.items():
            source = re.escape(label[len("//"):].replace(":", "/planted/") + ".cc")
            header = re.escape(header)
            self.assertRegex(done.stdout, rf"{source}:1:10: fatal error: {header}: No such file|"
                                          rf"undeclared inclusion\(s\) in rule '{label}':(\n.*)*'{header}'")


if __name__ == "__main__":
    unittest.main()
