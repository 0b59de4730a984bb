"""The program that prints the papers' tables, as its users run it."""

import os
import subprocess
import unittest

TABLES = os.path.abspath("tests/partitioner/papers/tables/tables")
GNMT = os.path.abspath("tools/curves/gnmt.pbtxt")


class TablesTest(unittest.TestCase):
    def call(self, *arguments, code=0):
        done = subprocess.run([TABLES, *arguments], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def test_sizes_that_a_table_lacks(self):
        self.assertTrue(self.call("print", "--batch=0", "halo").startswith("halo: "))
        self.assertIn("table 'halo' takes --ranks", self.call("print", "--batch=4", "halo", code=2))
        self.assertIn("expected one table", self.call("print", "--ranks=4", "all", code=2))
        self.assertIn("expected 1 to 8, or a multiple of 8", self.call("print", "--ranks=12", "nccl", code=3))

    # docs/papers.md 14.2: only the last doubling is better spent on larger replicas, at 1.42 times their speed.
    def test_all_that_a_curve_covers(self):
        text = self.call("tipping", "--speedup=1.42", GNMT)
        self.assertEqual([row.split()[0] for row in text.splitlines()[2:-1]], ["2", "4", "8"])
        self.assertIn("2048 samples a device, replicas on 2 devices 1.42 times as fast", text)
        self.assertTrue(text.endswith("the hybrid is sooner from 8 devices on\n"), text)
        self.assertEqual(text, self.call("tipping", "--batch=2048", "--mp=2", "--ranks=8", "--speedup=1.42", GNMT))
        self.assertIn("the hybrid is nowhere sooner", self.call("tipping", "--speedup=1.4", GNMT))

    def test_what_a_curve_does_not_cover(self):
        self.assertIn("gnmt.pbtxt: ", self.call("tipping", "--ranks=16", GNMT, code=3))
        self.assertIn("2 or more devices a replica", self.call("tipping", "--mp=1", GNMT, code=2))
        self.assertIn("2 or more devices a replica", self.call("tipping", "--batch=16384", GNMT, code=2))


if __name__ == "__main__":
    unittest.main()
