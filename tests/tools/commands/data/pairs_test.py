"""A parallel text is learnt: by threads as by one rank, interrupted or not, and each word of the test set counts once."""

import json
import os
import unittest

from tests.tools.commands.data.pair_case import PairCase, pairs, short
from tests.tools.commands.trainer_case import example


class LearningTest(PairCase):

    def report(self, name):
        return json.loads(self.read(name))

    def test_learns_and_counts_each_word_of_the_test_set_once(self):
        done = self.train("--epochs=10", "--save=model.safetensors", "--report=train.json")
        self.assertIn("test perplexity", done.stdout.splitlines()[0])
        trained = self.report("train.json")
        metrics = {metric["name"]: metric["value"] for metric in trained["test_metrics"]}
        self.assertGreater(metrics["accuracy"], 0.98)
        self.assertLess(metrics["perplexity"], 1.2)
        # 37 pairs are no whole batches of any of these, and sentences have two or three words with the end.
        for batch in (8, 5, 1, 50):
            self.call("evaluate", "--data=pairs", f"--batch={batch}", "--load=model.safetensors",
                      "--report=evaluated.json", "model.pbtxt")
            self.assertAlmostEqual(self.report("evaluated.json")["test_loss"], trained["test_loss"], places=5)

    def test_replicas_go_the_way_of_one_rank(self):
        losses = []
        for split in ("--dp=1", "--dp=2", "--dp=3"):
            self.train("--epochs=2", split, "--batch=9", "--report=report.json")
            report = self.report("report.json")
            losses.append(report["test_loss"])
            for group in report.get("groups", []):
                self.assertEqual(group["counted_wire_bytes"], group["predicted_wire_bytes"])
        self.assertAlmostEqual(losses[1], losses[0], places=4)
        self.assertAlmostEqual(losses[2], losses[0], places=4)

    def test_goes_on_to_the_same_bits(self):
        self.train("--epochs=3", "--save=whole")
        self.train("--epochs=3", "--steps=50", "--save=half")
        self.train("--epochs=3", "--load=half", "--save=whole2")
        self.assertEqual(self.read("whole2"), self.read("whole"))
        self.assertNotEqual(self.read("half"), self.read("whole"))

    def test_sizes_change_what_a_batch_costs_and_not_what_it_means(self):
        self.train("--epochs=3", "--save=model.safetensors", "--report=alone.json")
        with open(self.path("model.pbtxt"), "a", encoding="utf-8") as file:
            file.write(short(2) + short(5))
        self.call("evaluate", "--data=pairs", "--load=model.safetensors", "--report=sizes.json", "model.pbtxt")
        self.assertAlmostEqual(self.report("sizes.json")["test_loss"], self.report("alone.json")["test_loss"], places=5)
        losses = []
        for split in ("--dp=1", "--dp=2"):
            self.train("--epochs=3", split, "--report=report.json")
            report = self.report("report.json")
            self.assertEqual(report["epochs"][-1]["steps"], 333 // 8)
            losses.append(report["test_loss"])
            for group in report.get("groups", []):
                self.assertEqual(group["counted_wire_bytes"], group["predicted_wire_bytes"])
        self.assertAlmostEqual(losses[1], losses[0], places=4)
        # Batches are others, what is learnt is not.
        self.assertAlmostEqual(losses[0], self.report("alone.json")["test_loss"], delta=0.2)
        self.train("--epochs=3", "--save=whole")
        self.train("--epochs=3", "--steps=50", "--save=half")
        self.train("--epochs=3", "--load=half", "--save=whole2")
        self.assertEqual(self.read("whole2"), self.read("whole"))

    def test_long_pairs_are_refused_or_left_out(self):
        self.write_pairs("train", [*pairs(20, 1), ("a1 " * 8, "b1"), *pairs(20, 3), ("a2", "b2 c2 b2 c2")])
        done = self.train(code=3)
        self.assertIn("pairs/train.source.txt: line 21: found 8 words, the graph takes at most 7; too long "
                      "are 2 of 42 pairs", done.stderr)
        done = self.train("--long-pairs=cut", "--steps=1")
        self.assertIn("pairs/train: 2 pairs cut, longer than the graph takes", done.stderr)
        done = self.train("--long-pairs=skip")
        self.assertIn("pairs/train: 2 pairs left out, longer than the graph takes", done.stderr)


class RefusalTest(PairCase):

    def assert_refused(self, says, *flags, code=3):
        self.assertIn(says, self.train(*flags, code=code).stderr)

    def test_what_is_wrong_is_said_with_its_place(self):
        self.write("pairs/test.target.txt", ["b1", "", "b2"])
        self.assert_refused("pairs/test.target.txt: line 2: found no words")
        self.write("pairs/test.target.txt", ["b1", "b2 </s>"])
        self.assert_refused("pairs/test.target.txt: line 2, position 2: found </s>, a mark that a text may not have")
        self.write("pairs/test.target.txt", ["b1", "b2"])
        self.assert_refused("pairs/test.target.txt: found 2 lines, pairs/test.source.txt has 37")
        os.unlink(self.path("pairs/test.target.txt"))
        self.assert_refused("pairs/test.target.txt")

    def test_a_test_set_that_leads_nowhere(self):
        for side in ("source", "target"):
            os.remove(self.path(f"pairs/test.{side}.txt"))
            os.symlink("nowhere", self.path(f"pairs/test.{side}.txt"))
        self.assert_refused("pairs/test.")

    def test_words_that_nobody_knows(self):
        self.assertNotIn("are not in", self.train("--steps=1").stderr)
        self.write_pairs("train", [*pairs(30, 1)] + [("A1 A2 A3", "b1")] * 30)
        self.assertIn("pairs/train.source.txt: 45 % of its words are not in pairs/vocabulary.txt and count as <unk>",
                      self.train("--steps=1").stderr)

    def test_words_that_are_no_utf8(self):
        with open(self.path("pairs/train.target.txt"), "rb") as file:
            lines = file.read().split(b"\n")
        lines[1:3] = [b"b1 caf\xe9", b"caf\xe9"]
        with open(self.path("pairs/train.target.txt"), "wb") as file:
            file.write(b"\n".join(lines))
        told = self.train("--steps=1").stderr
        self.assertIn(r"pairs/train.target.txt: line 2, position 2: found 'caf\xe9', which is no UTF-8 and counts as <unk> "
                      "(2 words are such); iconv -f LATIN1", told)
        self.assertNotIn("train.source.txt: line", told)

    def test_vocabularies(self):
        self.write("pairs/vocabulary.txt", ["<pad>", "<unk>", "<s>", "</s>", "a1"])
        self.assert_refused("pairs/vocabulary.txt: found 5 words; field 'source' of the graph has ids of 22 rows")
        self.write("pairs/vocabulary.txt", ["</s>", "<unk>"] + [f"w{word}" for word in range(20)])
        self.assert_refused("pairs/vocabulary.txt: line 1: found another word than <pad>; parallel texts need")

    def test_other_graphs_and_other_data(self):
        done = self.call("train", "--data=pairs", example("mlp.pbtxt"), code=3)
        self.assertIn("pairs/train.source.txt: the graph takes field 'images'; parallel texts have source", done.stderr)
        done = self.call("train", "--mock-data", "--long-pairs=skip", "model.pbtxt", code=2)
        self.assertIn("--long-pairs is for parallel texts", done.stderr)
        self.assert_refused("--resize is for pictures by class", "--resize=3", code=2)


if __name__ == "__main__":
    unittest.main()
