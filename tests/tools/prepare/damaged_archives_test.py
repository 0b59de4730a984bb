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


if __name__ == "__main__":
    unittest.main()
