"""What a job died of is said by what its ranks kept: one that was stopped, one that was killed, a thread that stood
still."""

import os
import signal
import time
import unittest

from tests.tools.commands.trainer_case import MLP, TRAINER, TrainerCase, without_launchers
from tools.faults import job, threads

# Seconds after which a silent rank is given up. On a busy machine a rank that is well may be silent for some.
TIMEOUT = 15


class PostMortemTest(TrainerCase):

    def command(self, ranks, timeout=TIMEOUT):
        return [TRAINER, "train", "--mock-data", "--batch=12", "--threads=1", "--epochs=100000", f"--dp={ranks}",
                f"--timeout={timeout}", "--flight-recorder=" + self.path("flight"), MLP]

    def said_of(self, code=0):
        return self.call("post-mortem", self.path("flight"), code=code)

    def hit(self, number, timeout):
        """Sends the last of three ranks a signal; the others must end."""
        with job.Job(self.command(3, timeout), 3, without_launchers()) as ranks:
            self.assertTrue(job.wait_until(ranks, lambda ranks: job.TRAINING in ranks.said(0), job.PATIENCE), ranks.said(0))
            ranks.signal(2, number)
            ranks.wait([0, 1], time.monotonic() + job.PATIENCE)
            self.assertEqual([process.returncode for process in ranks.processes[:2]], [138, 138], ranks.said(0))

    def test_a_rank_that_was_stopped(self):
        self.hit(signal.SIGSTOP, TIMEOUT)
        self.assertRegex(
            self.said_of().stdout, r"^ranks? (0|1|0 and 1) waited for rank 2 in group \d+ \[0,1,2\]: \w+.* \(sequence number "
            r"\d+\), since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC, for \d+\.\d s; rank 2 left no record: it was killed "
            r"or stopped, or its machine is gone\n$")

    def test_a_rank_that_was_killed(self):
        """Whether the others were in a collective just then or not."""
        self.hit(signal.SIGKILL, timeout=600)
        self.assertIn("rank 2 left no record", self.said_of().stdout)

    def test_a_run_each(self):
        for _ in range(2):
            self.hit(signal.SIGKILL, timeout=600)
        runs = sorted(os.listdir(self.path("flight")))
        self.assertEqual(len(runs), 2)
        self.assertEqual(sorted(os.listdir(self.path("flight/" + runs[1]))), ["rank-00000.pbtxt", "rank-00001.pbtxt"])
        lost = self.path("flight/" + runs[1] + "/rank-00001.pbtxt")
        with open(lost, "w", encoding="utf-8") as file:
            file.write("schema_version: 1\nrank: one\n")
        said = self.said_of()
        self.assertIn("rank-00001.pbtxt", said.stderr)
        self.assertIn("left no record", said.stdout)
        os.remove(self.path("flight/" + runs[1] + "/rank-00000.pbtxt"))
        self.assertIn("rank-00001.pbtxt", self.said_of(code=3).stderr)

    def stop_a_thread(self, processes):
        """Of rank 1 of two, in whose process it is; the whole job must end."""
        place = processes - 1
        with job.Job(self.command(2), processes, without_launchers()) as ranks:
            self.assertTrue(job.wait_until(ranks, lambda ranks: job.TRAINING in ranks.said(0), job.PATIENCE), ranks.said(0))
            process = ranks.processes[place].pid
            try:
                stopped = threads.StoppedThread(threads.thread_named(process, "rank 1 stream 0"))
            except threads.NotAllowed as error:
                self.skipTest(f"threads cannot be stopped here: {error}")
            deadline = time.monotonic() + job.PATIENCE
            with stopped:
                while not stopped.reap():
                    self.assertLess(time.monotonic(), deadline, ranks.said(place))
                    time.sleep(0.01)
            ranks.wait(range(processes), deadline)
            self.assertEqual({process.returncode for process in ranks.processes}, {138}, ranks.said(place))
            said, others = ranks.said(place), ranks.said(0)
        self.assertRegex(said, rf"trainer: (rank 1: )?rank 1 has stood still for {TIMEOUT}\.\d s in a step", others)

    def test_a_thread_that_stands_still_in_a_process(self):
        self.stop_a_thread(1)
        self.assertIn("rank 1", self.said_of().stdout)

    def test_a_thread_that_stands_still_in_one_of_several_processes(self):
        self.stop_a_thread(2)
        self.assertIn("rank 1", self.said_of().stdout)

    def test_says_what_is_wrong(self):
        self.assertIn("--flight-recorder writes them", self.call("post-mortem", self.folder, code=3).stderr)
        self.assertIn("nowhere: cannot be read", self.call("post-mortem", self.path("nowhere"), code=3).stderr)
        self.assertIn("post-mortem needs an argument", self.call("post-mortem", code=2).stderr)


if __name__ == "__main__":
    unittest.main()
