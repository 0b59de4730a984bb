"""Strangers come to every port of a job, from before its ranks have met until it ends: nothing comes of it."""

import unittest

from tests.tools.commands.trainer_case import MLP, TRAINER, TrainerCase
from tools.faults import strangers

RANKS = 2
EPOCHS = 30
STRANGERS = 1500
MOST_DESCRIPTORS = 64 + 48  # those of a door's strangers, and of a rank


class StrangersTest(TrainerCase):
    def test_a_job_ends_as_if_none_had_come(self):
        quiet, _ = strangers.train(TRAINER, MLP, RANKS, EPOCHS, self.folder)
        for flags in [], ["--tls"]:
            beset, flood = strangers.train(TRAINER, MLP, RANKS, EPOCHS, self.folder, STRANGERS, flags=flags)
            self.assertEqual(quiet, beset)
            self.assertGreater(flood.came, 100)
            self.assertLessEqual(flood.descriptors, MOST_DESCRIPTORS)


if __name__ == "__main__":
    unittest.main()
