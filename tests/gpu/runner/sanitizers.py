"""Tests under the tools of compute-sanitizer."""

import glob
import os
import shutil
import sys
import tempfile

from . import lists, machine
from .check import FAILED, PASSED, SKIPPED, Check, result
from .google_tests import test_cases
from .session import NO_TIME, was_cut_off


def find_sanitizer():
    """Its path; empty: the machine does not have it. A toolkit has it, and a package of Python's."""
    folders = [os.environ.get("PATH", os.defpath)]
    folders += [os.path.join(os.environ[name], "bin") for name in ("CUDA_HOME", "CUDA_PATH") if name in os.environ]
    folders += ["/usr/local/cuda/bin", *sorted(glob.glob("/usr/local/cuda-*/bin"))]
    for packages in sys.path:
        folders += glob.glob(os.path.join(packages, "nvidia", "*", "bin"))
    return shutil.which("compute-sanitizer", path=os.pathsep.join(folders)) or ""


def sanitize(session, program, tool, test, cases):
    """(outcome, detail) of cases of a test under a tool of compute-sanitizer."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cases.json")
        command = [program, "--tool", tool, "--report-api-errors", "no", "--kernel-name", "kernel_substring=partita",
                   "--error-exitcode", str(lists.FOUND_BY_SANITIZER), session.path("tests", test),
                   "--gtest_filter=" + cases, "--gtest_output=json:" + path]
        code, output, _ = session.call(command, lists.SANITIZER_SECONDS, f"{tool} {test}")
        if was_cut_off(code, output):
            return SKIPPED, NO_TIME
        if code != 0:
            said = "errors were found" if code == lists.FOUND_BY_SANITIZER else f"exit code {code}"
            return FAILED, f"{said}: {output.strip()[-2000:]}"
        try:
            outcomes = [outcome for _, outcome, _ in test_cases(path)]
        except (OSError, ValueError, KeyError) as error:
            return FAILED, f"no results of the test: {error}"
    if not outcomes:
        return FAILED, f"the test has no cases {cases}"
    passed = outcomes.count(PASSED)
    return (PASSED, f"{passed} cases") if passed else (SKIPPED, "the test skips all its cases on this machine")


def run(session, name, tool, test, cases):
    program, where = find_sanitizer(), machine.gpu(session)
    why_not = machine.NO_GPU if where == machine.NO_GPU else "" if program else "compute-sanitizer is not found"
    outcome, detail = (SKIPPED, why_not) if why_not else sanitize(session, program, tool, test, cases)
    return result(name, outcome, detail)


def checks():
    for tool in lists.SANITIZERS:
        for what, test, cases in lists.SANITIZED:
            row = (f"sanitizer {tool}: {what}", tool, test, cases)
            yield Check(row[0], lambda session, row=row: [run(session, *row)])
