"""Training goes from `train` to the library and back, to the bit."""

import json
import os
import struct
import unittest

from tests.tools.commands import array_writer as write
from tests.tools.commands.trainer_case import TrainerCase

LIBRARY = os.path.abspath("tests/partita/library_run")

GRAPH = """
  schema_version: 1
  name: "resumed"
  nodes { name: "x" op: "input" attributes { name: "shape" integers { values: [8, 6] } } }
  nodes { name: "labels" op: "input" attributes { name: "shape" integers { values: 8 } }
          attributes { name: "dtype" text: "i32" } }
  nodes { name: "w1" op: "parameter" attributes { name: "shape" integers { values: [6, 10] } }
          attributes { name: "initializer" text: "glorot_uniform" } }
  nodes { name: "h" op: "matmul" inputs: "x" inputs: "w1" }
  nodes { name: "d" op: "dropout" inputs: "h" attributes { name: "rate" number: 0.25 } }
  nodes { name: "w2" op: "parameter" attributes { name: "shape" integers { values: [10, 4] } }
          attributes { name: "initializer" text: "glorot_uniform" } }
  nodes { name: "logits" op: "matmul" inputs: "d" inputs: "w2" }
  nodes { name: "loss" op: "softmax_cross_entropy" inputs: "logits" inputs: "labels" }
  loss: "loss"
  learning_rate { schedule: "constant" base: 0.01 }
  optimizer { name: "adam" average { decay: 0.9 pattern: "*" } }
"""


def header(contents):
    length = struct.unpack("<Q", contents[:8])[0]
    return json.loads(contents[8:8 + length]), contents[8 + length:]


class ResumeTest(TrainerCase):

    def setUp(self):
        super().setUp()
        with open(self.path("graph.pbtxt"), "w") as file:
            file.write(GRAPH)
        # Rows are equal, so their order does not matter.
        row = [(j + 1) / 8 - 0.5 for j in range(6)]
        os.mkdir(self.path("data"))
        write.folder(self.path("data"), {"train/x": ("f", (16, 6), row * 16), "train/labels": ("i", (16,), [2] * 16)})

    def by_trainer(self, steps, save, load=None, code=0):
        loads = [] if load is None else ["--load=" + load]
        return self.call("train", "--data=data", "--seed=1", "--threads=1", "--deterministic", "--epochs=100",
                         f"--steps={steps}", *loads, "--save=" + save, "graph.pbtxt", code=code)

    def by_library(self, load, steps, save):
        self.execute(LIBRARY, "graph.pbtxt", load, str(steps), save)

    def contents(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def test_the_library_saves_what_it_loads(self):
        self.by_trainer(3, "trainer")
        self.by_library("trainer", 0, "library")
        self.assertEqual(self.contents("library"), self.contents("trainer"))

    def test_the_library_resumes_what_the_trainer_has_begun(self):
        self.by_trainer(3, "three")
        self.by_trainer(7, "seven")
        self.by_library("three", 4, "library")
        self.assertEqual(self.contents("library"), self.contents("seven"))

    def test_the_trainer_resumes_what_the_library_has_begun(self):
        self.by_trainer(7, "seven")
        self.by_library("-", 3, "library")
        tensors, _ = header(self.contents("library"))
        self.assertEqual(tensors["__metadata__"]["partita.step"], "3")
        self.assertIn("w1@average", tensors)
        self.assertIn("@iteration", tensors)
        self.by_trainer(7, "trainer", load="library")
        self.assertEqual(self.contents("trainer"), self.contents("seven"))
        # And to and fro.
        self.by_library("library", 2, "five")
        self.by_trainer(6, "six", load="five")
        self.by_library("six", 1, "to and fro")
        self.assertEqual(self.contents("to and fro"), self.contents("seven"))

    def test_settings_of_the_library_are_compared(self):
        self.by_library("-", 3, "library")
        done = self.call("train", "--data=data", "--seed=2", "--epochs=100", "--steps=7", "--load=library",
                         "graph.pbtxt", code=3)
        self.assertIn('had "seed" "1"; this run has "seed" "2"', done.stderr)


if __name__ == "__main__":
    unittest.main()
