"""Arrays that cannot be trained on are refused in a sentence that names file and field, before anything is written."""

import math
import os
import re
import shutil
import unittest

from tests.tools.commands import array_models as models
from tests.tools.commands import array_writer as write
from tests.tools.commands.trainer_case import TrainerCase


class ArraysRefusalTest(TrainerCase):

    def setUp(self):
        super().setUp()
        with open(self.path("g.pbtxt"), "w", encoding="utf-8") as file:
            file.write(models.classifier(10))
        self.arrays = models.in_sets(models.class_data, 20, 10)

    def refused_data(self, says, data="d.npz", *flags, code=3):
        before = sorted(os.listdir(self.folder))
        done = self.call("train", "--data=" + data, "--save=s.safetensors", *flags, "g.pbtxt", code=code)
        self.assertIn(says, done.stderr)
        self.assertEqual((done.stdout, len(done.stderr.splitlines())), ("", 1))
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def refused_arrays(self, says, *flags, **changed):
        """Arrays of the training set in place of those that fit; None: none."""
        arrays = dict(self.arrays)
        for name, array in changed.items():
            arrays["train/" + name] = array
        write.npz(self.path("d.npz"), {name: array for name, array in arrays.items() if array is not None})
        self.refused_data(says, "d.npz", *flags)

    def test_fields(self):
        self.refused_arrays("no field fills the graph's input 'class', i32[] in each row", **{"class": None})
        self.refused_arrays("no field fills the graph's input 'points', f32[8] in each row; given are: class, point; "
                            "did you mean 'point'?",
                            point=self.arrays["train/points"], points=None)
        self.refused_arrays("d.npz: array 'train/class': field 'class': found 3 rows, field 'points' has 20",
                            **{"class": ("i", [3], [1, 2, 3])})

    def test_values(self):
        labels = [0] * 20
        for label in (100, -1):
            labels[17] = label
            self.refused_arrays(f"field 'class': row 17 is label {label}, the graph's classes are 0 to 99",
                                **{"class": ("i", [20], labels)})
        for value in (math.nan, math.inf):
            self.refused_arrays("field 'points': row 0, element 3 is ", points=("f", [20, 8], [0, 0, 0, value] + [0] * 156))
        self.refused_arrays("found elements of f32, the graph takes i32", **{"class": ("f", [20], [0] * 20)})
        self.refused_arrays("found f32[20,7], the graph takes f32[8] in each row", points=("f", [20, 7], [0] * 140))
        self.refused_arrays("found elements of '<c8'", points=("f", [20, 8], [0] * 160, "<c8"))

    def test_a_batch_of_padding_alone(self):
        """Of two batches one has nothing that counts: which rows these are is drawn, and all ranks are told."""
        with open(self.path("g.pbtxt"), "w", encoding="utf-8") as file:
            file.write(models.weighted(4))
        write.npz(self.path("d.npz"), {"train/points": ("f", [8, 8], [0.5] * 64), "train/class": ("i", [8], [1] * 8),
                                       "train/counts": ("f", [8], [0] * 3 + [1] + [0] * 4)})
        for flag in ("--dp=1", "--dp=2"):
            done = self.call("train", "--data=d.npz", "--save=s.safetensors", flag, "g.pbtxt", code=3)
            told = re.fullmatch(r"trainer: d.npz: array 'train/counts': field 'counts': rows (\d), (\d), (\d), (\d), which "
                                r"are batch [01], add up to 0; the graph divides by the sum of a batch\n", done.stderr)
            self.assertIsNotNone(told, done.stderr)
            self.assertEqual(len(set(told.groups()) - {"3"}), 4)
            self.assertEqual(done.stdout, "")
            self.assertFalse(os.path.exists(self.path("s.safetensors")))

    def test_an_evaluation_of_padding_alone(self):
        """It divides by the sum of the set: a batch may be of padding alone, the set may not."""
        with open(self.path("g.pbtxt"), "w", encoding="utf-8") as file:
            file.write(models.weighted(4))
        arrays = {}
        for name, counts in ("train", [1] * 8), ("test", [0] * 8):
            arrays |= {name + "/points": ("f", [8, 8], [0.5] * 64), name + "/class": ("i", [8], [1] * 8),
                       name + "/counts": ("f", [8], counts)}
        write.npz(self.path("d.npz"), arrays)
        self.refused_data("d.npz: array 'test/counts': field 'counts': all rows add up to 0; the graph divides by their "
                          "sum", "d.npz", "--epochs=2")
        arrays["test/counts"] = ("f", [8], [1] * 4 + [0] * 4)
        write.npz(self.path("d.npz"), arrays)
        self.assertIn("test loss", self.call("train", "--data=d.npz", "--epochs=2", "g.pbtxt").stdout)

    def test_a_late_batch_of_padding_alone(self):
        """Which batches of training are all padding the seed says: they are told before the first step."""
        with open(self.path("g.pbtxt"), "w", encoding="utf-8") as file:
            file.write(models.weighted(4))
        write.npz(self.path("d.npz"), {"train/points": ("f", [12, 8], [0.5] * 96), "train/class": ("i", [12], [1] * 12),
                                       "train/counts": ("f", [12], [1] * 8 + [0] * 4)})
        done = self.call("train", "--data=d.npz", "--save=s.safetensors", "--epochs=10000", "g.pbtxt", code=3)
        told = re.search(r"which are batch (\d+), add up to 0", done.stderr)
        self.assertGreater(int(told[1]), 3, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertFalse(os.path.exists(self.path("s.safetensors")))
        self.call("train", "--data=d.npz", "--save=s.safetensors", "--epochs=10000", f"--steps={told[1]}", "g.pbtxt")

    def test_sizes(self):
        self.refused_arrays("found 20 samples, a training batch of 64 needs at least as many", "--batch=64")
        self.refused_arrays("found an array without elements", points=("f", [0, 8], []))

    def test_files(self):
        write.npz(self.path("d.npz"), self.arrays)
        with open(self.path("d.npz"), "rb") as file:
            whole = file.read()
        for name, contents, says in [
                ("cut.npz", whole[:-300], "cut.npz: "), ("text.npz", b"1,2\n", "text.npz: is text; expected .npy, .npz"),
                ("one.npy", write.npy("f", [1], [1]), "one.npy: found a single array"),
                ("d.pbtxt", b"schema_version: 1\ntrain { fields { input: \"points\" } }\n", "train.fields[0] has no file"),
                ("e.pbtxt", b"schema_version: 1\ntrain { field { } }\n", "e.pbtxt:2"),
                ("f.pbtxt", b"schema_version: 1\n", "f.pbtxt: found no training set")]:
            with self.subTest(file=name):
                with open(self.path(name), "wb") as file:
                    file.write(contents)
                self.refused_data(says, name)
        self.refused_data("none.npz: cannot open", "none.npz")
        done = self.call("train", "--data=d.npz", "--save=d.npz", "g.pbtxt", code=2)
        self.assertIn("d.npz is the same file as that of --data", done.stderr)
        self.refused_data("flag --flip is for folders of images", "d.npz", "--flip", code=2)

    def test_a_set_that_cannot_be_read_is_not_a_missing_one(self):
        """Training does not go without evaluation where the test set is there and its folder cannot be listed."""
        write.folder(self.path("whole"), self.arrays)
        self.call("train", "--data=whole", "--steps=1", "--save=model", "g.pbtxt")
        for unreadable in ("test", "train"):
            folder = "no-" + unreadable
            write.folder(self.path(folder), self.arrays)
            place = os.path.join(self.path(folder), unreadable)
            shutil.rmtree(place)
            os.symlink(unreadable, place)  # leads to itself
            self.refused_data(f"{folder}/{unreadable}: cannot read the folder", folder)
        self.call("evaluate", "--data=no-train", "--load=model", "g.pbtxt")

    def test_a_last_batch_that_would_count_its_filling(self):
        with open(self.path("g.pbtxt"), "w", encoding="utf-8") as file:
            file.write(models.own_regression(10))
        write.folder(self.folder, models.in_sets(models.number_data, 20, 13))
        self.refused_data("test set: 13 samples, no whole number of batches of 10; node 'loss' does not weigh samples", ".")


if __name__ == "__main__":
    unittest.main()
