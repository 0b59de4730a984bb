"""The vocabulary of texts of one's own: the most frequent words first, behind the marks that the text's kind has."""

import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.abspath("tools/prepare/vocabulary")


class VocabularyTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, contents):
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(contents)

    def make(self, *flags):
        """What it says, and the lines that it writes; none: it refuses."""
        path = os.path.join(self.folder, "vocabulary.txt")
        done = subprocess.run([sys.executable, SCRIPT, *flags, "."], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode == 0, done.stderr == "", done.stderr)
        if done.returncode != 0:
            return done.stderr, None
        with open(path, "rb") as file:
            words = file.read().split(b"\n")
        os.unlink(path)
        return done.stdout, words

    def test_of_a_text(self):
        self.write("train.txt", "\ufeffthe dog\r\n\r\nthe c\u00e4t </s> a\tdog\u00a0s the".encode())
        said, words = self.make()
        expected = ["</s>", "<unk>", "the", "a", "c\u00e4t", "dog", "dog\u00a0s", ""]
        self.assertEqual(words, [word.encode() for word in expected])
        self.assertIn("has 7 words", said)
        said, words = self.make("--words=4")
        self.assertEqual(words, [b"</s>", b"<unk>", b"the", b"a", b""])
        self.assertIn("37.5 % of the words for training are others", said)

    def test_of_a_parallel_text(self):
        self.write("train.source.txt", b"b a\n")
        self.assertEqual(self.make(), ("vocabulary: train.target.txt: No such file or directory\n", None))
        self.write("train.target.txt", b"b c")
        self.assertEqual(self.make()[1], [b"<pad>", b"<unk>", b"<s>", b"</s>", b"b", b"a", b"c", b""])

    def test_refusals(self):
        self.assertIn("found neither train.txt nor train.source.txt", self.make()[0])
        self.write("train.txt", b" \n")
        self.assertIn("train.txt: found no words", self.make()[0])
        self.write("train.txt", b"a")
        self.assertIn("--words is 2; more than the 2 marks are needed", self.make("--words=2")[0])
        self.write("train.source.txt", b"a")
        self.assertIn("found both", self.make()[0])
        self.write("vocabulary.txt", b"mine")
        self.assertIn("vocabulary.txt is there; remove it", self.make()[0])


if __name__ == "__main__":
    unittest.main()
