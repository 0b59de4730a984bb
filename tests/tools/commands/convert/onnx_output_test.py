"""Graphs and their weights as ONNX models: from files, checkpoints and exported programs; read back, they predict the same."""

import csv
import os
import random
import unittest

from tests.tools.commands.array_writer import npz
from tests.tools.commands.trainer_case import LENET, MLP, TrainerCase

SAMPLES = 5


class OnnxOutput(TrainerCase):
    def setUp(self):
        super().setUp()
        numbers = random.Random(1)
        pixels = [numbers.gauss(0, 1) for _ in range(SAMPLES * 784)]
        npz(self.path("data.npz"), {"test/images": ("f", [SAMPLES, 28, 28, 1], pixels)})

    def predicted(self, *flags):
        self.call("predict", "--data=data.npz", "--batch=8", "--threads=1", "--output=p.csv", *flags)
        with open(self.path("p.csv")) as file:
            return [[float(cell) for cell in row] for row in list(csv.reader(file))[1:]]

    def assert_same(self, found, expected):
        self.assertEqual(len(found), SAMPLES)
        for row, wanted in zip(found, expected):
            self.assertEqual(len(row), 10)
            for value, other in zip(row, wanted):
                self.assertAlmostEqual(value, other, places=5)

    def bytes_of(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def test_models_read_back_predict_the_same(self):
        for graph in (MLP, LENET):
            self.train("--save=saved.safetensors", graph)
            said = self.call("convert", graph, "--load=saved.safetensors", "--output=model.onnx").stdout
            self.assertRegex(said, r"^model.onnx: value 'classifier/bias' of .*, \d+ nodes of ONNX opset 18, for any batch\n$")
            expected = self.predicted("--load=saved.safetensors", "--load-weights-only", graph)
            self.assert_same(self.predicted("--loss=cross_entropy", "model.onnx"), expected)
            self.call("convert", "model.onnx", "--loss=cross_entropy", "--output=again.onnx")
            self.assert_same(self.predicted("--loss=cross_entropy", "again.onnx"), expected)

    def test_a_value_may_be_named(self):
        self.train("--save=saved.safetensors", MLP)
        self.call("convert", MLP, "--load=saved.safetensors", "--value=dense1/relu", "--output=model.onnx")
        hidden = self.predicted("--loss=mse", "model.onnx")
        self.assertEqual(len(hidden[0]), 256)
        self.assertGreater(min(min(row) for row in hidden), -1e-6)

    def test_checkpoints_give_what_files_give(self):
        self.train("--save=saved.safetensors", "--checkpoint=c", "--checkpoint-every=2", "--dp=2", LENET)
        newest = max(name for name in os.listdir(self.path("c")) if name.startswith("step-"))
        for load, name in (("saved.safetensors", "a.onnx"), ("c", "b.onnx"), ("c/" + newest, "d.onnx")):
            self.call("convert", LENET, "--load=" + load, "--output=" + name)
        self.assertEqual(self.bytes_of("a.onnx"), self.bytes_of("b.onnx"))
        self.assertEqual(self.bytes_of("a.onnx"), self.bytes_of("d.onnx"))

    def test_moving_averages_replace_weights(self):
        graph = self.changed(MLP, r"optimizer \{", "optimizer { average { decay: 0.5 }")
        self.train("--save=saved.safetensors", graph)
        self.call("convert", graph, "--load=saved.safetensors", "--output=average.onnx")
        self.call("convert", MLP, "--load=saved.safetensors", "--output=weights.onnx")
        self.assertNotEqual(self.bytes_of("average.onnx"), self.bytes_of("weights.onnx"))
        weights = self.predicted("--load=saved.safetensors", "--load-weights-only", MLP)
        self.assert_same(self.predicted("--loss=mse", "weights.onnx"), weights)
        with self.assertRaises(AssertionError):
            self.assert_same(self.predicted("--loss=mse", "average.onnx"), weights)

    def test_weights_in_f64_are_rounded(self):
        self.train("--precision=f64", "--save=saved.safetensors", MLP)
        self.call("convert", MLP, "--load=saved.safetensors", "--output=model.onnx")
        expected = self.predicted("--load=saved.safetensors", "--load-weights-only", "--precision=f64", MLP)
        self.assert_same(self.predicted("--loss=mse", "model.onnx"), expected)

    def test_adapters_are_merged(self):
        lora = ["--lora-rank=3", "--lora=dense*", "--lora-train=classifier/*"]
        self.train(*lora, "--save=all.safetensors", MLP)
        self.call("convert", MLP, *lora, "--load=all.safetensors", "--output=model.onnx")
        expected = self.predicted(*lora, "--load=all.safetensors", "--load-weights-only", MLP)
        self.assert_same(self.predicted("--loss=mse", "model.onnx"), expected)


class OnnxRefusals(TrainerCase):
    def refusal(self, *arguments, code=3):
        said = self.call("convert", *arguments, code=code).stderr
        self.assertFalse(os.path.exists(self.path("model.onnx")))
        return said

    def test_one_sentence_says_what_is_wrong(self):
        self.train("--save=mlp.safetensors", "--checkpoint=c", "--checkpoint-every=4", MLP)
        output = "--output=model.onnx"
        self.assertIn("is a graph; expected --load=FILE with its weights", self.refusal(MLP, output))
        self.assertRegex(self.refusal(LENET, "--load=mlp.safetensors", output), "mlp.safetensors: .*conv1/conv/weights")
        self.assertRegex(self.refusal(LENET, "--load=c", output), "c/step-000000000004: has no state 'conv1/conv/weights'")
        self.assertIn("none.safetensors", self.refusal(MLP, "--load=none.safetensors", output))
        self.assertIn("nothing", self.refusal(MLP, "--load=mlp.safetensors", "--value=nothing", output))
        self.assertIn("c: is no graph; expected the graph of the run, and --load=c", self.refusal("c", output))
        self.assertIn("node 'accuracy' (accuracy): the op has no form in ONNX",
                      self.refusal(MLP, "--load=mlp.safetensors", "--value=accuracy", output))
        self.assertIn("--optimizer-state is not written into an ONNX model",
                      self.refusal(MLP, "--load=mlp.safetensors", "--optimizer-state", output))


if __name__ == "__main__":
    unittest.main()
