"""Pictures by class, from their files to what the trainer prints, and what it refuses of them."""

import csv
import json
import math
import os
import re
import shutil
import unittest

from tests.tools.commands import picture_writer
from tests.tools.commands.trainer_case import MLP, TrainerCase


class Pictures(TrainerCase):

    def setUp(self):
        super().setUp()
        self.data = self.path("data")
        picture_writer.write_folder(self.data, 40)

    def refused(self, code, says, *arguments):
        done = self.call(*arguments, code=code)
        self.assertRegex(done.stderr, says)
        self.assertEqual(done.stdout, "")

    def learn(self, *arguments, data=None):
        """What training says, and the model it saves."""
        done = self.call("train", f"--data={data or self.data}", "--batch=16", "--epochs=4", "--threads=1",
                         "--learning-rate=0.02", "--format=json", "--save=model.safetensors", *arguments, MLP)
        with open(self.path("model.safetensors"), "rb") as file:
            return json.loads(done.stdout), file.read()

    def test_classes_are_learnt_and_evaluated(self):
        report, _ = self.learn("--flip", "--crop-area=0.5", "--colour=0.2")
        self.assertGreater(report["epochs"][-1]["test_accuracy"], 0.8)
        done = self.call("evaluate", f"--data={self.data}", "--batch=16", "--load=model.safetensors", "--format=json",
                         MLP)
        self.assertAlmostEqual(json.loads(done.stdout)["test_accuracy"], report["epochs"][-1]["test_accuracy"])

    def test_a_model_sees_pictures_as_in_training(self):
        report, model = self.learn("--resize=34")
        self.assertIn(b'"partita.resize":"34"', model)
        os.makedirs(self.path("other"))
        evaluate = ("evaluate", "--batch=16", "--load=model.safetensors", "--format=json")
        done = self.call(*evaluate, f"--data={self.data}", MLP)
        self.assertEqual(json.loads(done.stdout)["test_loss"], report["test_loss"])
        # Its mean and deviation are those of the model: a test set alone is enough.
        os.rename(self.data, self.path("other/test"))
        self.call(*evaluate, f"--data={self.path('other')}", MLP)
        self.refused(2, "--resize is 30; the model that is loaded was trained on pictures scaled to a shorter side of 34",
                     *evaluate, "--resize=30", f"--data={self.path('other')}", MLP)

    def test_statistics_of_pixels_that_are_given(self):
        report, model = self.learn("--pixel-statistics=0.485:0.225")
        self.assertIn(b'"partita.mean":"0.485"', model)
        self.assertIn(b'"partita.deviation":"0.225"', model)
        evaluate = ("evaluate", "--batch=16", "--load=model.safetensors", "--format=json", f"--data={self.data}")
        for flags in ((), ("--pixel-statistics=0.485:0.225",)):
            done = self.call(*evaluate, *flags, MLP)
            self.assertEqual(json.loads(done.stdout)["test_loss"], report["test_loss"])
        self.refused(2, "differs from what the model was trained with: mean 0.485, deviation 0.225", *evaluate,
                     "--pixel-statistics=unit", MLP)
        train = ("train", f"--data={self.data}", "--batch=16", "--steps=1")
        for value, says in [("imagenet", "found 3 means and 3 deviations, the images have 1 channels"),
                            ("0.5", "expected imagenet, centered, unit, or means and deviations as 0.5,0.4"),
                            ("0.5:x", "expected imagenet"), ("0.5:0", "channel 0: found mean 0.5 and deviation 0")]:
            self.refused(2, says, *train, f"--pixel-statistics={value}", MLP)
        _, centered = self.learn("--pixel-statistics=centered")
        _, same = self.learn("--pixel-statistics=0.5:0.5")
        self.assertEqual(centered, same)

    def test_a_model_knows_its_classes(self):
        """A test set of some of them has the same labels; pictures of none are predicted, under their names."""
        self.learn()
        picture_writer.write_folder(self.path("some/test"), 6)
        shutil.rmtree(self.path("some/test/above"))
        evaluate = ("evaluate", "--batch=16", "--load=model.safetensors", "--format=json", f"--data={self.path('some')}")
        self.assertGreater(json.loads(self.call(*evaluate, MLP).stdout)["test_accuracy"], 0.8)
        os.makedirs(self.path("some/test/cat"))
        self.refused(3, "test/cat: found a class that the training of the model that is loaded lacks", *evaluate, MLP)
        os.makedirs(self.path("loose"))
        for label, name in enumerate(("0, low.png", "ö.png")):
            with open(self.path("loose/" + name), "wb") as file:
                file.write(picture_writer.picture(label, 100))
        predict = ("predict", "--batch=16", "--load=model.safetensors", "--output=p.csv", f"--data={self.path('loose')}")
        done = self.call(*predict, MLP)
        self.assertIn("of 2 samples, f32[2,10]", done.stdout)
        with open(self.path("p.csv"), encoding="utf-8", newline="") as file:
            header, low, high = csv.reader(file)
        self.assertEqual((header[0], low[0], high[0]), ("sample", "0, low.png", "ö.png"))
        best = [max(range(10), key=lambda c: float(row[1 + c])) for row in (low, high)]
        self.assertEqual(best, [1, 0])  # of above, below, dark
        self.refused(3, "found no folders in it; each class of pictures is one", "evaluate", "--batch=16",
                     "--load=model.safetensors", f"--data={self.path('loose')}", MLP)

    def test_the_most_probable_classes_have_their_names(self):
        self.learn()
        os.makedirs(self.path("loose"))
        for label, name in enumerate(("0, low.png", "ö.png")):
            with open(self.path("loose/" + name), "wb") as file:
                file.write(picture_writer.picture(label, 100))
        predict = ("predict", "--batch=16", "--load=model.safetensors", MLP)
        done = self.call(*predict, "--data=loose", "--top=2", "--output=-")
        header, low, high = csv.reader(done.stdout.splitlines())
        self.assertEqual(header, ["sample", "class_1", "probability_1", "class_2", "probability_2"])
        self.assertEqual((low[0], low[1], high[0], high[1]), ("0, low.png", "below", "ö.png", "above"))
        # The probabilities are the softmax of the logits.
        self.call(*predict, "--data=loose", "--output=logits.jsonl")
        with open(self.path("logits.jsonl"), encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        self.assertEqual([row["sample"] for row in rows], ["0, low.png", "ö.png"])
        for row, line in zip(rows, (low, high)):
            (logits,) = [value for key, value in row.items() if key != "sample"]
            powers = sorted((math.exp(value - max(logits)) for value in logits), reverse=True)
            for place in (0, 1):
                self.assertAlmostEqual(float(line[2 + 2 * place]), powers[place] / sum(powers), places=5)
        # One picture is a set of its own.
        done = self.call(*predict, "--data=loose/ö.png", "--top=11", "--output=-", "--format=json")
        (line,) = done.stdout.splitlines()
        line = json.loads(line)
        self.assertEqual((line["sample"], len(line["top"])), ("ö.png", 10))
        self.assertEqual((line["top"][0]["class"], line["top"][0]["label"]), ("above", 0))
        self.assertAlmostEqual(line["top"][0]["probability"], float(high[2]), places=5)
        self.assertAlmostEqual(sum(entry["probability"] for entry in line["top"]), 1)
        self.assertIn("7", {entry["class"] for entry in line["top"]})  # of no name
        # What is wrong is said.
        with open(self.path("notes.jpg"), "w") as file:
            file.write("notes")
        self.refused(3, "notes.jpg: found text, allowed are JPEG and PNG files\n", *predict, "--data=notes.jpg",
                     "--output=-")
        self.refused(3, "none.jpg: cannot open: No such file", *predict, "--data=none.jpg", "--output=-")
        self.refused(3, "ö.png: found one picture; expected a folder of classes", *predict, "--value=loss",
                     "--data=loose/ö.png", "--output=-")
        self.refused(2, "--top writes text; expected an --output that ends in .csv or .jsonl", *predict, "--top=1",
                     "--data=loose", "--output=p.npy")
        self.refused(2, "--format=json needs --output=-", *predict, "--data=loose", "--output=p.csv", "--format=json")
        self.refused(2, "p.txt has another ending; expected .npy or .csv or .jsonl or -", *predict, "--data=loose",
                     "--output=p.txt")
        self.refused(3, r"value 'loss' is f32\[\]; what is predicted has a row", *predict, f"--data={self.data}",
                     "--value=loss", "--top=1", "--output=-")

    def test_a_confusion_matrix_counts_every_sample(self):
        self.learn()
        evaluate = ("evaluate", f"--data={self.data}", "--batch=16", "--load=model.safetensors", "--report=e.json", MLP)
        plain = self.call(*evaluate).stdout
        with open(self.path("e.json")) as file:
            without = json.load(file)
        done = self.call(*evaluate, "--confusion=c.csv")
        self.assertTrue(done.stdout.startswith(plain.split("memory")[0]))
        with open(self.path("c.csv"), newline="") as file:
            header, *rows = csv.reader(file)
        self.assertEqual(header[:5], ["class", "above", "below", "dark", "3"])
        self.assertEqual([row[0] for row in rows], header[1:])
        counts = [[int(number) for number in row[1:]] for row in rows]
        with open(self.path("e.json")) as file:
            report = json.load(file)
        for result in ("test_loss", "test_accuracy"):
            self.assertEqual(report[result], without[result])
        samples = sum(map(sum, counts))
        self.assertAlmostEqual(sum(counts[c][c] for c in range(10)) / samples, report["test_accuracy"], places=6)
        for c, entry in enumerate(report["classes"]):
            self.assertEqual(entry["name"], header[1 + c])
            self.assertEqual(int(entry["samples"]), sum(counts[c]))
            self.assertEqual(int(entry["predicted"]), sum(row[c] for row in counts))
            self.assertEqual(int(entry["correct"]), counts[c][c])
        dark = report["classes"][2]
        self.assertAlmostEqual(dark["recall"], int(dark["correct"]) / int(dark["samples"]))
        self.assertNotIn("recall", report["classes"][9])
        self.assertRegex(done.stdout, rf"\n  dark +{dark['samples']} +{dark['predicted']} +[\d.]+ % +[\d.]+ %\n")
        self.call(*evaluate, "--confusion=split.csv", "--dp=2")
        with open(self.path("split.csv")) as split, open(self.path("c.csv")) as whole:
            self.assertEqual(split.read(), whole.read())
        self.refused(2, "c.txt has another ending; expected .csv", *evaluate, "--confusion=c.txt")

    def test_any_number_of_threads_gives_the_same_bits(self):
        flags = ("--flip", "--crop-area=0.3", "--colour=0.3")
        _, one = self.learn("--decode-threads=1", *flags)
        _, three = self.learn("--decode-threads=3", *flags)
        self.assertEqual(one, three)

    def test_ranks_train_on_the_same_pictures(self):
        one, _ = self.learn("--shift=2")
        two, _ = self.learn("--shift=2", "--dp=2")
        self.assertAlmostEqual(one["epochs"][-1]["test_loss"], two["epochs"][-1]["test_loss"], places=3)

    def test_archives(self):
        picture_writer.write_shard(self.path("all.tar"), 40)
        report, _ = self.learn(data=self.path("all.tar"))
        self.assertGreater(report["epochs"][-1]["test_accuracy"], 0.8)
        # A folder that is named as an archive is a folder.
        os.mkdir(self.path("folder.tar"))
        os.rename(self.path("all.tar"), self.path("folder.tar/all.tar"))
        report, _ = self.learn(data=self.path("folder.tar"))
        self.assertGreater(report["epochs"][-1]["test_accuracy"], 0.8)

    def test_labels_of_archives(self):
        """One that the graph has not is told with its entry; what a model has learnt need not all be there."""
        picture_writer.write_shard(self.path("all.tar"), 40, names={(2, 7): 500})
        train = ("train", f"--data={self.path('all.tar')}", "--batch=16", "--steps=2", "--save=model.safetensors")
        self.refused(3, "all.tar/007-2.cls: found '500', allowed is a label from 0 to 9, which the graph tells apart",
                     *train, MLP)
        done = self.call(*train, "--bad-files=skip", "--format=json", MLP)
        self.assertIn("1 file is left out", done.stderr)
        self.assertEqual(json.loads(done.stdout)["left_out_files"], 1)
        picture_writer.write_shard(self.path("test.tar"), 8, labels=[0])
        self.call("evaluate", f"--data={self.path('test.tar')}", "--batch=16", "--load=model.safetensors", MLP)
        self.refused(3, "test.tar: found the label 0 alone", "train", f"--data={self.path('test.tar')}", "--batch=2", MLP)

    def test_bad_files(self):
        bad = os.path.join(self.data, "dark", "notes.txt")
        with open(bad, "w") as file:
            file.write("notes")
        says = r"dark/notes.txt: found text, allowed are JPEG and PNG files"
        train = ("train", f"--data={self.data}", "--batch=16", "--steps=2")
        self.refused(3, says, *train, MLP)
        done = self.call(*train, "--bad-files=skip", MLP)
        self.assertIn("1 file is left out", done.stderr)
        self.assertRegex(done.stderr, says)

    def test_a_damaged_test_picture_is_told_before_training(self):
        os.rename(self.data, self.path("train"))
        picture_writer.write_folder(self.path("data/test"), 3)
        os.rename(self.path("train"), self.path("data/train"))
        last = os.path.join(self.data, "test", "below", "2.png")
        with open(last, "r+b") as file:
            file.truncate(os.path.getsize(last) - 20)
        train = ("train", f"--data={self.data}", "--batch=16", "--epochs=2", "--save=model.safetensors")
        self.refused(3, "test/below/2.png: the PNG file is damaged: it ends in the middle", *train, MLP)
        self.assertFalse(os.path.exists(self.path("model.safetensors")))
        done = self.call(*train, "--bad-files=skip", MLP)
        self.assertIn("1 file is left out", done.stderr)
        self.assertRegex(done.stdout, r"\nleft out +1 of the data's files\n")
        done = self.call("evaluate", f"--data={self.data}", "--batch=16", "--load=model.safetensors",
                         "--bad-files=skip", "--format=json", MLP)
        self.assertEqual(json.loads(done.stdout)["left_out_files"], 1)

    def test_a_damaged_training_picture_may_be_left_out(self):
        """It is met between two steps, and counted."""
        os.rename(self.data, self.path("train"))
        picture_writer.write_folder(self.path("data/test"), 3)
        os.rename(self.path("train"), self.path("data/train"))
        train = ("train", f"--data={self.data}", "--batch=16", "--threads=1", "--epochs=3", "--report=r.json")
        graph = self.changed(MLP, r"learning_rate \{.*", 'learning_rate { schedule: "constant" base: 0.01 }')
        self.call(*train, "--steps=2", "--save=model", graph)
        with open(os.path.join(self.data, "train", "dark", "7.png"), "r+b") as file:
            file.seek(-20, os.SEEK_END)
            file.write(b"damaged!")
        says = "train/dark/7.png: the PNG file is damaged"
        self.refused(3, says, *train, "--save=other", graph)  # to measure mean and deviation it is read before
        self.assertFalse(os.path.exists(self.path("other")))
        done = self.call(*train, "--load=model", "--bad-files=skip", graph)
        self.assertRegex(done.stderr, f"left out: .*{says}")
        self.assertRegex(done.stdout, r"\nleft out +1 of the data's files\n")
        with open(self.path("r.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["left_out_files"], 1)

    def test_a_damaged_training_picture_loses_nothing(self):
        """It is met between two steps: what those before have learnt is what they learn without it."""
        os.rename(self.data, self.path("train"))
        os.makedirs(self.data)
        os.rename(self.path("train"), self.path("data/train"))
        train = ("train", f"--data={self.data}", "--batch=16", "--epochs=2", "--threads=1")
        graph = self.changed(MLP, r"learning_rate \{.*", 'learning_rate { schedule: "constant" base: 0.01 }')
        self.call(*train, "--steps=1", "--save=one.safetensors", graph)  # what goes on measures no pictures
        with open(os.path.join(self.data, "train", "below", "2.png"), "r+b") as file:
            file.seek(-20, os.SEEK_END)
            file.write(b"damaged!")
        onward = (*train, "--load=one.safetensors")
        done = self.call(*onward, "--save=model.safetensors", "--checkpoint=kept", graph, code=3)
        told = re.search(r"train/below/2.png: the PNG file is damaged: .*; what was learnt in (\d+) steps is saved in "
                         r"model.safetensors and kept\n", done.stderr)
        self.assertIsNotNone(told, done.stderr)
        self.assertGreater(int(told[1]), 1)
        self.call(*onward, "--save=before.safetensors", f"--steps={told[1]}", graph)
        with open(self.path("before.safetensors"), "rb") as before, open(self.path("model.safetensors"), "rb") as model:
            self.assertEqual(model.read(), before.read())
        self.assertIn(f"step-{int(told[1]):012}", os.listdir(self.path("kept")))

    def test_goes_on_to_the_same_bits(self):
        """In the middle of an epoch, decoded by other threads; other draws of what pictures show are told."""
        picture_writer.write_shard(self.path("all.tar"), 40)
        draws = ("--flip", "--crop-area=0.3", "--colour=0.3")
        graph = self.changed(MLP, r"learning_rate \{.*", 'learning_rate { schedule: "constant" base: 0.01 }')
        for data in (self.data, self.path("all.tar")):
            with self.subTest(data=data):
                train = ("train", f"--data={data}", "--batch=16", "--threads=1", "--epochs=3", *draws)
                self.call(*train, "--steps=9", "--save=whole", graph)
                self.call(*train, "--steps=4", "--save=half", graph)
                done = self.call(*train, "--steps=9", "--decode-threads=3", "--load=half", "--save=again", graph)
                self.assertRegex(done.stdout, r"goes on at step 4 \(epoch 1, 4 of its \d steps are done\)")
                self.assertNotIn(" was ", done.stderr)
                with open(self.path("whole"), "rb") as whole, open(self.path("again"), "rb") as again:
                    self.assertEqual(again.read(), whole.read())
        done = self.call(*train[:-1], "--colour=0.1", "--steps=9", "--load=half", graph)
        self.assertRegex(done.stderr, r'augmentation was "colour=0\.3", and is "colour=0\.1" from step 4 on')

    def test_refusals(self):
        train = ("train", "--batch=16", "--steps=2")
        for i in range(8):
            os.makedirs(os.path.join(self.data, str(i)))
        self.refused(3, "found a class without pictures", *train, f"--data={self.data}", MLP)
        self.refused(3, "there are 11 classes, the graph tells 10 apart", *train, f"--data={self.data}",
                     "--bad-files=skip", MLP)
        self.refused(2, "--crop-area is for pictures", *train, "--crop-area=0.5", MLP)
        os.makedirs(self.path("empty"))
        self.refused(3, "found no data set, allowed are folders of IDX files", *train,
                     f"--data={self.path('empty')}", MLP)
        self.refused(3, "cannot read the data set: No such file", *train, "--data=nowhere", MLP)
        self.refused(3, "a.tar.gz: found a compressed archive, allowed is a plain one", *train, "--data=a.tar.gz", MLP)
        os.makedirs(self.path("one/only"))
        self.refused(3, "found one class, 'only'", *train, f"--data={self.path('one')}", MLP)


if __name__ == "__main__":
    unittest.main()
