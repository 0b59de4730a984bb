"""By what `plan` chooses."""

import json
import os
import unittest

from tests.tools.commands.trainer_case import LENET, MLP, TrainerCase

CLUSTER = os.path.abspath("partitioner/clusters/dgx1_v100.pbtxt")
SAMPLES, TO = 1000, "time-to-accuracy"


class ObjectiveTest(TrainerCase):

    def plan(self, *flags, graph=MLP, cluster=CLUSTER):
        return json.loads(self.call("plan", "--cluster=" + cluster, "--format=json", *flags, graph).stdout)

    def step(self, *flags):
        """In whole nanoseconds."""
        return max(rank["time"]["step_seconds"] for rank in self.plan(*flags)["ranks"])

    def curve(self, *points, samples=f"samples: {SAMPLES}"):
        with open(self.path("c.pbtxt"), "w") as file:
            file.write(f'schema_version: 1\nname: "toy"\n{samples}\n' +
                       "".join(f"points {{ batch: {batch} epochs: {epochs} }}\n" for batch, epochs in points))
        return "--curve=c.pbtxt"

    def test_time_to_an_accuracy_chooses_the_batch(self):
        # Epochs that stay the same, and such that double as the batch does.
        for points in ([(8, 10), (64, 10)], [(8, 10), (16, 20), (32, 40), (64, 80)]):
            curve = self.curve(*points)
            seconds = {}
            for batch, epochs in zip((8, 16, 32, 64), (10, 10, 10, 10) if len(points) == 2 else (10, 20, 40, 80)):
                given = ["--dp=8", f"--batch={batch}"]
                seconds[batch] = self.step(*given) * epochs * (SAMPLES // batch)
                told = self.plan(*given, "--objective=" + TO, curve)["objective"]
                self.assertAlmostEqual(told["value"] / seconds[batch], 1, places=4)
                self.assertEqual((told["epochs"], told["steps_per_epoch"]), (epochs, SAMPLES // batch))
            graph = self.changed(MLP, r"values: \[64([,\]])", r"values: [8\1")
            found = self.plan("--search=data", "--objective=" + TO, curve, graph=graph)["objective"]
            self.assertAlmostEqual(found["value"] / min(seconds.values()), 1, places=4)
            self.assertEqual(seconds[found["batch"]], min(seconds.values()))
            text = self.call("plan", "--cluster=" + CLUSTER, "--search=data", "--objective=" + TO, curve, graph).stdout
            self.assertIn(f"epochs of {SAMPLES // found['batch']} steps with --batch={found['batch']} (toy)", text)

    def test_what_a_curve_does_not_cover_is_left_out(self):
        curve = self.curve((64, 1), (200, 1))
        flags = ["--ranks=4", "--search=data", "--objective=" + TO, curve]
        (left_out,) = self.plan(*flags)["left_out"]
        self.assertIn("4 ranks at a batch of 256 were left out: ", left_out)
        text = self.call("plan", "--cluster=" + CLUSTER, *flags, MLP).stdout
        self.assertRegex(text, r"\n4 ranks at a batch of 256 were left out: .*c.pbtxt: it has no point for a batch of 256")
        self.assertIn("with --batch=128 (toy)", text)

    def test_cost_leaves_devices_unused(self):
        costs = {ranks: ranks * self.step("--batch=8", f"--dp={ranks}") for ranks in (1, 2, 4, 8)}
        found = self.plan("--batch=8", "--search=data", "--objective=cost")
        self.assertAlmostEqual(found["objective"]["value"] / min(costs.values()), 1, places=4)
        self.assertEqual(costs[len(found["ranks"])], min(costs.values()))
        self.assertEqual(len(self.plan("--batch=8", "--search=data", "--objective=cost", "--ranks=4")["ranks"]), 4)

    def test_memory_comes_before_time(self):
        def highest(plan):
            return max(rank["memory"]["total_bytes"] for rank in plan["ranks"])
        flags = ["--batch=16", "--ranks=2", "--search=auto"]
        small = self.plan(*flags, "--objective=memory", "--save-strategy=found.pbtxt", graph=LENET)
        self.assertEqual(small["objective"]["value"], highest(small))
        self.assertLess(highest(small), highest(self.plan(*flags, graph=LENET)))
        with open(self.path("found.pbtxt")) as file:
            self.assertIn("# Chosen by memory: ", file.read())

    def test_refusals(self):
        here = ["plan", "--cluster=" + CLUSTER]
        for says, *arguments in [
                ("--objective=cost needs --cluster or --profile", "plan", "--objective=cost"),
                ("--objective=time-to-accuracy needs --curve", *here, "--objective=" + TO),
                ("--curve needs --objective=time-to-accuracy", *here, "--objective=cost", "--curve=c.pbtxt"),
                ("--objective=cost and --diff are given", *here, "--objective=cost", "--diff=d.pbtxt"),
                ("--objective=memory and --repair are given", *here, "--objective=memory", "--repair")]:
            self.refused(2, says, *arguments, MLP)
        self.refused(3, "none.pbtxt: cannot open", *here, "--objective=" + TO, "--curve=none.pbtxt", MLP)
        done = self.call(*here, "--objective=" + TO, self.curve((128, 1)), MLP, code=3)
        self.assertIn("c.pbtxt: it has no point for a batch of 64, only from 128 to 128", done.stderr)
        done = self.call(*here, "--search=data", "--objective=" + TO, self.curve((64, 1), samples=""), MLP, code=3)
        self.assertIn("c.pbtxt: it does not say how many samples an epoch has", done.stderr)


if __name__ == "__main__":
    unittest.main()
