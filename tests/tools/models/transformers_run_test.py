"""Small BERTs, T5s, vision transformers and U-Nets are trained, split, evaluated and read again as any graph is."""

import os
import unittest

from tests.tools.commands.trainer_case import TrainerCase

BUILD_MODEL = os.path.abspath("tools/models/build_model")
SMALL = ["--batch=6", "--hidden=24", "--heads=6", "--layers=2"]
MODELS = {
    "mlm": ["bert-base", "--length=7", "--vocabulary=31", *SMALL],
    "classifier": ["bert-base", "--head=classifier", "--length=7", "--vocabulary=31", "--classes=5", *SMALL],
    "vit": ["vit-b-16", "--image-size=12", "--patch=4", "--classes=7", *SMALL],
    "swin": ["swin-t", "--image-size=16", "--patch=1", "--window=2", "--width=0.25", "--classes=7", "--batch=6"],
    "t5": ["t5-small", "--source-length=7", "--target-length=5", "--vocabulary=31", *SMALL],
    "unet": ["unet", "--image-size=32", "--width=0.0625", "--classes=3", "--batch=6"],
}


class TransformersTest(TrainerCase):

    def setUp(self):
        super().setUp()
        for name, flags in MODELS.items():
            self.execute(BUILD_MODEL, *flags, f"--output={name}.pbtxt")

    def verify(self, name, *flags):
        done = self.call("verify", "--mock-data", "--steps=2", "--threads=1", *flags, name + ".pbtxt")
        self.assertIn("worst", done.stdout)

    def test_ranks_equal_one(self):
        for name in MODELS:
            for split in (["--dp=3"], ["--mp=2"], ["--mp=3"], ["--dp=2", "--mp=2"]):
                with self.subTest((name, split)):
                    self.verify(name, "--precision=f64", *split)
            self.verify(name, "--dp=2", "--mp=2")
            self.verify(name, "--dp=2", "--mp=2", "--precision=bf16")

    def test_they_are_trained_and_evaluated_in_any_batch(self):
        for name in MODELS:
            self.call("train", "--mock-data", "--steps=3", "--threads=1", "--dp=2", "--mp=2", f"--save={name}",
                      name + ".pbtxt")
            for batch in (1, 4):
                self.call("evaluate", "--mock-data", f"--batch={batch}", "--threads=1", f"--load={name}",
                          name + ".pbtxt")


if __name__ == "__main__":
    unittest.main()
