"""Why the step of a plan takes as long as it does: `plan --explain`."""

import json
import re
import unittest

from tests.tools.commands.trainer_case import LENET, MLP, TrainerCase, example

V100 = "--cluster=dgx1_v100"
SPLIT = "--strategy=" + example("mini_inception_2x2.pbtxt")
INCEPTION = example("mini_inception.pbtxt")


class ExplainTest(TrainerCase):

    def explained(self, *arguments):
        return json.loads(self.call("plan", "--explain", "--format=json", *arguments).stdout)

    def test_shares_add_up_to_the_step(self):
        told = self.explained(SPLIT, V100, INCEPTION)
        plan = json.loads(self.call("plan", SPLIT, V100, "--format=json", INCEPTION).stdout)
        step = told["step_ns"]
        self.assertAlmostEqual(step, 1e9 * max(rank["time"]["step_seconds"] for rank in plan["ranks"]), 0)
        for path in (told["path"], told["path_launches"]):
            self.assertEqual(sum(share["ns"] for share in path), step)
        kinds = ("compute_ns", "transfer_ns", "waiting_ns", "idle_ns")
        sums = dict.fromkeys(kinds, 0)
        for of in told["classes"]:
            self.assertEqual(sum(of[kind] for kind in kinds), step)
            for kind in kinds:
                sums[kind] += len(of["ranks"]) * of[kind]
        self.assertEqual(told["all_ranks"], sums)
        self.assertEqual(sorted(rank for of in told["classes"] for rank in of["ranks"]), [0, 1, 2, 3])
        for kind in ("transfer_ns", "waiting_ns"):
            self.assertEqual(sum(one[kind] for one in told["collectives"]), sums[kind])
        for of in told["classes"]:
            for rank in of["ranks"]:
                self.assertAlmostEqual(of["compute_ns"], 1e9 * plan["ranks"][rank]["time"]["compute_seconds"], 0)
                self.assertAlmostEqual(of["transfer_ns"] + of["waiting_ns"],
                                       1e9 * plan["ranks"][rank]["time"]["exposed_seconds"], 0)

    def test_collectives_say_what_they_serve(self):
        told = self.explained("--dp=4", V100, LENET)
        moves = {node["name"]: node for node in
                 json.loads(self.call("plan", "--dp=4", V100, "--format=json", LENET).stdout)["nodes"] if node["axes"]}
        served = set()
        for collective in told["collectives"]:
            move = moves[collective["name"]]
            self.assertEqual(collective["wire_bytes"], move["wire_bytes"])
            self.assertEqual(collective["along"], "+".join(move["axes"]))
            served.update(collective["serves"])
        self.assertIn("dense1/matmul/weights", served)

    def test_text_has_the_numbers_of_json(self):
        told = self.explained(SPLIT, V100, INCEPTION)
        for full in ([], ["--full"]):
            text = self.call("plan", "--explain", SPLIT, V100, *full, INCEPTION).stdout
            self.assertIn(f"mini-inception on dgx-1-v100, 4 ranks, mesh data:2 model:2: a step takes "
                          f"{told['step_ns'] / 1e3:.3f} us\n", text)
            for share in told["path"]:
                self.assertRegex(text, rf"\n  {re.escape(share['work'])} +{share['ns'] / 1e3:.3f} ")
            rows = text.split("its longest launches")[1].split("\n\n")[0].splitlines()[1:]
            self.assertAlmostEqual(sum(float(re.search(r" (\d+\.\d{3}) ", row).group(1)) for row in rows),
                                   told["step_ns"] / 1e3, 3)

    def test_a_search_tells_the_next_best(self):
        search = ["--search=auto", "--ranks=4", V100, LENET]
        told = self.explained(*search)["search"]
        self.assertGreaterEqual(told["next_best"]["more_seconds"], 0)
        self.assertTrue(any(reason.startswith("Not ") for reason in told["reasons"]))
        text = self.call("plan", "--explain", *search).stdout
        self.assertIn(f"the next best plan: {told['next_best']['search']} on {told['next_best']['plan']}, ", text)
        for reason in told["reasons"]:
            self.assertIn("  " + reason + "\n", text)

    def test_writes_the_timeline(self):
        self.call("plan", "--explain", V100, "--dp=2", "--trace=" + self.path("trace.json"), MLP)
        with open(self.path("trace.json")) as file:
            self.assertGreater(len(json.load(file)["traceEvents"]), 10)

    def test_refusals(self):
        self.refused(2, "--explain needs --cluster or --profile", "plan", "--explain", MLP)
        self.refused(2, "--format=dot and --explain", "plan", "--explain", V100, "--format=dot", MLP)
        self.refused(2, "--diff and --explain", "plan", "--explain", V100, SPLIT.replace("strategy", "diff"), MLP)


if __name__ == "__main__":
    unittest.main()
