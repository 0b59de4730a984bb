"""A job under any limit on open files ends well, or with a sentence about descriptors: it never waits for ranks that
cannot come."""

import resource
import subprocess
import unittest

from tests.tools.commands.trainer_case import MLP, TRAINER, TrainerCase, without_launchers

LIMITS = [8, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 26, 28, 30, 33, 40, 64]


class DescriptorsTest(TrainerCase):

    def run_under(self, limit, *launch):
        def lower():
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

        command = [TRAINER, *launch, "train", "--mock-data", "--batch=8", "--threads=1", "--dp=2", "--steps=2",
                   "--checkpoint=" + self.path(f"c{limit}"), "--report=" + self.path("r.json"), MLP]
        return subprocess.run(command, capture_output=True, text=True, cwd=self.folder, timeout=120,
                              env=without_launchers(), preexec_fn=lower)

    def test_of_processes(self):
        ended = {}
        for limit in LIMITS:
            with self.subTest(limit=limit):
                done = self.run_under(limit, "launch", "--")
                self.assertIn(done.returncode, (0, 4), done.stderr)
                if done.returncode == 4:
                    self.assertIn("descriptors", done.stderr)
                    self.assertIn("ulimit -n", done.stderr)
                ended[limit] = done.returncode
        self.assertEqual(ended[8], 4)
        self.assertEqual(ended[64], 0)
        codes = [ended[limit] for limit in LIMITS]
        self.assertEqual(codes, sorted(codes, reverse=True), "more descriptors are no worse")

    def test_of_one_process(self):
        for limit in (4, 5, 6, 8, 16):
            with self.subTest(limit=limit):
                done = self.run_under(limit)
                self.assertIn(done.returncode, (0, 4), done.stderr)
                if done.returncode == 4:
                    self.assertIn("descriptors", done.stderr)


if __name__ == "__main__":
    unittest.main()
