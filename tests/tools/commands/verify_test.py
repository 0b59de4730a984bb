"""What `verify` takes for equal."""

import json
import os
import unittest

from tests.tools.commands import array_writer as write
from tests.tools.commands.array_models import (
    attention,
    broadcasts,
    dense,
    graph,
    in_sets,
    node,
    number_data,
    own_regression,
)
from tests.tools.commands.trainer_case import LENET, TrainerCase, example

BUILD_MODEL = os.path.abspath("tools/models/build_model")


class VerifyTest(TrainerCase):

    def test_equal(self):
        for flags in (["--dp=2", "--mp=2"], ["--strategy=" + example("lenet5_placement.pbtxt")],
                      ["--strategy=" + example("lenet5_domain.pbtxt")], ["--strategy=" + example("lenet5_meshes.pbtxt")],
                      ["--dp=2", "--micro-batches=7"]):
            with self.subTest(flags=flags):
                done = self.call("verify", "--mock-data", "--batch=7", "--precision=f64", "--format=json", *flags, LENET)
                answer = json.loads(done.stdout)
                self.assertTrue(answer["equal"])
                self.assertEqual(len(answer["steps"]), 3)

    def test_models_of_words_as_they_are_shipped(self):
        """Small, but with all that a run has: fused nodes, gradients that are rows, the strategy's pipeline."""
        models = {
            "big-lstm": ["--vocabulary=60", "--hidden=12", "--projection=6", "--samples=20"],
            "gnmt": ["--vocabulary=50", "--hidden=8", "--source-length=9", "--target-length=8", "--buckets=2"]}
        for model, sizes in models.items():
            with self.subTest(model=model):
                self.execute(BUILD_MODEL, model, "--batch=8", f"--output={model}.pbtxt", *sizes)
                strategy = example(model.replace("-", "_") + "/2x2.pbtxt")
                done = self.call("verify", "--mock-data", "--precision=f64", "--format=json",
                                 f"--strategy={strategy}", f"{model}.pbtxt")
                self.assertTrue(json.loads(done.stdout)["equal"])

    def test_statistics_of_groups(self):
        """Their means cancel in the running mean; their roundings do not."""
        for samples in (1, 2, 4, 8):
            with self.subTest(samples=samples):
                self.execute(BUILD_MODEL, "mini-inception", "--batch=16", f"--statistics-samples={samples}",
                             "--output=groups.pbtxt")
                done = self.call("verify", "--mock-data", "--precision=f32", "--dp=2", "--format=json", "groups.pbtxt")
                self.assertTrue(json.loads(done.stdout)["equal"])

    def test_what_train_refuses(self):
        """Of the test set as well: 2.5 batches of a loss that does not weigh samples."""
        with open(self.path("own.pbtxt"), "w", encoding="utf-8") as file:
            file.write(own_regression(4))
        write.npz(self.path("d.npz"), in_sets(number_data, 40, 10))
        for command in (["train"], ["verify"], ["verify", "--dp=2"]):
            done = self.call(*command, "--data=d.npz", "own.pbtxt", code=3)
            self.assertIn("10 samples, no whole number of batches of 4; node 'loss' does not weigh samples", done.stderr)

    def test_rows_of_samples_set_behind_each_other(self):
        """As models of words often are: it trains and is verified."""
        with open(self.path("flat.pbtxt"), "w", encoding="utf-8") as file:
            file.write(graph(
                node("x", "input", shape=[4, 5, 8]) + node("targets", "input", dtype="i32", shape=[4, 5]) +
                node("rows", "reshape", "x", shape=[20, 8]) + node("labels", "reshape", "targets", shape=[20]) +
                dense("logits", "rows", [8, 3]) + node("loss", "softmax_cross_entropy", "logits", "labels") +
                node("right", "accuracy", "logits", "labels"), "loss", ["right"]))
        self.call("check", "flat.pbtxt")
        for flags in ([], ["--dp=2"], ["--micro-batches=2"]):
            self.call("train", "--mock-data", "--steps=2", *flags, "flat.pbtxt")
            self.call("verify", "--mock-data", "--precision=f64", *flags, "flat.pbtxt")

    def test_attention_of_products(self):
        """Under flags, and by heads: products of q, k and v by their outputs, the last by its inputs."""
        with open(self.path("attention.pbtxt"), "w", encoding="utf-8") as file:
            file.write(attention(8))
        with open(self.path("heads.pbtxt"), "w", encoding="utf-8") as file:
            file.write('schema_version: 1\nmesh { name: "model" size: 2 }\n' + "".join(
                f'ops {{ pattern: "{node}" axes {{ axis: "model" split: "{split}" }} }}\n'
                for node, split in (("q", "output_channels"), ("k", "output_channels"), ("v", "output_channels"),
                                    ("out", "input_channels"))))
        for flags in ([], ["--dp=2"], ["--mp=2"], ["--dp=2", "--mp=2"], ["--dp=2", "--micro-batches=2"],
                      ["--strategy=heads.pbtxt"]):
            with self.subTest(flags=flags):
                self.train(*flags, "attention.pbtxt")
                for precision in ("f64", "f32", "bf16"):
                    self.call("verify", "--mock-data", "--precision=" + precision, *flags, "attention.pbtxt")
        with open(self.path("shared.pbtxt"), "w", encoding="utf-8") as file:
            file.write(attention(8, heads=4, shared=True))
        for flags in ([], ["--dp=2", "--mp=2"], ["--mp=3", "--micro-batches=2"], ["--batch=12", "--dp=3"]):
            with self.subTest(flags=flags):
                self.call("verify", "--mock-data", "--precision=f64", *flags, "shared.pbtxt")

    def test_shapes_that_broadcast(self):
        with open(self.path("broadcasts.pbtxt"), "w", encoding="utf-8") as file:
            file.write(broadcasts(8))
        with open(self.path("places.pbtxt"), "w", encoding="utf-8") as file:
            file.write('schema_version: 1\nmesh { name: "model" size: 2 }\n' + "".join(
                f'ops {{ pattern: "{node}" axes {{ axis: "model" split: "{split}" }} }}\n'
                for node, split in (("placed", "dimension1"), ("normed", "channels"), ("outer", "samples"),
                                    ("sum", "dimension1"))))
        for flags in ([], ["--dp=2"], ["--dp=2", "--mp=2"], ["--dp=2", "--micro-batches=2"], ["--batch=12", "--dp=3"],
                      ["--strategy=places.pbtxt"]):
            with self.subTest(flags=flags):
                for precision in ("f64", "f32", "bf16"):
                    self.call("verify", "--mock-data", "--precision=" + precision, *flags, "broadcasts.pbtxt")

    def test_noise_is_no_difference(self):
        # Before a batch norm the gradient of a bias is 0, but for rounding.
        def source(name, op, shape, more=""):
            return (f'nodes {{ name: "{name}" op: "{op}" attributes {{ name: "shape" integers {{ values: {shape} }} }} '
                    f'{more} }}')

        def constant(scale):
            return (f'attributes {{ name: "initializer" text: "constant" }} '
                    f'attributes {{ name: "scale" number: {scale} }}')

        random = 'attributes { name: "initializer" text: "he_normal" }'
        with open(self.path("noise.pbtxt"), "w") as file:
            file.write("\n".join([
                'schema_version: 1 name: "noise"',
                source("images", "input", [8, 28, 28, 1]),
                source("labels", "input", [8], 'attributes { name: "dtype" text: "i32" }'),
                source("w", "parameter", [6, 3, 3, 1], random),
                source("b", "parameter", [6], constant(0)),
                source("gamma", "parameter", [6], constant(1)),
                source("beta", "parameter", [6], constant(0)),
                source("mean", "state", [6], constant(0)),
                source("variance", "state", [6], constant(1)),
                source("v", "parameter", [4056, 10], random),
                'nodes { name: "conv" op: "conv2d" inputs: "images" inputs: "w" }',
                'nodes { name: "bias" op: "bias" inputs: "conv" inputs: "b" }',
                'nodes { name: "norm" op: "batch_norm" inputs: "bias" inputs: "gamma" inputs: "beta" inputs: "mean" '
                'inputs: "variance" }',
                'nodes { name: "relu" op: "relu" inputs: "norm" }',
                'nodes { name: "flat" op: "reshape" inputs: "relu" '
                'attributes { name: "shape" integers { values: [-1, 4056] } } }',
                'nodes { name: "logits" op: "matmul" inputs: "flat" inputs: "v" }',
                'nodes { name: "loss" op: "softmax_cross_entropy" inputs: "logits" inputs: "labels" }',
                'loss: "loss" optimizer { momentum: 0.9 } learning_rate { schedule: "constant" base: 0.01 }',
            ]) + "\n")
        for flags in (["--dp=2"], ["--mp=2", "--convolutions=rows"], ["--dp=2", "--mp=2"], ["--dp=4"]):
            for precision in ("f64", "f32"):
                with self.subTest(flags=flags, precision=precision):
                    self.call("verify", "--mock-data", "--precision=" + precision, *flags, "noise.pbtxt")

    def test_equal_in_mixed_precision(self):
        done = self.call("verify", "--mock-data", "--batch=7", "--precision=bf16", "--dp=2", "--mp=2", LENET)
        self.assertIn("step 3: loss", done.stdout)

    def test_tells_results_and_whether_there_was_a_reference(self):
        for flags, computed in ([[], True], [["--reference"], True], [["--reference=false"], False]):
            with self.subTest(flags=flags):
                done = self.call("verify", "--mock-data", "--batch=7", "--dp=2", "--steps=1", "--deterministic",
                                 "--format=json", *flags, LENET)
                answer = json.loads(done.stdout)
                self.assertEqual(answer["reference"]["computed"], computed)
                self.assertGreater(answer["reference"]["flops"], 1e6)
                step = answer["steps"][0]
                self.assertEqual([result["name"] for result in step["results"]], ["loss", "accuracy"])
                self.assertEqual(step["results"][0]["plan"], step["loss"])
                self.assertEqual(step["results"][0]["serial"], step["serial_loss"])
        done = self.call("verify", "--mock-data", "--batch=7", "--steps=1", LENET)
        self.assertIn("reference: computed in f64", done.stdout)
        self.assertRegex(done.stdout, r"loss [0-9.]+, serial [0-9.]+; accuracy [0-9.]+, serial [0-9.]+; ")

    def test_names_the_first_difference(self):
        # Sums in another order are not equal to the last bit.
        done = self.call("verify", "--mock-data", "--batch=7", "--dp=2", "--mp=2", "--tolerance=0", LENET, code=6)
        self.assertRegex(done.stderr, r"step 1: .*'.+': differs by")


if __name__ == "__main__":
    unittest.main()
