"""Weights of other packages by the command line: read by --map and --load-partial, and converted to and fro. The files of
tests/importer/name_maps are of a small vision transformer of torchvision, with the logits that it computes."""

import csv
import json
import math
import os
import struct
import unittest

from tests.tools.commands import array_writer as write
from tests.tools.commands.trainer_case import TrainerCase

BUILD_MODEL = os.path.abspath("tools/models/build_model")
WEIGHTS = os.path.abspath("tests/importer/name_maps")
VIT = os.path.join(WEIGHTS, "vit.safetensors")
LINEAR = os.path.abspath("tests/tools/commands/data/linear.pt2")  # six numbers to four classes
FEATURES, CLASSES = 6, 4


def tensors_of(path):
    """By name: shape and values."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    header.pop("__metadata__", None)
    found = {}
    for name, tensor in header.items():
        begin, end = tensor["data_offsets"]
        letter = {"F32": "f", "F64": "d", "I32": "i"}[tensor["dtype"]]
        found[name] = (tensor["shape"], list(struct.unpack(f"<{(end - begin) // struct.calcsize(letter)}{letter}",
                                                           data[begin:end])))
    return found


EXPECTED = tensors_of(os.path.join(WEIGHTS, "expected.safetensors"))


class ForeignWeights(TrainerCase):
    def build(self, classes):
        graph = f"vit{classes}.pbtxt"
        self.execute(BUILD_MODEL, "vit-b-16", "--batch=2", "--image-size=8", "--patch=4", f"--classes={classes}",
                     "--hidden=8", "--heads=2", "--layers=2", "--output=" + graph)
        return graph

    def predicted(self, *flags):
        self.call("predict", "--data=data.npz", "--threads=1", "--output=p.csv", *flags)
        with open(self.path("p.csv")) as file:
            return [float(cell) for row in list(csv.reader(file))[1:] for cell in row]

    def assert_close(self, found, expected, delta=2e-5):
        self.assertEqual(len(found), len(expected))
        for value, wanted in zip(found, expected):
            self.assertAlmostEqual(value, wanted, delta=delta)

    def bytes_of(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()


class OfGraphs(ForeignWeights):
    def setUp(self):
        super().setUp()
        shape, pixels = EXPECTED["images"]
        write.npz(self.path("data.npz"), {"train/images": ("f", shape, pixels), "train/labels": ("i", [2], [3, 1]),
                                          "test/images": ("f", shape, pixels), "test/labels": ("i", [2], [3, 1])})
        self.logits = EXPECTED["vit"][1]
        self.vit = self.build(5)

    def test_a_packages_file_predicts_the_packages_logits(self):
        for file, delta in (("vit", 2e-5), ("vit.half", 0.1)):  # float16 and bfloat16 in turn
            path = os.path.join(WEIGHTS, file + ".safetensors")
            self.assert_close(self.predicted("--load=" + path, "--map=torchvision", self.vit), self.logits, delta)
        # A graph of another name says the model, and a map may be a file.
        with open(self.path(self.vit)) as file:
            text = file.read()
        with open(self.path("other.pbtxt"), "w") as file:
            file.write(text.replace('name: "vit-b-16"', 'name: "other"', 1))
        self.assertIn("no map is shipped under this name for graph 'other'", self.call(
            "predict", "--data=data.npz", "--load=" + VIT, "--map=torchvision", "--output=p.csv", "other.pbtxt", code=3).stderr)
        self.assert_close(self.predicted("--load=" + VIT, "--map=torchvision/vit-b-16", "other.pbtxt"), self.logits)

    def test_convert_changes_the_names_and_back(self):
        self.call("convert", self.vit, "--load=" + VIT, "--map=torchvision", "--output=ours.safetensors")
        self.assert_close(self.predicted("--load=ours.safetensors", "--load-weights-only", self.vit), self.logits)
        said = self.call("convert", self.vit, "--load=ours.safetensors", "--map=torchvision", "--output=back.safetensors")
        self.assertIn("under the names of torchvision", said.stdout)
        self.assertEqual(tensors_of(self.path("back.safetensors")), tensors_of(VIT))
        # As ONNX in one call.
        self.call("convert", self.vit, "--load=" + VIT, "--map=torchvision", "--output=vit.onnx")
        self.assert_close(self.predicted("--loss=cross_entropy", "--batch=2", "vit.onnx"), self.logits)

    def test_a_new_head_on_trained_weights(self):
        seven = self.build(7)
        load = ["--load=" + VIT, "--map=torchvision"]
        self.assertIn("2 of 40 states do not fit: logits/bias/values", self.call(
            "train", *load, "--data=data.npz", seven, code=3).stderr)
        begun = self.call("train", *load, "--load-partial=logits/*", "--freeze=block*", "--data=data.npz", "--steps=1",
                          "--threads=1", "--save=tuned.safetensors", seven)
        self.assertIn("took 30 of 32 tensors", begun.stdout + begun.stderr)
        self.call("convert", seven, *load, "--load-partial=logits/*", "--output=part.safetensors")
        tuned, part = tensors_of(self.path("tuned.safetensors")), tensors_of(self.path("part.safetensors"))
        self.assertEqual({name for name in tuned if "@" not in name} - set(part), {"logits/bias/values", "logits/weights"})
        frozen = [name for name in part if name.startswith("block")]
        self.assertEqual(len(frozen), 32)
        for name in frozen:
            self.assertEqual(tuned[name], part[name], name)
        # Under the package's names: the body alone, or all of it.
        self.call("convert", seven, "--load=part.safetensors", "--map=torchvision", "--output=no.safetensors", code=3)
        self.call("convert", seven, "--load=part.safetensors", "--map=torchvision", "--load-partial=logits/*",
                  "--output=body.safetensors")
        body = {name: tensor for name, tensor in tensors_of(VIT).items() if not name.startswith("heads.")}
        self.assertEqual(tensors_of(self.path("body.safetensors")), body)
        self.call("convert", seven, "--load=tuned.safetensors", "--map=torchvision", "--output=all.safetensors")
        self.assertEqual(tensors_of(self.path("all.safetensors"))["heads.head.weight"][0], [7, 8])

    def test_doubles_stay_doubles(self):
        doubles = {name: ("d", shape, [value / 3 for value in values]) for name, (shape, values) in tensors_of(VIT).items()}
        write.safetensors(self.path("f64.safetensors"), doubles)
        self.call("convert", self.vit, "--load=f64.safetensors", "--map=torchvision", "--output=ours.safetensors")
        self.call("convert", self.vit, "--load=ours.safetensors", "--map=torchvision", "--output=back.safetensors")
        self.assertEqual(tensors_of(self.path("back.safetensors")),
                         {name: (shape, values) for name, (_, shape, values) in doubles.items()})

    def test_flags_that_say_nothing_are_refused(self):
        for flags, code, says in ((["--map=torchvision"], 2, "expected --load=FILE"),
                                  (["--load-partial=logits/*"], 2, "expected --load=FILE"),
                                  (["--load-partial=logits/*", "--load=" + VIT], 2, "is no exported program; expected --map"),
                                  (["--map=module", "--load=" + VIT], 3, "--map=module is for exported programs"),
                                  (["--map=torchvision", "--load=" + VIT, "--lora-rank=2"], 2, "expected two calls")):
            self.assertIn(says, self.call("convert", *flags, "--output=o.safetensors", self.vit, code=code).stderr)
        self.assertIn("expected --load=FILE", self.call("train", "--map=torchvision", "--mock-data", self.vit, code=2).stderr)


class OfExportedPrograms(ForeignWeights):
    """A layer of six numbers to four classes."""

    def setUp(self):
        super().setUp()
        self.points = [[math.sin(i + 2 * j) for j in range(FEATURES)] for i in range(3)]
        write.npz(self.path("data.npz"), {"test/input": ("f", [3, FEATURES], sum(self.points, []))})
        self.weight = [[math.cos(i * j) for j in range(FEATURES)] for i in range(CLASSES)]
        self.bias = [0.5, -0.25, 0.125, 2]
        self.logits = [sum(w * x for w, x in zip(row, point)) + b
                       for point in self.points for row, b in zip(self.weight, self.bias)]
        self.state_dict = {"weight": ("f", [CLASSES, FEATURES], sum(self.weight, [])), "bias": ("f", [CLASSES], self.bias)}
        write.safetensors(self.path("module.safetensors"), self.state_dict)

    def test_a_state_dict_replaces_the_weights(self):
        module = ["--load=module.safetensors", "--map=module"]
        self.assert_close(self.predicted("--loss=cross_entropy", *module, LINEAR), self.logits)
        self.call("convert", *module, "--loss=cross_entropy", "--output=back.safetensors", LINEAR)
        for name, (_, shape, values) in self.state_dict.items():
            found = tensors_of(self.path("back.safetensors"))[name]
            self.assertEqual(found[0], shape)
            self.assert_close(found[1], values, 1e-7)
        self.call("convert", *module, "--loss=cross_entropy", "--output=linear.onnx", LINEAR)
        self.assert_close(self.predicted("--loss=cross_entropy", "--batch=4", "linear.onnx"), self.logits)

    def test_what_is_not_in_the_file_is_the_programs_own(self):
        self.call("convert", "--output=own.safetensors", LINEAR, "--loss=cross_entropy")
        own = tensors_of(self.path("own.safetensors"))["bias"][1]
        write.safetensors(self.path("module.safetensors"), {"weight": self.state_dict["weight"],
                                                            "other": ("f", [1], [1])})
        module = ["--load=module.safetensors", "--map=module"]
        self.assertIn("1 of 2 states do not fit: bias (\"bias\" is missing); 1 of 2 tensors are none of the graph's: other",
                      self.call("convert", *module, "--loss=cross_entropy", "--output=no.safetensors", LINEAR,
                                code=3).stderr)
        module.append("--load-partial=bias,other")
        logits = [logit - self.bias[i % CLASSES] + own[i % CLASSES] for i, logit in enumerate(self.logits)]
        self.assert_close(self.predicted("--loss=cross_entropy", *module, LINEAR), logits)
        said = self.call("convert", *module, "--loss=cross_entropy", "--output=back.safetensors", LINEAR).stdout
        self.assertIn("took 1 of 2 tensors", said)
        self.assert_close(tensors_of(self.path("back.safetensors"))["bias"][1], own, 1e-7)


if __name__ == "__main__":
    unittest.main()
