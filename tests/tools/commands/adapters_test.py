"""Adapters of a graph file: trained, saved alone, loaded, and merged into weights."""

import json
import unittest

from tests.tools.commands.trainer_case import MLP, TrainerCase

LORA = ["--lora-rank=3", "--lora-alpha=6", "--lora=dense*", "--lora-train=classifier/*"]


class Adapters(TrainerCase):
    def setUp(self):
        super().setUp()
        self.train(*LORA, "--save=all.safetensors", "--save-adapter=adapter", MLP)

    def loss(self, *flags):
        self.call("evaluate", "--mock-data", "--batch=8", "--threads=1", "--report=report.json", *flags, MLP)
        with open(self.path("report.json")) as file:
            return json.load(file)["test_loss"]

    def refusal(self, *arguments):
        return self.call(*arguments, code=3).stderr

    def resume(self, *flags):
        return self.call("train", "--mock-data", "--batch=8", "--steps=6", "--threads=1", *flags, MLP)

    def test_merged_weights_have_the_loss_of_the_adapters(self):
        adapted = self.loss(*LORA, "--load=all.safetensors")
        self.call("convert", "--load=all.safetensors", *LORA, "--output=merged.safetensors", MLP)
        self.assertAlmostEqual(self.loss("--load=merged.safetensors"), adapted, places=5)
        self.assertEqual(self.loss("--load=all.safetensors", "--load-adapter=adapter"), adapted)
        # What is evaluated has been trained.
        self.assertIn("dense1/matmul.lora_A.weight", self.refusal(
            "evaluate", "--mock-data", "--batch=8", *LORA, "--load=merged.safetensors", MLP))

    def test_training_continues(self):
        self.assertIn("goes on at step 4", self.resume(*LORA, "--load=all.safetensors").stdout)
        changed = [flag.replace("=6", "=9") for flag in LORA]
        self.assertIn('adapters was "factor=2"', self.resume(*changed, "--load=all.safetensors").stderr)
        self.resume("--load=all.safetensors", "--load-weights-only", "--load-adapter=adapter", "--mp=2")

    def test_files_of_adapters_are_not_taken_for_others(self):
        self.assertRegex(self.refusal("evaluate", "--mock-data", "--load=all.safetensors", MLP),
                         "lora_A.weight.*--lora-rank and --lora-alpha")
        self.assertIn("expected --load=FILE", self.refusal("convert", "--load-adapter=adapter", "--output=m.safetensors",
                                                           MLP))
        with open(self.path("adapter/adapter_config.json")) as file:
            config = json.load(file)
        self.assertEqual((config["r"], config["lora_alpha"], config["fan_in_fan_out"]), (3, 6, True))


if __name__ == "__main__":
    unittest.main()
