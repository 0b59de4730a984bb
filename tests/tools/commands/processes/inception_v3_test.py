"""Inception-V3, small, with all that its training has, under the strategies that are shipped for it: processes give the
bits of threads, both what one rank gives, and the bytes that they count are those predicted."""

import json
import os
import unittest

from tests.tools.commands.trainer_case import TrainerCase, example

BUILD_MODEL = os.path.abspath("tools/models/build_model")
STRATEGIES = {"data": 4, "branches": 2, "rows": 2, "2x2": 4, "pipeline": 4, "pipeline_2x2": 4}


class InceptionV3Test(TrainerCase):

    def graph(self, *flags):
        """With its auxiliary head, RMSProp, and moving averages of all that it trains."""
        self.execute(BUILD_MODEL, "inception-v3", "--batch=8", "--image-size=75", "--channel-limit=4", "--classes=5",
                     "--auxiliary-head", "--output=whole.pbtxt", *flags)
        return self.changed(self.path("whole.pbtxt"), r'optimizer \{ name: "rmsprop"',
                            r'\g<0> average { decay: 0.9 pattern: "*" }')

    def train(self, graph, name, *flags, launch=()):
        self.call(*launch, "train", "--mock-data", "--steps=2", "--threads=1", "--precision=f64", *flags,
                  f"--save={name}.safetensors", f"--report={name}.json", graph)
        with open(self.path(name + ".json"), encoding="utf-8") as file:
            report = json.load(file)
        for group in report["groups"]:
            for kind in ("payload", "wire"):
                self.assertEqual(group[f"counted_{kind}_bytes"], group[f"predicted_{kind}_bytes"])
        with open(self.path(name + ".safetensors"), "rb") as file:
            return report, file.read()

    def test_shipped_strategies(self):
        for name, ranks in STRATEGIES.items():
            with self.subTest(strategy=name):
                # Statistics of batch norm are those of a micro-batch.
                parts = name == "pipeline"
                graph = self.graph(*(["--statistics-samples=4"] if parts else []))
                split = ["--strategy=" + example(f"inception_v3/{name}.pbtxt")] + (["--micro-batches=2"] if parts else [])
                serial, _ = self.train(graph, "serial")
                threads, of_threads = self.train(graph, "threads", *split)
                processes, of_processes = self.train(graph, "processes", *split, launch=["launch", "--"])
                self.assertEqual((len(threads["devices"]), len(processes["devices"])), (ranks, ranks))
                self.assertIn(b"running_mean@average", of_threads)
                self.assertEqual(of_processes, of_threads)
                for kind in ("training_loss", "test_loss"):
                    self.assertAlmostEqual(threads["epochs"][0][kind], serial["epochs"][0][kind], places=6)
                    self.assertEqual(processes["epochs"][0][kind], threads["epochs"][0][kind])


if __name__ == "__main__":
    unittest.main()
