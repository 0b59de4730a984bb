"""Ranks that die or stop, at any moment: all others end, soon, and say why."""

import collections
import random
import signal
import time
import unittest

from tests.tools.commands.trainer_case import MLP, TRAINER, TrainerCase, without_launchers
from tools.faults import job, run


class FaultTest(TrainerCase):

    def run_faults(self, kind, count, seed, timeout, flags=()):
        """Judges how the other ranks end, not how soon; `timeout` is how long a silent rank is waited for."""
        command = [*run.command_of(TRAINER, MLP, 3, join_timeout=6, timeout=timeout), *flags]
        outcomes = run.run(command, 3, kind, count, seed, job.Promise(job.PATIENCE, job.PATIENCE))
        self.assertEqual([outcome.wrong for outcome in outcomes if outcome.wrong], [])
        return collections.Counter(outcome.phase for outcome in outcomes)

    def test_kills(self):
        phases = self.run_faults("kill", 10, 1, 600) + self.run_faults("kill", 10, 1, 600, ["--tls"])
        self.assertEqual(phases["collective"] + phases["step"], 12)
        self.assertGreaterEqual(phases["shutdown"], 2)
        self.assertEqual(phases.total(), 20)

    def test_each_phase_gets_its_share(self):
        for seed in range(10):
            aims = run.draw_aims(random.Random(seed), 25, 3, 0.5)
            for ten in aims[:10], aims[10:20]:
                self.assertEqual(collections.Counter(aim.phase for aim in ten),
                                 {"rendezvous": 2, "training": 6, "shutdown": 1, "farewell": 1})
            self.assertEqual({aim.victim for aim in aims if aim.phase == "training"}, {0, 1, 2})
            self.assertEqual(len({aim.delay for aim in aims}), 25)

    def test_stops(self):
        self.assertEqual(self.run_faults("stop", 5, 2, 3).total(), 5)

    def test_what_is_not_promised_is_seen(self):
        promise = job.Promise(1.0, 4.0)
        gone = "rank 1 is gone: its connection ended"

        def phase_and_fault(phase, seconds, code, error):
            outcome = job.judge(1, phase, seconds, {0: code, 2: 138}, {0: error, 2: gone}, promise)
            return outcome.phase, outcome.wrong.partition(":")[0]

        self.assertEqual(phase_and_fault("training", 0.5, 138, gone), ("step", ""))
        self.assertEqual(phase_and_fault("training", 0.5, 138, gone + "; in flight: group 0"), ("collective", ""))
        self.assertEqual(phase_and_fault("training", 1.5, 138, gone), ("step", "later than 1.0 s"))
        self.assertEqual(phase_and_fault("shutdown", 0.5, 0, ""), ("shutdown", ""))
        self.assertEqual(phase_and_fault("shutdown", 0.5, 1, gone), ("shutdown", "another exit code"))
        self.assertEqual(phase_and_fault("training", 0.5, 138, "rank 2 is gone"), ("step", "the rank is not named"))
        missing = "ranks 1 did not come within 3.0 s"
        self.assertEqual(phase_and_fault("rendezvous", 3.5, 138, missing), ("joining", ""))
        self.assertEqual(phase_and_fault("rendezvous", 4.5, 138, missing), ("joining", "later than 4.0 s"))

    def test_a_stopped_rank_that_goes_on_was_given_up(self):
        command = [TRAINER, "train", "--mock-data", "--batch=8", "--epochs=100000", "--dp=2", "--timeout=3", MLP]
        code, error = job.stop_and_continue(command, 2, 1)
        self.assertEqual(code, 138, error)

    def test_a_short_stop_does_no_harm(self):
        command = [TRAINER, "train", "--mock-data", "--batch=8", "--epochs=100", "--dp=2", MLP]
        with job.Job(command, 2, without_launchers()) as ranks:
            self.assertTrue(job.wait_until(ranks, lambda ranks: job.TRAINING in ranks.said(0), job.PATIENCE))
            ranks.signal(1, signal.SIGSTOP)
            time.sleep(0.5)
            ranks.signal(1, signal.SIGCONT)
            ranks.wait([0, 1], time.monotonic() + job.PATIENCE)
            self.assertEqual([process.returncode for process in ranks.processes], [0, 0], ranks.said(0))


if __name__ == "__main__":
    unittest.main()
