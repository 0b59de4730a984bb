"""`decode` writes what a trained graph translates the test set into, whatever the split and the batch."""

import os
import unittest

from tests.tools.commands.data.pair_case import BATCH, CHANNELS, PairCase, integers, node, text


def decoder():
    """The graph's own place of the target, as a step that is told the last word."""
    return "\n".join([
        node("last", "input", (), text("dtype", "i32"), integers("shape", BATCH), text("field", "last_words")),
        node("meant", "input", (), integers("shape", BATCH, CHANNELS), text("field", "mean")),
        node("step/known", "embedding", ("known/table", "last")),
        node("step/both", "concat", ("meant", "step/known"), 'attributes { name: "axis" integer: 1 }'),
        node("step/hidden", "matmul", ("step/both", "hidden/weights")),
        node("step/tanh", "tanh", ("step/hidden",)),
        node("step/logits", "matmul", ("step/tanh", "logits/weights")),
        node("step/written", "log_softmax", ("step/logits",)),
        'entry_points { name: "encode" results { value: "mean" } }',
        'entry_points { name: "step" results { value: "step/written" name: "log_probabilities" } }',
    ]) + "\n"


class DecodeTest(PairCase):

    def decode(self, output, *flags, code=0):
        return self.call("decode", "--data=pairs", "--load=model.safetensors", f"--output={output}", "--threads=1", *flags,
                         "model.pbtxt", code=code)

    def add(self, more):
        with open(self.path("model.pbtxt"), "a", encoding="utf-8") as file:
            file.write(more)

    def lines(self, name):
        return self.read(name).decode().splitlines()

    def test_writes_what_was_learnt(self):
        self.add(decoder())
        self.train("--epochs=10", "--save=model.safetensors")
        done = self.decode("written")
        self.assertEqual(done.stdout, "written: 37 samples, beam 5; 0 did not end within 4 words\n")
        written, right = self.lines("written"), self.lines("pairs/test.target.txt")
        self.assertEqual(len(written), len(right))
        self.assertGreater(sum(a == b for a, b in zip(written, right)), 34)
        for flags in (("--dp=2", "--batch=10"), ("--mp=2",), ("--beam=1",), ("--batch=37", "--beam=30")):
            self.decode("again", *flags)
            self.assertEqual(self.lines("again"), written, flags)
        self.call("launch", "--", "decode", "--data=pairs", "--load=model.safetensors", "--output=again", "--dp=2",
                  "--threads=1", "model.pbtxt")
        self.assertEqual(self.lines("again"), written)
        done = self.decode("short", "--most-words=1")
        self.assertRegex(done.stdout, r"3\d did not end within 1 word")

    def test_takes_sources_alone_however_long(self):
        self.add(decoder())
        self.train("--epochs=10", "--save=model.safetensors")
        os.unlink(self.path("pairs/test.target.txt"))
        self.write("pairs/test.source.txt", ["a1 " * 9, "a3", "who knows"])
        self.assertIn("pairs/test.source.txt: line 1: found 9 words, the graph takes at most 7",
                      self.decode("written", code=3).stderr)
        done = self.decode("written", "--long-pairs=cut")
        self.assertIn("pairs/test: 1 pair cut, longer than the graph takes", done.stderr)
        self.assertEqual(self.lines("written")[:2], ["b1", "b3"])
        self.assertEqual(len(self.lines("written")), 3)
        self.assertIn("some would be missing", self.decode("written", "--long-pairs=skip", code=2).stderr)

    def test_an_empty_line_stays_an_empty_line(self):
        self.add(decoder())
        self.train("--epochs=10", "--save=model.safetensors")
        os.unlink(self.path("pairs/test.target.txt"))
        for sources, written in ((["", "a1", "  ", "a3", ""], ["", "b1", "", "b3", ""]), ([""], [""])):
            self.write("pairs/test.source.txt", sources)
            done = self.decode("written")
            self.assertEqual(self.lines("written"), written)
            self.assertIn(f"written: {len(sources)} sample{'s' if len(sources) > 1 else ''}, beam 5; 0 did not end", done.stdout)
        self.write("pairs/train.source.txt", [""] * 333)
        self.assertIn("pairs/train.source.txt: line 1: found no words", self.train("--steps=1", code=3).stderr)

    def test_says_what_it_lacks(self):
        self.train("--steps=1", "--save=model.safetensors")
        self.assertIn("model.pbtxt: the program has no entry point 'encode'; decode writes what models that translate say, by their "
                      "entry points 'encode' and 'step'", self.decode("written", code=3).stderr)
        self.add(decoder())
        self.assertIn("at least the beam's 9", self.decode("written", "--beam=9", code=3).stderr)
        done = self.call("decode", "--load=model.safetensors", "--output=written", "model.pbtxt", code=2)
        self.assertIn("decode needs --data", done.stderr)
        self.write("pairs/vocabulary.txt", ["<pad>", "<unk>", "<s>", "</s>", "a1"])
        self.assertIn("pairs/vocabulary.txt: found 5 words; field 'source' of the graph has ids of 22 rows",
                      self.decode("written", code=3).stderr)


if __name__ == "__main__":
    unittest.main()
