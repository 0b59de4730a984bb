"""The bundle's runner counts what its programs say, and a program that dies is a failure."""

import contextlib
import io
import json
import os
import unittest
from unittest import mock

from tests.gpu import table
from tests.gpu.bundle_case import BAD, GOOD, BundleCase
from tests.gpu.runner import lists, losses, machine, order, programs, sanitizers, session
from tests.gpu.runner.google_tests import run_tests
from tests.gpu.runner.main import main


class RunTest(BundleCase):

    def test_counts_cases_and_skips_what_was_not_run(self):
        self.make_test(cases=GOOD)
        code, line, results = self.run_bundle("--only=t_test")
        self.assertEqual((code, line), (0, "1 passed, 0 failed"))
        self.assertEqual([r["outcome"] for r in results["results"]], ["passed", "skipped"])

    def test_a_case_that_failed_says_why(self):
        self.make_test(cases=BAD, code=1)
        code, line, results = self.run_bundle("--only=t_test")
        self.assertEqual((code, line), (1, "1 passed, 1 failed"))
        self.assertIn("1 is not 2", results["results"][1]["detail"])

    def test_a_program_that_dies_is_a_failure(self):
        self.make_test(cases=None, code=139)
        self.assertEqual(self.run_bundle("--only=t_test")[:2], (1, "0 passed, 1 failed"))
        self.make_test(cases=GOOD, code=134)
        self.assertEqual(self.run_bundle("--only=t_test")[:2], (1, "1 passed, 1 failed"))

    def test_the_end_cuts_off_and_keeps_what_was_finished(self):
        self.program("tests/s_test", "echo '[       OK ] S.a (3 ms)'; echo '[  FAILED  ] S.b, where x = 1 (4 ms)'\n"
                     "echo '[ RUN      ] S.c'; sleep 100")
        self.make_test("u_test", cases=GOOD)
        code, line, results = self.run_bundle("--only=_test", f"--seconds={session.ENDING + session.LEAST_SECONDS + 1}")
        self.assertEqual((code, line), (1, "1 passed, 1 failed"))
        self.assertEqual([(r["name"], r["outcome"]) for r in results["results"]],
                         [("s_test: S.a", "passed"), ("s_test: S.b", "failed"), ("s_test", "skipped"),
                          ("u_test", "skipped")])
        self.assertEqual(results["results"][-1]["detail"], session.NO_TIME)
        with open(os.path.join(self.bundle, "out", "logs", "s_test.log"), encoding="utf-8") as file:
            self.assertIn("[ RUN      ] S.c", file.read())

    def test_a_limit_of_its_own_is_a_failure(self):
        self.program("tests/s_test", "echo '[       OK ] S.a (3 ms)'; sleep 100")
        with mock.patch.object(lists, "limit_of", lambda name: 1):
            code, line, results = self.run_bundle("--only=s_test")
        self.assertEqual((code, line), (1, "1 passed, 1 failed"))
        self.assertIn("no end within 1 s", results["results"][1]["detail"])

    def test_plans_and_the_timeline_are_kept(self):
        self.program("bin/trainer",
                     'mkdir -p "$XDG_CACHE_HOME" && touch "$XDG_CACHE_HOME/plans" && echo x >timeline.json')
        self.assertEqual(self.run_bundle("--only=train with a timeline")[:2], (0, "1 passed, 0 failed"))
        self.assertEqual(sorted(os.listdir(os.path.join(self.bundle, "out"))),
                         ["cache", "logs", "results.json", "timeline.json"])

    def trainer_of_losses(self, bf16="2.3", two="2.3"):
        self.program("bin/trainer", f"""
loss=2.3
for argument; do case "$argument" in
  --report=*) report=${{argument#--report=}} ;;
  --precision=bf16) loss={bf16} ;;
esac; done
if [ -n "$RANK" ]; then loss={two}; [ -n "$NCCL_HOSTID" ] || exit 3; fi
echo "{{\\"epochs\\": [{{\\"training_loss\\": $loss}}]}}" >"$report"
""")

    def test_losses_are_compared(self):
        self.trainer_of_losses()
        self.assertEqual(self.run_bundle("--only=beside")[:2], (0, f"{len(lists.LOSSES)} passed, 0 failed"))
        self.assertEqual(self.run_bundle("--only=two processes")[:2], (0, f"{len(lists.PROCESSES)} passed, 0 failed"))
        self.trainer_of_losses(bf16="2.36", two="2.302")
        code, line, results = self.run_bundle("--only=bf16 beside f32, LeNet-5")
        self.assertEqual((code, line), (1, "0 passed, 1 failed"))
        self.assertIn("2.360000 and 2.300000 differ by 2.61e-02", results["results"][0]["detail"])
        self.assertEqual(self.run_bundle("--only=two processes, replicas")[0], 1)

    def test_a_process_that_dies_is_named(self):
        self.program("bin/trainer", '[ "$RANK" = 1 ] && echo no NCCL && exit 138; exit 0')
        code, _, results = self.run_bundle("--only=two processes, replicas")
        self.assertEqual(code, 1)
        self.assertIn("rank 1: exit code 138: no NCCL", results["results"][0]["detail"])

    def test_the_trainer_runs_on_the_gpu(self):
        verifying = sum(name.startswith("verify") for name, _ in lists.TRAINING)
        self.program("bin/trainer", 'case "$*" in *--device=cuda*) exit 0 ;; esac; exit 2')
        self.assertEqual(self.run_bundle("--only=verify")[:2], (0, f"{verifying} passed, 0 failed"))
        self.program("bin/trainer", "echo there is no NVIDIA driver >&2; exit 7")
        code, line, results = self.run_bundle("--only=verify dp=2 mp=2")
        self.assertEqual((code, line), (1, "0 passed, 1 failed"))
        self.assertEqual(results["results"][0]["detail"], "exit code 7: there is no NVIDIA driver")

    def begun(self):
        """(name of the program, its first argument, its limit) of all programs that a run would start."""
        calls = []

        def note(_, command, limit, name=""):
            calls.append((os.path.basename(command[0]), command[1] if len(command) > 1 else "", limit))
            return 1, "", 0

        with mock.patch.object(session.Session, "call", note), \
                mock.patch.object(programs, "peer_flags", lambda _: []), \
                mock.patch.object(losses, "loss_of_two", lambda *_: (None, "")), \
                mock.patch.object(sanitizers, "find_sanitizer", lambda: "compute-sanitizer"), \
                mock.patch.object(machine, "machine", lambda _: "a GPU"), \
                mock.patch.object(machine, "versions", lambda _: ""):
            self.run_bundle()
        return calls

    def test_the_cheapest_come_first_within_short_limits(self):
        for test in ("device_test", "collectives_test", "blocks_test", "stream_test", "cuda_device_test"):
            self.make_test(test)
        begun = self.begun()
        programs = [name for name, _, _ in begun]
        verified = sum(name.startswith("verify") for name, _ in lists.TRAINING)
        expected = ["cuda_device_test", "stream_test", "device_test"] + ["trainer"] * verified + ["compute-sanitizer"]
        expected += ["trainer"] * (len(lists.TRAINING) - verified) + ["benchmark"] * len(lists.STEPS)
        expected += ["blocks_test", "collectives_test"]
        self.assertEqual(programs[:len(expected)], expected)
        self.assertEqual(programs[-1], "compute-sanitizer")
        # Nobody waits for an hour because the first programs hang.
        self.assertLessEqual(sum(limit for name, _, limit in begun[:2]), 80)
        longer = {name for name, _, limit in begun if limit > lists.SECONDS}
        self.assertEqual(longer, {"trainer", "benchmark", "collectives_test", "device_test", "compute-sanitizer"})
        training = [limit for name, _, limit in begun if name == "trainer"]
        plans = [i for i, limit in enumerate(training) if limit > lists.SECONDS]
        self.assertEqual(plans, [verified, verified + 1, verified + 2])
        self.assertGreater(lists.SANITIZER_SECONDS, 180)

    # A benchmark that writes a row, if it has the flags of one on a GPU.
    ROW = {"model": "m", "precision": "bf16", "batch": 128, "unit": "images/s", "limit_share": 0.5, "peer": "", "best": "",
           "ours": {"per_s": {"median": 900}}, "others": [], "ratio": {"median": 0, "low": 0, "high": 0}}

    def benchmark(self, row, flags=""):
        self.program("bin/benchmark", f"""
case "$*" in "models --device=cuda --model="*" --precision="*"{flags}"*) ;; *) exit 2 ;; esac
for argument; do case "$argument" in --report=*) report=${{argument#--report=}} ;; esac; done
cat >"$report" <<'END'
{json.dumps([row])}
END""")

    def test_steps_of_models_are_measured(self):
        self.benchmark(self.ROW)
        with mock.patch.object(programs, "peer_flags", lambda _: []):
            code, line, results = self.run_bundle("--only=steps of")
        self.assertEqual((code, line), (0, f"{len(lists.STEPS)} passed, 0 failed"))
        self.assertEqual(results["results"][0]["row"], self.ROW)
        self.assertIn("| m | bf16 | 128 | 900 images/s | 50 % | not measured |  |", table.table(results))
        self.program("bin/benchmark", "exit 0")
        with mock.patch.object(programs, "peer_flags", lambda _: []):
            code, _, results = self.run_bundle("--only=steps of resnet-50")
        self.assertEqual(code, 1)
        self.assertIn("| resnet-50 in bf16 | | | failed: no row: ", table.table(results))

    def test_pytorch_is_measured_where_a_python_has_it(self):
        self.program("bin/python3", "echo 2.11; exit 0")
        eager = {"name": "eager", "per_s": {"median": 700}, "failure": ""}
        graph = {"name": "graph", "per_s": {"median": 750}, "failure": ""}
        ratio = {"median": 1.2, "low": 1.1, "high": 1.3}
        python = os.path.join(self.bundle, "bin", "python3")
        self.benchmark(self.ROW | {"peer": "pytorch 2.11", "best": "graph", "others": [eager, graph], "ratio": ratio},
                       flags=f"--peer=pytorch --peer-forms=eager,graph --peer-python={python} --skip-agreement")
        path = os.path.dirname(python) + ":/usr/bin:/bin"
        with mock.patch.dict(os.environ, {"PATH": path}), mock.patch.object(programs.sys, "executable", ""):
            code, _, results = self.run_bundle("--only=steps of gnmt")
        self.assertEqual(code, 0, results)
        self.assertIn("| 50 % | 750 (graph) | 1.20 (1.10 to 1.30) |", table.table(results))

    def test_a_second_call_adds_to_the_first(self):
        self.make_test("one_test", cases=GOOD)
        self.make_test("two_test", cases=BAD, code=1)
        self.run_bundle("--only=one_test")
        self.run_bundle("--only=two_test", again=True)
        self.make_test("two_test", cases=GOOD)
        _, line, results = self.run_bundle("--only=two_test", again=True)
        self.assertEqual(line, "1 passed, 0 failed")
        self.assertEqual({r["name"]: r["outcome"] for r in results["results"]},
                         {"one_test: S.a": "passed", "one_test: S.b": "skipped", "two_test: S.a": "passed",
                          "two_test: S.b": "skipped", "two_test: S.c": "failed"})
        _, _, results = self.run_bundle("--only=one_test", "--seconds=1", again=True)
        self.assertIn("1 failed, 3 were skipped", table.table(results))
        self.assertIn("- two_test: S.c: 1 is not 2", table.table(results))

    def test_a_second_call_continues_what_the_first_had_no_time_for(self):
        self.make_test("one_test", cases=GOOD)
        self.make_test("two_test", cases=GOOD)
        checks = mock.patch.object(
            order, "checks",
            lambda session, wanted: run_tests(session, (name for name in ("one_test", "two_test") if wanted(name))))
        with checks:
            self.run_bundle()
            path = os.path.join(self.bundle, "out", "results.json")
            with open(path, encoding="utf-8") as file:
                saved = json.load(file)
            saved["results"][-1] = {"name": "two_test", "outcome": "skipped", "detail": session.NO_TIME}
            with open(path, "w", encoding="utf-8") as file:
                json.dump(saved, file)
            self.make_test("one_test", cases=BAD, code=1)  # is not asked again
            code, line, results = self.run_bundle(again=True)
            self.assertEqual((code, line), (0, "1 passed, 0 failed"))
            self.assertEqual({r["name"]: r["outcome"] for r in results["results"]},
                             {"one_test: S.a": "passed", "one_test: S.b": "skipped", "two_test: S.a": "passed",
                              "two_test: S.b": "skipped"})
            self.assertEqual(self.run_bundle(again=True)[:2], (0, "0 passed, 0 failed"))
            self.assertEqual(self.run_bundle("--only=one_test", again=True)[:2], (1, "1 passed, 1 failed"))

    def test_results_of_another_bundle_or_machine_are_not_mixed(self):
        self.make_test("one_test", cases=GOOD)
        self.run_bundle("--only=one_test")
        with open(os.path.join(self.bundle, "REVISION"), "w", encoding="utf-8") as file:
            file.write("abc\n")
        with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit) as end:
            self.run_bundle("--only=one_test", again=True)
        self.assertEqual(end.exception.code, 2)
        self.assertIn("results.json: revision is none; expected abc. Choose another folder with --out.", said.getvalue())

    def test_limits_are_of_tests_and_of_checks_that_exist(self):
        names = {name for name, _ in lists.TRAINING + lists.STEPS}
        self.assertEqual([name for name in lists.LIMITS if name not in names and not name.endswith("_test")], [])

    def test_results_are_kept_as_they_come(self):
        path = os.path.join(self.bundle, "out", "results.json")
        with contextlib.redirect_stdout(io.StringIO()), \
                mock.patch.object(losses, "comparisons", side_effect=KeyboardInterrupt), \
                self.assertRaises(KeyboardInterrupt):
            main(["--out=" + os.path.dirname(path), "--only=train two"], self.bundle)
        with open(path, encoding="utf-8") as file:
            self.assertEqual([r["name"] for r in json.load(file)["results"]], ["train two replicas"])


    def test_the_table_names_a_file_that_is_not_there(self):
        with self.assertRaises(SystemExit) as end:
            table.main([os.path.join(self.bundle, "results.json")])
        self.assertIn("results.json: No such file or directory; expected the results of ./run", str(end.exception))

    def test_nothing_that_passed_is_no_success(self):
        self.assertEqual(self.run_bundle("--only=no such check")[:2], (1, "0 passed, 0 failed"))


if __name__ == "__main__":
    unittest.main()
