"""Sequences of length 0: array data trains, is evaluated and predicted as the formulas say; empty lines keep their rows."""

import json
import math
import random
import struct
import unittest

from tests.tools.commands import array_writer
from tests.tools.commands.array_models import graph, node
from tests.tools.commands.data.pair_case import PairCase

ROWS, PLACES, CHANNELS, UNITS, RATE = 4, 3, 2, 2, 0.5
SIZES = {"forward/x": (CHANNELS, 4 * UNITS), "forward/h": (UNITS, 4 * UNITS), "backward/x": (CHANNELS, 4 * UNITS),
         "backward/h": (UNITS, 4 * UNITS), "v": (UNITS,), "gain": (1,), "bias": (UNITS,)}
READ_BY_ATTENTION = ["v", "gain", "bias"]


def model():
    """Two LSTMs, one of them reversed, and an attention of which one is asked by the other: all read the lengths."""
    nodes = (node("x", "input", shape=[ROWS, PLACES, CHANNELS]) + node("lengths", "input", dtype="i32", shape=[ROWS]) +
             node("y", "input", shape=[ROWS, UNITS]))
    for name, size in SIZES.items():
        nodes += node(name, "parameter", initializer="uniform", scale=1, shape=size)
    for name in ("forward", "backward"):
        nodes += node(f"{name}/g", "matmul", "x", f"{name}/x")
    nodes += lstm("forward") + lstm("backward", "attributes { name: \"reverse\" boolean: true } ")
    return graph(nodes + node("context", "attention", "forward", "forward", "backward", *READ_BY_ATTENTION, "lengths") +
                 node("all", "add", "forward", "backward", "context") + node("result", "sum", "all", axes=[1]) +
                 node("loss", "mean_squared_error", "result", "y"), "loss", rate=RATE).replace("momentum: 0.9", "")


def lstm(name, attributes=""):
    """Inputs that it lacks have no names."""
    reads = "".join(f'inputs: "{each}" ' for each in (f"{name}/g", f"{name}/h", "", "", "", "lengths"))
    return f'nodes {{ name: "{name}" op: "lstm" {reads}{attributes}}}\n'


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def states(p, name, x, length):
    """An LSTM's outputs at the places of one sequence, 0 behind its end (docs/papers.md 11.12)."""
    h, c, out = [0.0] * UNITS, [0.0] * UNITS, [[0.0] * UNITS for _ in range(PLACES)]
    places = range(length) if name == "forward" else reversed(range(length))
    for t in places:
        z = [sum(x[t][k] * p[f"{name}/x"][k * 4 * UNITS + j] for k in range(CHANNELS)) +
             sum(h[k] * p[f"{name}/h"][k * 4 * UNITS + j] for k in range(UNITS)) for j in range(4 * UNITS)]
        for u in range(UNITS):
            i, f, j, o = z[4 * u:4 * u + 4]
            c[u] = sigmoid(f) * c[u] + sigmoid(i) * math.tanh(j)
            out[t][u] = sigmoid(o) * math.tanh(c[u])
        h = out[t]
    return out


def attended(p, query, keys, values, length):
    """docs/papers.md 11.14; zeros where there is nothing to read."""
    if length == 0:
        return [0.0] * UNITS
    norm = math.sqrt(sum(v * v for v in p["v"]))
    scores = [sum(p["gain"][0] * p["v"][u] / norm * math.tanh(query[u] + keys[k][u] + p["bias"][u])
                  for u in range(UNITS)) for k in range(length)]
    weights = [math.exp(score) for score in scores]
    return [sum(w * values[k][u] for k, w in enumerate(weights)) / sum(weights) for u in range(UNITS)]


def result(p, x, length):
    forward, backward = states(p, "forward", x, length), states(p, "backward", x, length)
    context = [attended(p, query, forward, backward, length) for query in forward]
    return [sum(part[t][u] for part in (forward, backward, context) for t in range(PLACES)) for u in range(UNITS)]


def loss(p, data):
    x, lengths, y = data["x"][2], data["lengths"][2], data["y"][2]
    total = 0
    for n, length in enumerate(lengths):
        row = [x[(n * PLACES + t) * CHANNELS:(n * PLACES + t + 1) * CHANNELS] for t in range(PLACES)]
        total += sum((got - want)**2 for got, want in zip(result(p, row, length), y[n * UNITS:(n + 1) * UNITS]))
    return total / len(y)


def gradient(p, data, name, element, step=1e-5):
    def at(shift):
        changed = {**p, name: list(p[name])}
        changed[name][element] += shift
        return loss(changed, data)
    return (at(step) - at(-step)) / (2 * step)


class ArraysTest(PairCase):

    def arrays(self, lengths, seed):
        noise = random.Random(seed)
        draw = lambda count: [noise.uniform(-1, 1) for _ in range(count)]
        rows = len(lengths)
        return {"x": ("f", [rows, PLACES, CHANNELS], draw(rows * PLACES * CHANNELS)), "lengths": ("i", [rows], lengths),
                "y": ("f", [rows, UNITS], draw(rows * UNITS))}

    def parameters(self, file):
        with open(self.path(file), "rb") as model_file:
            (size,) = struct.unpack("<Q", model_file.read(8))
            header, values = json.loads(model_file.read(size)), model_file.read()
        read = {}
        for name in SIZES:
            begin, end = header[name]["data_offsets"]
            read[name] = list(struct.unpack(f"<{(end - begin) // 4}f", values[begin:end]))
        return read

    def test_values_are_those_of_the_formulas(self):
        train, test = self.arrays([0, 3, 2, 0], 1), self.arrays([2, 0, 1, 3, 0], 2)
        sets = {f"train/{name}": array for name, array in train.items()}
        sets.update({f"test/{name}": array for name, array in test.items()})
        array_writer.npz(self.path("data.npz"), sets)
        array_writer.folder(self.path("folder"), sets)
        with open(self.path("lengths.pbtxt"), "w", encoding="utf-8") as file:
            file.write(model())
        for data in ("data.npz", "folder"):
            flags = (f"--data={data}", "--threads=1", "lengths.pbtxt")
            self.call("train", "--steps=1", "--save=one", *flags)
            self.call("train", "--steps=2", "--load=one", "--save=two", *flags)
            one, two = self.parameters("one"), self.parameters("two")
            for name, values in one.items():
                for element, value in enumerate(values):
                    self.assertAlmostEqual(two[name][element], value - RATE * gradient(one, train, name, element),
                                           places=5, msg=name)
            self.call("evaluate", "--load=one", "--report=r.json", *flags)
            self.assertAlmostEqual(json.loads(self.read("r.json"))["test_loss"], loss(one, test), places=5)
            self.call("predict", "--load=one", "--output=p.npy", "--value=result", *flags)
            predicted = struct.unpack(f"<{5 * UNITS}f", self.read("p.npy")[128:])
            for n, length in enumerate(test["lengths"][2]):
                x = test["x"][2][n * PLACES * CHANNELS:(n + 1) * PLACES * CHANNELS]
                row = [x[t * CHANNELS:(t + 1) * CHANNELS] for t in range(PLACES)]
                for got, want in zip(predicted[n * UNITS:(n + 1) * UNITS], result(one, row, length)):
                    self.assertAlmostEqual(got, want, places=5)
            self.call("verify", "--dp=2", "--steps=1", *flags)

    def test_other_lengths_are_refused(self):
        data = self.arrays([0, 3, -1, 0], 1)
        array_writer.npz(self.path("data.npz"), {f"{part}/{name}": array for part in ("train", "test")
                                                 for name, array in data.items()})
        with open(self.path("lengths.pbtxt"), "w", encoding="utf-8") as file:
            file.write(model())
        done = self.call("train", "--data=data.npz", "lengths.pbtxt", code=3)
        self.assertRegex(done.stderr, "data.npz: array 'train/lengths'.*row 2 is length -1.* 0 to 3 places")


class EmptyLinesTest(PairCase):

    def predicted(self, *flags):
        self.call("predict", "--data=pairs", "--load=model.safetensors", "--output=p.csv", *flags, "model.pbtxt")
        return self.read("p.csv").decode().splitlines()[1:]

    def test_predictions_stay_beside_their_lines(self):
        self.train("--steps=1", "--save=model.safetensors")
        lines = [("a1", "b1"), ("", "b2 c2"), ("a3 a3", "b3"), ("  ", ""), ("a4", "")]
        self.write_pairs("test", lines)
        for value in ("mean", "logits"):  # of sources alone, and of both sides
            rows = self.predicted("--value=" + value)
            self.assertEqual(len(rows), len(lines))
            for row, (source, _) in zip(rows, lines):
                self.assertEqual(set(row.split(",")) == {"0"}, not source.strip(), row)
            # Of the others each is what it is alone.
            self.write_pairs("test", [line for line in lines if line[0].strip()])
            self.assertEqual(self.predicted("--value=" + value), [rows[0], rows[2], rows[4]])
            self.write_pairs("test", lines)
        for command in ("evaluate", "train"):
            flags = ["--load=model.safetensors"] if command == "evaluate" else []
            done = self.call(command, "--data=pairs", *flags, "model.pbtxt", code=3)
            self.assertIn("pairs/test.source.txt: line 2: found no words; expected at least one: remove the line",
                          done.stderr)


if __name__ == "__main__":
    unittest.main()
