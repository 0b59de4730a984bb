"""A folder that looks as a bundle does, of programs that the test writes."""

import contextlib
import io
import json
import os
import shutil
import tempfile
import unittest
from unittest import mock

from tests.gpu.runner import machine, main

GOOD = {"testsuites": [{"name": "S", "testsuite": [
    {"name": "a", "status": "RUN", "result": "COMPLETED"},
    {"name": "b", "status": "RUN", "result": "SKIPPED"},
]}]}
BAD = {"testsuites": [{"name": "S", "testsuite": [
    {"name": "a", "status": "RUN", "result": "COMPLETED"},
    {"name": "c", "status": "RUN", "result": "COMPLETED", "failures": [{"failure": "1 is not 2"}]},
]}]}


class BundleCase(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.bundle = folder.name
        for name in ("bin", "tests", "lib", "models", "machine"):
            os.mkdir(os.path.join(self.bundle, name))
        self.program("machine/nvidia-smi", "echo GPU of a test")
        tools = mock.patch.object(machine, "TOOL_FOLDERS", [os.path.join(self.bundle, "machine")])
        tools.start()
        self.addCleanup(tools.stop)
        for program in ("trainer", "benchmark"):
            self.program("bin/" + program, "exit 0")
        shutil.copy(os.path.join(os.path.dirname(__file__), "peer_python"), os.path.join(self.bundle, "bin"))

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

    def log(self):
        with open(os.path.join(self.bundle, "out", "log.txt"), encoding="utf-8") as file:
            return file.read()

    def run_bundle(self, *arguments, again=False):
        """(exit code, last line, results). `again`: a second call with the same folder."""
        out = os.path.join(self.bundle, "out")
        if not again:
            shutil.rmtree(out, ignore_errors=True)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = main.main(["--out=" + out, *arguments], self.bundle)
        with open(os.path.join(out, "results.json"), encoding="utf-8") as file:
            return code, printed.getvalue().splitlines()[-1], json.load(file)
