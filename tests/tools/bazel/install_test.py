"""tools/install on a machine where every package is there: its answer, and what it does to a home folder."""

import os
import pathlib
import subprocess
import tempfile
import unittest


class InstallTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name, "home")
        self.home.mkdir()
        self.programs = pathlib.Path(folder.name, "programs")
        self.programs.mkdir()
        # Every package is installed, and the one download, of ruff, does nothing.
        for name, text in {"dpkg-query": "echo installed", "python3": "exit 0"}.items():
            program = self.programs / name
            program.write_text(f"#!/bin/sh\n{text}\n")
            program.chmod(0o755)

    def install(self):
        source = pathlib.Path("tools/install").read_text().replace("/usr/bin/python3", "python3")
        copy = self.home.parent / "tree" / "tools" / "install"
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(source)
        (copy.parent / "bazel").mkdir(exist_ok=True)
        (copy.parent / "bazel" / "lint.txt").write_text("ruff==0.0.0\n")
        environment = dict(os.environ, HOME=str(self.home), PATH=f"{self.programs}:{os.environ['PATH']}")
        return subprocess.run(["bash", copy], capture_output=True, text=True, env=environment, timeout=60)

    def test_needs_no_cache_in_a_new_home(self):
        done = self.install()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"install: all \d+ packages are there")

    def test_keeps_a_small_cache(self):
        kept = self.home / ".cache" / "partita-bazel" / "cas" / "00"
        kept.mkdir(parents=True)
        (kept / "output").write_text("kept")
        self.assertEqual(self.install().returncode, 0)
        self.assertTrue((kept / "output").exists())

    def test_deletes_what_was_used_longest_ago(self):
        cache = self.home / ".cache" / "partita-bazel"
        cache.mkdir(parents=True)
        for age, name in enumerate(["newest", "middle", "oldest"]):
            with open(cache / name, "wb") as file:
                file.truncate(8_000_000_000)  # Sparse: no block of the disk is used.
            os.utime(cache / name, (1_700_000_000 - age, 1_700_000_000))
        self.assertEqual(self.install().returncode, 0)
        self.assertEqual(os.listdir(cache), ["newest"])


if __name__ == "__main__":
    unittest.main()
