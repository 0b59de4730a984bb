"""What a network learns of a text beside what counting reaches, by one command."""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import random
import re
import tempfile
import unittest
from unittest import mock

from tools.peer import ngrams

PROGRAMS = pathlib.Path(os.path.abspath("tools"))


def script():
    loader = importlib.machinery.SourceFileLoader("language_model", str(PROGRAMS / "language_model"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("language_model", loader))
    loader.exec_module(module)
    return module


def write(path, count, seed):
    """Lines of words, each of which says what comes behind it more often than not."""
    chance, word, lines = random.Random(seed), 0, []
    for _ in range(count):
        line = []
        for _ in range(10):
            word = (3 * word + chance.choice((1, 2, 2, 5))) % 11
            line.append("abcdefghijk"[word])
        lines.append(" ".join(line) + "\n")
    path.write_text("".join(lines), encoding="utf-8")


class LanguageModelTest(unittest.TestCase):

    def test_both_perplexities_and_the_margin(self):
        with tempfile.TemporaryDirectory() as home, mock.patch.dict(os.environ, {"HOME": home}):
            text = pathlib.Path(home) / "text"
            text.mkdir()
            write(text / "train.txt", 1000, 1)
            write(text / "test.txt", 100, 2)
            (text / "vocabulary.txt").write_text("\n".join(["</s>", "<unk>", *"abcdefghijk"]) + "\n", encoding="utf-8")
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                script().main(lambda: PROGRAMS, [str(text), "--hidden=16", "--projection=8", "--samples=6", "--batch=4",
                                                 "--order=2", "--epochs=2", "--threads=1"])
            found = re.search(r"test perplexity: BigLSTM ([\d.]+), 2-grams with modified Kneser-Ney smoothing ([\d.]+): "
                              r"(-?[\d.]+) % lower", said.getvalue())
            self.assertIsNotNone(found, said.getvalue())
            learnt, counted, lower = map(float, found.groups())
            self.assertEqual((13, counted), (lambda known, p: (known, round(p, 2)))(*ngrams.perplexity_of(text, 2)))
            self.assertGreater(learnt, 1)
            self.assertLess(learnt, 13)  # of so many words it knows something
            self.assertAlmostEqual(lower, 100 * (1 - learnt / counted), delta=0.4)
            self.assertTrue((pathlib.Path(home) / ".cache/partita/language_model/big_lstm.safetensors").exists())


if __name__ == "__main__":
    unittest.main()
