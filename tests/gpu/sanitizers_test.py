"""Tests under compute-sanitizer: what it finds is a failure, and where it is missing nothing is claimed."""

import os
import time
import unittest
from unittest import mock

from tests.gpu.bundle_case import GOOD, BundleCase
from tests.gpu.runner import lists, machine, sanitizers


class SanitizersTest(BundleCase):

    def sanitizer(self, body):
        """Its options are known; the test that it starts is what follows them."""
        for _, test, _ in lists.SANITIZED:
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
        runs = len(lists.SANITIZERS) * len(lists.SANITIZED)
        code, line, results = self.run_sanitizers()
        self.assertEqual((code, line), (0, f"{runs} passed, 0 failed"))
        self.assertEqual(results["results"][0], {"name": "sanitizer memcheck: captured steps", "outcome": "passed",
                                                 "detail": "1 cases"})
        self.assertEqual(self.run_sanitizers("--only=racecheck")[1], f"{len(lists.SANITIZED)} passed, 0 failed")
        self.assertEqual(self.run_sanitizers("--only=sanitizer", "--skip=racecheck")[1],
                         f"{runs - len(lists.SANITIZED)} passed, 0 failed")

    def test_what_a_sanitizer_finds_is_a_failure(self):
        self.sanitizer(self.RUNS_THE_TEST + """
[ $tool != racecheck ] || { echo "a hazard"; echo "RACECHECK SUMMARY: 1 hazard displayed"; exit $code; }""")
        found, clean = len(lists.SANITIZED), len(lists.SANITIZED) * (len(lists.SANITIZERS) - 1)
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
        for _, test, _ in lists.SANITIZED:
            self.make_test(test, cases={"testsuites": []})
        code, _, results = self.run_sanitizers("--only=sanitizer memcheck: kernels")
        self.assertEqual((code, results["results"][0]["detail"]), (1, f"the test has no cases {lists.SANITIZED[0][2]}"))

    def test_a_sanitizer_that_is_too_slow_is_ended_with_all_it_started(self):
        self.sanitizer("echo begun; sleep 1000")
        with mock.patch.object(lists, "SANITIZER_SECONDS", 1):
            begin = time.monotonic()
            code, line, results = self.run_sanitizers("--only=sanitizer synccheck: kernels")
        self.assertLess(time.monotonic() - begin, 100)
        self.assertEqual((code, line), (1, "0 passed, 1 failed"))
        self.assertEqual(results["results"][0]["detail"], "exit code None: begun\n\nno end within 1 s")

    def test_without_a_sanitizer_or_a_gpu_nothing_is_claimed(self):
        self.sanitizer(self.RUNS_THE_TEST)
        runs = len(lists.SANITIZERS) * len(lists.SANITIZED)

        def skips(reason):
            _, line, results = self.run_sanitizers()
            self.assertEqual(line, "0 passed, 0 failed")
            self.assertEqual([(r["outcome"], r["detail"]) for r in results["results"]], [("skipped", reason)] * runs)

        with mock.patch.object(sanitizers, "find_sanitizer", lambda: ""):
            skips("compute-sanitizer is not found")
        for _, test, _ in lists.SANITIZED:
            skipped = GOOD["testsuites"][0]["testsuite"][1:]
            self.make_test(test, cases={"testsuites": [{"name": "S", "testsuite": skipped}]})
        skips("the test skips all its cases on this machine")
        self.program("bin/nvidia-smi", "exit 9")
        skips(machine.NO_GPU)

    def test_a_toolkits_or_a_packages_sanitizer_is_found(self):
        os.makedirs(os.path.join(self.bundle, "nvidia", "cu13", "bin"))
        packaged = "nvidia/cu13/bin/compute-sanitizer"
        self.program(packaged, "exit 0")
        with mock.patch.dict(os.environ, {"PATH": "/usr/bin:/bin"}), \
                mock.patch.object(sanitizers.sys, "path", [self.bundle]):
            self.assertEqual(sanitizers.find_sanitizer(), os.path.join(self.bundle, packaged))
        self.program("bin/compute-sanitizer", "exit 0")
        found = os.path.join(self.bundle, "bin", "compute-sanitizer")
        with mock.patch.dict(os.environ, {"PATH": "/usr/bin:/bin", "CUDA_HOME": self.bundle}):
            self.assertEqual(sanitizers.find_sanitizer(), found)
        with mock.patch.dict(os.environ, {"PATH": os.path.dirname(found)}):
            self.assertEqual(sanitizers.find_sanitizer(), found)


if __name__ == "__main__":
    unittest.main()
