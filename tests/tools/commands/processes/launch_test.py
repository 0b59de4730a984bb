"""`launch` leaves nothing behind, whatever ends."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import threading
import time
import unittest

from tests.tools.commands.trainer_case import MLP, TRAINER, TrainerCase, without_launchers
from tools.faults.job import PATIENCE
from tools.faults.processes import newest_step, processes_of

# By which batch systems say that a job's time ends soon.
WARNINGS = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU)


class LaunchTest(TrainerCase):

    def start(self, *more, hang_up=signal.SIG_DFL):
        """A job that would run for long, in a folder of its own by which its processes are found."""
        graph = self.path("graph.pbtxt")
        shutil.copy(MLP, graph)
        launcher = subprocess.Popen([TRAINER, "launch", "--nproc=3", "--", "train", "--mock-data", "--batch=9",
                                     "--epochs=100000", "--dp=3", *more, graph], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True, env=without_launchers(),
                                    preexec_fn=lambda: signal.signal(signal.SIGHUP, hang_up))
        self.addCleanup(launcher.stdout.close)
        self.addCleanup(launcher.stderr.close)
        deadline = time.monotonic() + PATIENCE
        while len(processes_of(graph)) < 4:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        return launcher, graph

    def ranks(self, launcher, graph):
        return [process for process in processes_of(graph) if process != launcher.pid]

    def assert_gone(self, graph):
        deadline = time.monotonic() + PATIENCE
        while processes_of(graph):
            self.assertLess(time.monotonic(), deadline, "orphans")
            time.sleep(0.01)

    def test_threads_of_more_ranks_than_cores_do_not_spin(self):
        unset = {name: value for name, value in without_launchers().items()
                 if name not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
        for rounds, threads in ((10000, 0), (0, os.cpu_count() + 1)):
            with self.subTest(threads=threads):
                self.call("launch", "--", "train", "--mock-data", "--batch=8", "--steps=1", "--dp=2",
                          f"--threads={threads}", "--report=r.json", MLP, environment=unset)
                with open(self.path("r.json")) as file:
                    self.assertEqual(json.load(file)["devices"][0]["spin_rounds"], rounds)

    def test_ends_all_when_one_dies(self):
        for delay in [0, 1]:
            launcher, graph = self.start()
            time.sleep(delay)
            os.kill(self.ranks(launcher, graph)[0], signal.SIGKILL)
            _, error = launcher.communicate(timeout=PATIENCE)
            self.assertEqual(launcher.returncode, 128 + signal.SIGKILL)
            self.assertRegex(error, r"launch: rank \d \(process \d+\) was ended by signal 9")
            self.assert_gone(graph)

    def test_a_signal_reaches_a_rank_that_is_stopped(self):
        launcher, graph = self.start()
        self.assertIn("epoch 1", launcher.stdout.readline())
        os.kill(self.ranks(launcher, graph)[0], signal.SIGSTOP)
        launcher.send_signal(signal.SIGTERM)
        _, error = launcher.communicate(timeout=PATIENCE)
        self.assertEqual(launcher.returncode, 128 + signal.SIGTERM, error)
        self.assert_gone(graph)

    def test_a_second_signal_ends_a_rank_that_stays_stopped(self):
        launcher, graph = self.start()
        self.assertIn("epoch 1", launcher.stdout.readline())
        rank = self.ranks(launcher, graph)[0]
        gone = threading.Event()

        def keep_stopped():
            while not gone.wait(0.001):
                try:
                    os.kill(rank, signal.SIGSTOP)
                except ProcessLookupError:
                    return

        stopper = threading.Thread(target=keep_stopped)
        stopper.start()
        try:
            for _ in range(2):
                launcher.send_signal(signal.SIGINT)
                time.sleep(0.5)
            _, error = launcher.communicate(timeout=PATIENCE)
        finally:
            gone.set()
            stopper.join()
        self.assertEqual(launcher.returncode, 128 + signal.SIGINT, error)
        self.assert_gone(graph)

    def test_ends_a_rank_that_is_stopped_when_another_dies(self):
        launcher, graph = self.start("--timeout=600")
        self.assertIn("epoch 1", launcher.stdout.readline())
        stopped, killed, _ = self.ranks(launcher, graph)
        os.kill(stopped, signal.SIGSTOP)
        os.kill(killed, signal.SIGKILL)
        launcher.communicate(timeout=PATIENCE)
        self.assertEqual(launcher.returncode, 128 + signal.SIGKILL)
        self.assert_gone(graph)

    def test_leaves_no_orphans_when_it_is_killed(self):
        launcher, graph = self.start()
        launcher.kill()
        self.assert_gone(graph)
        launcher.wait()

    def test_passes_signals_on(self):
        for told in (signal.SIGTERM, signal.SIGHUP, *WARNINGS):
            with self.subTest(told=told):
                self.assert_saves_when(told, lambda launcher, graph: launcher.send_signal(told))

    def test_warnings_reach_ranks_twice(self):
        """Slurm sends them to all processes of a step, and the launcher passes on its own."""
        def warn(launcher, graph):
            for _ in range(3):
                launcher.send_signal(signal.SIGUSR1)
                for process in self.ranks(launcher, graph):
                    with contextlib.suppress(ProcessLookupError):  # it has stopped already
                        os.kill(process, signal.SIGUSR1)
        self.assert_saves_when(signal.SIGUSR1, warn)

    def test_a_warning_to_one_rank_stops_all(self):
        for told in WARNINGS:
            with self.subTest(told=told):
                self.assert_saves_when(told, lambda launcher, graph: os.kill(self.ranks(launcher, graph)[1], told))

    def assert_saves_when(self, told, tell):
        report, checkpoints = self.path("report.json"), self.path(told.name)
        launcher, graph = self.start("--report=" + report, "--checkpoint=" + checkpoints)
        self.assertIn("epoch 1", launcher.stdout.readline())
        tell(launcher, graph)
        _, error = launcher.communicate(timeout=PATIENCE)
        self.assertEqual(launcher.returncode, 128 + (signal.SIGTERM if told in WARNINGS else told), error)
        with open(report, encoding="utf-8") as file:
            written = json.load(file)
        self.assertEqual(written["outcome"], "interrupted")
        self.assertEqual(newest_step(checkpoints), sum(epoch["steps"] for epoch in written["epochs"]))
        self.assert_gone(graph)

    def test_a_reader_that_goes_loses_no_training(self):
        checkpoints = self.path("checkpoints")
        launcher, graph = self.start("--steps=1000", "--checkpoint=" + checkpoints)
        self.assertIn("training ends after 1000 steps", launcher.stdout.readline())
        self.assertIn("epoch 1", launcher.stdout.readline())
        launcher.stdout.close()
        error = launcher.stderr.read()
        self.assertEqual(launcher.wait(PATIENCE), 4, error)
        self.assertIn("trainer: standard output cannot be written: Broken pipe\n", error)
        self.assertEqual(newest_step(checkpoints), 1000)
        self.assert_gone(graph)

    def test_goes_on_without_its_terminal(self):
        """What nohup does: neither the launcher nor its ranks end by SIGHUP, and they end by SIGTERM as they would."""
        launcher, graph = self.start(hang_up=signal.SIG_IGN)
        self.assertIn("epoch 1", launcher.stdout.readline())
        for process in processes_of(graph):
            os.kill(process, signal.SIGHUP)
        for epoch in (2, 3, 4):
            self.assertIn(f"epoch {epoch}", launcher.stdout.readline())
        launcher.send_signal(signal.SIGTERM)
        _, error = launcher.communicate(timeout=PATIENCE)
        self.assertEqual(launcher.returncode, 128 + signal.SIGTERM, error)
        self.assert_gone(graph)


if __name__ == "__main__":
    unittest.main()
