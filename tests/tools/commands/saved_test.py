"""What `train` saves, as `evaluate` and `predict` read it."""

import json
import struct
import unittest

from tests.tools.commands.trainer_case import LENET, MLP, TrainerCase

# Metrics that the loss is made of: the mean cross entropy, and what is added to it.
INNER_METRICS = """
schema_version: 1
nodes { name: "x" op: "input" attributes { name: "shape" integers { values: [8, 3] } } }
nodes {
  name: "labels" op: "input"
  attributes { name: "dtype" text: "i32" } attributes { name: "shape" integers { values: [8] } }
}
nodes {
  name: "w" op: "parameter"
  attributes { name: "initializer" text: "he_normal" } attributes { name: "shape" integers { values: [3, 5] } }
}
nodes { name: "logits" op: "matmul" inputs: "x" inputs: "w" }
nodes { name: "entropy" op: "softmax_cross_entropy" inputs: "logits" inputs: "labels" }
nodes { name: "accuracy" op: "accuracy" inputs: "logits" inputs: "labels" }
nodes { name: "squares" op: "square" inputs: "w" }
nodes { name: "norm" op: "sum" inputs: "squares" }
%s
loss: "loss"
metrics: "entropy"
metrics: "accuracy"
optimizer { clip_norm: 0.7 }
learning_rate { schedule: "constant" base: 0.1 }
"""
LOSSES = {
    "exp": 'nodes { name: "loss" op: "exp" inputs: "entropy" }',
    "decay": """
nodes { name: "decay" op: "scale" inputs: "norm" attributes { name: "factor" number: 0.1 } }
nodes { name: "loss" op: "add" inputs: "entropy" inputs: "decay" }
""",
}


class SavedTest(TrainerCase):

    def test_parameters_survive_saving_and_any_split(self):
        self.train("--dp=2", "--mp=2", "--save=s.safetensors", "--report=r.json", LENET)
        with open(self.path("r.json")) as file:
            trained = json.load(file)["test_accuracy"]
        for flags in (["--ranks=1"], ["--dp=2", "--mp=2"], ["--dp=3"]):
            with self.subTest(flags=flags):
                done = self.call("evaluate", "--mock-data", "--batch=8", "--load=s.safetensors", "--format=json",
                                 *flags, LENET)
                self.assertAlmostEqual(json.loads(done.stdout)["test_accuracy"], trained, places=6)
        done = self.call("evaluate", "--mock-data", "--load=s.safetensors", MLP, code=3)
        self.assertIn("s.safetensors", done.stderr)

    def test_another_precision_is_named(self):
        self.train("--save=s.safetensors", "--checkpoint=c", MLP)
        asks = r"F32\[.*\], needed is F64\[.*\]; --precision=f32 reads it"
        for command in ("evaluate", "train"):
            done = self.call(command, "--mock-data", "--batch=8", "--precision=f64", "--load=s.safetensors", MLP, code=3)
            self.assertRegex(done.stderr, "s.safetensors: tensor .*: found " + asks)
        done = self.call("train", "--mock-data", "--batch=8", "--precision=f64", "--resume=c", MLP, code=3)
        self.assertRegex(done.stderr, r"c/step-.*: state .* is f32\[.*\]; here it is f64\[.*\]; --precision=f32 reads it")

    def test_metrics_inside_the_loss_are_the_same_under_any_split(self):
        for name, loss in LOSSES.items():
            with open(self.path("graph.pbtxt"), "w") as file:
                file.write(INNER_METRICS % loss)
            self.train("--save=s.safetensors", "graph.pbtxt")
            scores = {}
            for ranks in (1, 2, 4):
                done = self.call("evaluate", "--mock-data", "--batch=8", "--load=s.safetensors", "--format=json",
                                 f"--dp={ranks}", "graph.pbtxt")
                report = json.loads(done.stdout)
                scores[ranks] = {metric["name"]: metric["value"] for metric in report["test_metrics"]}
                scores[ranks]["loss"] = report["test_loss"]
            for ranks in (2, 4):
                for score, value in scores[1].items():
                    with self.subTest(loss=name, ranks=ranks, score=score):
                        self.assertAlmostEqual(scores[ranks][score], value, delta=1e-5 * abs(value))

    def test_predictions_are_the_same_under_any_split_and_in_both_formats(self):
        self.train("--save=s.safetensors", LENET)
        rows = {}
        for name, flags in (("serial.csv", []), ("split.csv", ["--dp=3", "--mp=2"]), ("serial.npy", [])):
            done = self.call("predict", "--mock-data", "--batch=8", "--load=s.safetensors", "--output=" + name, *flags,
                             LENET)
            self.assertIn("of 20 samples, f32[20,10]", done.stdout)
        for name in ("serial.csv", "split.csv"):
            with open(self.path(name)) as file:
                header, *lines = file.read().splitlines()
            self.assertEqual(len(header.split(",")), 10)
            rows[name] = [float(number) for line in lines for number in line.split(",")]
        self.assertEqual(len(rows["serial.csv"]), 200)
        for serial, split in zip(rows["serial.csv"], rows["split.csv"]):
            self.assertAlmostEqual(serial, split, places=4)
        with open(self.path("serial.npy"), "rb") as file:
            contents = file.read()
        self.assertEqual(contents[:8], b"\x93NUMPY\x01\x00")
        start = 10 + int.from_bytes(contents[8:10], "little")
        self.assertEqual(start % 64, 0)
        self.assertIn(b"'descr': '<f4', 'fortran_order': False, 'shape': (20, 10, )", contents[:start])
        self.assertEqual(list(struct.unpack("<200f", contents[start:])), [
            struct.unpack("<f", struct.pack("<f", number))[0] for number in rows["serial.csv"]])
        self.call("predict", "--mock-data", "--batch=8", "--load=s.safetensors", "--output=probe.csv",
                  "--value=conv1/relu", LENET)

    def test_evaluation_reports_its_loss(self):
        self.train("--save=s.safetensors", "--report=r.json", MLP)
        with open(self.path("r.json")) as file:
            trained = json.load(file)
        self.assertEqual(trained["test_loss"], trained["epochs"][-1]["test_loss"])
        command = ["evaluate", "--mock-data", "--batch=8", "--load=s.safetensors", "--report=e.json", MLP]
        self.assertIn(f"test loss       {trained['test_loss']:.4f}\n", self.call(*command).stdout)
        with open(self.path("e.json")) as file:
            evaluated = json.load(file)
        self.assertAlmostEqual(evaluated["test_loss"], trained["test_loss"], places=5)
        self.assertEqual(json.loads(self.call(*command, "--format=json").stdout)["test_loss"], evaluated["test_loss"])

    def test_evaluation_needs_no_memory_of_training(self):
        """Neither the optimizer's values nor gradients, so what trains on several ranks is evaluated on one."""
        planned = {}
        for command in (["train", "--steps=2", "--optimizer=adamw", "--learning-rate=1e-3", "--save=s.safetensors"],
                        ["evaluate", "--load=s.safetensors"]):
            self.call(*command, "--mock-data", "--batch=8", "--report=r.json", MLP)
            with open(self.path("r.json")) as file:
                planned[command[0]] = json.load(file)["memory"][0]["planned_bytes"]
        self.assertLess(planned["evaluate"], planned["train"] / 3)

    def test_a_graph_without_accuracy_reports_none(self):
        graph = self.changed(MLP, r'nodes \{ name: "accuracy".*\n|metrics: "accuracy"\n', "")
        done = self.train("--save=s.safetensors", "--report=r.json", graph)
        self.assertNotIn("accuracy", done.stdout)
        self.assertIn("test loss", done.stdout)
        done = self.call("evaluate", "--mock-data", "--batch=8", "--load=s.safetensors", "--report=e.json", graph)
        self.assertNotIn("accuracy", done.stdout)
        for name in ("r.json", "e.json"):
            with open(self.path(name)) as file:
                text = file.read()
            self.assertNotIn("accuracy", text)
            self.assertIn("test_loss", text)


if __name__ == "__main__":
    unittest.main()
