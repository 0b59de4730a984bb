"""What `--search` finds, writes and refuses."""

import json
import os
import re
import shutil
import subprocess
import unittest

from tests.tools.commands.trainer_case import LENET, MLP, TRAINER, TrainerCase, example, without_launchers

CORES = os.path.abspath("partitioner/clusters/two_cores.pbtxt")


class SearchTest(TrainerCase):

    def test_plan_tells_the_finalists(self):
        text = self.call("plan", "--search=auto", "--cluster=" + CORES, "--ranks=4", LENET).stdout
        rows = text.split("\n\n")[0].splitlines()
        self.assertRegex(rows[0], r"^search +plan +step ms +memory MB +why$")
        self.assertRegex(rows[1], r" chosen; ")
        self.assertEqual({row.split()[0] for row in rows[1:]},
                         {"data", "grid", "groups", "placement", "pipeline", "layerwise"})
        milliseconds = [float(re.search(r" (\d+\.\d+) +\d+\.\d  ", row).group(1)) for row in rows[1:]]
        self.assertEqual(milliseconds, sorted(milliseconds))
        self.assertEqual(text, self.call("plan", "--search=auto", "--cluster=" + CORES, "--ranks=4", LENET).stdout)

    def test_programs_are_told_all_finalists(self):
        plan = ["plan", "--search=auto", "--cluster=" + CORES, "--ranks=2"]
        rows = self.call(*plan, LENET).stdout.split("\n\n")[0].splitlines()[1:]
        told = json.loads(self.call(*plan, "--format=json", LENET).stdout)
        self.assertEqual([(one["search"], f"{1e3 * one['step_seconds']:.3f}") for one in told["finalists"]],
                         [(row.split()[0], re.search(r" (\d+\.\d+) +\d+\.\d  ", row).group(1)) for row in rows])
        for one in told["finalists"]:
            self.assertEqual((one["ranks"], one["refused"], one["value"]), (2, "", one["step_seconds"]))
            self.assertAlmostEqual(one["table_seconds"], one["least_table_seconds"] * (1 + one["gap"]))
        # Of those that do not fit it says why.
        memory = sorted(one["memory_bytes"] for one in told["finalists"])
        told = json.loads(self.call(*plan, "--format=json", f"--memory={memory[0]}", LENET).stdout)["finalists"]
        self.assertEqual(told[0]["refused"], "")
        self.assertTrue(any("are allowed" in one["refused"] for one in told), told)

    def test_what_is_found_takes_as_long_as_its_plan(self):
        # Pictures travel as bytes in both.
        for search in ("data", "pipeline"):
            times = []
            for said in ([], ["--recompute=conv1/*+pool1"], ["--processes"]):
                text = self.call("plan", "--search=" + search, "--cluster=" + CORES, "--ranks=2", *said, LENET).stdout
                (found,) = re.findall(r" (\d+\.\d+) +\d+\.\d  chosen; ", text)
                self.assertIn(f"a step takes {found} ms", text)
                times.append(found)
            if search == "data":
                self.assertLess(times[0], times[1], "what is computed again takes time")
                self.assertLess(times[0], times[2], "votes of processes take time")

    # Ranks that share a GPU are 16 at most; those of a job have one each.
    def test_of_more_gpus_than_ranks_may_share_one(self):
        with open(os.path.abspath("partitioner/clusters/nodes_100gbe.pbtxt"), encoding="utf-8") as file:
            text = file.read().replace("  count: 2\n", "  count: 4\n")
        with open(self.path("large.pbtxt"), "w", encoding="utf-8") as file:
            file.write(text)
        gpus = ["--device=cuda", "--deterministic", "--cluster=large.pbtxt", "--ranks=32", "--format=json", LENET]
        done = subprocess.run([TRAINER, "plan", "--search=data", "--processes", *gpus], capture_output=True, text=True,
                              cwd=self.folder, timeout=300)
        if done.returncode == 7:
            self.assertIn("built without CUDA", done.stderr)
            self.skipTest("built without CUDA")
        self.assertEqual(done.returncode, 0, done.stderr)
        # sweep leaves the size of buckets to the compiler.
        (found,) = [one for one in json.loads(done.stdout)["finalists"] if "buckets" not in one["plan"]]
        swept = json.loads(self.call("sweep", "--batch=2", "--mp=1", *gpus).stdout)["points"]
        self.assertEqual(swept[-1]["devices"], 32)
        self.assertAlmostEqual(swept[-1]["step_seconds"], found["step_seconds"], places=9)

    def test_what_is_said_of_all_plans_decides_what_fits(self):
        search = ["plan", "--search=data", "--cluster=" + CORES, "--ranks=2", "--format=json"]
        said, graph = "--recompute=stem*", example("mini_inception.pbtxt")
        (kept,) = json.loads(self.call(*search, graph).stdout)["finalists"]
        (again,) = json.loads(self.call(*search, said, graph).stdout)["finalists"]
        self.assertLess(again["memory_bytes"], kept["memory_bytes"])
        limit = f"--memory={again['memory_bytes']}"
        self.call(*search, limit, said, graph)
        self.refused(4, "no plan of 2 ranks fits", *search, limit, graph)
        self.refused(3, "'no/such' names no node", *search, "--recompute=no/such", graph)

    def test_what_is_saved_is_a_strategy(self):
        for search in ("data", "grid", "groups", "placement", "pipeline", "layerwise"):
            with self.subTest(search=search):
                plan = ["--batch=8", "--format=json", MLP]
                found = json.loads(self.call("plan", "--search=" + search, "--cluster=" + CORES, "--ranks=2",
                                             "--save-strategy=found.pbtxt", *plan).stdout)
                with open(self.path("found.pbtxt")) as file:
                    self.assertIn(f"# Found by the search '{search}'", file.read())
                self.assertEqual(found["finalists"][0]["search"], search)
                found["finalists"] = []
                read = json.loads(self.call("plan", "--strategy=found.pbtxt", "--cluster=" + CORES, *plan).stdout)
                self.assertEqual(found, read)
                self.call("check", "--strategy=found.pbtxt", "--batch=8", MLP)

    def test_what_is_found_equals_serial(self):
        for model in (LENET, example("mini_inception.pbtxt")):
            with self.subTest(model=model):
                done = self.call("verify", "--mock-data", "--batch=8", "--precision=f64", "--steps=1", "--format=json",
                                 "--search=layerwise", "--cluster=" + CORES, "--ranks=4", model)
                self.assertTrue(json.loads(done.stdout)["equal"])

    def test_without_ranks_a_host_has_one_for_each_core_at_most(self):
        plan = ["plan", "--cluster=" + CORES, "--format=json", LENET]
        found = json.loads(self.call(*plan, "--search=auto").stdout)
        self.assertLessEqual(len(found["ranks"]), 2, "the machine has two cores, and 64 devices")
        chosen, *others = found["finalists"]
        self.assertLessEqual(chosen["step_seconds"], 1.06 * min(one["step_seconds"] for one in others))
        self.assertEqual({one["ranks"] for one in found["finalists"]}, {1, 2})

    def test_no_search_is_slower_than_flags(self):
        for ranks in ("--ranks=2", "--ranks=4"):
            plan = ["plan", "--cluster=" + CORES, ranks, LENET]
            seconds = {}
            for search in ("auto", "grid", "groups", "placement", "pipeline", "layerwise"):
                text = self.call(*plan, "--search=" + search).stdout
                seconds[search] = float(re.search(r" (\d+\.\d+) +\d+\.\d  chosen; ", text).group(1))
            for flags in (["--dp=" + ranks[-1]], ["--mp=" + ranks[-1]]):
                text = self.call("plan", "--cluster=" + CORES, *flags, LENET).stdout
                by_flags = float(re.search(r"a step takes (\d+\.\d+) ms", text).group(1))
                for search, found in seconds.items():
                    with self.subTest(search=search, flags=flags):
                        self.assertLessEqual(found, by_flags)
            self.assertEqual(min(seconds.values()), seconds["auto"])

    def test_the_words_of_the_table_are_explained(self):
        text = self.call("plan", "--search=auto", "--cluster=" + CORES, "--ranks=4", LENET).stdout
        table, words = text.split("\n\n")[:2]
        self.assertIn("data:4", table)
        for word in ("data:N", "model:N", "stage:N", "gap", "tables"):
            self.assertRegex(words, "(?m)^" + word)

    def test_trains(self):
        done = self.train("--search=grid", "--cluster=" + CORES, "--ranks=2", "--save-strategy=found.pbtxt", MLP)
        self.assertIn("chosen; ", done.stdout)
        self.train("--strategy=found.pbtxt", MLP)

    def test_flags_that_contradict_it(self):
        search = ["plan", "--search=auto", "--cluster=" + CORES]
        for flag in ("--dp=2", "--mp=2", "--micro-batches=2", "--convolutions=rows", "--dense=samples",
                     "--input-gradients=all_reduce", "--strategy=" + example("lenet5_grid.pbtxt")):
            with self.subTest(flag=flag):
                self.refused(2, "--search=auto and " + flag.split("=")[0], *search, flag, LENET)
        self.refused(2, "--search=auto needs --cluster or --profile", "plan", "--search=auto", LENET)
        for command in ("plan", "train"):
            self.refused(2, "--save-strategy needs --search",
                         command, "--save-strategy=found.pbtxt", LENET)
        self.refused(2, ".pbtxt", *search, "--save-strategy=found.txt", LENET)

    def placed(self, *flags, code=0, path=None):
        environment = dict(without_launchers(), PATH=path or os.environ["PATH"])
        return self.call("plan", "--search=placement", "--cluster=" + CORES, "--ranks=2", "--solver=cbc", *flags,
                         example("mini_inception.pbtxt"), code=code, environment=environment)

    @unittest.skipUnless(shutil.which("cbc"), "the command cbc is not here (Debian's package coinor-cbc)")
    def test_solver_tells_the_gap_when_time_is_over(self):
        text = self.placed("--solver-seconds=1").stdout
        self.assertRegex(text.splitlines()[1], r"^placement .* chosen; gap \d+\.\d\d %$")

    def test_solver_that_is_not_there_or_fails(self):
        self.assertIn("flag --solver: cbc does not start: No such file or directory; Debian's package coinor-cbc has it",
                      self.placed(code=7, path=self.folder).stderr)
        with open(self.path("cbc"), "w") as file:
            file.write("#!/bin/sh\n[ $1 = quit ] || exit 9\n")
        os.chmod(self.path("cbc"), 0o755)
        self.assertIn("mini_inception.pbtxt: cbc ended with exit code 9",
                      self.placed(code=7, path=self.folder).stderr)

    def test_solver_of_what_it_does_not_solve(self):
        self.refused(2, "--solver=cbc needs --search=placement or --search=auto", "plan", "--search=grid",
                     "--cluster=" + CORES, "--ranks=2", "--solver=cbc", LENET)

    def test_more_ranks_than_devices(self):
        self.refused(3, "two-cores", "plan", "--search=data", "--cluster=" + CORES, "--ranks=65", LENET)

    def test_nothing_fits(self):
        self.refused(4, "no plan of 2 ranks fits; the nearest is", "plan", "--search=auto", "--cluster=" + CORES,
                     "--ranks=2", "--memory=100KiB", LENET)


if __name__ == "__main__":
    unittest.main()
