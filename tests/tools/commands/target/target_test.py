"""Training to a target, and the points of a curve that it measures: `plan` and `sweep` read them."""

import json
import os
import re
import unittest

from tests.tools.commands import array_models as models
from tests.tools.commands import array_writer as write
from tests.tools.commands.trainer_case import TrainerCase

CLUSTER = os.path.abspath("partitioner/clusters/dgx1_v100.pbtxt")
SAMPLES = 1060  # whole batches of 50 have 1050 of them, of 100 1000


class TargetTest(TrainerCase):

    def setUp(self):
        super().setUp()
        with open(self.path("g.pbtxt"), "w") as file:
            file.write(models.classifier(50))
        write.npz(self.path("d.npz"), models.in_sets(models.class_data, SAMPLES, 220))

    def reach(self, batch, *flags, launch=(), until="--until-accuracy=0.7", epochs=60):
        self.call(*launch, "train", "--data=d.npz", f"--batch={batch}", f"--micro-batches={batch // 50}", "--threads=1",
                  f"--epochs={epochs}", "--report=r.json", "--evaluate-every=7", until, *flags, "g.pbtxt")
        with open(self.path("r.json")) as file:
            return json.load(file)["target"]

    def accuracy(self, batch, steps):
        flags = ["--data=d.npz", f"--batch={batch}", "--threads=1"]
        self.call("train", *flags, f"--micro-batches={batch // 50}", "--epochs=60", f"--steps={steps}",
                  "--save=at.safetensors", "g.pbtxt")
        return json.loads(self.call("evaluate", *flags, "--load=at.safetensors", "--format=json",
                                    "g.pbtxt").stdout)["test_accuracy"]

    def test_points_come_back(self):
        epochs = {}
        for batch in (100, 50):
            target = self.reach(batch, "--save-curve=c.pbtxt")
            per_epoch, steps = SAMPLES // batch, int(target["steps"])
            epochs[batch] = target["epochs"]
            self.assertEqual(target["epochs"], steps / per_epoch)
            before = max(step for step in range(steps) if step % 7 == 0 or step % per_epoch == 0)
            self.assertGreaterEqual(self.accuracy(batch, steps), 0.7)
            self.assertLess(self.accuracy(batch, before), 0.7)
        with open(self.path("c.pbtxt")) as file:
            text = file.read()
        self.assertIn('name: "model to a test right of 0.7"', text)
        self.assertIn("samples: 1050\n", text)
        points = re.findall(r"batch: (\d+)\s+epochs: ([\d.]+)", text)
        self.assertEqual([(int(batch), float(reached)) for batch, reached in points], sorted(epochs.items()))
        plans = ["plan", "--cluster=" + CLUSTER, "--ranks=2", "--format=json"]
        objective = ["--objective=time-to-accuracy", "--curve=c.pbtxt"]
        values = []
        for batch in (50, 100):
            plan = json.loads(self.call(*plans, f"--batch={batch}", *objective, "g.pbtxt").stdout)
            step = max(rank["time"]["step_seconds"] for rank in plan["ranks"])
            values.append(step * epochs[batch] * (SAMPLES // batch))
            self.assertAlmostEqual(plan["objective"]["value"] / values[-1], 1, places=4)  # steps are in nanoseconds
        found = json.loads(self.call(*plans, "--search=data", *objective, "g.pbtxt").stdout)["objective"]
        self.assertAlmostEqual(found["value"] / min(values), 1, places=4)
        swept = json.loads(self.call("sweep", "--cluster=" + CLUSTER, "--ranks=2", "--mp=1", "--curve=c.pbtxt",
                                     "--format=json", "g.pbtxt").stdout)
        self.assertEqual([point["epochs"] for point in swept["points"]], [epochs[50], epochs[100]])
        done = self.call("train", "--data=d.npz", "--until-accuracy=0.7", "--save-curve=c.pbtxt", "g.pbtxt", code=3)
        self.assertIn("c.pbtxt: it has a point for a batch of 50 already", done.stderr)
        done = self.call("train", "--data=d.npz", "--until-loss=1", "--save-curve=c.pbtxt", "g.pbtxt", code=3)
        self.assertIn("not of 'model to a test loss of 1'; one file is of one target", done.stderr)
        write.npz(self.path("e.npz"), models.in_sets(models.class_data, 800, 220))
        done = self.call("train", "--data=e.npz", "--until-accuracy=0.7", "--save-curve=c.pbtxt", "--batch=20", "g.pbtxt",
                         code=3)
        self.assertIn("c.pbtxt is a curve of 1050 samples an epoch, and here one has 800", done.stderr)

    def test_any_ranks_and_runs_that_go_on_reach_it_at_once(self):
        steps = self.reach(50, "--save-curve=a.pbtxt")["steps"]
        self.call("train", "--data=d.npz", "--threads=1", "--epochs=60", "--steps=9", "--checkpoint=k", "g.pbtxt")
        self.assertEqual(self.reach(50, "--checkpoint=k", "--resume=auto")["steps"], steps)
        threads = self.reach(50, "--dp=2")
        self.assertEqual(self.reach(50, "--dp=2", "--save-curve=b.pbtxt", launch=["launch", "--"]), threads)
        with open(self.path("b.pbtxt")) as file:
            self.assertEqual(file.read().count("points"), 1)

    def test_what_is_not_reached_writes_nothing(self):
        done = self.call("train", "--data=d.npz", "--until-loss=0", "--save-curve=c.pbtxt", "g.pbtxt")
        self.assertRegex(done.stdout, r"target +test loss of 0: not met, the best was \d\.\d+; no point was written")
        self.assertFalse(os.path.exists(self.path("c.pbtxt")))

    def test_what_makes_no_curve_is_told(self):
        before = ('schema_version: 1\nname: "model to a test right of 0.7"\nsamples: 1060\n'
                  "points { batch: 20 epochs: 50 }\n")
        with open(self.path("c.pbtxt"), "w") as file:
            file.write(before)
        done = self.call("train", "--data=d.npz", "--epochs=60", "--until-accuracy=0.7", "--save-curve=c.pbtxt",
                         "g.pbtxt", code=3)
        self.assertRegex(done.stdout, r"target +test right of 0.7: met after \d\.\d+ epochs, \d+ steps of 50 samples")
        self.assertRegex(done.stderr, r"c.pbtxt: batch 50, [\d.]+ epochs was not added: .* they may not fall")
        with open(self.path("c.pbtxt")) as file:
            self.assertEqual(file.read(), before)

    def test_refusals(self):
        train = ["train", "--data=d.npz"]
        for says, *flags in [
                ("--until-accuracy and --until-loss are given", "--until-accuracy=1", "--until-loss=1"),
                ("--save-curve needs --until-accuracy or --until-loss", "--save-curve=c.pbtxt"),
                ("--evaluate-every=7 needs --until-accuracy", "--evaluate-every=7"),
                ("c.json has another ending; expected .pbtxt", "--until-loss=1", "--save-curve=c.json")]:
            self.assertIn(says, self.call(*train, *flags, "g.pbtxt", code=2).stderr)
        write.npz(self.path("e.npz"), {"train/" + name: array for name, array in models.class_data(200, 1).items()})
        self.assertIn("--until-loss is of a test set, and the data has none",
                      self.call("train", "--data=e.npz", "--until-loss=1", "g.pbtxt", code=2).stderr)


if __name__ == "__main__":
    unittest.main()
