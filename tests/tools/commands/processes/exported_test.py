"""Programs that PyTorch exported, over processes."""

import os
import unittest

from tests.tools.commands.trainer_case import TrainerCase

PROGRAM = os.path.abspath("tests/importer/models/transformer.pt2")


class Exported(TrainerCase):
    def test_processes_begin_with_the_same_weights(self):
        flags = ["--mock-data", "--steps=2", "--dp=2", "--threads=1", PROGRAM]
        self.call("train", "--save=threads.safetensors", *flags)
        self.call("launch", "--nproc=2", "--", "train", "--save=processes.safetensors", *flags)
        with (open(self.path("threads.safetensors"), "rb") as threads,
              open(self.path("processes.safetensors"), "rb") as processes):
            self.assertEqual(processes.read(), threads.read())


if __name__ == "__main__":
    unittest.main()
