"""What `train` saves, as `evaluate` and `predict` read it."""

import json
import struct
import unittest

from tests.tools.commands.trainer_case import LENET, MLP, TrainerCase


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
