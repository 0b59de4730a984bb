"""What a search finds for the large networks and the models of words, at a small width: processes give the bits of
threads, both what one rank gives."""

import json
import os
import unittest

from tests.tools.commands.trainer_case import TrainerCase

BUILD_MODEL = os.path.abspath("tools/models/build_model")
PIXELS = {"alexnet": 67, "vgg-16": 32, "resnet-50": 32, "inception-v3": 75}  # the least that each takes, or near it
OF_IMAGES = {model: [f"--image-size={pixels}", "--channel-limit=4", "--classes=5"] for model, pixels in PIXELS.items()}
OF_WORDS = {
    "big-lstm": ["--vocabulary=60", "--hidden=6", "--projection=3", "--length=5"],
    "gnmt": ["--vocabulary=40", "--hidden=6", "--source-length=6", "--target-length=5", "--buckets=1"],
}


class FoundTest(TrainerCase):

    def train(self, name, *flags, launch=()):
        self.call(*launch, "train", "--mock-data", "--steps=1", "--threads=1", "--precision=f64", *flags,
                  f"--save={name}.safetensors", f"--report={name}.json", "graph.pbtxt")
        with open(self.path(name + ".json"), encoding="utf-8") as file:
            report = json.load(file)
        with open(self.path(name + ".safetensors"), "rb") as file:
            return report, file.read()

    def test_large_networks(self):
        for model, sizes in (OF_IMAGES | OF_WORDS).items():
            self.execute(BUILD_MODEL, model, "--batch=8", *sizes, "--output=graph.pbtxt")
            serial, _ = self.train("serial")
            for ranks in (2, 4):
                with self.subTest(model=model, ranks=ranks):
                    search = ["--search=auto", "--cluster=two_cores", f"--ranks={ranks}"]
                    threads, of_threads = self.train("threads", *search, "--save-strategy=found.pbtxt")
                    # Of plans that are nearly as fast a search by processes may find another one.
                    launch = ["launch", f"--nproc={ranks}", "--"]
                    processes, of_processes = self.train("processes", "--strategy=found.pbtxt", launch=launch)
                    self.assertEqual((len(threads["devices"]), len(processes["devices"])), (ranks, ranks))
                    self.assertEqual(of_processes, of_threads)
                    for group in processes["groups"]:
                        self.assertEqual(group["counted_wire_bytes"], group["predicted_wire_bytes"])
                    for kind in ("training_loss", "test_loss"):
                        self.assertAlmostEqual(threads["epochs"][0][kind], serial["epochs"][0][kind], places=6)
                        self.assertEqual(processes["epochs"][0][kind], threads["epochs"][0][kind])


if __name__ == "__main__":
    unittest.main()
