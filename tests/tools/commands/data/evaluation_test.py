"""`evaluate` tells what a test set is, whatever the batch, the split, the data and the way to weigh."""

import json
import math
import os
import random
import struct
import unittest

from tests.tools.commands import array_writer as write
from tests.tools.commands.array_models import graph, node
from tests.tools.commands.trainer_case import TrainerCase

WORDS, PLACES = 9, 4
ALL_WORDS = ["<pad>", "<unk>", "<s>", "</s>", "a", "b", "c", "d", "e"]


def model(way, batch=2):
    """Each word is told by the one before it; words are weighed by `weights`, or by their shares, or added up."""
    weights, reduction = {"over": ("shares", "sum"), "total": ("weights", "sum"), "plain": ("weights", "mean")}[way]
    shares = node("all", "sum", "weights") + node("shares", "over", "weights", "all") if way == "over" else ""
    return graph(node("ids", "input", dtype="i32", shape=[batch, PLACES]) +
                 node("targets", "input", dtype="i32", shape=[batch, PLACES]) +
                 node("weights", "input", shape=[batch, PLACES]) + shares +
                 node("table", "parameter", initializer="uniform", scale=2, shape=[WORDS, 3]) +
                 node("e", "embedding", "table", "ids") +
                 node("w", "parameter", initializer="he_normal", shape=[3, WORDS]) + node("logits", "matmul", "e", "w") +
                 node("entropy", "softmax_cross_entropy", "logits", "targets", weights, reduction=reduction) +
                 node("right", "accuracy", "logits", "targets", weights, reduction=reduction) +
                 node("squares", "square", "w") + node("norm", "sum", "squares") +
                 node("decay", "scale", "norm", factor=0.01) + node("loss", "add", "entropy", "decay"),
                 "loss", ["entropy", "right"])


def tensors(path):
    with open(path, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    found = {}
    for name, tensor in header.items():
        if name != "__metadata__" and tensor["dtype"] == "F32":
            begin, end = tensor["data_offsets"]
            found[name] = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
    return found


class EvaluationTest(TrainerCase):

    def start(self, data, way):
        with open(self.path(way + ".pbtxt"), "w", encoding="utf-8") as file:
            file.write(model(way))
        self.call("train", "--data=" + data, "--learning-rate=0", "--steps=1", "--batch=2", f"--save={way}.st",
                  way + ".pbtxt")
        states = tensors(self.path(way + ".st"))
        self.table, self.w = states["table"], states["w"]

    def entropy(self, word, target):
        """And whether the word that follows is the one that is expected."""
        logits = [sum(self.table[3 * word + i] * self.w[WORDS * i + c] for i in range(3)) for c in range(WORDS)]
        total = math.log(sum(map(math.exp, logits)))
        return total - logits[target], float(logits.index(max(logits)) == target)

    def expect(self, data, way, words, divisor, batches):
        """`words`: word, the one behind it, and what it counts."""
        entropy = sum(weight * self.entropy(word, target)[0] for word, target, weight in words) / divisor
        right = sum(weight * self.entropy(word, target)[1] for word, target, weight in words) / divisor
        loss = entropy + 0.01 * sum(x * x for x in self.w)
        for batch in batches:
            for split in ([], ["--dp=2"], ["--micro-batches=2"]):
                if split and (batch < 2 or batch % 2 and split[0] != "--dp=2"):
                    continue
                done = self.call("evaluate", f"--load={way}.st", "--data=" + data, f"--batch={batch}", "--format=json",
                                 *split, way + ".pbtxt")
                report = json.loads(done.stdout)
                metrics = {metric["name"]: metric.get("value", 0) for metric in report["test_metrics"]}
                what = f"{data} {way} batch {batch} {split}"
                self.assertAlmostEqual(report["test_loss"], loss, delta=5e-5 * max(1, loss), msg=what)
                self.assertAlmostEqual(metrics["entropy"], entropy, delta=5e-5 * max(1, loss), msg=what)
                self.assertAlmostEqual(metrics["right"], right, delta=5e-6 * max(1, right), msg=what)
                self.assertNotIn("norm", metrics)
                self.assertEqual("perplexity" in metrics, way != "total" and data in ("text", "pairs"), what)
                if "perplexity" in metrics:
                    self.assertAlmostEqual(metrics["perplexity"] / math.exp(loss), 1, places=4, msg=what)

    def test_texts(self):
        draw = random.Random(1)
        line = lambda words: " ".join(draw.choice(ALL_WORDS[4:]) for _ in range(words))
        texts = {"vocabulary": "\n".join(ALL_WORDS), "train": "\n".join(line(6) for _ in range(6)),
                 "test": "\n".join(line(words) for words in (5, 3, 2, 1, 5, 6, 1))}
        for name, text in texts.items():
            self.write("text", name + ".txt", text + "\n")
        ids = [ALL_WORDS.index(word) for line in texts["test"].split("\n") for word in line.split() + ["</s>"]]
        words = [(ids[i], ids[i + 1], 1) for i in range(len(ids) - 1)]
        for way, divisor in (("plain", len(words)), ("over", len(words)), ("total", 1)):
            self.start("text", way)
            self.expect("text", way, words, divisor, (1, 2, 3, 4, 7, 40))

    def test_parallel_texts(self):
        draw = random.Random(2)
        lengths, words = (3, 1, 2, 1, 3, 2, 1), []
        lines = [[draw.choice(ALL_WORDS[4:]) for _ in range(length)] for length in lengths]
        text = "".join(" ".join(line) + "\n" for line in lines)
        for name in ("train.source.txt", "train.target.txt", "test.source.txt", "test.target.txt"):
            self.write("pairs", name, text)
        self.write("pairs", "vocabulary.txt", "\n".join(ALL_WORDS) + "\n")
        for line in lines:
            ids = [2] + [ALL_WORDS.index(word) for word in line] + [3]
            words += [(ids[i], ids[i + 1], 1) for i in range(len(ids) - 1)]
        for way, divisor in (("plain", len(words)), ("over", len(words)), ("total", 1)):
            self.start("pairs", way)
            self.expect("pairs", way, words, divisor, range(1, 8))

    def test_arrays(self):
        draw, count = random.Random(3), 7
        ids, targets = ([draw.randrange(WORDS) for _ in range(count * PLACES)] for _ in range(2))
        weights = [draw.choice([0, 0.5, 1, 2]) for _ in range(count * PLACES)]
        weights[8:12] = [0] * 4  # a batch of one sample that counts nothing
        words = list(zip(ids, targets, weights))
        shape = [count, PLACES]
        arrays = {f"{set_}/{name}": array for set_ in ("train", "test")
                  for name, array in (("ids", ("i", shape, ids)), ("targets", ("i", shape, targets)),
                                      ("weights", ("f", shape, weights)))}
        arrays["train/weights"] = ("f", shape, [1] * len(weights))
        write.npz(self.path("a.npz"), arrays)
        write.safetensors(self.path("a.safetensors"), arrays)
        write.folder(self.path("folder"), arrays)
        for data in ("a.npz", "a.safetensors", "folder"):
            for way, divisor in (("plain", count * PLACES), ("over", sum(weights)), ("total", 1)):
                self.start(data, way)
                self.expect(data, way, words, divisor, range(1, count + 2) if data == "a.npz" else (3,))

        # A share is shown in percent, and can be waited for; a count is neither.
        shown = {way: self.call("evaluate", f"--load={way}.st", "--data=a.npz", way + ".pbtxt").stdout
                 for way in ("plain", "over", "total")}
        self.assertEqual([way for way, text in shown.items() if "%" in text], ["plain", "over"])
        self.assertIn("names no accuracy", self.call("train", "--data=a.npz", "--until-accuracy=0.5", "total.pbtxt",
                                                     code=2).stderr)

    def write(self, folder, name, text):
        os.makedirs(self.path(folder), exist_ok=True)
        with open(self.path(f"{folder}/{name}"), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    unittest.main()
