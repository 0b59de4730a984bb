"""The header, the exported symbols, Python's declarations and the reference follow from the description."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

FILES = ("partita/c/api.toml", "partita/c/partita.h", "partita/c/exports.map", "python/partita/_interface.py",
         "docs/reference/c.md", "tools/c_interface", ".clang-format")


class DescriptionTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for path in FILES:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(os.path.realpath(path), self.root / path)

    def call(self, *arguments):
        return subprocess.run([sys.executable, self.root / "tools/c_interface", *arguments], capture_output=True,
                              text=True)

    def test_the_tree_has_what_follows(self):
        done = self.call("--check")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_stale_file_is_named(self):
        with open(self.root / "partita/c/api.toml", "a") as file:
            file.write('[[item]]\nkind = "function"\nname = "partita_more"\nsince = "0.3.0"\nreturns = "int32_t"\n'
                       'parameters = ["const partita_model* model"]\ndoc = "More."\n')
        done = self.call("--check")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("does not follow from partita/c/api.toml"), 4)
        self.assertEqual(self.call().returncode, 0)
        self.assertEqual(self.call("--check").returncode, 0)
        self.assertIn("PARTITA_0.3.0 {\n global:\n  partita_more;\n} PARTITA_0.2.0;\n",
                      (self.root / "partita/c/exports.map").read_text())
        self.assertIn("// More. Since 0.3.0.\nPARTITA_API int32_t partita_more(const partita_model* model);",
                      (self.root / "partita/c/partita.h").read_text())


if __name__ == "__main__":
    unittest.main()
