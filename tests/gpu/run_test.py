"""The bundle's runner counts what its programs say, and a program that dies is a failure."""

import contextlib
import io
import json
import os
import shutil
import tempfile
import time
import unittest
from unittest import mock

from tests.gpu import run, table

GOOD = {"testsuites": [{"name": "S", "testsuite": [
    {"name": "a", "status": "RUN", "result": "COMPLETED"},
    {"name": "b", "status": "RUN", "result": "SKIPPED"},
]}]}
BAD = {"testsuites": [{"name": "S", "testsuite": [
    {"name": "a", "status": "RUN", "result": "COMPLETED"},
    {"name": "c", "status": "RUN", "result": "COMPLETED", "failures": [{"failure": "1 is not 2"}]},
]}]}


class RunTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.bundle = folder.name
        for name in ("bin", "tests", "lib", "models"):
            os.mkdir(os.path.join(self.bundle, name))
        for program in ("trainer", "benchmark"):
            self.program("bin/" + program, "exit 0")

    def program(self, path, body):
        path = os.path.join(self.bundle, path)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + body + "\n")
        os.chmod(path, 0o755)

    def make_test(self, name="t_test", cases=None, code=0):
        body = f"exit {code}"
        if cases is not None:
            body = f"cat >\"${{1#--gtest_output=json:}}\" <<'END'\n{json.dumps(cases)}\nEND\nexit {code}"
        self.program("tests/" + name, body)

    def run_bundle(self, *arguments, again=False):
        """(exit code, last line, results). `again`: a second call with the same folder."""
        out = os.path.join(self.bundle, "out")
        if not again:
            shutil.rmtree(out, ignore_errors=True)
        printed = io.StringIO()
        with mock.patch.object(run, "HERE", self.bundle), contextlib.redirect_stdout(printed):
            code = run.main(["--out=" + out, *arguments])
        with open(os.path.join(out, "results.json"), encoding="utf-8") as file:
            return code, printed.getvalue().splitlines()[-1], json.load(file)

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
        code, line, results = self.run_bundle("--only=_test", f"--seconds={run.ENDING + run.LEAST_SECONDS + 1}")
        self.assertEqual((code, line), (1, "1 passed, 1 failed"))
        self.assertEqual([(r["name"], r["outcome"]) for r in results["results"]],
                         [("s_test: S.a", "passed"), ("s_test: S.b", "failed"), ("s_test", "skipped"),
                          ("u_test", "skipped")])
        self.assertEqual(results["results"][-1]["detail"], run.NO_TIME)
        with open(os.path.join(self.bundle, "out", "logs", "s_test.log"), encoding="utf-8") as file:
            self.assertIn("[ RUN      ] S.c", file.read())

    def test_a_limit_of_its_own_is_a_failure(self):
        self.program("tests/s_test", "echo '[       OK ] S.a (3 ms)'; sleep 100")
        with mock.patch.object(run, "limit_of", lambda name: 1):
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
        self.assertEqual(self.run_bundle("--only=beside")[:2], (0, f"{len(run.LOSSES)} passed, 0 failed"))
        self.assertEqual(self.run_bundle("--only=two processes")[:2], (0, f"{len(run.PROCESSES)} passed, 0 failed"))
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
        verifying = sum(name.startswith("verify") for name, _ in run.TRAINING)
        self.program("bin/trainer", 'case "$*" in *--device=cuda*) exit 0 ;; esac; exit 2')
        self.assertEqual(self.run_bundle("--only=verify")[:2], (0, f"{verifying} passed, 0 failed"))
        self.program("bin/trainer", "echo there is no NVIDIA driver >&2; exit 7")
        code, line, results = self.run_bundle("--only=verify dp=2 mp=2")
        self.assertEqual((code, line), (1, "0 passed, 1 failed"))
        self.assertEqual(results["results"][0]["detail"], "exit code 7: there is no NVIDIA driver")

    def begun(self):
        """(name of the program, its first argument, its limit) of all programs that a run would start."""
        calls = []

        def note(command, limit, name=""):
            calls.append((os.path.basename(command[0]), command[1] if len(command) > 1 else "", limit))
            return 1, "", 0

        with mock.patch.object(run, "call", note), mock.patch.object(run, "peer_flags", list), \
                mock.patch.object(run, "loss_of_two", lambda *_: (None, "")), \
                mock.patch.object(run, "find_sanitizer", lambda: "compute-sanitizer"), \
                mock.patch.object(run, "machine", lambda: "a GPU"), mock.patch.object(run, "versions", lambda: ""):
            self.run_bundle()
        return calls

    def test_the_cheapest_come_first_within_short_limits(self):
        for test in ("device_test", "collectives_test", "blocks_test", "stream_test", "cuda_device_test"):
            self.make_test(test)
        begun = self.begun()
        programs = [name for name, _, _ in begun]
        verified = sum(name.startswith("verify") for name, _ in run.TRAINING)
        expected = ["cuda_device_test", "stream_test", "device_test"] + ["trainer"] * verified + ["compute-sanitizer"]
        expected += ["trainer"] * (len(run.TRAINING) - verified) + ["benchmark"] * len(run.STEPS)
        expected += ["blocks_test", "collectives_test"]
        self.assertEqual(programs[:len(expected)], expected)
        self.assertEqual(programs[-1], "compute-sanitizer")
        # Nobody waits for an hour because the first programs hang.
        self.assertLessEqual(sum(limit for name, _, limit in begun[:2]), 80)
        longer = {name for name, _, limit in begun if limit > run.SECONDS}
        self.assertEqual(longer, {"trainer", "benchmark", "collectives_test", "device_test", "compute-sanitizer"})
        training = [limit for name, _, limit in begun if name == "trainer"]
        plans = [i for i, limit in enumerate(training) if limit > run.SECONDS]
        self.assertEqual(plans, [verified, verified + 1, verified + 2])
        self.assertGreater(run.SANITIZER_SECONDS, 180)

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
        with mock.patch.object(run, "peer_flags", list):
            code, line, results = self.run_bundle("--only=steps of")
        self.assertEqual((code, line), (0, f"{len(run.STEPS)} passed, 0 failed"))
        self.assertEqual(results["results"][0]["row"], self.ROW)
        self.assertIn("| m | bf16 | 128 | 900 images/s | 50 % | not measured |  |", table.table(results))
        self.program("bin/benchmark", "exit 0")
        with mock.patch.object(run, "peer_flags", list):
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
        with mock.patch.dict(os.environ, {"PATH": path}), mock.patch.object(run.sys, "executable", ""):
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
            run, "checks", lambda wanted: run.run_tests(name for name in ("one_test", "two_test") if wanted(name)))
        with checks:
            self.run_bundle()
            path = os.path.join(self.bundle, "out", "results.json")
            with open(path, encoding="utf-8") as file:
                saved = json.load(file)
            saved["results"][-1] = {"name": "two_test", "outcome": "skipped", "detail": run.NO_TIME}
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
        names = {name for name, _ in run.TRAINING + run.STEPS}
        self.assertEqual([name for name in run.LIMITS if name not in names and not name.endswith("_test")], [])

    def test_results_are_kept_as_they_come(self):
        path = os.path.join(self.bundle, "out", "results.json")
        with mock.patch.object(run, "HERE", self.bundle), contextlib.redirect_stdout(io.StringIO()), \
                mock.patch.object(run, "comparisons", side_effect=KeyboardInterrupt), \
                self.assertRaises(KeyboardInterrupt):
            run.main(["--out=" + os.path.dirname(path), "--only=train two"])
        with open(path, encoding="utf-8") as file:
            self.assertEqual([r["name"] for r in json.load(file)["results"]], ["train two replicas"])

    def sanitizer(self, body):
        """Its options are known; the test that it starts is what follows them."""
        for _, test, _ in run.SANITIZED:
            self.make_test(test, cases=GOOD)
        self.program("bin/nvidia-smi", "echo a GPU")
        self.program("bin/compute-sanitizer", f"""
[ "$1 $3 $5 $6 $7" = "--tool --report-api-errors --kernel-name kernel_substring=partita --error-exitcode" ] || exit 3
tool=$2 code=$8; shift 8
{body}""")

    def run_sanitizers(self, *arguments, folder="bin"):
        # The test's own programs stay in the search path: a shell and cat.
        path = os.path.join(self.bundle, folder) + ":/usr/bin:/bin"
        with mock.patch.dict(os.environ, {"PATH": path}):
            return self.run_bundle(*(arguments or ["--only=sanitizer"]))

    # The test's results are the argument behind the filter.
    RUNS_THE_TEST = 'program=$1; case "$2" in --gtest_filter=*) ;; *) exit 3 ;; esac; "$program" "$3"'

    def test_sanitizers_run_tests(self):
        self.sanitizer(self.RUNS_THE_TEST)
        runs = len(run.SANITIZERS) * len(run.SANITIZED)
        code, line, results = self.run_sanitizers()
        self.assertEqual((code, line), (0, f"{runs} passed, 0 failed"))
        self.assertEqual(results["results"][0], {"name": "sanitizer memcheck: captured steps", "outcome": "passed",
                                                 "detail": "1 cases"})
        self.assertEqual(self.run_sanitizers("--only=racecheck")[1], f"{len(run.SANITIZED)} passed, 0 failed")
        self.assertEqual(self.run_sanitizers("--only=sanitizer", "--skip=racecheck")[1],
                         f"{runs - len(run.SANITIZED)} passed, 0 failed")

    def test_what_a_sanitizer_finds_is_a_failure(self):
        self.sanitizer(self.RUNS_THE_TEST + """
[ $tool != racecheck ] || { echo "a hazard"; echo "RACECHECK SUMMARY: 1 hazard displayed"; exit $code; }""")
        found, clean = len(run.SANITIZED), len(run.SANITIZED) * (len(run.SANITIZERS) - 1)
        code, line, results = self.run_sanitizers()
        self.assertEqual((code, line), (1, f"{clean} passed, {found} failed"))
        details = [r["detail"] for r in results["results"] if r["outcome"] == "failed"]
        self.assertEqual(set(details), {"errors were found: a hazard\nRACECHECK SUMMARY: 1 hazard displayed"})

    def test_a_test_that_fails_under_a_sanitizer_is_a_failure(self):
        self.sanitizer("echo no such option; exit 7")
        code, _, results = self.run_sanitizers("--only=sanitizer memcheck: kernels")
        self.assertEqual((code, results["results"][0]["detail"]), (1, "exit code 7: no such option"))
        self.sanitizer("exit 0")
        code, _, results = self.run_sanitizers("--only=sanitizer memcheck: kernels")
        self.assertIn("no results of the test", results["results"][0]["detail"])

    def test_cases_that_nobody_has_are_a_failure(self):
        self.sanitizer(self.RUNS_THE_TEST)
        for _, test, _ in run.SANITIZED:
            self.make_test(test, cases={"testsuites": []})
        code, _, results = self.run_sanitizers("--only=sanitizer memcheck: kernels")
        self.assertEqual((code, results["results"][0]["detail"]), (1, f"the test has no cases {run.SANITIZED[0][2]}"))

    def test_a_sanitizer_that_is_too_slow_is_ended_with_all_it_started(self):
        self.sanitizer("echo begun; sleep 1000")
        with mock.patch.object(run, "SANITIZER_SECONDS", 1):
            begin = time.monotonic()
            code, line, results = self.run_sanitizers("--only=sanitizer synccheck: kernels")
        self.assertLess(time.monotonic() - begin, 100)
        self.assertEqual((code, line), (1, "0 passed, 1 failed"))
        self.assertEqual(results["results"][0]["detail"], "exit code None: begun\n\nno end within 1 s")

    def test_without_a_sanitizer_or_a_gpu_nothing_is_claimed(self):
        self.sanitizer(self.RUNS_THE_TEST)
        runs = len(run.SANITIZERS) * len(run.SANITIZED)

        def skips(reason):
            _, line, results = self.run_sanitizers()
            self.assertEqual(line, "0 passed, 0 failed")
            self.assertEqual([(r["outcome"], r["detail"]) for r in results["results"]], [("skipped", reason)] * runs)

        with mock.patch.object(run, "find_sanitizer", lambda: ""):
            skips("compute-sanitizer is not found")
        for _, test, _ in run.SANITIZED:
            skipped = GOOD["testsuites"][0]["testsuite"][1:]
            self.make_test(test, cases={"testsuites": [{"name": "S", "testsuite": skipped}]})
        skips("the test skips all its cases on this machine")
        self.program("bin/nvidia-smi", "exit 9")
        skips(run.NO_GPU)

    def test_a_toolkits_or_a_packages_sanitizer_is_found(self):
        os.makedirs(os.path.join(self.bundle, "nvidia", "cu13", "bin"))
        packaged = "nvidia/cu13/bin/compute-sanitizer"
        self.program(packaged, "exit 0")
        with mock.patch.dict(os.environ, {"PATH": "/usr/bin:/bin"}), \
                mock.patch.object(run.sys, "path", [self.bundle]):
            self.assertEqual(run.find_sanitizer(), os.path.join(self.bundle, packaged))
        self.program("bin/compute-sanitizer", "exit 0")
        found = os.path.join(self.bundle, "bin", "compute-sanitizer")
        with mock.patch.dict(os.environ, {"PATH": "/usr/bin:/bin", "CUDA_HOME": self.bundle}):
            self.assertEqual(run.find_sanitizer(), found)
        with mock.patch.dict(os.environ, {"PATH": os.path.dirname(found)}):
            self.assertEqual(run.find_sanitizer(), found)

    def test_the_table_names_a_file_that_is_not_there(self):
        with self.assertRaises(SystemExit) as end:
            table.main([os.path.join(self.bundle, "results.json")])
        self.assertIn("results.json: No such file or directory; expected the results of ./run", str(end.exception))

    def test_nothing_that_passed_is_no_success(self):
        self.assertEqual(self.run_bundle("--only=no such check")[:2], (1, "0 passed, 0 failed"))


if __name__ == "__main__":
    unittest.main()
