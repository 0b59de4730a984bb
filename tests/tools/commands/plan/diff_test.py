"""What a second strategy does otherwise: `plan --diff`."""

import json
import unittest

from tests.tools.commands.trainer_case import MLP, TrainerCase, example

V100 = "--cluster=dgx1_v100"
SPLIT = "--strategy=" + example("mini_inception_2x2.pbtxt")
INCEPTION = example("mini_inception.pbtxt")


class DiffTest(TrainerCase):

    OTHER = SPLIT.replace("--strategy", "--diff")

    def test_differences_add_up(self):
        diff = json.loads(self.call("plan", "--dp=4", V100, self.OTHER, "--format=json", INCEPTION).stdout)
        for side, strategy in (("a", "--dp=4"), ("b", SPLIT)):
            plan = json.loads(self.call("plan", strategy, V100, "--format=json", INCEPTION).stdout)
            self.assertEqual(sum(kind[side] for kind in diff["path_ns"]), diff["step_ns"][side])
            self.assertAlmostEqual(diff["step_ns"][side],
                                   1e9 * max(rank["time"]["step_seconds"] for rank in plan["ranks"]), 0)
            memory = {part["name"]: part[side] for part in diff["memory_bytes"]}
            self.assertEqual(memory["arena"], max(rank["memory"]["total_bytes"] for rank in plan["ranks"]))
            self.assertEqual(sum(group[side] for group in diff["wire_bytes"]),
                             sum(group["wire_bytes"] for group in plan["groups"]))
        splits = {split["node"]: (split["a"], split["b"]) for split in diff["splits"]}
        self.assertEqual(splits["images"], ("S0/4", "At0/2 S0/2"))
        self.assertEqual(splits["a2_3x3/conv"], ("S0/4", "At1/2 S0/2"))
        self.assertEqual(diff["only_a"], [])
        self.assertTrue(any(move["along"] == "model" for move in diff["only_b"]))

    def test_text(self):
        text = self.call("plan", "--dp=4", V100, self.OTHER, INCEPTION).stdout
        self.assertRegex(text, r"^A of --dp and --mp: mesh data:4 model:1\nB .*mini_inception_2x2.pbtxt: mesh data:2 model:2\n")
        rows = [line.split() for line in text.split("\n\n")[1].splitlines()[1:]]
        for column in (-3, -2, -1):
            self.assertAlmostEqual(sum(float(row[column]) for row in rows[:-1]), float(rows[-1][column]), 3)
        self.assertIn(" nodes are split otherwise\n", text)
        same = self.call("plan", SPLIT, V100, self.OTHER, "--full", INCEPTION).stdout
        self.assertRegex(same, r"\n0 of \d+ nodes are split otherwise\n")
        self.assertIn("\nno move is only in A\n", same)

    def test_refusals(self):
        self.refused(2, "--diff needs --cluster or --profile", "plan", self.OTHER, MLP)
        self.refused(2, "--diff and --trace", "plan", self.OTHER, V100, "--trace=" + self.path("t.json"), MLP)
        self.refused(3, "mini_inception_2x2.pbtxt", "plan", V100, self.OTHER, MLP)
        self.refused(3, "none.pbtxt", "plan", V100, "--diff=none.pbtxt", MLP)


if __name__ == "__main__":
    unittest.main()
