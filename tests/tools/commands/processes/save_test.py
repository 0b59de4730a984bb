"""What rank 0 is writing is written to its end, though another rank dies."""

import fcntl
import os
import signal
import subprocess
import time
import unittest

from tests.tools.commands.trainer_case import MLP, TRAINER, TrainerCase, without_launchers
from tools.faults import job
from tools.faults.processes import processes_of


class SaveTest(TrainerCase):
    """Rank 0 is held up while it saves, by a pipe that is full, and another rank dies."""

    COMMAND = ["train", "--mock-data", "--batch=8", "--steps=2", "--threads=1", "--dp=2"]

    def setUp(self):
        super().setUp()
        self.call(*self.COMMAND, "--save=" + self.path("whole"), MLP)
        with open(self.path("whole"), "rb") as file:
            self.whole = file.read()
        self.saved = os.path.join(os.path.realpath(self.folder), "saved")
        os.mkfifo(self.saved)
        self.pipe = os.open(self.saved, os.O_RDWR)
        self.addCleanup(os.close, self.pipe)
        self.filler = fcntl.fcntl(self.pipe, fcntl.F_GETPIPE_SZ)
        os.write(self.pipe, bytes(self.filler))

    def saving(self):
        """The process that has the pipe open, once there is one."""
        deadline = time.monotonic() + job.PATIENCE
        while True:
            for process in processes_of(self.saved):
                folder = f"/proc/{process}/fd"
                try:
                    if any(os.readlink(os.path.join(folder, file)) == self.saved for file in os.listdir(folder)):
                        return process
                except OSError:  # a file of it has just gone
                    pass
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def read_saved(self):
        length = self.filler + len(self.whole)
        read = b""
        while len(read) < length:
            read += os.read(self.pipe, length - len(read))
        return read[self.filler:]

    def test_is_finished_when_a_rank_dies(self):
        with job.Job([TRAINER, *self.COMMAND, "--save=" + self.saved, MLP], 2, without_launchers()) as ranks:
            self.assertEqual(self.saving(), ranks.processes[0].pid)
            ranks.signal(1, signal.SIGKILL)
            time.sleep(1.5)
            self.assertIsNone(ranks.processes[0].poll(), ranks.said(0))
            self.assertEqual(self.read_saved(), self.whole)
            ranks.wait([0], time.monotonic() + job.PATIENCE)
            self.assertEqual(ranks.processes[0].returncode, 138)
            self.assertIn("rank 1 is gone", ranks.said(0))

    def test_is_finished_when_a_rank_of_a_launch_dies(self):
        launcher = subprocess.Popen([TRAINER, "launch", "--nproc=2", "--", *self.COMMAND, "--save=" + self.saved, MLP],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                    env=without_launchers())
        self.addCleanup(launcher.stderr.close)
        self.addCleanup(launcher.wait)
        self.addCleanup(launcher.kill)
        saving = self.saving()
        for process in set(processes_of(self.saved)) - {saving, launcher.pid}:
            os.kill(process, signal.SIGKILL)
        time.sleep(2)
        self.assertIn(saving, processes_of(self.saved))
        self.assertEqual(self.read_saved(), self.whole)
        _, error = launcher.communicate(timeout=job.PATIENCE)
        self.assertEqual(launcher.returncode, 128 + signal.SIGKILL, error)


if __name__ == "__main__":
    unittest.main()
