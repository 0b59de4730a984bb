"""Losses whose classes weigh differently, against PyTorch."""

import json
import os
import struct
import unittest

from tests.tools.commands import picture_writer
from tests.tools.commands.array_models import graph, node
from tests.tools.commands.data.linear_case import CLASSES, FEATURES, GOLDEN, LINEAR, TRAIN, LinearCase
from tests.tools.commands.trainer_case import LENET, MLP

SPLITS = ([], ["--dp=2"], ["--mp=2"], ["--dp=3", "--micro-batches=2"], ["--dp=2", "--mp=2", "--micro-batches=3"])


def tensors(path):
    with open(path, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    return {name: struct.unpack(f"<{(tensor['data_offsets'][1] - tensor['data_offsets'][0]) // 4}f",
                                data[slice(*tensor["data_offsets"])])
            for name, tensor in header.items() if name != "__metadata__" and tensor["dtype"] == "F32"}


class ClassWeightsTest(LinearCase):

    def step(self, *flags, save="s.st"):
        """A step over the whole training set; its report."""
        self.call("train", "--data=data", "--loss=cross_entropy", f"--batch={TRAIN}", "--steps=1", "--optimizer=sgd",
                  "--learning-rate=0.5", "--schedule=constant", "--threads=1", "--save=" + save, "--report=r.json",
                  *flags, LINEAR)
        with open(self.path("r.json"), encoding="utf-8") as file:
            return json.load(file)["epochs"][0]

    def test_class_weights_are_those_of_pytorch(self):
        for weights, expected in GOLDEN["weighed"].items():
            for split in SPLITS:
                with self.subTest(weights=weights, split=split):
                    epoch = self.step("--class-weights=" + weights, *split)
                    self.close((epoch["training_loss"], epoch["test_loss"]), (expected["loss"], expected["test_loss"]),
                               f"{weights} {split}")
                    states = tensors(self.path("s.st"))
                    for name in ("weight", "bias"):
                        self.close(states[name], expected[name], f"{weights} {split} {name}")
                    if weights == "balanced":
                        self.close(states["loss/class_weights"], GOLDEN["balanced"], "as scikit-learn has them")

    def test_weights_belong_to_training(self):
        """Evaluation and prediction need none; what resumes takes those of its flags, and says that they changed."""
        self.step("--class-weights=1,2,3,4", "--checkpoint=c")
        for command in (["evaluate"], ["predict", "--output=p.npy"]):
            self.call(*command, "--data=data", "--loss=cross_entropy", "--load=s.st", "--threads=1", LINEAR)
        changed = ["--class-weights=4,3,2,1", "--steps=2"]
        for beginning in ("--load=s.st", "--checkpoint=c"):
            flags = [beginning, "--resume=auto"] if beginning.startswith("--checkpoint") else [beginning]
            done = self.call("train", "--data=data", "--loss=cross_entropy", f"--batch={TRAIN}", "--optimizer=sgd",
                             "--learning-rate=0.5", "--schedule=constant", "--threads=1", "--save=t.st", *flags,
                             *changed, LINEAR)
            self.assertIn("goes on at step 1", done.stdout)
            self.assertRegex(done.stderr, 'class_weights was "1,2,3,4", and is "4,3,2,1" from step 1 on')
            self.close(tensors(self.path("t.st"))["loss/class_weights"], (4, 3, 2, 1), "of the flags")
        self.step("--class-weights=balanced", "--load=s.st", "--load-weights-only")
        for flags in ([], ["--class-weights=1,1,1,1"]):
            self.step(*flags, save="plain.st")
            other = ["--class-weights=1,1,1,1"] if not flags else []
            done = self.call("train", "--data=data", "--loss=cross_entropy", f"--batch={TRAIN}", "--steps=2",
                             "--optimizer=sgd", "--learning-rate=0.5", "--schedule=constant", "--load=plain.st", *other,
                             LINEAR, code=3)
            self.assertIn("it comes from --class-weights", done.stderr)

    def test_a_split_equals_one_rank(self):
        """Also where classes have names, and where a class is ignored."""
        os.mkdir(self.path("pictures"))
        for name in ("train", "test"):
            picture_writer.write_folder(self.path("pictures/" + name), 6)
        for weights in ("balanced", "dark=3,above=0.5"):
            self.call("verify", "--data=pictures", "--class-weights=" + weights, "--batch=8", "--dp=2", "--mp=2",
                      "--micro-batches=2", "--threads=1", LENET)
        ignoring = self.path("ignoring.pbtxt")
        with open(ignoring, "w", encoding="utf-8") as file:
            file.write(graph(node("input", "input", shape=[TRAIN, FEATURES]) +
                             node("label", "input", dtype="i32", shape=[TRAIN]) +
                             node("w", "parameter", initializer="glorot_uniform", shape=[FEATURES, CLASSES]) +
                             node("logits", "matmul", "input", "w") +
                             node("loss", "softmax_cross_entropy", "logits", "label").replace(
                                 " }\n", ' attributes { name: "ignore_index" integer: 3 } }\n'), "loss"))
        self.call("verify", "--data=data", "--class-weights=balanced", "--dp=3", "--threads=1", ignoring)
        self.call("train", "--data=data", "--class-weights=balanced", "--steps=1", "--threads=1", "--save=i.st", ignoring)
        self.close(tensors(self.path("i.st"))["loss/class_weights"], (1, 1, 1, 1), "two of each class that counts")

    def test_wrong_weights_are_refused(self):
        train = ["train", "--mock-data", "--batch=8", "--steps=1"]
        smooth = self.changed(MLP, '(op: "softmax_cross_entropy"[^}]*)}', r'\1 attributes { name: "label_smoothing" number: 0.1 } }')
        for weights, model, says in (
                ("1,2,3", MLP, "--class-weights has 3 weights; the loss tells 10 classes apart"),
                ("1,2,3,4,5,6,7,8,9,-1", MLP, "a weight is -1; expected a finite number of 0 or more"),
                ("1,2,3,4,5,6,7,8,9,nan", MLP, "a weight is nan; expected a finite number of 0 or more"),
                ("0,0,0,0,0,0,0,0,0,0", MLP, "all weights are 0"),
                ("ballanced", MLP, "found 'ballanced'; expected a number for each class"),
                ("cat=1,2", MLP, "some weights have the name of a class and some have none"),
                ("cat=1,cat=2", MLP, "class 'cat' is given twice"),
                ("cat=2", MLP, "names class 'cat', but the classes of the data are numbers; expected 10 weights"),
                ("balanced", smooth, "has a label_smoothing of 0.1; class weights need 0")):
            with self.subTest(weights=weights):
                self.assertIn(says, self.call(*train, "--class-weights=" + weights, model, code=2).stderr)
        squares = ["train", "--mock-data", "--loss=mse", "--class-weights=balanced", "--steps=1", LINEAR]
        self.assertIn("class weights are for softmax_cross_entropy", self.call(*squares, code=2).stderr)
        os.mkdir(self.path("pictures"))
        picture_writer.write_folder(self.path("pictures/train"), 8)
        named = ["train", "--data=pictures", "--class-weights=aboove=2", "--batch=8", "--steps=1", LENET]
        self.assertIn("the data has no class 'aboove'; did you mean 'above'?", self.call(*named, code=2).stderr)


if __name__ == "__main__":
    unittest.main()
