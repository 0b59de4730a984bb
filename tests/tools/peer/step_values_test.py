"""What step_values writes of a step: gradients that explain the update, and the loss; and what it refuses."""

import json
import os
import random
import struct
import subprocess
import tempfile
import unittest

BATCH, PIXELS = 4, 12
RATE, MOMENTUM, DECAY = 0.1 / 25, 0.9, 5e-4  # of the first step of one cycle


def save(path, tensors):
    """As safetensors: {name: (dtype, shape, bytes)}."""
    header, data = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def load(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    return {
        name: struct.unpack(f"<{(entry['data_offsets'][1] - entry['data_offsets'][0]) // 8}d",
                            data[slice(*entry["data_offsets"])])
        for name, entry in header.items() if name != "__metadata__"
    }


def f64(shape, draw):
    count = 1
    for size in shape:
        count *= size
    return "F64", shape, struct.pack(f"<{count}d", *(draw.uniform(-0.5, 0.5) for _ in range(count)))


class StepValues(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        draw = random.Random(1)
        for name in ("graph.pb", "graph.json"):
            subprocess.run(["tools/models/build_model", "lenet5", f"--batch={BATCH}", f"--image-size={PIXELS}",
                            "--channel-limit=3", f"--output={self.path(name)}"], check=True)
        self.parameters = {}
        with open(self.path("graph.json"), encoding="utf-8") as file:
            for node in json.load(file)["nodes"]:
                if node["op"] == "parameter":
                    shape, = (a["integers"]["values"] for a in node["attributes"] if a["name"] == "shape")
                    self.parameters[node["name"]] = f64([int(size) for size in shape], draw)
        save(self.path("before"), self.parameters)
        labels = struct.pack(f"<{BATCH}i", *(draw.randrange(10) for _ in range(BATCH)))
        self.batches = {"images": f64([1, BATCH, PIXELS, PIXELS, 1], draw), "labels": ("I32", [1, BATCH], labels)}
        save(self.path("batches"), self.batches)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def run_steps(self, *flags):
        return subprocess.run(["tools/peer/step_values", "run", "--precision=f64", f"--load={self.path('before')}",
                               f"--batches={self.path('batches')}", f"--output={self.path('values')}", *flags,
                               self.path("graph.pb")], capture_output=True, text=True, timeout=300)

    def test_gradients_explain_the_update(self):
        done = self.run_steps()
        self.assertEqual(done.returncode, 0, done.stderr)
        values = load(self.path("values"))
        self.assertEqual(len(values["losses"]), 1)
        self.assertGreater(values["losses"][0], 0)
        largest = 0
        for name, (_, _, before) in self.parameters.items():
            weights = struct.unpack(f"<{len(before) // 8}d", before)
            for w, g, after in zip(weights, values["gradient/" + name], values["state/" + name], strict=True):
                self.assertAlmostEqual(after, w - RATE * (1 + MOMENTUM) * (g + DECAY * w), delta=1e-12)
                largest = max(largest, abs(g))
        self.assertGreater(largest, 1e-3)

    def test_values_of_each_step(self):
        batches = {name: (dtype, [3, *shape[1:]], data * 3) for name, (dtype, shape, data) in self.batches.items()}
        save(self.path("batches"), batches)
        done = self.run_steps("--observe=loss,labels")
        self.assertEqual(done.returncode, 0, done.stderr)
        values = load(self.path("values"))
        self.assertEqual(values["value/loss"], values["losses"])
        self.assertNotEqual(values["losses"][0], values["losses"][2])
        self.assertEqual(values["value/labels"], 3 * struct.unpack(f"<{BATCH}i", self.batches["labels"][2]))
        done = self.run_steps("--observe=nothing")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("nothing", done.stderr)

    def test_refusals(self):
        del self.batches["labels"]
        save(self.path("batches"), self.batches)
        done = self.run_steps()
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("labels", done.stderr)
        self.assertFalse(os.path.exists(self.path("values")))
        self.assertEqual(subprocess.run(["tools/peer/step_values", "run", self.path("graph.pb")]).returncode, 2)


if __name__ == "__main__":
    unittest.main()
