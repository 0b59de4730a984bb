"""How many launches a step of a graph is on a GPU, counted by `plan` from its description."""

import collections
import json
import os
import subprocess
import unittest

from tests.tools.commands.trainer_case import TRAINER, TrainerCase

BUILD_MODEL = os.path.abspath("tools/models/build_model")


# Model, flags, launches of a step by precision, those of our own kernels. Pools and batch norms write what a concat
# would copy and read what a slice would; batch norms of at most 4096 rows are one launch each way. Batch norms compute
# the 16 residual sums of ResNet-50 with their relus; a bias's gradient computes that of the relu before it.
NETWORKS = [
    ("inception-v3", ["--auxiliary-head"], {"f32": 697, "bf16": 700}, {
        "batch_norm_forward": 22, "batch_norm_backward": 22, "batch_norm_statistics": 74, "batch_norm_normalize": 74,
        "batch_norm_gradient_sums": 74, "batch_norm_input_grad": 74, "concat": 0, "slice": 0}),
    ("resnet-50", [], {"f32": 384, "bf16": 386}, {
        "batch_norm_forward": 6, "batch_norm_forward_add": 3, "batch_norm_backward": 6, "batch_norm_backward_relu": 3,
        "batch_norm_statistics": 44, "batch_norm_normalize": 31, "batch_norm_normalize_add": 13,
        "batch_norm_gradient_sums": 31, "batch_norm_gradient_sums_relu": 13, "relu": 0, "relu_grad": 0}),
    ("vgg-16", [], {"f32": 84, "bf16": 101}, {"relu_grad": 2, "bias_grad": 0, "bias_grad_relu": 13}),
]


class Graph:
    """A graph as text, node by node."""

    def __init__(self, name):
        self.lines = [f'schema_version: 1 name: "{name}"']

    def node(self, name, op, inputs=(), **attributes):
        def text(value):
            if isinstance(value, list):
                return f"integers {{ values: {value} }}"
            return f'text: "{value}"' if isinstance(value, str) else f"number: {value}"

        inputs = " ".join(f'inputs: "{value}"' for value in inputs)
        attributes = " ".join(f'attributes {{ name: "{key}" {text(value)} }}' for key, value in attributes.items())
        self.lines.append(f'nodes {{ name: "{name}" op: "{op}" {inputs} {attributes} }}')
        return name

    def constant(self, name, op, value, size):
        return self.node(name, op, initializer="constant", scale=value, shape=[size])

    def normalized(self, at, x, channels):
        states = [("gamma", "parameter", 1), ("beta", "parameter", 0), ("mean", "state", 0), ("variance", "state", 1)]
        return self.node(at, "batch_norm", [x] + [self.constant(f"{at}/{name}", op, value, channels)
                                                  for name, op, value in states])


def conv_stack():
    """What tools/benchmarks/models/measured_models.cc makes."""
    graph = Graph("conv-stack")
    x, channels = graph.node("images", "input", shape=[64, 56, 56, 1]), 1
    graph.node("labels", "input", dtype="i32", shape=[64])
    for layer in range(9):
        weights = graph.node(f"weights{layer}", "parameter", initializer="he_normal", shape=[128, 3, 3, channels])
        x, channels = graph.node(f"conv{layer}", "conv2d", [x, weights], padding=[1, 1, 1, 1]), 128
        x = graph.node(f"relu{layer}", "relu", [graph.normalized(f"norm{layer}", x, channels)])
    x = graph.node("pool", "global_average_pool", [x])
    weights = graph.node("weights", "parameter", initializer="glorot_uniform", shape=[channels, 10])
    x = graph.node("logits", "matmul", [x, weights])
    x = graph.node("biased", "bias", [x, graph.constant("bias", "parameter", 0, 10)])
    graph.node("loss", "softmax_cross_entropy", [x, "labels"])
    graph.node("accuracy", "accuracy", [x, "labels"])
    return "\n".join(graph.lines + ['loss: "loss" metrics: "accuracy" optimizer { momentum: 0.9 }',
                                    'learning_rate { schedule: "constant" base: 0.1 }\n'])


class LaunchesTest(TrainerCase):
    def planned(self, graph, *flags):
        """The plan of the only rank."""
        call = [TRAINER, "plan", "--device=cuda", "--deterministic", *flags, "--format=json", graph]
        done = subprocess.run(call, capture_output=True, text=True, cwd=self.folder, timeout=300)
        if done.returncode == 7:
            self.assertIn("built without CUDA", done.stderr)
            self.skipTest("built without CUDA")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["ranks"][0]

    def write_stack(self, text):
        with open(self.path("stack.pbtxt"), "w", encoding="utf-8") as file:
            file.write(text)

    # Numbers of bytes, 26 of convolutions, 37 of batch norms, pool, three products, loss and accuracy, update, scalars.
    # In bf16 the images and the gradient of the logits are cast.
    def test_of_conv_stack(self):
        self.write_stack(conv_stack())
        for flags, casts, launches in [(["--precision=f32"], 0, 74), (["--tf32"], 0, 74), (["--precision=bf16"], 2, 76)]:
            rank = self.planned("stack.pbtxt", *flags)
            kernels = collections.Counter(node["kernel"].partition("_")[2] for node in rank["nodes"])
            print(f"conv-stack {' '.join(flags)}: {len(rank['nodes'])} nodes, {rank['launches']} launches")
            self.assertLessEqual(sum(kernels.values()), launches, kernels)
            self.assertEqual(kernels["cast"], casts)
            if sum(node["kernel"].startswith(("cudnn", "cublaslt")) for node in rank["nodes"]) == 29:
                self.assertLessEqual(rank["launches"], launches)

    # One launch adds up the squares of all gradients; the launch of the step's scalars makes the clip's factor. In bf16
    # the sum reads gradients as they are, so they are not cast.
    def test_of_the_norm_of_all_gradients(self):
        for precision in ["f32", "bf16"]:
            counts = {}
            for clip_norm in [0, 1]:
                self.write_stack(conv_stack().replace("momentum: 0.9", f"momentum: 0.9 clip_norm: {clip_norm}"))
                rank = self.planned("stack.pbtxt", f"--precision={precision}")
                counts[clip_norm] = rank["launches"]
                sums = [node for node in rank["nodes"] if node["kernel"] == "own_sum_of_squares"]
                self.assertEqual([node["launches"] for node in sums], [1] if clip_norm else [])
                self.assertNotIn("own_clip_scale", [node["kernel"] for node in rank["nodes"]])
            print(f"conv-stack {precision}, 29 gradients: {counts[1] - counts[0]} launches for their norm")
            self.assertEqual(counts[1] - counts[0], 1)

    # What cuDNN and cuBLASLt compute counts only where both are there to be asked.
    def test_of_networks(self):
        for model, flags, launches, own in NETWORKS:
            self.execute(BUILD_MODEL, model, *flags, "--batch=64", "--output=network.pbtxt")
            for precision, expected in launches.items():
                rank = self.planned("network.pbtxt", f"--precision={precision}")
                counts = collections.Counter()
                for node in rank["nodes"]:
                    counts[node["kernel"]] += node["launches"]
                print(f"{model} {precision}: {len(rank['nodes'])} nodes, {rank['launches']} launches")
                with self.subTest(model=model, precision=precision):
                    self.assertEqual({kernel: counts["own_" + kernel] for kernel in own}, own)
                    if not any(kernel.startswith("reference") for kernel in counts):
                        self.assertLessEqual(rank["launches"], expected)

    # A position of an LSTM is a launch each way, with a projection two; the last one backward is of the state before the
    # first position. GNMT: 9 LSTMs of 50 positions. BigLSTM: 2 of 20, projected. A library needs a launch more for each
    # product: it has those of many rows, and in TF32.
    def test_of_lstms(self):
        gnmt, many, big = ["gnmt"], ["gnmt", "--batch=256"], ["big-lstm"]
        for model, flags, family, forward, backward, launches in [
                (gnmt, ["--precision=f32"], "own", 9 * 50, 9 * 51, 1045),
                (gnmt, ["--precision=bf16"], "own", 9 * 50, 9 * 51, 1057),
                (gnmt, ["--tf32"], "cublaslt", 9 * 99, 9 * 100, 1927),
                (many, ["--precision=bf16"], "cublaslt", 9 * 99, 9 * 100, 1939),
                (big, ["--precision=f32"], "own", 2 * 40, 2 * 41, 235),
                (big, ["--precision=bf16"], "own", 2 * 40, 2 * 41, 244)]:
            self.execute(BUILD_MODEL, *model, "--output=model.pbtxt")
            rank = self.planned("model.pbtxt", *flags)
            counts = collections.Counter()
            for node in rank["nodes"]:
                counts[node["kernel"]] += node["launches"]
            print(f"{' '.join(model + flags)}: {rank['launches']} launches")
            library = any(name.startswith("cublaslt") for name in counts)
            if family == "cublaslt" and not library:
                continue
            ways = [sum(counts[f"{family}_{op}"] for op in ops) for ops in [
                ["lstm_steps"], ["lstm_steps_grad", "lstm_projected_steps_grad"]]]
            self.assertEqual(ways, [forward, backward], counts)
            if library:
                self.assertLessEqual(rank["launches"], launches, counts)


if __name__ == "__main__":
    unittest.main()
