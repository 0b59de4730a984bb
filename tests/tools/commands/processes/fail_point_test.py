"""A process that dies at any of the fail points: its job is started again and ends as if nothing had happened."""

import os
import unittest

from tests.tools.commands.trainer_case import MLP, TRAINER, TrainerCase, without_launchers

RUN = ["train", "--mock-data", "--batch=12", "--threads=1", "--dp=2", "--epochs=2", "--checkpoint-every=20"]

# Where it is not the first pass, so that there is something to go on from.
PASSES = {"training.step": 55, "checkpoint.begun": 2, "checkpoint.shards": 2, "checkpoint.record": 2}
RANK_ZERO_ALONE = ["checkpoint.record"]


class FailPointTest(TrainerCase):

    def points(self):
        listed = self.call("version", "--fail-points").stdout.splitlines()
        return [line.split()[0] for line in listed]

    def run_with(self, name, *launch, fail_points="", code=0):
        command = [TRAINER, *launch, *RUN, "--checkpoint=" + self.path(name), "--resume=auto",
                   "--save=" + self.path(name + ".safetensors"), MLP]
        done = self.execute(*command, code=code,
                            environment={**without_launchers(), "PARTITA_FAIL_POINTS": fail_points})
        with open(self.path(name + ".safetensors"), "rb") as file:
            return done, file.read()

    def test_every_point_is_survived(self):
        _, whole = self.run_with("whole")
        points = self.points()
        self.assertGreater(len(points), 8)
        for action, how in (("kill", "signal 9"), ("error", "exit code 138")):
            for point in points:
                if (action, point) == ("error", "job.leaving"):  # who leaves asks for no answer
                    continue
                with self.subTest(point=point, action=action):
                    rank = 0 if point in RANK_ZERO_ALONE else 1
                    armed = f"{point}={action},rank={rank},start=0,pass={PASSES.get(point, 1)}"
                    done, model = self.run_with(f"{point}.{action}", "launch", "--max-restarts=1", "--",
                                                fail_points=armed)
                    self.assertIn("all start again (1 of 1)", done.stderr)
                    if action == "kill":
                        self.assertIn(f"launch: rank {rank} of 2 failed: {how}", done.stderr)
                    self.assertEqual(model, whole)
                    left = [name for name in os.listdir(self.path(f"{point}.{action}")) if name.startswith("writing-")]
                    self.assertEqual(left, [])

    def test_every_failure_is_a_sentence_on_all_ranks(self):
        """Also of the ranks that did not fail: none of them dies of what the other one says instead."""
        for point in self.points():
            for rank in (0, 1):
                if point == "job.leaving" or (point in RANK_ZERO_ALONE and rank == 1):
                    continue
                with self.subTest(point=point, rank=rank):
                    command = [TRAINER, "launch", "--", "train", "--mock-data", "--batch=8", "--threads=1", "--dp=2",
                               "--epochs=1", "--checkpoint-every=20", "--checkpoint=" + self.path(f"{point}.{rank}"),
                               MLP]
                    done = self.execute(*command, code=138, environment={
                        **without_launchers(), "PARTITA_FAIL_POINTS": f"{point}=error,rank={rank}"})
                    self.assertIn(f"fail point '{point}'", done.stderr)
                    self.assertNotIn("CHECK failed", done.stderr)

    def test_says_what_cannot_be_armed(self):
        environment = {**without_launchers(), "PARTITA_FAIL_POINTS": "training.stop=kill"}
        refused = self.call("version", code=2, environment=environment)
        self.assertEqual(refused.stderr, "trainer: variable PARTITA_FAIL_POINTS: there is no fail point 'training.stop'\n")


if __name__ == "__main__":
    unittest.main()
