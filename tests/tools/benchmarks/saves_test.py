"""What `benchmark` says of checkpoints: what they cost, and what they come through."""

import json
import unittest

from tests.tools.benchmarks.benchmark_program import call


class CheckpointTest(unittest.TestCase):

    def test_rows(self):
        flags = ["--model=mlp", "--batch=8", "--steps=20", "--rounds=2", "--threads=1"]
        done = call("checkpoint", "--format=json", *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout)
        self.assertEqual([row["checkpoint"] for row in rows], ["beside steps", "at once"])
        for row in rows:
            self.assertLessEqual(row["ratio_low"], row["ratio"])
            self.assertLessEqual(row["ratio"], row["ratio_high"])
            self.assertGreater(row["held_ms"], 0)
            self.assertGreater(row["state_bytes"], 4 * (784 * 256 + 256 * 128))  # the weights, and momentum
        self.assertEqual(len(call("checkpoint", *flags).stdout.splitlines()), 3)

    def test_too_few_steps(self):
        done = call("checkpoint", "--steps=16")
        self.assertEqual(done.returncode, 2)
        self.assertIn("a checkpoint takes more than 16", done.stderr)


class ChaosTest(unittest.TestCase):

    def test_rows(self):
        flags = ["--kills=0", "--save-faults=10", "--flips=20"]
        done = call("chaos", "--format=json", *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["breaches"], [])
        self.assertEqual(sum(row["count"] for row in found["rows"]), 30)
        self.assertEqual(sum(row["as_promised"] for row in found["rows"]), 30)
        self.assertEqual(len(call("chaos", *flags).stdout.splitlines()), 1 + len(found["rows"]))

    def test_kills(self):
        done = call("chaos", "--format=json", "--kills=1", "--save-faults=0", "--flips=0")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = {(row["what"], row["where"]): row for row in json.loads(done.stdout)["rows"]}
        self.assertGreater(rows["checkpoint", "its bits"]["count"], 0)
        self.assertTrue(any(what.startswith("kill") for what, _ in rows), rows)
        for row in rows.values():
            self.assertEqual(row["count"], row["as_promised"])


if __name__ == "__main__":
    unittest.main()
