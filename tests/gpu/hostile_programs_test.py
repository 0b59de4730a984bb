"""Programs that hang, print without end, die or fill the disk cost a check, and never the run's end or its results."""

import contextlib
import errno
import io
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import unittest
from unittest import mock

from tests.gpu.bundle_case import GOOD, BundleCase
from tests.gpu.runner import google_tests, keep, lists, log, machine, main, program
from tests.gpu.runner.check import Check

LATE = 5  # seconds behind the end at which a run must have ended
HUNG = 15  # seconds of a run in which a program hangs; of a busy machine the runner's start takes some


def runs(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class HostileProgramsTest(BundleCase):

    def pid_of(self, name):
        with open(os.path.join(self.bundle, name), encoding="utf-8") as file:
            return int(file.read())

    def assert_ends(self, name):
        end = time.monotonic() + 20
        while runs(self.pid_of(name)) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertFalse(runs(self.pid_of(name)), name)

    def one(self, *arguments, only="t_test"):
        """The result of the only check, and all that was printed in the run's last line."""
        code, line, results = self.run_bundle("--only=" + only, *arguments)
        self.assertEqual(code, 1)
        return results["results"][-1]

    def test_what_hangs_is_killed_with_all_it_started(self):
        self.program("tests/t_test", f"trap '' TERM INT HUP\n(trap '' TERM; echo $$; exec sleep 1000) &\n"
                     f"echo $! >{self.bundle}/pid; echo begun; while :; do sleep 1; done")
        begin = time.monotonic()
        result = self.one(f"--seconds={HUNG}")
        self.assertLess(time.monotonic() - begin, HUNG + LATE)
        self.assertEqual((result["outcome"], result["detail"]), ("skipped", "no time was left (--seconds)"))
        self.assert_ends("pid")
        self.assertIn("begun", self.log())
        with mock.patch.object(lists, "limit_of", lambda _: 1):
            self.assertIn("no end within 1 s", self.one()["detail"])

    def test_what_no_signal_ends_is_left_behind(self):
        self.program("tests/t_test", f"echo $$ >{self.bundle}/pid; echo begun; sleep 1000")
        with mock.patch.object(program.os, "killpg"):  # as for a process in an uninterruptible call
            begin = time.monotonic()
            result = self.one(f"--seconds={HUNG}")
        self.assertLess(time.monotonic() - begin, HUNG + LATE)
        self.assertEqual(result["outcome"], "skipped")
        self.assertIn("SIGKILL did not end it: it hangs in the driver", self.log())
        os.killpg(self.pid_of("pid"), signal.SIGKILL)
        os.waitpid(self.pid_of("pid"), 0)

    def test_what_prints_without_end_is_killed_and_its_log_is_short(self):
        self.program("tests/t_test", "echo first; exec yes")
        with mock.patch.object(program, "MOST_OUTPUT", 20 << 20):
            begin = time.monotonic()
            result = self.one()
        self.assertLess(time.monotonic() - begin, 100)
        self.assertIn("it printed 20 MiB and was killed for it", result["detail"])
        self.assertLess(len(result["detail"]), 3000)
        text = self.log()
        self.assertLess(len(text), 2 * (log.HEAD + log.TAIL))
        self.assertIn("first", text)
        self.assertIn("bytes are left out", text)

    def test_the_log_of_all_has_an_end(self):
        self.program("tests/t_test", "yes | head -c 100000; echo last; exit 3")
        with mock.patch.object(log, "MOST", 0), mock.patch.object(log, "TAIL", 100):
            self.one()
        self.assertLess(len(self.log()), 1500)
        self.assertIn("last", self.log())

    def test_what_dies_by_a_signal_says_which(self):
        self.program("tests/t_test", "echo '[       OK ] S.a (3 ms)'; echo boom; kill -SEGV $$")
        result = self.one()
        self.assertEqual(result["outcome"], "failed")
        self.assertIn("exit code -11", result["detail"])
        self.assertIn("boom", result["detail"])

    def test_output_that_a_child_holds_open_is_not_waited_for(self):
        self.program("tests/t_test", f"sleep 1000 & echo $! >{self.bundle}/pid; echo no results; exit 4")
        begin = time.monotonic()
        self.assertIn("no results", self.one()["detail"])
        self.assertLess(time.monotonic() - begin, 60)
        self.assert_ends("pid")

    def test_a_program_that_reads_gets_nothing(self):
        self.program("tests/t_test", 'read line || echo nothing; exit 1')
        self.assertIn("nothing", self.one()["detail"])

    def start_runner(self, *arguments, **options):
        here = os.path.dirname(os.path.abspath(__file__))
        shutil.copy(os.path.join(here, "run.py"), os.path.join(self.bundle, "run"))
        shutil.copytree(os.path.join(here, "runner"), os.path.join(self.bundle, "runner"))
        return subprocess.Popen([sys.executable, os.path.join(self.bundle, "run"), *arguments], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)

    def wait_for_file(self, name):
        path = os.path.join(self.bundle, name)
        while not os.path.exists(path) or not os.path.getsize(path):
            time.sleep(0.05)

    def test_a_runner_that_is_ended_leaves_nothing_on_the_gpu_and_whole_results(self):
        self.make_test("a_test", cases=GOOD)
        self.program("tests/t_test", f"echo $$ >{self.bundle}/pid; exec sleep 1000")
        for sent, code in ((signal.SIGTERM, 143), (signal.SIGKILL, -9)):
            with contextlib.suppress(FileNotFoundError):
                os.remove(os.path.join(self.bundle, "pid"))
                shutil.rmtree(os.path.join(self.bundle, "runner"))
                shutil.rmtree(os.path.join(self.bundle, "out"))
            runner = self.start_runner("--only=_test")
            self.wait_for_file("pid")
            runner.send_signal(sent)
            runner.communicate()
            self.assertEqual(runner.returncode, code)
            self.assert_ends("pid")
            with open(os.path.join(self.bundle, "out", "results.json"), encoding="utf-8") as file:
                self.assertEqual(json.load(file)["passed"], 1)

    def test_a_program_that_fills_the_disk_costs_its_own_result(self):
        # Each file has room for 40 blocks of 1024 bytes, the log too; results fit.
        self.program("tests/a_test", "yes | head -c 2000000 >big; echo wrote; yes | head -c 200000; exit 1")
        self.make_test("b_test", cases=GOOD)
        runner = self.start_runner("--only=_test", preexec_fn=lambda: limit_files_to(40 << 10))
        printed, _ = runner.communicate()
        self.assertEqual(runner.returncode, 1, printed)
        self.assertIn("b_test: 1 passed", printed)
        self.assertIn("not written: ", printed)
        with open(os.path.join(self.bundle, "out", "results.json"), encoding="utf-8") as file:
            self.assertEqual((json.load(file))["passed"], 1)

    def test_results_on_a_full_disk_stay_as_they_were(self):
        self.make_test("a_test", cases=GOOD)
        self.run_bundle("--only=a_test")
        path = os.path.join(self.bundle, "out", "results.json")
        before = os.path.getmtime(path)
        printed = io.StringIO()
        full = OSError(errno.ENOSPC, "No space left on device")
        with contextlib.redirect_stdout(printed), mock.patch.object(keep.os, "replace", side_effect=full):
            self.assertEqual(main.main(["--out=" + os.path.dirname(path), "--only=a_test"], self.bundle), 0)
        self.assertIn("not written: " + path + ": No space left on device", printed.getvalue())
        self.assertEqual(os.path.getmtime(path), before)
        self.assertEqual([name for name in os.listdir(os.path.dirname(path)) if name.endswith(".new")], [])

    def test_whatever_fails_in_the_runner_fails_one_check(self):
        self.make_test("a_test", cases=GOOD)
        failing = OSError(errno.ENOSPC, "No space left on device")
        with mock.patch("tests.gpu.runner.programs.run_program", side_effect=failing):
            code, line, results = self.run_bundle("--only=t")
        self.assertIn("a_test: S.a", [each["name"] for each in results["results"]])
        self.assertIn("the runner: OSError: ", {each["detail"].partition("[")[0] for each in results["results"]})

    def test_the_end_comes_where_the_runner_itself_waits(self):
        checks = [Check("waits", lambda _: time.sleep(1000)), Check("never", lambda _: [])]
        begin = time.monotonic()
        with mock.patch.object(main.order, "checks", lambda _: checks):
            self.run_bundle("--seconds=4")
        self.assertLess(time.monotonic() - begin, 4 + LATE)
        begin = time.monotonic()
        with mock.patch.object(main, "Results", side_effect=lambda *_: time.sleep(1000)), \
                contextlib.redirect_stdout(io.StringIO()) as printed:
            self.assertEqual(main.main(["--out=" + os.path.join(self.bundle, "out"), "--seconds=2"], self.bundle), 1)
        self.assertLess(time.monotonic() - begin, 2 + LATE)
        self.assertIn("the end came while the runner waited", printed.getvalue())

    def machines(self, tool):
        """What the run is said to be on, with such an nvidia-smi."""
        path = "/usr/bin:/bin"
        if tool:
            self.program("tools/nvidia-smi", tool)
            path = os.path.join(self.bundle, "tools") + ":" + path
        self.make_test("a_test", cases=GOOD)
        with mock.patch.dict(os.environ, {"PATH": path}), mock.patch.object(machine, "SECONDS", 2), \
                mock.patch.object(machine, "TOOL_FOLDERS", []):
            return self.run_bundle("--only=a_test")[2]["machine"]

    def test_a_gpu_has_a_name_without_nvidia_smi(self):
        os.mkdir(os.path.join(self.bundle, "tools"))
        for tool in ("", "sleep 1000", "exit 9"):
            with self.subTest(tool=tool):
                self.assertEqual(self.machines(tool), machine.NO_GPU)
                with mock.patch.object(machine, "ASK_THE_DRIVER", "print('NVIDIA H200, CUDA 13.0, 143771 MiB')"):
                    self.assertEqual(self.machines(tool), "NVIDIA H200, CUDA 13.0, 143771 MiB")

    def test_without_a_gpu_a_run_ends_at_once(self):
        """With a sentence, and what an earlier run found on a GPU stays. A driver that hangs is no missing GPU."""
        self.make_test("a_test", cases=GOOD)
        self.run_bundle()
        path = os.path.join(self.bundle, "out", "results.json")
        with open(path, "rb") as file:
            before = file.read()
        self.program("machine/nvidia-smi", "exit 9")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            code = main.main(["--out=" + os.path.join(self.bundle, "out")], self.bundle)
        says = machine.NO_GPU + "; nothing was run. --only=WORD runs a check all the same\n"
        self.assertEqual((code, printed.getvalue()), (1, says))
        with open(path, "rb") as file:
            self.assertEqual(file.read(), before)
        with mock.patch.object(machine, "SECONDS", 2), \
                mock.patch.object(machine, "ASK_THE_DRIVER", "import time; time.sleep(1000)"), \
                mock.patch.object(main.order, "checks", lambda session: google_tests.checks(session)):
            _, line, results = self.run_bundle()
        self.assertEqual((line, results["machine"]), ("1 passed, 0 failed", machine.HANGS))

    def test_a_check_that_needs_more_time_than_is_left_leaves_it_to_others(self):
        self.make_test("blocks_test", cases=GOOD)
        with mock.patch.object(lists, "LEAST", [("steps of *", 1000), ("*", 0)]):
            _, _, results = self.run_bundle("--seconds=100", "--only=st")
        found = {each["name"]: each for each in results["results"]}
        self.assertEqual(found["steps of resnet-50 in bf16"]["detail"], "no time was left (--seconds)")
        self.assertEqual(found["blocks_test: S.a"]["outcome"], "passed")


def limit_files_to(most):
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


if __name__ == "__main__":
    unittest.main()
