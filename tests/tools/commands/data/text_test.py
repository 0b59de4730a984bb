"""A language model is trained on a text: by threads as by one rank, interrupted or not, and tells its perplexity."""

import json
import math
import os
import random
import re
import unittest

from tests.tools.commands.trainer_case import TrainerCase, example

BUILD_MODEL = os.path.abspath("tools/models/build_model")
WORDS = 24  # of the vocabulary, with the two others


def sentences(count, seed):
    """Each word is followed by one of two that its number says, so there is something to learn."""
    generator, word = random.Random(seed), 0
    for _ in range(count):
        line = []
        for _ in range(9):
            word = (5 * word + generator.choice((3, 4))) % (WORDS - 2)
            line.append(f"w{word}")
        yield " ".join(line)


class TextCase(TrainerCase):

    def setUp(self):
        super().setUp()
        self.write("text/vocabulary.txt", ["</s>", "<unk>"] + [f"w{word}" for word in range(WORDS - 2)])
        self.write("text/train.txt", sentences(400, 1))
        self.write("text/test.txt", sentences(37, 2))
        self.build(layers=1)

    def write(self, name, lines):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))

    def build(self, layers):
        self.execute(BUILD_MODEL, "big-lstm", "--batch=8", "--length=6", "--hidden=24", "--projection=8",
                     f"--layers={layers}", f"--vocabulary={WORDS}", "--output=model.pbtxt")

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def train(self, *flags, code=0):
        return self.call("train", "--data=text", "--threads=1", *flags, "model.pbtxt", code=code)


class LearningTest(TextCase):

    def perplexity(self, done, report):
        """As it is said, as it is reported, and of the loss."""
        (said,) = re.findall(r"^test perplexity +([\d.]+)$", done.stdout, re.MULTILINE)
        values = json.loads(self.read(report))
        (metric,) = [each for each in values["test_metrics"] if each["name"] == "perplexity"]
        self.assertAlmostEqual(metric["value"], float(said), places=3)
        self.assertAlmostEqual(metric["value"], math.exp(values["test_loss"]), places=9)
        return metric["value"]

    def test_learns_and_tells_its_perplexity(self):
        done = self.train("--epochs=15", "--save=model.safetensors", "--report=train.json")
        trained = self.perplexity(done, "train.json")
        self.assertIn("test perplexity", done.stdout.splitlines()[0])
        self.assertLess(trained, 6)  # 24 words, of which at best two are in question
        # Other batches see the same words; some at the beginning of a row.
        for batch in (8, 3, 1):
            done = self.call("evaluate", "--data=text", f"--batch={batch}", "--load=model.safetensors",
                             "--report=evaluated.json", "model.pbtxt")
            evaluated = self.perplexity(done, "evaluated.json")
            self.assertAlmostEqual(evaluated, trained, delta=1e-9 if batch == 8 else 0.15)

    def test_words_that_are_no_utf8(self):
        self.assertNotIn("UTF-8", self.train("--steps=1").stderr)
        with open(self.path("text/test.txt"), "ab") as file:
            file.write(b"w1 w2 na\xefve\n")
        self.assertIn(r"text/test.txt: line 38, position 3: found 'na\xefve', which is no UTF-8 and counts as <unk>; iconv",
                      self.train("--steps=1").stderr)

    def test_splits_go_the_way_of_one_rank(self):
        reports = {}
        self.build(layers=2)
        for name in ("serial", "data", "vocabulary", "pipeline_4", "2x2"):
            split = [] if name == "serial" else ["--strategy=" + example(f"big_lstm/{name}.pbtxt")]
            self.train("--epochs=2", *split, f"--report={name}.json")
            reports[name] = json.loads(self.read(name + ".json"))
        for name, report in reports.items():
            self.assertAlmostEqual(report["test_loss"], reports["serial"]["test_loss"], places=4, msg=name)
            for group in report.get("groups", []):
                self.assertEqual(group["counted_wire_bytes"], group["predicted_wire_bytes"], name)

    def test_processes_go_the_way_of_threads(self):
        self.build(layers=2)
        split = "--strategy=" + example("big_lstm/2x2.pbtxt")
        self.train("--epochs=1", split, "--save=threads")
        self.call("launch", "--", "train", "--data=text", "--threads=1", "--epochs=1", split, "--save=processes",
                  "model.pbtxt")
        self.assertEqual(self.read("processes"), self.read("threads"))

    def test_goes_on_to_the_same_bits(self):
        for split in ([], ["--dp=2"]):
            with self.subTest(split=split):
                self.train("--epochs=4", "--steps=120", *split, "--save=whole")
                self.train("--epochs=4", "--steps=50", *split, "--save=half")
                self.train("--epochs=4", "--steps=120", *split, "--load=half", "--save=whole2")
                self.assertEqual(self.read("whole2"), self.read("whole"))
                self.assertNotEqual(self.read("half"), self.read("whole"))

    def test_checkpoints_go_on_under_another_split(self):
        flags = ("--epochs=4", "--checkpoint=kept", "--checkpoint-every=40", "--report=r.json")
        self.train(*flags, "--steps=80", "--dp=2")
        self.train(*flags, "--steps=120", "--resume=auto")
        resumed = json.loads(self.read("r.json"))["epochs"][-1]
        self.train("--epochs=4", "--steps=120", "--report=r.json")
        whole = json.loads(self.read("r.json"))["epochs"][-1]
        self.assertAlmostEqual(resumed["training_loss"], whole["training_loss"], places=4)

    def test_ids_are_the_words(self):
        self.train("--epochs=1", "--save=of_words")
        with open(self.path("text/vocabulary.txt"), encoding="utf-8") as file:
            number = {word: str(i) for i, word in enumerate(file.read().split())}
        for name in ("train", "test"):
            lines = self.read(f"text/{name}.txt").decode().splitlines()
            os.unlink(self.path(f"text/{name}.txt"))
            self.write(f"text/{name}.ids", (" ".join(number[word] for word in [*line.split(), "</s>"]) for line in lines))
        self.train("--epochs=1", "--save=of_ids")
        self.assertEqual(self.read("of_ids"), self.read("of_words"))


class RefusalTest(TextCase):

    def assert_refused(self, says, *flags):
        self.assertIn(says, self.train(*flags, code=3).stderr)

    def test_what_is_wrong_is_said_with_its_place(self):
        self.write("text/train.ids", ["1 2 3", "4 24 5"])
        self.assert_refused("text/train.txt: is a text, and so is text/train.ids; one of them is allowed")
        os.unlink(self.path("text/train.txt"))
        self.assert_refused("text/train.ids: line 2, position 2: found 24, ids are 0 to 23")
        self.write("text/train.ids", ["1 2 3"])
        self.assert_refused("text/train.ids: found 3 words, 8 rows of 6 need at least 49")
        self.write("text/train.ids", [])
        self.assert_refused("text/train.ids: found no words")

    def test_a_test_set_that_leads_nowhere(self):
        os.remove(self.path("text/test.txt"))
        os.symlink("nowhere", self.path("text/test.txt"))
        self.assert_refused("text/test.txt: cannot open")

    def test_a_vocabulary_of_another_size(self):
        self.write("text/vocabulary.txt", ["</s>", "<unk>", "w1"])
        self.assert_refused("text/vocabulary.txt: found 3 words; field 'ids' of the graph has ids of 24 rows")

    def test_a_folder_without_a_vocabulary(self):
        os.unlink(self.path("text/vocabulary.txt"))
        self.assert_refused("text: found no data set, allowed are folders of IDX files")
        done = self.call("train", "--data=nothing", "model.pbtxt", code=3)
        self.assertIn("nothing: cannot read the data set", done.stderr)

    def test_a_graph_for_other_data(self):
        done = self.call("train", "--data=text", example("mlp.pbtxt"), code=3)
        self.assertIn("text/train.txt: the graph takes field 'images'; text has ids, targets and weights", done.stderr)


if __name__ == "__main__":
    unittest.main()
