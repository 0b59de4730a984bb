"""Test programs of GoogleTest: one result for each of their cases."""

import json
import os
import re
import tempfile

from . import lists
from .check import FAILED, SKIPPED, Check, result
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


def run_test(session, name, program, **variables):
    """The results of one test program; one that crashes is one failure more than its cases say."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cases.json")
        command = [session.path("tests", program), "--gtest_output=json:" + path]
        code, output, _ = session.call(command, lists.limit_of(name), name, **variables)
        try:
            cases = list(test_cases(path))
        except (OSError, ValueError, KeyError):
            cases = list(finished_cases(output))
    results = [result(name + ": " + case, outcome, detail[:2000]) for case, outcome, detail in cases]
    failed = any(each["outcome"] == FAILED for each in results)
    if was_cut_off(code, output):
        results.append(result(name, SKIPPED, NO_TIME))
    elif not results or (code != 0 and not failed):
        results.append(result(name, FAILED, f"exit code {code}: {output[-2000:]}"))
    return results


def sample(session, name, program, shards):
    return run_test(session, name, program, GTEST_TOTAL_SHARDS=str(shards), GTEST_SHARD_INDEX="0")


def checks(session):
    programs = sorted(os.listdir(session.path("tests")))
    found = [Check(name, lambda session, name=name: run_test(session, name, name)) for name in programs]
    return found + [Check(name, lambda session, name=name, program=program, shards=shards:
                          sample(session, name, program, shards))
                    for name, program, shards in lists.SAMPLES if program in programs]
