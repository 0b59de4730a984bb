"""The bundle's runner counts what its programs say, and a program that dies is a failure."""

import contextlib
import io
import json
import os
import shutil
import unittest
from unittest import mock

from tests.gpu.bundle_case import BAD, GOOD, BundleCase
from tests.gpu.runner import lists, losses, main, order, peers, session, table
from tests.gpu.runner.check import Check, result
from tests.gpu.runner.google_tests import run_test


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
        code, line, results = self.run_bundle("--only=_test", "--seconds=15")
        self.assertEqual((code, line), (1, "1 passed, 1 failed"))
        self.assertEqual([(r["name"], r["outcome"]) for r in results["results"]],
                         [("s_test: S.a", "passed"), ("s_test: S.b", "failed"), ("s_test", "skipped"),
                          ("u_test", "skipped")])
        self.assertEqual(results["results"][-1]["detail"], session.NO_TIME)
        self.assertIn("[ RUN      ] S.c", self.log())

    def test_a_limit_of_its_own_is_a_failure(self):
        self.program("tests/s_test", "echo '[       OK ] S.a (3 ms)'; sleep 100")
        with mock.patch.object(lists, "limit_of", lambda name: 1):
            code, line, results = self.run_bundle("--only=s_test")
        self.assertEqual((code, line), (1, "1 passed, 1 failed"))
        self.assertIn("no end within 1 s", results["results"][1]["detail"])

    def test_plans_and_the_timeline_are_kept(self):
        self.program("bin/trainer", 'plans=$XDG_CACHE_HOME/partita; mkdir -p "$plans" && touch "$plans/plan"\n'
                     "echo x >timeline.json")
        self.assertEqual(self.run_bundle("--only=train with a timeline")[:2], (0, "1 passed, 0 failed"))
        kept = ["log.txt", "plans.zip", "results.json", "table.txt", "timeline.json.gz"]
        self.assertEqual(sorted(os.listdir(os.path.join(self.bundle, "out"))), kept)
        # Another copy of the bundle, as on a machine that is borrowed later.
        shutil.rmtree(os.path.join(self.bundle, "cache"))
        self.program("bin/trainer", '[ -e "$XDG_CACHE_HOME/partita/plan" ]')
        self.assertEqual(self.run_bundle("--only=train with a timeline", again=True)[:2], (0, "1 passed, 0 failed"))

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

    def trainer_with_a_lost_peer(self, rank_0):
        self.program("bin/trainer", f"""
for argument; do case "$argument" in --metrics=*) metrics=${{argument#--metrics=}} ;; esac; done
[ "$RANK" = 1 ] && exec sleep 100
{rank_0}""")
        _, line, results = self.run_bundle("--only=a killed peer")
        return line, results["results"][0]["detail"]

    def test_a_killed_peer_ends_the_other(self):
        self.assertEqual(self.trainer_with_a_lost_peer("echo 1 >$metrics; sleep 0.5; echo rank 1 is lost; exit 138"),
                         ("1 passed, 0 failed", "rank 1 is lost"))
        line, detail = self.trainer_with_a_lost_peer("echo 1 >$metrics; sleep 0.5; echo NCCL failed; exit 138")
        self.assertEqual(line, "0 passed, 1 failed")
        self.assertIn("exit code 138, 138 and the name of rank 1 are expected: NCCL failed", detail)
        line, detail = self.trainer_with_a_lost_peer("echo no GPU; exit 7")
        self.assertEqual(line, "0 passed, 1 failed")
        self.assertIn("no step was trained: no GPU", detail)
        with mock.patch.object(lists, "limit_of", lambda name: 2):
            line, detail = self.trainer_with_a_lost_peer("echo 1 >$metrics; exec sleep 100")
        self.assertEqual(line, "0 passed, 1 failed")
        self.assertIn("rank 0: exit code None", detail)

    def test_the_trainer_runs_on_the_gpu(self):
        verifying = sum(name.startswith("verify") for name, _ in lists.TRAINING)
        self.program("bin/trainer", 'case "$*" in *--device=cuda*) exit 0 ;; esac; exit 2')
        self.assertEqual(self.run_bundle("--only=verify")[:2], (0, f"{verifying} passed, 0 failed"))
        self.program("bin/trainer", "echo there is no NVIDIA driver >&2; exit 7")
        code, line, results = self.run_bundle("--only=verify dp=2 mp=2")
        self.assertEqual((code, line), (1, "0 passed, 1 failed"))
        self.assertEqual(results["results"][0]["detail"], "exit code 7: there is no NVIDIA driver")

    def begun(self):
        """Names of all checks, in the order of a run."""
        names = []

        def note(check, _):
            names.append(check.name)
            return [result(check.name, "skipped", "noted")]

        with mock.patch.object(main, "run", note):
            self.run_bundle()
        return names

    def test_what_shows_most_comes_first(self):
        for test in ("device_test", "collectives_test", "blocks_test", "stream_test", "cuda_device_test"):
            self.make_test(test)
        begun = self.begun()
        self.assertEqual(len(begun), len(set(begun)))
        self.assertEqual(begun[:3], ["cuda_device_test", "train one step", "kernels, a sample"])
        places = [begun.index(name) for name in (
            "verify in bf16", "steps of resnet-50 in bf16", "steps of gpt2 in bf16", "steps of inception-v3 in bf16",
            "steps of gnmt in bf16", "steps of big-lstm in bf16", "stream_test", "device_test", "verify dp=2",
            "sanitizer memcheck: captured steps", "plans in f32", "train in bf16", "steps of conv-stack in TF32",
            "blocks_test", "two processes, replicas", "bf16 beside f32", "sanitizer racecheck: kernels")]
        self.assertEqual(places, sorted(places))
        # The GPU, a kernel of ours and a step: within a minute, on a GPU that works. Half a lease, where all hangs.
        first = begun[:begun.index("steps of resnet-50 in bf16")]
        self.assertLess(len(first), 8)
        self.assertLessEqual(sum(lists.limit_of(name) for name in first[:3]), 140)

    def test_every_pattern_of_the_order_is_of_a_check(self):
        for test in ("cuda_library_test", "cuda_device_test", "stream_test", "captured_step_test", "cuda_local_test",
                     "nccl_world_test", "device_test", "blocks_test"):
            self.make_test(test)
        names = self.begun()
        self.assertEqual([pattern for place, pattern in enumerate(lists.ORDER)
                          if place not in map(lists.place_of, names)], [])
        self.assertEqual([name for name in names if lists.place_of(name) == len(lists.ORDER)], [])

    def test_a_sample_of_cases_is_a_check(self):
        self.program("tests/device_test", 'echo "[       OK ] S.$GTEST_SHARD_INDEX/$GTEST_TOTAL_SHARDS (3 ms)"')
        _, _, results = self.run_bundle("--only=kernels, a sample")
        self.assertEqual([each["name"] for each in results["results"]], ["kernels, a sample: S.0/16"])

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
        with mock.patch.object(peers, "flags", lambda _: []):
            code, line, results = self.run_bundle("--only=steps of")
        self.assertEqual((code, line), (0, f"{len(lists.STEPS)} passed, 0 failed"))
        self.assertEqual(results["results"][0]["row"], self.ROW)
        self.assertIn("| m | bf16 | 128 | 900 images/s | 50 % | not measured |  |", table.table(results))
        self.program("bin/benchmark", "exit 0")
        with mock.patch.object(peers, "flags", lambda _: []):
            code, _, results = self.run_bundle("--only=steps of resnet-50")
        self.assertEqual(code, 1)
        self.assertIn("| resnet-50 in bf16 | | | failed: no row: ", table.table(results))

    def test_pytorch_is_measured_where_a_python_has_it(self):
        self.program("bin/python3", "echo 2.11; exit 0")
        eager = {"name": "eager", "per_s": {"median": 700}, "failure": ""}
        graph = {"name": "graph", "per_s": {"median": 750}, "failure": ""}
        ratio = {"median": 1.2, "low": 1.1, "high": 1.3}
        python = os.path.join(self.bundle, "bin", "peer_python")
        self.benchmark(self.ROW | {"peer": "pytorch 2.11", "best": "graph", "others": [eager, graph], "ratio": ratio},
                       flags=f"--peer=pytorch --peer-python={python} --skip-agreement --peer-forms=eager,graph")
        path = os.path.dirname(python) + ":/usr/bin:/bin"
        with mock.patch.dict(os.environ, {"PATH": path}), mock.patch.object(peers.sys, "executable", ""):
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

    def test_the_table_says_what_is_missing(self):
        self.make_test("one_test", cases=GOOD)
        _, _, results = self.run_bundle("--only=one_test")
        with open(os.path.join(self.bundle, "out", "table.txt"), encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(text, table.table(results))
        missing = text.partition("Not run: ")[2]
        for name in ("train one step", "two processes, replicas", "sanitizer memcheck: kernels"):
            self.assertIn(name, missing)
        self.assertNotIn("one_test", missing)
        for model, precision, _, forms in lists.STEPS:
            name = lists.name_of_steps(model, precision, forms)
            self.assertIn(f"| {name.removeprefix('steps of ')} | | | not run | | | |", text)

    def test_a_second_call_continues_what_the_first_had_no_time_for(self):
        self.make_test("one_test", cases=GOOD)
        self.make_test("two_test", cases=GOOD)
        checks = mock.patch.object(
            order, "checks", lambda _: [Check(name, lambda session, name=name: run_test(session, name, name))
                                        for name in ("one_test", "two_test")])
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

    def test_results_of_another_bundle_or_gpu_are_set_aside(self):
        self.make_test("one_test", cases=GOOD)
        self.program("bin/nvidia-smi", "echo GPU A, 580.1, 143771 MiB")
        with mock.patch.dict(os.environ, {"PATH": os.path.join(self.bundle, "bin") + ":/usr/bin:/bin"}):
            self.run_bundle("--only=one_test")
            # Another machine of the kind, with another driver.
            self.program("bin/nvidia-smi", "echo GPU A, 580.2, 143771 MiB")
            self.assertEqual(len(self.run_bundle("--only=train two", again=True)[2]["results"]), 3)
            with open(os.path.join(self.bundle, "REVISION"), "w", encoding="utf-8") as file:
                file.write("abc\n")
            with contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertEqual(self.run_bundle("--only=one_test", again=True)[1], "1 passed, 0 failed")
        self.assertRegex(said.getvalue(), r"the results are of revision none on GPU A, 580.2, .*; kept as .*results-.*json")
        self.assertEqual(sum(name.startswith("results") for name in os.listdir(os.path.join(self.bundle, "out"))), 2)

    def test_limits_are_of_tests_and_of_checks_that_exist(self):
        names = self.begun()
        self.assertEqual([name for name in lists.LIMITS if not name.endswith("_test") and name not in names],
                         ["kernels, a sample"])

    def test_results_are_kept_as_they_come(self):
        path = os.path.join(self.bundle, "out", "results.json")
        with contextlib.redirect_stdout(io.StringIO()), \
                mock.patch.object(losses, "compare_processes", side_effect=KeyboardInterrupt), \
                self.assertRaises(KeyboardInterrupt):
            main.main(["--out=" + os.path.dirname(path), "--only=two"], self.bundle)
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
