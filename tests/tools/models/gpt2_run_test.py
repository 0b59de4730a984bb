"""A small GPT-2 is trained, split, evaluated and read again as any graph is."""

import os
import unittest

from tests.tools.commands.trainer_case import TrainerCase

BUILD_MODEL = os.path.abspath("tools/models/build_model")


class Gpt2Test(TrainerCase):

    def setUp(self):
        super().setUp()
        self.execute(BUILD_MODEL, "gpt2", "--batch=4", "--length=7", "--vocabulary=31", "--hidden=24", "--heads=4",
                     "--layers=2", "--output=gpt2.pbtxt")

    def verify(self, *flags):
        done = self.call("verify", "--mock-data", "--steps=2", "--threads=1", *flags, "gpt2.pbtxt")
        self.assertIn("worst", done.stdout)

    def test_ranks_equal_one(self):
        for split in (["--dp=3"], ["--mp=2"], ["--dp=2", "--mp=2"], ["--mp=3"]):
            with self.subTest(split):
                self.verify("--precision=f64", *split)
        self.verify("--dp=2", "--mp=2")
        self.verify("--dp=2", "--mp=2", "--precision=bf16")

    def test_it_is_trained_and_evaluated_in_any_batch(self):
        self.call("train", "--mock-data", "--steps=3", "--threads=1", "--dp=2", "--mp=2", "--save=model", "gpt2.pbtxt")
        self.call("evaluate", "--mock-data", "--batch=3", "--threads=1", "--load=model", "gpt2.pbtxt")


if __name__ == "__main__":
    unittest.main()
