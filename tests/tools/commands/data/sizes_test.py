"""A run in batches of several sizes goes on from a checkpoint to the same bits, and only in the same sizes."""

import unittest

from tests.tools.commands.data.pair_case import PairCase, short


class SizesTest(PairCase):

    def setUp(self):
        super().setUp()
        with open(self.path("model.pbtxt"), "a", encoding="utf-8") as file:
            file.write(short(2) + short(5))

    def test_goes_on_in_the_middle_of_an_epoch(self):
        self.train("--epochs=3", "--save=whole")
        self.train("--epochs=3", "--steps=57", "--checkpoint=kept")
        self.train("--epochs=3", "--checkpoint=kept", "--resume=auto", "--save=again")
        self.assertEqual(self.read("again"), self.read("whole"))

    def test_goes_on_under_another_split(self):
        self.train("--epochs=2", "--steps=33", "--checkpoint=kept", "--dp=2")
        done = self.train("--epochs=2", "--checkpoint=kept", "--resume=auto", "--dp=3")
        self.assertIn("epoch 2", done.stdout)

    def test_processes_go_the_way_of_threads(self):
        self.train("--epochs=2", "--dp=3", "--save=threads")
        self.call("launch", "--", "train", "--data=pairs", "--threads=1", "--epochs=2", "--dp=3", "--save=processes",
                  "model.pbtxt")
        self.assertEqual(self.read("processes"), self.read("threads"))

    def test_refuses_a_checkpoint_of_other_sizes(self):
        self.train("--steps=3", "--checkpoint=kept")
        with open(self.path("model.pbtxt"), encoding="utf-8") as file:
            graph = file.read()
        with open(self.path("model.pbtxt"), "w", encoding="utf-8") as file:
            file.write(graph.replace("row { values: 5 }", "row { values: 4 }"))
        done = self.train("--steps=6", "--checkpoint=kept", "--resume=auto", code=3)
        self.assertIn("size short5 source[4]", done.stderr)
        self.assertIn("size short5 source[5]", done.stderr)

    def test_are_shown_and_checked(self):
        self.assertIn("entry point    short2: source[2]\n", self.call("show", "model.pbtxt").stdout)
        done = self.call("check", "--dp=2", "model.pbtxt")
        self.assertIn("train/short2, evaluate/short2, train/short5", done.stdout)
        self.assertIn("batches ahead", self.call("plan", "--dp=2", "model.pbtxt").stdout)


if __name__ == "__main__":
    unittest.main()
