"""The commands that README.md shows run, one after the other in one folder, as a reader would type them."""

import os
import re
import shlex
import subprocess
import unittest

from tests.tools.commands.trainer_case import MLP, TrainerCase, example

BENCHMARK = os.path.abspath("tools/benchmark")

# What stands in README.md for a reader's own files.
OWN_FILES = {"GRAPH.pbtxt": MLP, "STRATEGY.pbtxt": example("mlp_data_model.pbtxt"), "DIR": "checkpoints"}

# Commands that read a data set take generated numbers instead.
OF_DATA = {"train", "evaluate", "predict", "verify"}

# Needs a model that translates, and its data; tests/tools/commands/data/decode_test.py runs it.
ELSEWHERE = {"decode"}


def commands_of(text):
    """The command lines in the blocks of code, without their comments."""
    blocks = re.findall(r"^```\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    lines = [line.partition("   #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("bazel run trainer -- ")]


class ReadmeTest(TrainerCase):

    def setUp(self):
        super().setUp()
        with open("README.md", encoding="utf-8") as file:
            self.text = file.read()

    def arguments_of(self, line):
        words = shlex.split(line.removeprefix("bazel run trainer -- "))
        arguments = []
        for word in words:
            flag, equals, value = word.rpartition("=")
            value = OWN_FILES.get(value, os.path.abspath(value) if value.startswith("tools/") else value)
            arguments.append(flag + equals + value)
        others = {"plan", "fit", "sweep", "check", "calibrate", "decode"}
        command = next(word for word in words if word in OF_DATA | others)
        if command in OF_DATA and "--mock-data" not in words:
            arguments.insert(len(arguments) - 1, "--mock-data")
        return command, arguments

    def test_every_command_runs(self):
        commands = commands_of(self.text)
        self.assertGreater(len(commands), 15)
        for line in commands:
            with self.subTest(line):
                command, arguments = self.arguments_of(line)
                if command not in ELSEWHERE:
                    self.call(*arguments)

    def test_every_benchmark_is_there(self):
        listed = re.search(r"`bazel run benchmark -- ([^`]*)`", self.text).group(1).replace("\n", " ").split(" | ")
        self.assertGreater(len(listed), 10)
        for name in listed:
            with self.subTest(name):
                done = subprocess.run([BENCHMARK, name.strip(), "--help"], capture_output=True, text=True, timeout=300)
                self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
