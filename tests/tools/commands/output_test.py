"""Results that cannot be written, and readers that do not read."""

import fcntl
import json
import os
import resource
import signal
import subprocess
import time
import unittest

from tests.tools.commands.trainer_case import MLP, TRAINER, TrainerCase
from tools.faults.job import PATIENCE
from tools.faults.processes import newest_step


class OutputTest(TrainerCase):

    def test_results_that_cannot_be_written(self):
        self.train("--save=s.safetensors", MLP)
        model = ["--batch=8", MLP]
        for command in (["plan", *model], ["check", *model], ["show", *model], ["version"], ["help"], ["--version"],
                        ["help", "train"], ["train", "--mock-data", "--steps=1", *model],
                        ["evaluate", "--mock-data", "--load=s.safetensors", *model],
                        ["predict", "--mock-data", "--load=s.safetensors", "--output=p.npy", *model],
                        ["verify", "--mock-data", "--steps=1", *model], 
                        ["launch", "--", "train", "--mock-data", "--steps=1", *model]):
            with self.subTest(command=command[0]), open("/dev/full", "w") as full:
                done = subprocess.run([TRAINER, *command], stdout=full, stderr=subprocess.PIPE, text=True,
                                      cwd=self.folder, timeout=300)
                self.assertEqual(done.returncode, 4, done.stderr)
                self.assertIn("trainer: standard output cannot be written: No space left on device", done.stderr)

    def test_standard_output_that_is_closed_is_no_other_file(self):
        done = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&-', TRAINER, "train", "--mock-data", "--batch=8", "--steps=1",
                               "--save=s.safetensors", MLP], capture_output=True, text=True, cwd=self.folder, timeout=300)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("standard output cannot be written", done.stderr)
        self.call("evaluate", "--mock-data", "--batch=8", "--load=s.safetensors", MLP)

    def test_a_file_beyond_the_limit_of_the_process(self):
        done = subprocess.run(
            [TRAINER, "train", "--mock-data", "--batch=8", "--steps=1", "--save=s.safetensors", MLP],
            capture_output=True, text=True, cwd=self.folder, timeout=300,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("s.safetensors: cannot write: File too large", done.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_reader_that_goes_loses_no_training(self):
        """As `train | head -1` does."""
        process = subprocess.Popen(
            [TRAINER, "train", "--mock-data", "--batch=8", "--threads=1", "--epochs=30", "--checkpoint=c",
             "--report=r.json", MLP], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertIn("epoch 1", process.stdout.readline())
        process.stdout.close()
        error = process.stderr.read()
        self.assertEqual(process.wait(PATIENCE), 4, error)
        self.assertIn("trainer: standard output cannot be written: Broken pipe\n", error)
        with open(self.path("r.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual((report["outcome"], len(report["epochs"])), ("finished", 30))
        self.assertIn(f"step-{30 * 50:012}", os.listdir(self.path("c")))

    def start_unread(self, *arguments):
        """The trainer, whose standard output is a pipe that is full and that nobody reads."""
        self.reader, writer = os.pipe()
        self.addCleanup(os.close, self.reader)
        os.write(writer, bytes(fcntl.fcntl(writer, fcntl.F_GETPIPE_SZ)))
        process = subprocess.Popen([TRAINER, "train", "--mock-data", "--batch=8", "--threads=1", *arguments, MLP],
                                   stdout=writer, stderr=subprocess.PIPE, text=True, cwd=self.folder)
        os.close(writer)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_training_that_nobody_listens_to_goes_on_and_stops(self):
        process = self.start_unread("--epochs=1000000", "--save=s.safetensors", "--report=r.json", "--checkpoint=c",
                                    "--checkpoint-every=50")
        deadline = time.monotonic() + PATIENCE
        while newest_step(self.path("c")) < 150:  # three epochs
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), deadline, "it waits for a reader")
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        _, error = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 143, error)
        self.assertIn("standard output cannot be written: nobody reads it", error)
        with open(self.path("r.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual(report["outcome"], "interrupted")
        self.assertGreater(len(report["epochs"]), 1)
        self.assertGreater(os.path.getsize(self.path("s.safetensors")), 0)

    def test_results_wait_for_a_reader_or_a_signal(self):
        for told in (False, True):
            with self.subTest(told=told):
                process = self.start_unread("--steps=2", "--report=r.json")
                while not os.path.exists(self.path("r.json")):  # the last that it does
                    self.assertIsNone(process.poll())
                with self.assertRaises(subprocess.TimeoutExpired):
                    process.wait(1.5)
                if told:
                    process.send_signal(signal.SIGTERM)
                    self.assertEqual(process.wait(PATIENCE), -signal.SIGTERM)
                else:
                    with open(self.reader, closefd=False, errors="replace") as reader:
                        self.assertIn("outcome         finished", reader.read())
                    self.assertEqual(process.wait(PATIENCE), 0)
                os.unlink(self.path("r.json"))


if __name__ == "__main__":
    unittest.main()
