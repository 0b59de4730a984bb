"""A parallel text that a bag of words can translate, and a graph that learns it: what tests of both share."""

import os
import random

from tests.tools.commands.trainer_case import TrainerCase

MARKS = ["<pad>", "<unk>", "<s>", "</s>"]
KINDS = 6  # of sentences
SOURCE, TARGET, BATCH, CHANNELS = 7, 4, 8, 16
WORDS = len(MARKS) + 3 * KINDS


def pairs(count, seed):
    """One word, once or several times, and what it means: one or two words."""
    generator = random.Random(seed)
    for _ in range(count):
        kind = generator.randrange(KINDS)
        target = [f"b{kind}"] + ([f"c{kind}"] if kind % 2 == 0 else [])
        yield " ".join([f"a{kind}"] * generator.randint(1, SOURCE)), " ".join(target)


def integers(name, *values):
    return f'attributes {{ name: "{name}" integers {{ values: {list(values)} }} }}'


def text(name, value):
    return f'attributes {{ name: "{name}" text: "{value}" }}'


def node(name, op, inputs=(), *attributes):
    reads = " ".join(f'inputs: "{each}"' for each in inputs)
    return f'nodes {{ name: "{name}" op: "{op}" {reads} {" ".join(attributes)} }}'


def parameter(name, *shape):
    return node(name, "parameter", (), text("initializer", "glorot_uniform"), integers("shape", *shape))


def i32(name, *shape):
    return node(name, "input", (), text("dtype", "i32"), integers("shape", *shape))


def short(places):
    """The graph again, with less room for the source."""
    return f'entry_points {{ name: "short{places}" sizes {{ input: "source" row {{ values: {places} }} }} }}\n'


def graph():
    """The mean of the source's words beside each word of the target that is known."""
    return "\n".join([
        "schema_version: 1",
        i32("source", BATCH, SOURCE),
        i32("source_lengths", BATCH),
        i32("ids", BATCH, TARGET),
        i32("targets", BATCH, TARGET),
        node("weights", "input", (), integers("shape", BATCH, TARGET)),
        parameter("table", WORDS, CHANNELS),
        node("read", "embedding", ("table", "source"), 'attributes { name: "padding_row" integer: 0 }'),
        node("all", "sum", ("read",), integers("axes", 1)),
        node("counts", "cast", ("source_lengths",), text("dtype", "f32")),
        node("each", "expand", ("counts",), integers("axes", 1), integers("sizes", CHANNELS)),
        node("mean", "div", ("all", "each")),
        node("beside", "expand", ("mean",), integers("axes", 1), integers("sizes", TARGET)),
        parameter("known/table", WORDS, CHANNELS),
        node("known", "embedding", ("known/table", "ids")),
        node("both", "concat", ("beside", "known"), 'attributes { name: "axis" integer: 2 }'),
        parameter("hidden/weights", 2 * CHANNELS, CHANNELS),
        node("hidden", "matmul", ("both", "hidden/weights")),
        node("tanh", "tanh", ("hidden",)),
        parameter("logits/weights", CHANNELS, WORDS),
        node("logits", "matmul", ("tanh", "logits/weights")),
        node("words", "sum", ("weights",)),
        node("shares", "over", ("weights", "words")),
        node("loss", "softmax_cross_entropy", ("logits", "targets", "shares"), text("reduction", "sum")),
        node("accuracy", "accuracy", ("logits", "targets", "shares"), text("reduction", "sum")),
        'loss: "loss" metrics: "accuracy"',
        'optimizer { name: "adam" } learning_rate { schedule: "constant" base: 0.02 }',
    ]) + "\n"


class PairCase(TrainerCase):

    def setUp(self):
        super().setUp()
        self.write("pairs/vocabulary.txt", MARKS + [f"{side}{kind}" for side in "abc" for kind in range(KINDS)])
        self.write_pairs("train", pairs(333, 1))
        self.write_pairs("test", pairs(37, 2))
        with open(self.path("model.pbtxt"), "w", encoding="utf-8") as file:
            file.write(graph())

    def write(self, name, lines):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))

    def write_pairs(self, part, of_part):
        source, target = zip(*of_part)
        self.write(f"pairs/{part}.source.txt", source)
        self.write(f"pairs/{part}.target.txt", target)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def train(self, *flags, code=0):
        return self.call("train", "--data=pairs", "--threads=1", *flags, "model.pbtxt", code=code)
