"""`train --patience` ends after some epochs without a better test result, also across a resume and on any ranks."""

import json
import os
import unittest

from tests.tools.commands import array_models as models
from tests.tools.commands import array_writer as write
from tests.tools.commands.trainer_case import MLP, TrainerCase

PER_EPOCH = 50  # steps of 8 random images
OF_ACCURACY = r"no better test accuracy for 2 epochs: the best was \d\.\d{4} after epoch 1"


class PatienceTest(TrainerCase):

    def setUp(self):
        super().setUp()
        # At this rate no parameter changes: the first epoch stays the best.
        self.still = self.changed(MLP, r"learning_rate \{.*", 'learning_rate { schedule: "constant" base: 1e-30 }')

    def train_epochs(self, epochs, *flags, graph=None, launch=(), code=0):
        return self.call(*launch, "train", "--mock-data", "--batch=8", "--threads=1", f"--epochs={epochs}",
                         "--report=r.json", *flags, graph or self.still, code=code)

    def report(self):
        with open(self.path("r.json")) as file:
            return json.load(file)

    def test_ends_after_epochs_without_a_better_accuracy(self):
        done = self.train_epochs(10, "--patience=2", "--metrics=m.jsonl", "--evaluate-every=10")
        self.assertRegex(done.stdout, "stopped early   " + OF_ACCURACY)
        report = self.report()
        self.assertEqual((len(report["epochs"]), report["outcome"]), (3, "finished"))
        self.assertRegex(report["stopped_early"], OF_ACCURACY)
        with open(self.path("m.jsonl")) as file:
            self.assertEqual(json.loads(file.readlines()[-1])["stopped_early"], report["stopped_early"])
        self.train_epochs(2, "--patience=2")
        self.assertNotIn("stopped_early", self.report())

    def test_counts_by_loss_where_there_is_no_accuracy(self):
        graph = self.changed(self.path(self.still), r'nodes \{ name: "accuracy".*\n|metrics: "accuracy"\n', "")
        done = self.train_epochs(10, "--patience=1", graph=graph)
        self.assertIn("no better test loss for 1 epoch: ", done.stdout)
        self.assertEqual(len(self.report()["epochs"]), 2)

    def test_a_better_result_begins_the_count_anew(self):
        with open(self.path("g.pbtxt"), "w") as file:
            file.write(models.classifier(50))
        write.npz(self.path("d.npz"), models.in_sets(models.class_data, 1060, 220))
        self.call("train", "--data=d.npz", "--threads=1", "--epochs=60", "--patience=2", "--report=r.json", "g.pbtxt")
        scores = [epoch["test_accuracy"] for epoch in self.report()["epochs"]]
        best, since, expected = -1, 0, []
        for score in scores:
            best, since = (score, 0) if score > best else (best, since + 1)
            expected.append(since)
        self.assertTrue(all(count < 2 for count in expected[:-1]), expected)
        self.assertGreater(len(scores), 3)
        self.assertTrue(expected[-1] == 2 or len(scores) == 60, expected)

    def test_a_run_that_resumes_knows_how_long_it_has_waited(self):
        resume = ["--checkpoint=c", "--resume=auto", "--patience=2"]
        self.train_epochs(10, "--patience=2", "--checkpoint=c", f"--steps={2 * PER_EPOCH + 7}")
        with open(self.path(f"c/step-{2 * PER_EPOCH + 7:012}/trainer_state.json")) as file:
            self.assertEqual(json.load(file)["metadata"]["partita.stagnation.epochs"], "1")
        done = self.train_epochs(10, *resume, "--dp=2", launch=["launch", "--"])
        self.assertRegex(done.stdout, "stopped early   " + OF_ACCURACY)
        self.assertEqual([epoch["epoch"] for epoch in self.report()["epochs"]], [3])
        done = self.train_epochs(10, *resume)
        self.assertRegex(done.stderr, r"c/step-\d+: its training has ended: " + OF_ACCURACY + "; a larger --patience")
        self.assertEqual(self.report()["epochs"], [])
        self.train_epochs(10, "--checkpoint=c", "--resume=auto", "--patience=3")
        self.assertEqual([epoch["epoch"] for epoch in self.report()["epochs"]], [4])

    def test_refusals(self):
        write.npz(self.path("e.npz"), {"train/" + name: array for name, array in models.class_data(200, 1).items()})
        with open(self.path("g.pbtxt"), "w") as file:
            file.write(models.classifier(50))
        done = self.call("train", "--data=e.npz", "--patience=1", "g.pbtxt", code=2)
        self.assertIn("flag --patience is of a test set, and the data has none", done.stderr)
        self.assertIn("--patience", self.train_epochs(1, "--patience=-1", code=2).stderr)
        self.assertFalse(os.path.exists(self.path("r.json")))


if __name__ == "__main__":
    unittest.main()
