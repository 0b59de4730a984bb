"""The runner of a bundle for a borrowed GPU (tests/gpu), on an emulated one."""

import glob
import json
import os
import shutil
import unittest

from tests.emulated_gpu.emulated_case import BUILD_MODEL, EmulatedCase
from tests.tools.commands.trainer_case import EXAMPLES, without_launchers


class RunnerTest(EmulatedCase):

    def setUp(self):
        super().setUp()
        for folder in ("bin", "tests", "lib", "models", "path"):
            os.mkdir(self.path(folder))
        shutil.copy(os.path.abspath("tests/gpu/run.py"), self.path("run"))
        shutil.copytree(os.path.abspath("tests/gpu/runner"), self.path("runner"))
        os.symlink(self.trainer, self.path("bin/trainer"))
        for file in glob.glob(os.path.join(EXAMPLES, "*.pbtxt")):
            shutil.copy(file, self.path("models"))
        for model, sizes in (("big-lstm", ["--length=6", "--hidden=16", "--projection=8", "--samples=20"]),
                             ("gnmt", ["--hidden=8", "--source-length=9", "--target-length=7", "--buckets=2"])):
            name = model.replace("-", "_")
            self.execute(BUILD_MODEL, model, "--batch=8", "--vocabulary=60", f"--output=models/{name}.pbtxt", *sizes)
            shutil.copy(os.path.join(EXAMPLES, name, "2x2.pbtxt"), self.path(f"models/{name}_2x2.pbtxt"))
        self.execute(BUILD_MODEL, "inception-v3", "--image-size=75", "--batch=4", "--channel-limit=4", "--classes=5",
                     "--output=models/inception_v3.pbtxt")
        with open(self.path("path/nvidia-smi"), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho Emulated GPU\n")
        os.chmod(self.path("path/nvidia-smi"), 0o755)

    def run_bundle(self, *flags):
        """Its results by name."""
        environment = without_launchers()
        environment["PATH"] = self.path("path") + ":" + environment["PATH"]
        done = self.execute(self.path("run"), "--out=out", *flags, environment=environment)
        with open(self.path("out/results.json"), encoding="utf-8") as file:
            saved = json.load(file)
        self.assertEqual(saved["machine"], "Emulated GPU")
        self.assertIn("partita", saved["versions"])
        self.assertEqual(saved["failed"], 0, done.stdout)
        return {result["name"]: result for result in saved["results"]}

    def test_ends_in_time_and_says_what_is_missing(self):
        results = self.run_bundle("--seconds=60", "--skip=steps of")
        self.assertEqual(results["train one step"]["outcome"], "passed")
        for name in ("verify dp=2", "plans in f32", "train with a timeline", "two processes, a pipeline",
                     "TF32 beside f32"):
            result = results[name]
            if result["outcome"] != "passed":
                self.assertEqual((result["outcome"], result["detail"]), ("skipped", "no time was left (--seconds)"))
        with open(self.path("out/table.txt"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn("Emulated GPU", text)
        skipped = [name for name, result in results.items() if result["outcome"] == "skipped"]
        for name in skipped:
            self.assertIn(f"- {name}: ", text)
        self.assertIn("| resnet-50 in bf16 | | | not run | | | |", text)  # the bundle has no benchmark

    def test_a_killed_peer_ends_the_other(self):
        result = self.run_bundle("--only=a killed peer")["a killed peer"]
        self.assertEqual(result["outcome"], "passed")
        self.assertIn("rank 1", result["detail"])

    def test_two_processes_end_where_one_does(self):
        results = self.run_bundle("--only=two processes, replicas")
        self.assertEqual(results["two processes, replicas"]["outcome"], "passed")


if __name__ == "__main__":
    unittest.main()
