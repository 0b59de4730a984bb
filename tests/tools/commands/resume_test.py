"""Training that is saved and loaded goes on as if it had not been interrupted."""

import json
import os
import signal
import struct
import subprocess
import unittest

from tests.tools.commands.trainer_case import LENET, MLP, TRAINER, TrainerCase, without_launchers
from tools.faults.job import PATIENCE

WHOLE, HALF = 9, 4  # steps; an epoch of the random images has 50

# Batch norm's running statistics, dropout, and what an optimizer may keep.
GRAPHS = {
    "momentum": ("optimizer { momentum: 0.9 nesterov: true clip_norm: 1 }", "constant"),
    "adam": ('optimizer { name: "adam" clip_norm: 0.5 }', "cosine"),
    "rmsprop": ('optimizer { name: "rmsprop" attributes { name: "momentum" number: 0.5 } }', "one_cycle"),
}


def parts_of(contents):
    """The header of a safetensors file, and its tensors."""
    length = struct.unpack("<Q", contents[:8])[0]
    header = json.loads(contents[8:8 + length])
    metadata = header.pop("__metadata__")
    data = contents[8 + length:]
    return metadata, {name: data[slice(*tensor["data_offsets"])] for name, tensor in header.items()}


class ResumeTest(TrainerCase):

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def graph(self, name):
        optimizer, schedule = GRAPHS[name]
        text = self.read_text(LENET)
        lines = [line for line in text.splitlines() if not line.startswith(("optimizer", "learning_rate"))]
        rate = f'learning_rate {{ schedule: "{schedule}" base: 0.01 steps: {WHOLE} }}'
        path = self.path(name + ".pbtxt")
        with open(path, "w") as file:
            file.write("\n".join([*lines, optimizer, rate, ""]))
        return path

    def read_text(self, path):
        with open(path) as file:
            return file.read()

    def run_to(self, steps, graph, *arguments, code=0):
        batch = [] if any(argument.startswith("--batch") for argument in arguments) else ["--batch=8"]
        return self.call("train", "--mock-data", *batch, "--threads=1", "--epochs=10", "--flip",
                         "--shift=2", f"--steps={steps}", *arguments, graph, code=code)

    def test_goes_on_to_the_same_bits(self):
        for name in GRAPHS:
            for split in ([], ["--dp=2", "--mp=2"]):
                with self.subTest(optimizer=name, split=split):
                    graph = self.graph(name)
                    self.run_to(WHOLE, graph, *split, "--save=whole")
                    self.run_to(HALF, graph, *split, "--save=half")
                    done = self.run_to(WHOLE, graph, *split, "--load=half", "--save=whole2")
                    self.assertIn(f"goes on at step {HALF} (epoch 1, {HALF} of its 50 steps are done)\n", done.stdout)
                    self.assertEqual(self.read("whole2"), self.read("whole"))
                    self.assertNotEqual(self.read("half"), self.read("whole"))

    def test_goes_on_in_another_epoch(self):
        graph = self.graph("adam")
        self.run_to(55, graph, "--save=whole")
        self.run_to(50, graph, "--save=epoch")
        self.run_to(52, graph, "--load=epoch", "--save=half")
        self.run_to(55, graph, "--load=half", "--save=whole2", "--report=rest.json")
        self.assertEqual(self.read("whole2"), self.read("whole"))
        epoch = json.loads(self.read("rest.json"))["epochs"][0]
        self.assertEqual((epoch["epoch"], int(epoch["steps"])), (2, 3))

    def test_goes_on_under_another_split(self):
        graph = self.graph("momentum")
        self.run_to(WHOLE, graph, "--save=whole")
        self.run_to(HALF, graph, "--save=half")
        whole = parts_of(self.read("whole"))[1]
        for split in (["--dp=2"], ["--mp=2"], ["--dp=3", "--mp=2"]):
            with self.subTest(split=split):
                self.run_to(WHOLE, graph, *split, "--load=half", "--save=split")
                for name, tensor in parts_of(self.read("split"))[1].items():
                    if name == "@iteration":
                        self.assertEqual(tensor, whole[name])
                        continue
                    for ours, expected in zip(struct.iter_unpack("<f", tensor), struct.iter_unpack("<f", whole[name])):
                        self.assertAlmostEqual(ours[0], expected[0], delta=1e-4, msg=name)

    def test_weights_begin_anew(self):
        self.run_to(HALF, LENET, "--save=half")
        self.run_to(HALF, LENET, "--save=small", "--save-weights-only")
        self.assertEqual([name for name in parts_of(self.read("small"))[1] if "@" in name], [])
        self.assertLess(len(self.read("small")), 0.6 * len(self.read("half")))
        for arguments in (["--load=half", "--load-weights-only"], ["--load=small"]):
            with self.subTest(arguments=arguments):
                done = self.run_to(2, LENET, *arguments, "--save=anew")
                self.assertNotIn("goes on", done.stdout)
                self.assertEqual(parts_of(self.read("anew"))[0]["partita.step"], "2")

    def test_says_what_differs(self):
        self.run_to(HALF, MLP, "--save=half")
        before = self.read("half")
        for says, code, steps, arguments in (
                ('"seed" "1"', 3, WHOLE, ["--seed=2"]),
                ('"batch" "8"', 3, WHOLE, ["--batch=16"]),
                (f"its training has come to step {HALF}", 2, HALF, []),
        ):
            with self.subTest(says=says):
                done = self.run_to(steps, MLP, "--load=half", "--save=half", *arguments, code=code)
                self.assertIn(says, done.stderr)
                self.assertEqual(self.read("half"), before)
        graph = self.changed(MLP, r"optimizer \{.*", 'optimizer { name: "adam" }')
        done = self.run_to(WHOLE, graph, "--load=half", code=3)
        self.assertIn('"optimizer" "sgd"', done.stderr)
        self.assertIn("--load-weights-only", done.stderr)
        self.run_to(WHOLE, graph, "--load=half", "--load-weights-only")
        done = self.call("train", "--mock-data", "--batch=8", "--epochs=10", f"--steps={WHOLE}", "--load=half", MLP)
        self.assertIn("augmentation was", done.stderr)

    def test_saves_while_it_trains(self):
        self.run_to(6, MLP, "--save=six")
        process = subprocess.Popen(
            [TRAINER, "train", "--mock-data", "--batch=8", "--threads=1", "--epochs=10000", "--save-every=50",
             "--save-best=best", "--save=" + self.path("saved"), MLP], cwd=self.folder, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, env=without_launchers())
        self.addCleanup(process.stdout.close)
        for _ in range(3):
            process.stdout.readline()
        step = int(parts_of(self.read("saved"))[0]["partita.step"])
        self.assertEqual(step % 50, 0)
        self.assertGreater(step, 0)
        self.assertIn("partita.best.accuracy", parts_of(self.read("best"))[0])
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertGreaterEqual(int(parts_of(self.read("saved"))[0]["partita.step"]), step)
        self.assertEqual(sorted(os.listdir(self.folder)), ["best", "saved", "six"])

    def test_the_best_stays(self):
        """Of a schedule that ruins the model, the first epoch is the best; a run that goes on knows it."""
        graph = self.changed(MLP, r"learning_rate \{.*", 'learning_rate { schedule: "constant" base: 1e-30 }')
        self.run_to(50, graph, "--save=s", "--save-best=best")
        best = self.read("best")
        self.run_to(150, graph, "--load=s", "--save=s", "--save-best=best")
        self.assertEqual(self.read("best"), best)

    def test_normalises_as_the_file_says(self):
        self.run_to(HALF, MLP, "--save=s")
        metadata, _ = parts_of(self.read("s"))
        evaluate = ["evaluate", "--mock-data", "--batch=8", "--seed=2", "--format=json", MLP]
        as_saved = self.call(*evaluate, "--load=s")
        measured = self.call(*evaluate, "--load=s", "--load-weights-only")
        self.assertNotEqual(json.loads(as_saved.stdout)["test_loss"], json.loads(measured.stdout)["test_loss"])
        self.run_to(HALF, MLP, "--seed=2", "--load=s", "--load-weights-only", "--save=measured")
        self.assertNotEqual(parts_of(self.read("measured"))[0]["partita.mean"], metadata["partita.mean"])
        self.run_to(HALF, MLP, "--save=w", "--save-weights-only")
        self.run_to(HALF, MLP, "--seed=2", "--load=w", "--save=kept")
        self.assertEqual(parts_of(self.read("kept"))[0]["partita.mean"], metadata["partita.mean"])


if __name__ == "__main__":
    unittest.main()
