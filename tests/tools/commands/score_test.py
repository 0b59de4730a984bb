"""`score` tells what sacreBLEU tells of the same files, and how many lines are right."""

import json
import unittest

from tests.tools.commands.trainer_case import TrainerCase

BLEU_13A, BLEU_INTL, BLEU_NONE_LOWER = 38.278341281, 57.196863187, 34.025659114


class ScoreTest(TrainerCase):

    def write(self, name, *lines):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))

    def score(self, *flags, code=0):
        return self.call("score", "--references=right", *flags, "ours", code=code)

    def test_tells_what_sacrebleu_tells(self):
        self.write("right", "The cat sat on the mat, they said.", "It is 3,5 \u20ac \u2014 no \u201cmore\u201d!", "Yes.")
        self.write("ours", "the cat sat on a mat, they said.", "It is 3,5\u20ac \u2014 no more!", "Yes.")
        # sacrebleu right -i ours -w 9 --tokenize ... [-lc]
        for flags, bleu in (((), BLEU_13A), (("--tokens=intl",), BLEU_INTL),
                            (("--tokens=none", "--lower-case"), BLEU_NONE_LOWER)):
            values = json.loads(self.score("--format=json", *flags).stdout)
            self.assertAlmostEqual(values["bleu"], bleu, places=8)
            self.assertAlmostEqual(values["right"], 1 / 3)
            self.assertNotIn("right_without_stress", values)
        self.assertRegex(self.score().stdout, rf"^BLEU +{BLEU_13A:.2f}, tokens 13a: precisions [\d. ]+, brevity penalty")

    def test_counts_pronunciations_with_stress_and_without(self):
        self.write("right", "T AX0 M EY1", "AX0", "R EH1 D")
        self.write("ours", "T AX0 M EY1", "AX1", "R IY1 D")
        done = self.score("--tokens=none")
        self.assertIn("right           0.3333, 1 of 3 lines\nwithout stress  0.6667, 2 of 3 lines\n", done.stdout)

    def test_joins_pieces(self):
        self.write("right", "\u2581the \u2581c at , \u2581sat \u2581down")
        self.write("ours", "\u2581the \u2581ca t, \u2581sat \u2581d own")
        self.assertEqual(json.loads(self.score("--format=json", "--pieces").stdout)["right"], 1)
        self.assertEqual(json.loads(self.score("--format=json").stdout)["right"], 0)

    def test_refusals(self):
        self.write("right", "a", "b")
        self.write("ours", "a")
        self.assertIn("ours: found 1 line, right has 2", self.score(code=3).stderr)
        self.write("ours")
        self.assertIn("ours: found no lines", self.score(code=3).stderr)
        with open(self.path("ours"), "wb") as file:
            file.write(b"a\nb \xff\n")
        self.assertIn("ours: line 2: byte 3 is no UTF-8", self.score(code=3).stderr)
        self.assertIn("--references=FILE", self.call("score", "ours", code=2).stderr)
        self.assertIn("nothing", self.call("score", "--references=nothing", "ours", code=3).stderr)


if __name__ == "__main__":
    unittest.main()
