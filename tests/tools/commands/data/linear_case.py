"""A layer of six numbers to four classes, its data, and what PyTorch and scikit-learn compute of it (linear.json, made by
make_linear.py)."""

import json
import math
import os

from tests.tools.commands import array_writer as write
from tests.tools.commands.trainer_case import TrainerCase

LINEAR = os.path.abspath("tests/tools/commands/data/linear.pt2")
TRAIN, TEST, FEATURES, CLASSES = 12, 9, 6, 4

with open("tests/tools/commands/data/linear.json", encoding="utf-8") as golden:
    GOLDEN = json.load(golden)


def points(count, first):
    return ("f", [count, FEATURES], [math.sin(0.7 * (i + first)) for i in range(count * FEATURES)])


def classes(count, first):
    return ("q", [count], [min((i + first) % 7, CLASSES - 1) for i in range(count)])


class LinearCase(TrainerCase):

    def setUp(self):
        super().setUp()
        self.sets = {"train": (TRAIN, 0), "test": (TEST, 5)}
        write.folder(self.path("data"), {f"{name}/{field}": make(*size) for name, size in self.sets.items()
                                         for field, make in (("input", points), ("label", classes))})

    def close(self, found, expected, what):
        self.assertEqual(len(found), len(expected), what)
        for one, other in zip(found, expected):
            self.assertAlmostEqual(one, other, delta=2e-6, msg=what)
