"""Arrays for masked words of a text: marks, lengths, labels only where words are to be found."""

import array
import ast
import os
import struct
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.abspath("tools/prepare/masked_words")
PADDING, UNKNOWN, BEGIN, END, MASK = range(5)


def read(path):
    """The rows of an array of i32; of one dimension its numbers."""
    with open(path, "rb") as file:
        assert file.read(8) == b"\x93NUMPY\x01\x00"
        size, = struct.unpack("<H", file.read(2))
        assert (size + 10) % 64 == 0
        header = ast.literal_eval(file.read(size).decode())
        assert header["descr"] == "<i4" and not header["fortran_order"]
        values = array.array("i", file.read()).tolist()
    shape = header["shape"]
    if len(shape) == 1:
        return values
    return [values[row * shape[1]:(row + 1) * shape[1]] for row in range(shape[0])]


class MaskedWordsTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.write("train.txt", "\ufeffa b a\n\n c a b d\n" + "a b c d e f g h i j k l\n" * 40)
        self.write("test.txt", "a z\n")

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def make(self, *flags, to="made"):
        done = subprocess.run([sys.executable, SCRIPT, *flags, ".", to], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode == 0, done.stderr == "", done.stderr)
        return done.stdout if done.returncode == 0 else done.stderr

    def arrays(self, part, to="made"):
        return {name: read(os.path.join(self.folder, to, part, name + ".npy"))
                for name in ("ids", "segments", "lengths", "labels")}

    def test_sequences_have_marks_and_padding(self):
        said = self.make("--length=6", "--passes=3")
        self.assertIn("--vocabulary=17 --length=6", said)
        with open(os.path.join(self.folder, "made", "words.txt"), encoding="utf-8") as file:
            words = file.read().split("\n")
        self.assertEqual(words[:8], ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c"])
        train = self.arrays("train")
        self.assertEqual(train["lengths"][:4], [5, 6, 6, 6])
        self.assertEqual(len(train["lengths"]), 3 * (2 + 40 * 3))
        for ids, segments, length, labels in zip(*train.values()):
            self.assertEqual((ids[0], ids[length - 1], ids[length:]), (BEGIN, END, [PADDING] * (6 - length)))
            self.assertEqual(segments, [0] * 6)
            found = [place for place in range(6) if labels[place] != -100]
            self.assertEqual(len(found), 1)
            self.assertTrue(0 < found[0] < length - 1)
        test = self.arrays("test")
        self.assertEqual(test["lengths"], [4])
        self.assertTrue(all(label in (-100, UNKNOWN, 5) for label in test["labels"][0]))

    def test_shares_of_what_is_seen(self):
        self.make("--length=14", "--share=0.5", "--passes=20")
        train = self.arrays("train")
        places = [(seen, label) for ids, labels in zip(train["ids"], train["labels"])
                  for seen, label in zip(ids, labels) if label != -100]
        masked = sum(seen == MASK for seen, _ in places) / len(places)
        kept = sum(seen == label for seen, label in places) / len(places)
        self.assertAlmostEqual(masked, 0.8, delta=0.03)
        self.assertAlmostEqual(kept, 0.1 + 0.1 / 12, delta=0.03)

    def test_the_seed_decides(self):
        for seed, to in (("1", "one"), ("1", "again"), ("2", "other")):
            self.make("--seed=" + seed, to=to)
        self.assertEqual(self.arrays("train", "one"), self.arrays("train", "again"))
        self.assertNotEqual(self.arrays("train", "one"), self.arrays("train", "other"))

    def test_refusals(self):
        self.assertIn("--length is 2", self.make("--length=2"))
        self.assertIn("--share 0.0", self.make("--share=0"))
        self.write("test.txt", " \n")
        self.assertIn("test.txt: found no words", self.make())
        os.unlink(os.path.join(self.folder, "train.txt"))
        self.assertIn("train.txt: No such file or directory", self.make())


if __name__ == "__main__":
    unittest.main()
