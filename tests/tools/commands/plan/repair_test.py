"""What makes a plan fit: what `plan` says of one that does not, and `plan --repair`."""

import json
import os
import unittest

from tests.tools.commands.trainer_case import MLP, TrainerCase, example

CORES = "--cluster=" + os.path.abspath("partitioner/clusters/two_cores.pbtxt")


class RepairTest(TrainerCase):

    CALL = ["--dp=2", CORES, "--batch=16", MLP]

    def needed(self):
        plan = json.loads(self.call("plan", "--format=json", *self.CALL).stdout)
        return max(rank["memory"]["total_bytes"] for rank in plan["ranks"])

    def test_repairs_say_what_they_cost_and_gain(self):
        needed = self.needed()
        limit = f"--memory={needed * 4 // 5}"
        done = self.call("plan", "--format=json", limit, *self.CALL, code=4)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual(told["memory_bytes"], needed)
        self.assertTrue(told["repairs"][0]["fits"])
        for repair in told["repairs"]:
            self.assertEqual(repair["gains_bytes"], needed - repair["memory_bytes"])
            self.assertAlmostEqual(repair["costs_seconds"], repair["step_seconds"] - told["step_seconds"])
            self.assertEqual(repair["fits"], repair["memory_bytes"] <= needed * 4 // 5)
        text = self.call("plan", limit, *self.CALL, code=4).stdout
        self.assertRegex(text, r"^  repair +fits +step ms +costs ms +needs bytes +gains bytes\n  none +no ")
        self.assertIn("--repair takes the first\n", text)

    def test_what_is_repaired_fits_and_equals_serial(self):
        limit = f"--memory={self.needed() * 4 // 5}"
        first = json.loads(self.call("plan", "--format=json", limit, *self.CALL, code=4).stdout)["repairs"][0]
        repaired = json.loads(self.call("plan", "--repair", "--save-strategy=repaired.pbtxt", "--format=json", limit,
                                        *self.CALL).stdout)
        with open(self.path("repaired.pbtxt")) as file:
            self.assertIn("# Repaired, for it did not fit (", file.readline())
        read = json.loads(self.call("plan", "--strategy=repaired.pbtxt", "--format=json", limit, *self.CALL[1:]).stdout)
        self.assertEqual(read, repaired)
        self.assertEqual(max(rank["memory"]["total_bytes"] for rank in read["ranks"]), first["memory_bytes"])
        self.assertAlmostEqual(max(rank["time"]["step_seconds"] for rank in read["ranks"]), first["step_seconds"], 9)
        done = self.call("verify", "--mock-data", "--batch=16", "--precision=f64", "--steps=2", "--format=json",
                         "--strategy=repaired.pbtxt", MLP)
        self.assertTrue(json.loads(done.stdout)["equal"])

    def test_what_fits_is_left_as_it_is(self):
        plan = self.call("plan", *self.CALL).stdout
        self.assertEqual(self.call("plan", "--repair", "--save-strategy=same.pbtxt", *self.CALL).stdout, plan)
        self.assertEqual(self.call("plan", "--strategy=same.pbtxt", *self.CALL[1:]).stdout, plan)

    def test_blocks_are_computed_again(self):
        inception, blocks = example("mini_inception.pbtxt"), "--recompute=stem/*+stem_pool,a?_*+a_concat"
        kept, again, none = (json.loads(self.call("plan", *flags, "--format=json", "--batch=16", inception).stdout)
                             for flags in ([], [blocks], ["--recompute=none"]))
        self.assertLess(again["ranks"][0]["memory"]["total_bytes"], kept["ranks"][0]["memory"]["total_bytes"])
        self.assertEqual(none, kept)
        self.assertRegex(self.call("plan", blocks, "--batch=16", inception).stdout, r" backward \(\d+ again\), ")
        done = self.call("verify", "--dp=2", blocks, "--mock-data", "--batch=16", "--precision=f64", "--steps=2",
                         "--format=json", inception)
        self.assertTrue(json.loads(done.stdout)["equal"])
        self.refused(3, "recompute: 'stam/*' names no node of the graph", "plan", "--recompute=stam/*", inception)

    def test_blocks_that_make_a_plan_fit(self):
        call = ["--batch=64", CORES, example("mini_inception.pbtxt")]
        needed = json.loads(self.call("plan", "--format=json", *call).stdout)["ranks"][0]["memory"]["total_bytes"]
        limit = f"--memory={needed * 3 // 4}"
        self.assertIn("computed again: ", self.call("plan", "--repair", "--save-strategy=blocks.pbtxt", limit,
                                                         *call).stdout)
        with open(self.path("blocks.pbtxt")) as file:
            self.assertIn("recompute {", file.read())
        self.call("plan", "--strategy=blocks.pbtxt", limit, *call)

    def test_a_search_that_finds_nothing_that_fits(self):
        search = ["--search=data", CORES, "--ranks=2", "--batch=16", f"--memory={self.needed() * 4 // 5}", MLP]
        self.call("plan", *search, code=4)
        text = self.call("plan", "--repair", *search).stdout
        self.assertRegex(text, r"^  repair ")
        self.assertIn("\nranks      2, mesh", text)

    def test_nothing_helps(self):
        done = self.call("plan", "--repair", "--memory=10KiB", *self.CALL, code=4)
        self.assertIn("none of the repairs fits", done.stderr)
        self.assertNotIn(" yes ", done.stdout)
        self.refused(2, "--repair needs --cluster or --profile", "plan", "--repair", MLP)


if __name__ == "__main__":
    unittest.main()
