"""A job over two hosts, which are network namespaces: equal to one rank, and what happens when the cable is pulled."""

import json
import os
import signal
import tempfile
import time
import unittest
from unittest import mock

from tools.faults import hosts, job

TRAINER = os.path.abspath("tools/trainer")
MLP = os.path.abspath("tools/models/examples/mlp.pbtxt")
RANKS = 4  # two on each host
TIMEOUT = 3


class NoNamespacesTest(unittest.TestCase):

    def test_says_why(self):
        with tempfile.TemporaryDirectory() as folder:
            forbidden = os.path.join(folder, "unshare")
            with open(forbidden, "w", encoding="utf-8") as script:
                script.write("#!/bin/sh\necho 'unshare failed: Operation not permitted' >&2\nexit 1\n")
            os.chmod(forbidden, 0o755)
            with mock.patch.dict(os.environ, PATH=folder + ":" + os.environ["PATH"]):
                with self.assertRaisesRegex(hosts.NoNamespaces, "^unshare failed: Operation not permitted$"):
                    hosts.Hosts().__enter__()


class HostsTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        two = hosts.Hosts()
        try:
            two.__enter__()
        except hosts.NoNamespaces as why:
            self.skipTest(f"this machine makes no network namespaces: {why}")
        self.addCleanup(self.assert_gone, two)
        self.hosts = two

    def assert_gone(self, two):
        """Nothing of a test stays: no process, no namespace (it lives as long as its processes), no file."""
        two.__exit__()
        self.assertEqual(two.left(), [])

    def start(self, *flags):
        """A job whose ranks on different hosts talk over TCP."""
        return self.hosts.job([TRAINER, "train", "--mock-data", "--batch=8", f"--dp={RANKS}", "--threads=1",
                               f"--timeout={TIMEOUT}", *flags, MLP], RANKS)

    def losses(self, report):
        with open(report, encoding="utf-8") as file:
            return [epoch["training_loss"] for epoch in json.load(file)["epochs"]]

    def test_equals_one_rank(self):
        spread, alone = os.path.join(self.folder, "spread.json"), os.path.join(self.folder, "alone.json")
        sealed = os.path.join(self.folder, "sealed.json")
        for report, flags in (spread, []), (sealed, ["--tls"]):
            with self.start("--steps=6", "--report=" + report, *flags) as ranks:
                ranks.wait(range(RANKS), time.monotonic() + job.PATIENCE)
                for rank in range(RANKS):
                    self.assertEqual(ranks.processes[rank].returncode, 0, ranks.said(rank))
        self.assertEqual(self.losses(sealed), self.losses(spread))
        with job.Job([TRAINER, "train", "--mock-data", "--batch=8", "--ranks=1", "--threads=1", "--steps=6",
                      "--report=" + alone, MLP], 1) as one:
            one.wait([0], time.monotonic() + job.PATIENCE)
        self.assertGreater(len(self.losses(alone)), 0)
        for loss, expected in zip(self.losses(spread), self.losses(alone), strict=True):
            self.assertAlmostEqual(loss, expected, delta=1e-5 * expected)
        self.assertEqual(sorted(os.listdir(self.folder)), ["alone.json", "sealed.json", "spread.json"])

    def wait_for_training(self, ranks):
        deadline = time.monotonic() + job.PATIENCE
        while "epoch 1" not in ranks.said(0):
            self.assertLess(time.monotonic(), deadline, ranks.said(0))
            time.sleep(0.02)

    def test_a_killed_rank_ends_all_when_it_is_encrypted(self):
        with self.start("--epochs=100000", "--tls") as ranks:
            self.wait_for_training(ranks)
            ranks.signal(3, signal.SIGKILL)
            ranks.wait(range(3), time.monotonic() + job.PATIENCE)
            for rank in range(3):
                self.assertEqual(ranks.processes[rank].returncode, job.PEER_GONE, ranks.said(rank))
                self.assertRegex(ranks.said(rank), "rank 3 (is gone|has left)")

    def test_a_pulled_cable_ends_all_ranks(self):
        with self.start("--epochs=100000") as ranks:
            self.wait_for_training(ranks)
            self.hosts.pull_cable()
            ranks.wait(range(RANKS), time.monotonic() + job.PATIENCE)
            for rank in range(RANKS):
                self.assertEqual(ranks.processes[rank].returncode, job.PEER_GONE, ranks.said(rank))
                others = "[23]" if rank < 2 else "[01]"
                self.assertRegex(ranks.said(rank), rf"rank {others} (is gone|has been silent|has not answered)")


if __name__ == "__main__":
    unittest.main()
