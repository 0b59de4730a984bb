"""Runs the real trainer as its users do: what tests of it share."""

import os
import re
import subprocess
import tempfile
import unittest

TRAINER = os.path.abspath("tools/trainer")
EXAMPLES = os.path.abspath("tools/models/examples")


def example(name):
    return os.path.join(EXAMPLES, name)


MLP = example("mlp.pbtxt")
LENET = example("lenet5.pbtxt")


def without_launchers():
    """The environment of this process, in which a launcher of the test may itself run."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMI_", "SLURM_"))}


class TrainerCase(unittest.TestCase):
    """Commands run in a folder of their own, and end with an exit code that the test says."""

    trainer = TRAINER

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def execute(self, *command, code=0, environment=None):
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, timeout=300,
                              env=environment or without_launchers())
        self.assertEqual(done.returncode, code, f"{command}: {done.stdout}{done.stderr}")
        return done

    def call(self, *arguments, code=0, environment=None):
        return self.execute(self.trainer, *arguments, code=code, environment=environment)

    def train(self, *arguments, code=0):
        return self.call("train", "--mock-data", "--batch=8", "--steps=4", "--threads=1", *arguments, code=code)

    def changed(self, graph, pattern, replacement):
        """A graph's file with something else in place of what the pattern finds."""
        with open(graph) as file:
            text = file.read()
        changed = re.sub(pattern, replacement, text)
        self.assertNotEqual(changed, text)
        with open(self.path("changed.pbtxt"), "w") as file:
            file.write(changed)
        return "changed.pbtxt"

    def refused(self, code, says, *arguments):
        """A refusal is one sentence on standard error, and nothing is written."""
        done = self.call(*arguments, code=code)
        self.assertIn(says, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(os.listdir(self.folder), [])
