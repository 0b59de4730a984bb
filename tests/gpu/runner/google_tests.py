"""Test programs of GoogleTest: one result for each of their cases."""

import json
import os
import re
import tempfile

from . import lists
from .results import count
from .session import NO_TIME, was_cut_off


def test_cases(path):
    """(name, outcome, detail) of each case in GoogleTest's JSON."""
    with open(path, encoding="utf-8") as file:
        for suite in json.load(file)["testsuites"]:
            for case in suite["testsuite"]:
                name = suite["name"] + "." + case["name"]
                if "failures" in case:
                    yield name, "failed", case["failures"][0].get("failure", "")
                elif case.get("result") == "SKIPPED" or case.get("status") == "NOTRUN":
                    yield name, "skipped", ""
                else:
                    yield name, "passed", ""


def finished_cases(output):
    """(name, outcome, detail) of each case whose end GoogleTest printed before the program was killed."""
    outcomes = {"       OK ": "passed", "  FAILED  ": "failed", "  SKIPPED ": "skipped"}
    for mark, name in re.findall(r"(?m)^\[(       OK |  FAILED  |  SKIPPED )\] (\S+).* \(\d+ ms\)$", output):
        yield name.rstrip(","), outcomes[mark], ""


def run_test(session, name):
    """The results of one test program; one that crashes is one failure more than its cases say."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cases.json")
        code, output, seconds = session.call([session.path("tests", name), "--gtest_output=json:" + path],
                                             lists.limit_of(name), name)
        try:
            cases = list(test_cases(path))
        except (OSError, ValueError, KeyError):
            cases = list(finished_cases(output))
    results = [{"name": name + ": " + case, "outcome": outcome, "detail": detail[:2000]}
               for case, outcome, detail in cases]
    failed = any(result["outcome"] == "failed" for result in results)
    if was_cut_off(code, output):
        results.append({"name": name, "outcome": "skipped", "detail": NO_TIME})
    elif not results or (code != 0 and not failed):
        results.append({"name": name, "outcome": "failed", "detail": f"exit code {code}: {output[-2000:]}"})
    return results, seconds


def run_tests(session, names):
    for name in names:
        found, seconds = run_test(session, name)
        counts = {o: count(found, o) for o in ("passed", "failed", "skipped")}
        yield (f"{name}: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped, "
               f"{seconds:.1f} s"), found
