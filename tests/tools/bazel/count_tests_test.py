"""What went wrong is never counted as nothing."""

import contextlib
import io
import json
import os
import tempfile
import unittest

from tools.bazel import count_tests

CASES = {
    "pass": "<testcase status='run'/>",
    "fail": "<testcase status='run'><failure/></testcase>",
    "skip": "<testcase status='run'><skipped/></testcase>",
    "disabled": "<testcase status='notrun'/>",
}


class CountTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def xml(self, label, cases):
        path = self.path(label.strip("/") + ".xml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("<testsuites>" + "".join(CASES[c] for c in cases) + "</testsuites>")
        return path

    def target(self, label, status, cases=None, shard=1):
        events = []
        if cases is not None:
            key = {"label": label, "run": 1, "shard": shard, "attempt": 1}
            output = {"name": "test.xml", "uri": "file://" + self.xml(f"{label}{shard}", cases)}
            events.append({"id": {"testResult": key}, "testResult": {"testActionOutput": [output]}})
        summary = {"overallStatus": status}
        return events + [{"id": {"testSummary": {"label": label}}, "testSummary": summary}]

    def count(self, events, whole=True):
        """(exit code, last line) for one part with these events."""
        path = self.path("part.json")
        with open(path, "w", encoding="utf-8") as file:
            for event in events + ([{"id": {}, "lastMessage": True}] if whole else []):
                file.write(json.dumps(event) + "\n")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = count_tests.main([path])
        return code, printed.getvalue().splitlines()[-1]

    def test_counts_cases_over_targets_and_shards(self):
        events = self.target("//a", "PASSED", ["pass", "pass"]) + self.target("//b", "PASSED", ["pass"], shard=1)
        events += self.target("//b", "PASSED", ["pass"], shard=2)
        self.assertEqual(self.count(events), (0, "4 passed, 0 failed"))

    def test_skipped_and_disabled_cases_are_neither(self):
        events = self.target("//a", "PASSED", ["pass", "skip", "disabled"])
        self.assertEqual(self.count(events), (0, "1 passed, 0 failed"))

    def test_failed_case(self):
        events = self.target("//a", "FAILED", ["pass", "fail"])
        self.assertEqual(self.count(events), (1, "1 passed, 1 failed"))

    def test_timeout_without_a_case_that_failed(self):
        events = self.target("//a", "TIMEOUT", ["pass"])
        self.assertEqual(self.count(events), (1, "1 passed, 1 failed"))

    def test_target_that_did_not_build(self):
        events = [{"id": {"targetCompleted": {"label": "//a"}}, "aborted": {"reason": "ANALYSIS_FAILURE"}}]
        self.assertEqual(self.count(events + self.target("//b", "PASSED", ["pass"])), (1, "1 passed, 1 failed"))

    def test_target_that_is_not_for_this_platform(self):
        events = [{"id": {"targetCompleted": {"label": "//a"}}, "aborted": {"reason": "SKIPPED"}}]
        self.assertEqual(self.count(events + self.target("//b", "PASSED", ["pass"])), (0, "1 passed, 0 failed"))

    def test_broken_xml_of_a_target_that_failed(self):
        events = self.target("//a", "FAILED", [])
        with open(self.path("a1.xml"), "w", encoding="utf-8") as file:
            file.write("<testsuites>")
        self.assertEqual(self.count(events), (1, "0 passed, 1 failed"))

    def test_bazel_that_stopped_before_its_end(self):
        events = self.target("//a", "PASSED", ["pass"])
        self.assertEqual(self.count(events, whole=False), (1, "1 passed, 1 failed"))

    def test_no_test_at_all_is_a_failure(self):
        self.assertEqual(self.count([]), (1, "0 passed, 0 failed"))

    def count_file(self, text):
        """The last line for a step whose result is this text."""
        path = self.path("step.xml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            count_tests.main([path])
        return printed.getvalue().splitlines()[-1]

    def test_step_that_bazel_did_not_run(self):
        self.assertEqual(self.count_file("<testsuite>" + CASES["pass"] + "</testsuite>"), "1 passed, 0 failed")
        self.assertEqual(self.count_file("<testsuite>" + CASES["fail"] + "</testsuite>"), "0 passed, 1 failed")

    def test_step_without_a_result_is_a_failure(self):
        for text in ("", "<testsuite></testsuite>", "<testsuite>" + CASES["skip"] + "</testsuite>"):
            self.assertEqual(self.count_file(text), "0 passed, 1 failed")

    def test_missing_event_file(self):
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(count_tests.main([self.path("missing.json")]), 1)


if __name__ == "__main__":
    unittest.main()
