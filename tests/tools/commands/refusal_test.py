"""What cannot be is refused in a sentence, with an exit code, before anything is written."""

import json
import os
import shutil
import subprocess
import unittest

from tests.tools.commands.trainer_case import EXAMPLES, LENET, MLP, TRAINER, TrainerCase, example


class RefusalTest(TrainerCase):

    def test_wrong_flags(self):
        outputs = ["--save=s.safetensors", "--report=r.json", "--trace=t.json"]
        for says, flags in [
            ("did you mean '--epochs'", ["--epoch=3"]),
            ("'many'", ["--epochs=many"]),
            ("must be equal", ["--dp=2", "--mp=2", "--ranks=3"]),
            ("--dp", ["--strategy=" + example("mlp_mixed.pbtxt"), "--dp=2"]),
            ("--mock-data", ["--data=/nowhere", "--mock-data"]),
            ("dot", ["--format=dot"]),
        ]:
            with self.subTest(flags=flags):
                self.refused(2, says, "train", *flags, *outputs, MLP)
        self.refused(2, "GRAPH", "train", *outputs)
        self.refused(2, "--load", "evaluate", "--mock-data", MLP)

    def test_wrong_output_paths(self):
        for says, flag in [
            ("there is no folder", "--save=missing/s.safetensors"),
            ("is a folder", "--trace=" + EXAMPLES),
            (".json", "--report=report.txt"),
            ("model.pt: models are written as safetensors", "--save=model.pt"),
            (f"{MLP} is not a folder", f"--checkpoint={MLP}/more"),
        ]:
            with self.subTest(flag=flag):
                self.refused(2, says, "train", "--mock-data", "--steps=1", flag, MLP)
        self.refused(2, "same file", "train", "--mock-data", "--report=a.json", "--trace=./a.json", MLP)

    def test_outputs_that_are_inputs(self):
        shutil.copy(MLP, self.path("graph.pbtxt"))
        shutil.copy(example("mlp_data_model.pbtxt"), self.path("strategy.pbtxt"))
        os.symlink("graph.pbtxt", self.path("link.pbtxt"))
        os.link(self.path("strategy.pbtxt"), self.path("other.json"))
        before = {name: self.contents(name) for name in os.listdir(self.folder)}
        for says, flag in [
            ("graph.pbtxt is the same file as the graph", "--save=graph.pbtxt"),
            ("link.pbtxt is the same file as the graph", "--save=link.pbtxt"),
            ("other.json is the same file as that of --strategy", "--report=other.json"),
        ]:
            with self.subTest(flag=flag):
                done = self.train("--strategy=strategy.pbtxt", flag, "graph.pbtxt", code=2)
                self.assertIn(says, done.stderr)
        self.assertEqual({name: self.contents(name) for name in os.listdir(self.folder)}, before)

    def test_outputs_that_are_links(self):
        os.symlink("victim.txt", self.path("link.json"))
        with open(self.path("victim.txt"), "w") as file:
            file.write("mine")
        for flag in ("--save", "--report", "--trace"):
            with self.subTest(flag=flag):
                done = self.train(flag + "=link.json", MLP, code=2)
                self.assertIn(f"flag {flag}: link.json is a symbolic link", done.stderr)
        self.assertEqual(self.contents("victim.txt"), b"mine")
        self.assertEqual(sorted(os.listdir(self.folder)), ["link.json", "victim.txt"])

    def contents(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def test_wrong_files(self):
        outputs = ["--save=s.safetensors", "--report=r.json"]
        self.refused(3, "none.pbtxt", "train", *outputs, "none.pbtxt")
        self.refused(3, "mlp_mixed", "train", *outputs, example("mlp_mixed.pbtxt"))
        self.refused(3, "names no node", "train", "--strategy=" + example("lenet5_mixed.pbtxt"), *outputs, MLP)
        self.refused(3, "/nowhere", "train", "--data=/nowhere", *outputs, MLP)
        self.refused(3, "none.safetensors", "train", "--mock-data", "--load=none.safetensors", *outputs, MLP)

    def test_more_samples_in_a_batch_than_in_the_set(self):
        self.refused(3, "60000", "train", "--batch=60001", "--save=s.safetensors", MLP)

    def test_what_does_not_fit(self):
        for command in (["train", "--mock-data", "--report=r.json"], ["plan"]):
            with self.subTest(command=command[0]):
                self.refused(4, "rank 0", *command, "--memory=64KiB", MLP)

    def test_a_gpu_that_is_not_there(self):
        command = [TRAINER, "train", "--device=cuda", "--gpu=1024", "--mock-data", "--report=r.json", MLP]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, timeout=300)
        # With GPUs: the number is wrong. Without: no driver, or a build without CUDA.
        self.assertIn(done.returncode, [2, 7], done.stderr)
        self.assertEqual(done.returncode == 2, "there is no device cuda:1024" in done.stderr, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_tf32_on_the_host(self):
        self.refused(2, "--tf32 needs --device=cuda", "train", "--tf32", "--mock-data", MLP)
        self.refused(2, "--tf32", "verify", "--tf32", "--mock-data", MLP)
        self.refused(2, "--gpu needs --device=cuda", "train", "--gpu=0", "--mock-data", MLP)
        for command in (["verify", "--mock-data"], ["plan"], ["sweep", "--cluster=dgx1_v100"]):
            self.refused(2, "--launch-each needs --device=cuda", *command, "--launch-each", MLP)
            self.refused(2, "--gpu needs --device=cuda", *command, "--gpu=3", MLP)

    def test_a_loss_that_is_not_finite(self):
        done = self.call("train", "--mock-data", "--batch=8", "--steps=200", "--learning-rate=1000000",
                         "--report=r.json", "--save=s.safetensors", LENET, code=5)
        self.assertRegex(done.stderr, r"step \d+: node 'loss'.*first value that is not finite is '.+'")
        with open(self.path("r.json")) as file:
            self.assertEqual(json.load(file)["outcome"], "non_finite")
        self.assertFalse(os.path.exists(self.path("s.safetensors")))

    def test_a_norm_that_is_not_finite(self):
        scale = 'groups { pattern: "*" attributes { name: "gradient_scale" number: 1e30 } }'
        graph = self.changed(MLP, "momentum: 0.9", f"momentum: 0.9 clip_norm: 1 {scale}")
        done = self.train(graph, code=5)
        self.assertIn("but the norm of the gradients is not finite; the first value that is not finite is the sum of "
                      "squares of the gradients, which clipping reads\n", done.stderr)

    def test_a_weight_decay_that_is_not_usual(self):
        for warns, decay in ((False, "0.5"), (True, "1000"), (True, '0 groups { pattern: "*" weight_decay: 20 }'),
                             (True, '0.5 groups { pattern: "classifier*" rate: 100 }')):
            with self.subTest(decay=decay):
                graph = self.changed(MLP, "weight_decay: 0.0005", "weight_decay: " + decay)
                done = self.call("train", "--mock-data", "--batch=8", "--steps=1", "--skip-budget=1",
                                 "--learning-rate=0.05", graph)
                self.assertEqual("parameters decay faster than they learn" in done.stderr, warns, done.stderr)

    def test_steps_that_are_left_out_have_an_end(self):
        done = self.call("train", "--mock-data", "--batch=8", "--steps=200", "--learning-rate=1000000", "--dp=2",
                         "--skip-budget=2", LENET, code=5)
        self.assertRegex(done.stderr, r"step \d+ was left out \(1 of 2\): step \d+: .* is not finite")
        self.assertRegex(done.stderr, r"step \d+ was left out \(2 of 2\)")
        self.assertEqual(done.stderr.count("was left out"), 2)

    def test_predictions_that_cannot_be_made(self):
        self.refused(2, "--load", "predict", "--mock-data", "--output=p.npy", LENET)
        self.refused(2, "--output", "predict", "--mock-data", "--load=s.safetensors", LENET)
        self.refused(2, "neither .npy nor .csv", "predict", "--mock-data", "--load=s.safetensors", "--output=p.txt",
                     LENET)
        self.refused(3, "no value 'logit' to predict", "predict", "--mock-data", "--load=s.safetensors",
                     "--output=p.npy", "--value=logit", LENET)
        self.train("--save=s.safetensors", LENET)
        done = self.call("predict", "--mock-data", "--load=s.safetensors", "--output=p.npy", "--value=loss", LENET,
                         code=3)
        self.assertIn("value 'loss' is f32[]; what is predicted has a row for each", done.stderr)
        self.assertFalse(os.path.exists(self.path("p.npy")))


if __name__ == "__main__":
    unittest.main()
