"""A run that ends and is resumed is the run that was not: its states, its metrics, what it saves."""

import json
import os
import resource
import signal
import subprocess
import time
import unittest

from tests.tools.commands.trainer_case import LENET, MLP, TRAINER, TrainerCase, example, without_launchers
from tools.faults.job import PATIENCE

RUN = ["--mock-data", "--batch=8", "--threads=1", "--epochs=3", "--flip"]  # of 50 steps
STEPS = 120


class CheckpointTest(TrainerCase):

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def run_to(self, steps, graph, *arguments, code=0):
        return self.call("train", *RUN, f"--steps={steps}", *arguments, graph, code=code)

    def checkpoints(self, folder="c"):
        return sorted(name for name in os.listdir(self.path(folder)) if name.startswith("step-"))

    def convert(self, step, output):
        self.call("convert", self.path(f"c/step-{step:012}"), "--output=" + self.path(output))

    def test_goes_on_to_the_same_bits(self):
        # A schedule that does not depend on how long the run is said to be.
        graph = self.changed(LENET, r"learning_rate \{.*", 'learning_rate { schedule: "constant" base: 0.01 }')
        for name, split in (("serial", []), ("split", ["--dp=2", "--mp=2"])):
            with self.subTest(split=split):
                folder = "--checkpoint=" + self.path(name)
                self.run_to(STEPS, graph, *split, "--save=whole", "--report=whole.json")
                self.run_to(73, graph, *split, folder, "--checkpoint-every=20")
                self.assertEqual(self.checkpoints(name), [f"step-{step:012}" for step in (40, 60, 73)])
                rest = self.run_to(STEPS, graph, *split, folder, "--resume=auto", "--save=resumed",
                                   "--report=rest.json")
                self.assertIn("goes on at step 73 (epoch 2, 23 of its 50 steps are done)\n", rest.stdout)
                self.assertEqual(self.read("resumed"), self.read("whole"))
                expected = json.loads(self.read("whole.json"))["epochs"][1:]
                epochs = json.loads(self.read("rest.json"))["epochs"]
                self.assertEqual([epoch["epoch"] for epoch in epochs], [2, 3])
                for ours, theirs in zip(epochs, expected):
                    for key in ("loss", "metrics", "test_loss", "test_metrics"):
                        self.assertEqual(ours.get(key), theirs.get(key), key)

    def test_converts_to_what_is_saved(self):
        self.run_to(30, LENET, "--strategy=" + example("lenet5_domain.pbtxt"), "--checkpoint=" + self.path("c"),
                    "--save=saved")
        self.convert(30, "converted")
        self.assertEqual(self.read("converted"), self.read("saved"))
        self.run_to(40, LENET, "--load=converted")
        # Of the folder of a run's checkpoints, the newest.
        told = self.call("convert", self.path("c"), "--output=" + self.path("newest")).stdout
        self.assertRegex(told, r"newest: \d+ states of step 30, from .*c/step-000000000030\n")
        self.assertEqual(self.read("newest"), self.read("saved"))

    def test_goes_on_under_another_split(self):
        self.run_to(30, LENET, "--dp=2", "--checkpoint=" + self.path("c"))
        self.run_to(31, LENET, "--mp=2", "--resume=" + self.path("c"))
        whole = self.run_to(30, LENET, "--mp=2", "--checkpoint=" + self.path("c"), "--resume=auto", "--save=again")
        self.assertIn("goes on at step 30", whole.stdout)
        self.convert(30, "converted")
        self.assertEqual(self.read("again"), self.read("converted"))

    def test_is_killed_again_and_again(self):
        """As processes and as one, at any time; the run that was never killed is no other."""
        self.run_to(STEPS, MLP, "--dp=2", "--save=whole")
        command = ["train", *RUN, f"--steps={STEPS}", "--dp=2", "--checkpoint=" + self.path("c"),
                   "--checkpoint-every=7", "--resume=auto", "--save=" + self.path("resumed"), MLP]
        for launch in ([], ["launch", "--"]):
            for kill in range(8):
                process = subprocess.Popen([TRAINER, *launch, *command], cwd=self.folder, stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL, env=without_launchers(), start_new_session=True)
                try:
                    process.wait(timeout=0.3 + 0.05 * kill)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            self.assertEqual(self.until_it_is_alone(*launch, *command).returncode, 0)
            self.assertEqual(self.read("resumed"), self.read("whole"))
            self.assertEqual([name for name in os.listdir(self.path("c")) if name.startswith("writing-")], [])
            subprocess.run(["rm", "-r", self.path("c"), self.path("resumed")], check=True)

    def until_it_is_alone(self, *arguments):
        """Ranks whose launcher was killed need a moment to notice."""
        deadline = time.monotonic() + PATIENCE
        while True:
            done = subprocess.run([TRAINER, *arguments], capture_output=True, text=True, cwd=self.folder, timeout=300,
                                  env=without_launchers())
            if "another run writes" not in done.stderr or time.monotonic() > deadline:
                return done
            time.sleep(0.1)

    def test_is_written_when_it_is_told_to_end(self):
        process = subprocess.Popen(
            [TRAINER, "train", *RUN[:-2], "--epochs=100000", "--checkpoint=" + self.path("c"), MLP], cwd=self.folder,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=without_launchers())
        self.addCleanup(process.stdout.close)
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertEqual(len(self.checkpoints()), 1)

    def test_by_time(self):
        process = subprocess.Popen(
            [TRAINER, "train", *RUN[:-2], "--epochs=100000", "--checkpoint=" + self.path("c"),
             "--checkpoint-every=1s", "--keep=100", MLP], cwd=self.folder, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env=without_launchers())
        deadline = time.monotonic() + PATIENCE
        while not os.path.isdir(self.path("c")) or len(self.checkpoints()) < 2:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)
        process.kill()
        process.wait()

    def test_links_are_not_followed(self):
        """A link with the name of a checkpoint: what it leads to stays, and the run says what is in its way."""
        for link in ("writing-000000000001", "step-000000000007", "step-000000000002", "damaged-000000000002"):
            with self.subTest(link=link):
                os.makedirs(self.path("victim"))
                for name in ("thesis.txt", "rank-00000.safetensors", "trainer_state.json"):
                    with open(self.path("victim/" + name), "w") as file:
                        file.write("mine")
                os.mkdir(self.path("c"))
                run = ["--checkpoint=" + self.path("c"), "--checkpoint-every=1"]
                if link.startswith("damaged"):
                    self.run_to(2, MLP, *run)
                    with open(self.path("c/step-000000000002/rank-00000.safetensors"), "w") as file:
                        file.write("damaged")
                os.symlink(self.path("victim"), self.path("c/" + link))
                done = self.run_to(3, MLP, *run, "--resume=auto")
                if not link.startswith("damaged"):
                    self.assertIn(link, done.stderr)
                self.assertEqual(sorted(os.listdir(self.path("victim"))),
                                 ["rank-00000.safetensors", "thesis.txt", "trainer_state.json"])
                self.assertIn("step-000000000003", self.checkpoints())
                subprocess.run(["rm", "-r", self.path("c"), self.path("victim")], check=True)

    def test_a_strangers_folder_ends_no_start(self):
        run = ["--checkpoint=" + self.path("c"), "--checkpoint-every=1", "--keep=1", "--resume=auto"]
        self.run_to(1, MLP, *run)
        os.mkdir(self.path("c/step-000000000001/notes"))
        with open(self.path("c/step-000000000099"), "w") as file:
            file.write("no folder")
        for steps in (3, 4, 5):
            warned = self.run_to(steps, MLP, *run).stderr
            self.assertIn("c/step-000000000001/notes: is no file of a checkpoint", warned)
        self.assertEqual(os.listdir(self.path("c/step-000000000001")), ["notes"])

    def test_a_folder_that_is_moved_is_not_made_anew(self):
        process = subprocess.Popen(
            [TRAINER, "train", *RUN[:-2], "--epochs=100000", "--checkpoint=" + self.path("c"), "--checkpoint-every=20",
             MLP], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env=without_launchers())
        self.addCleanup(process.stderr.close)
        deadline = time.monotonic() + PATIENCE
        while not os.path.isdir(self.path("c")) or not self.checkpoints():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        os.rename(self.path("c"), self.path("elsewhere"))
        _, error = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 3)
        self.assertIn("c: is not the folder that this run has locked", error)
        self.assertFalse(os.path.exists(self.path("c")))

    def test_of_nothing_it_begins_and_says_so(self):
        done = self.run_to(3, MLP, "--checkpoint=" + self.path("c"), "--resume=auto")
        self.assertIn("c has no checkpoint: training begins at step 0\n", done.stdout)
        again = self.run_to(3, MLP, "--checkpoint=" + self.path("c"), "--resume=auto")
        self.assertIn("goes on at step 3", again.stdout)
        self.assertEqual(self.checkpoints(), ["step-000000000003"])

    def test_says_what_is_wrong(self):
        folder = "--checkpoint=" + self.path("c")
        self.run_to(20, MLP, folder, "--checkpoint-every=10")
        for says, code, arguments in (
                ("has checkpoints up to step 20", 3, [MLP, folder]),
                ("has checkpoints up to step 20", 3, [MLP, folder, "--resume=10"]),
                ("c/step-000000000015 has no checkpoint", 3, [MLP, folder, "--resume=15"]),
                ("none has no checkpoint", 3, [MLP, "--resume=" + self.path("none")]),
                ("is of another graph", 3, [LENET, "--resume=" + self.path("c")]),
                ('"seed" "1"', 3, [MLP, "--seed=2", "--resume=" + self.path("c")]),
                ("--checkpoint is needed", 2, [MLP, "--resume=auto"]),
                ("--checkpoint-every needs --checkpoint", 2, [MLP, "--checkpoint-every=3"]),
                ("allowed are steps, as 1000, or time", 2, [MLP, folder, "--checkpoint-every=3d"]),
                ("--resume and --load are given", 2, [MLP, folder, "--resume=auto", "--load=x"]),
        ):
            with self.subTest(says=says, arguments=arguments):
                self.assertIn(says, self.run_to(30, *arguments, code=code).stderr)
        shard = self.path("c/step-000000000020/rank-00000.safetensors")
        with open(shard, "r+b") as file:
            file.seek(-1, os.SEEK_END)
            last = file.read(1)
            file.seek(-1, os.SEEK_END)
            file.write(bytes([last[0] ^ 1]))
        damaged = self.run_to(30, MLP, folder, "--resume=20", code=3)
        self.assertRegex(damaged.stderr, "rank-00000.safetensors: tensor .* was damaged")
        os.remove(shard)
        self.assertIn("rank-00000.safetensors: cannot open", self.run_to(30, MLP, folder, "--resume=20", code=3).stderr)
        for command in (["evaluate", "--mock-data", "--load=c", MLP],
                        ["train", "--mock-data", "--load=c", MLP]):
            self.assertIn("c: is a folder", self.call(*command, code=3).stderr)

    def flip(self, name, place):
        with open(self.path(name), "r+b") as file:
            file.seek(place, os.SEEK_SET if place >= 0 else os.SEEK_END)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 1]))

    def replace_by_link(self, name):
        os.rename(self.path(name), self.path(name) + ".elsewhere")
        os.symlink(self.path(name) + ".elsewhere", self.path(name))

    def test_passes_over_damage(self):
        """--resume=auto takes the newest whole checkpoint, whatever file of a newer one is damaged."""
        damages = {"tensor": lambda step: self.flip(step + "/rank-00000.safetensors", -1),
                   "head": lambda step: self.flip(step + "/rank-00000.safetensors", 20),
                   "record": lambda step: self.flip(step + "/trainer_state.json", 100),
                   "missing": lambda step: os.remove(self.path(step + "/rank-00000.safetensors")),
                   "link": lambda step: self.replace_by_link(step + "/trainer_state.json")}
        for split in ([], ["--dp=2"]):
            for name, damage in damages.items():
                with self.subTest(damage=name, split=split):
                    folder = name + "".join(split)
                    run = ["--checkpoint=" + self.path(folder), *split, MLP]
                    self.run_to(20, "--checkpoint-every=10", *run)
                    damage(folder + "/step-000000000020")
                    passed = self.run_to(30, "--resume=auto", *run)
                    self.assertIn("warning " + self.path(folder + "/step-000000000020"), passed.stderr)
                    self.assertIn("set aside as damaged-000000000020", passed.stderr)
                    self.assertEqual("link" in passed.stderr, name == "link", passed.stderr)
                    self.assertIn("goes on at step 10", passed.stdout)
                    self.assertEqual(sorted(os.listdir(self.path(folder))),
                                     ["damaged-000000000020", "lock", "step-000000000010", "step-000000000030"])

    def test_a_newer_version_is_not_damage(self):
        folder = "--checkpoint=" + self.path("c")
        self.run_to(20, MLP, folder, "--checkpoint-every=10")
        record = self.path("c/step-000000000020/trainer_state.json")
        with open(record) as file:
            text = file.read()
        with open(record, "w") as file:
            file.write(text.replace('"version":1', '"version":2'))
        self.assertIn("found version 2", self.run_to(30, MLP, folder, "--resume=auto", code=3).stderr)
        self.assertEqual(sorted(os.listdir(self.path("c"))), ["lock", "step-000000000010", "step-000000000020"])

    def test_a_disk_that_stays_full_ends_the_run_with_the_third_save(self):
        folder = "--checkpoint=" + self.path("c")
        self.run_to(10, MLP, folder)
        limit = 100_000  # of a file: less than a shard
        done = subprocess.run([TRAINER, "train", *RUN, "--steps=50", folder, "--resume=auto", "--checkpoint-every=5",
                               MLP], cwd=self.folder, capture_output=True, text=True, env=without_launchers(),
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.assertEqual(done.returncode, 4, done.stderr)
        for said in ("step 15 was not written (1 of 3", "step 20 was not written (2 of 3", "cannot write: File too large"):
            self.assertIn(said, done.stderr)
        self.assertEqual(sorted(os.listdir(self.path("c"))), ["lock", "step-000000000010"])

    def test_one_run_at_a_time(self):
        process = subprocess.Popen(
            [TRAINER, "train", *RUN[:-2], "--epochs=100000", "--checkpoint=" + self.path("c"), MLP], cwd=self.folder,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=without_launchers())
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        process.stdout.readline()
        self.assertIn("another run writes", self.run_to(3, MLP, "--checkpoint=" + self.path("c"), code=3).stderr)


if __name__ == "__main__":
    unittest.main()
