"""Processes that a launcher has started are the ranks of one session of the library."""

import signal
import time
import unittest

from tests.partita.resume_test import GRAPH, LIBRARY
from tests.tools.commands.trainer_case import TrainerCase, without_launchers
from tools.faults import job

ENDLESS = "1000000000"


class ProcessesTest(TrainerCase):

    def setUp(self):
        super().setUp()
        with open(self.path("graph.pbtxt"), "w") as file:
            file.write(GRAPH)

    def contents(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def start(self, steps, save):
        command = [LIBRARY, self.path("graph.pbtxt"), "-", steps, self.path(save), "2"]
        return job.Job(command, 2, environment=without_launchers())

    def test_two_processes_train_as_two_threads_do(self):
        self.execute(LIBRARY, "graph.pbtxt", "-", "5", "threads", "2")
        with self.start("5", "processes") as ranks:
            ranks.wait([0, 1], time.monotonic() + job.PATIENCE)
            for rank, process in enumerate(ranks.processes):
                self.assertEqual(process.returncode, 0, ranks.said(rank))
        self.assertEqual(self.contents("processes"), self.contents("threads"))

    def test_a_lost_rank_is_an_error_and_ends_no_process(self):
        with self.start(ENDLESS, "never") as ranks:
            self.assertTrue(job.wait_until(ranks, lambda j: "trains" in j.said(0) and "trains" in j.said(1),
                                           job.PATIENCE), ranks.said(0))
            ranks.signal(1, signal.SIGKILL)
            ranks.wait([0], time.monotonic() + job.PATIENCE)
            self.assertEqual(ranks.processes[0].returncode, 1, ranks.said(0))
            self.assertIn("the process is alive", ranks.said(0))
            self.assertIn("rank 1", ranks.said(0))


if __name__ == "__main__":
    unittest.main()
