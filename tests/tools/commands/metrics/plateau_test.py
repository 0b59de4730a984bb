"""The schedule plateau: when its rate falls, that steps see it, and that files and other ranks keep it."""

import json
import struct
import unittest

from tests.tools.commands.trainer_case import MLP, TrainerCase

PER_EPOCH = 50  # steps of 8 random images
FACTOR = "@learning_rate_factor"


def header_of(contents):
    length = struct.unpack("<Q", contents[:8])[0]
    return json.loads(contents[8:8 + length]), 8 + length


class PlateauTest(TrainerCase):

    def run_to(self, steps, rate, schedule, *flags, launch=()):
        return self.call(*launch, "train", "--mock-data", "--batch=8", "--threads=1", "--epochs=20", f"--steps={steps}",
                         f"--learning-rate={rate}", f"--schedule={schedule}", "--report=r.json", *flags, MLP)

    def rates(self):
        with open(self.path("r.json")) as file:
            return [epoch["learning_rate"] for epoch in json.load(file)["epochs"]]

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def weights(self, name):
        header, start = header_of(self.read(name))
        return {key: self.read(name)[start + value["data_offsets"][0]:start + value["data_offsets"][1]]
                for key, value in header.items() if not key.startswith("__") and key != FACTOR}

    def test_falls_after_epochs_without_a_better_loss(self):
        # At this rate no parameter changes: the first epoch stays the best.
        falls = "plateau,decay=0.5,patience=2,final=2e-31"
        done = self.run_to(8 * PER_EPOCH, 1e-30, falls)
        expected = [1, 1, 1, 0.5, 0.5, 0.25, 0.25, 0.2]
        for rate, share in zip(self.rates(), expected):
            self.assertAlmostEqual(rate / 1e-30, share, places=6)
        self.assertIn("no better test loss for 2 epochs: the learning rate falls to 5e-31", done.stderr)
        # A run that is interrupted, and goes on as processes of a job, falls in the same epochs.
        self.run_to(2 * PER_EPOCH + 7, 1e-30, falls, "--checkpoint=c")
        self.run_to(4 * PER_EPOCH + 7, 1e-30, falls, "--checkpoint=c", "--resume=auto", "--dp=2", launch=["launch", "--"])
        resumed = self.rates()
        self.run_to(8 * PER_EPOCH, 1e-30, falls, "--checkpoint=c", "--resume=auto")
        for rate, share in zip(resumed + self.rates(), [1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.2]):
            self.assertAlmostEqual(rate / 1e-30, share, places=6)

    def test_steps_see_the_factor_of_the_file(self):
        for split in ([], ["--dp=2", "--mp=2"]):
            with self.subTest(split=split):
                # At this rate no parameter changes: the second epoch is no better than the first.
                plateau, begun = "plateau,decay=0.25,patience=1", 2 * PER_EPOCH
                self.run_to(begun, 1e-30, plateau, "--save=a", *split)
                self.run_to(begun, 1e-30, "constant", "--save=b", *split)
                self.assertEqual(self.weights("a"), self.weights("b"))
                header, start = header_of(self.read("a"))
                place = start + header[FACTOR]["data_offsets"][0]
                self.assertEqual(self.read("a")[place:place + 4], struct.pack("<f", 0.25))
                self.run_to(begun + 4, 0.05, plateau, "--load=a", "--save=a2", *split)
                self.assertAlmostEqual(self.rates()[0], 0.0125)
                self.run_to(begun + 4, 0.0125, "constant", "--load=b", "--save=b2", *split)
                self.assertEqual(self.weights("a2"), self.weights("b2"))
                self.assertNotEqual(self.weights("a2"), self.weights("a"))

    def test_refusals(self):
        train = ["train", "--mock-data", "--batch=8", "--steps=1", MLP]
        for says, schedule in [("learning_rate.patience is 0; 1 to", "plateau"),
                               ("learning_rate.decay is 1; more than 0 and less than 1", "plateau,patience=2,decay=1")]:
            self.refused(2, says, *train, "--schedule=" + schedule)


if __name__ == "__main__":
    unittest.main()
