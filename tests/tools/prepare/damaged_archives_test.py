"""Archives that data sets are made of: one that is damaged is refused before anything is read from it."""

import hashlib
import os
import subprocess
import sys
import tempfile
import unittest

FOLDER = os.path.abspath("tools/prepare")
ARCHIVE = b"all that a package has"
SUM = hashlib.sha256(ARCHIVE).hexdigest()

# What fetches it, and its name in the folder where archives are kept.
CASES = [
    ("debian_package", f"fetched('words', '1:2.3-4', '{SUM}', 'me')", "words_1%3a2.3-4_all.deb"),
    ("debian_index", f"fetched('main/i18n', 'Translation-it.xz', '{SUM}', 'me')", f"{SUM[:8]}_Translation-it.xz"),
]


class DamagedArchivesTest(unittest.TestCase):

    def fetch(self, module, call, name, archive):
        """The process that fetched what is kept under this name, and its path."""
        with tempfile.TemporaryDirectory() as home:
            path = os.path.join(home, ".cache/partita/packages", name)
            os.makedirs(os.path.dirname(path))
            with open(path, "wb") as file:
                file.write(archive)
            command = [sys.executable, "-c", f"import {module}; print({module}.{call})"]
            environment = {**os.environ, "HOME": home, "PYTHONPATH": FOLDER}
            return subprocess.run(command, env=environment, capture_output=True, text=True), path

    def test_what_is_whole_is_taken(self):
        for module, call, name in CASES:
            done, path = self.fetch(module, call, name, ARCHIVE)
            self.assertEqual((done.returncode, done.stdout), (0, path + "\n"), done.stderr)

    def test_what_is_damaged_is_refused(self):
        for module, call, name in CASES:
            for damaged in (ARCHIVE[:-1], b"", ARCHIVE.replace(b"a", b"b", 1), ARCHIVE + b"\0"):
                done, path = self.fetch(module, call, name, damaged)
                found = hashlib.sha256(damaged).hexdigest()
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertEqual(done.stderr, f"me: {path}: found the sha256 {found}, expected is {SUM}\n")

    def test_a_download_that_was_stopped_is_begun_again(self):
        """apt-get writes half of the file and dies; the next one finds nothing there, and writes all of it."""
        module, call, name = CASES[0]
        with tempfile.TemporaryDirectory() as home:
            apt = os.path.join(home, "apt-get")
            environment = {**os.environ, "HOME": home, "PYTHONPATH": FOLDER, "PATH": home + ":" + os.environ["PATH"]}
            kept = os.path.join(home, ".cache/partita/packages")
            for contents, end in (ARCHIVE[:9], "kill -9 $$"), (ARCHIVE, "exit 0"):
                with open(apt, "w", encoding="utf-8") as file:
                    file.write(f"#!/bin/sh\nprintf '%s' '{contents.decode()}' > {name}\n{end}\n")
                os.chmod(apt, 0o755)
                command = [sys.executable, "-c", f"import {module}; print({module}.{call})"]
                done = subprocess.run(command, env=environment, capture_output=True, text=True)
                if contents != ARCHIVE:
                    self.assertEqual((done.returncode, os.listdir(kept)), (1, []), done.stderr)
                    self.assertIn("me: apt-get has no words 1:2.3-4", done.stderr)
            self.assertEqual((done.returncode, done.stdout), (0, os.path.join(kept, name) + "\n"), done.stderr)
            self.assertEqual(os.listdir(kept), [name])


if __name__ == "__main__":
    unittest.main()
