"""A job whose ranks die is started again, and ends as one of which none died."""

import json
import os
import random
import re
import signal
import struct
import subprocess
import time
import unittest

from tests.tools.commands.trainer_case import LENET, MLP, TRAINER, TrainerCase, without_launchers
from tools.faults import job
from tools.faults.processes import newest_step, processes_of, ranks_of

RUN = ["--mock-data", "--batch=12", "--threads=1", "--flip"]  # an epoch is of 50 steps


class RestartTest(TrainerCase):

    def setUp(self):
        super().setUp()
        self.checkpoints = self.path("checkpoints")

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def start(self, launch, *command):
        launcher = subprocess.Popen([TRAINER, "launch", *launch, "--", "train", *RUN, *command], cwd=self.folder,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=without_launchers())
        self.addCleanup(launcher.stdout.close)
        self.addCleanup(launcher.stderr.close)
        self.addCleanup(launcher.wait)
        self.addCleanup(launcher.kill)
        return launcher

    def with_checkpoints(self, *more):
        return ["--checkpoint=" + self.checkpoints, "--checkpoint-every=5", "--resume=auto", *more]

    def is_saving(self):
        return os.path.isdir(self.checkpoints) and any(
            name.startswith("writing-") for name in os.listdir(self.checkpoints))

    def wait_for(self, launcher, condition):
        deadline = time.monotonic() + job.PATIENCE
        while not condition():
            self.assertIsNone(launcher.poll(), "it has ended")
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.0005)

    def kill(self, launcher, rank):
        self.wait_for(launcher, lambda: rank in ranks_of(self.checkpoints))
        os.kill(ranks_of(self.checkpoints)[rank], signal.SIGKILL)

    def end(self, launcher, code=0):
        out, error = launcher.communicate(timeout=job.PATIENCE)
        self.assertEqual(launcher.returncode, code, out + error)
        self.assertEqual(processes_of(self.checkpoints), [])
        return out, error

    def test_killed_again_and_again_it_ends_with_the_same_bits(self):
        """Drawn ranks, while they train and while they save."""
        draw = random.Random(18)
        command = ["--dp=3", "--epochs=8", LENET]
        self.call("train", *RUN, "--save=whole", *command)
        launcher = self.start(["--max-restarts=6"], *self.with_checkpoints("--save=" + self.path("resumed")), *command)
        for kill in range(6):
            before = newest_step(self.checkpoints)
            self.wait_for(launcher, lambda: newest_step(self.checkpoints) > before)
            if kill % 2:
                self.wait_for(launcher, self.is_saving)
            else:
                time.sleep(draw.uniform(0, 0.1))
            self.kill(launcher, draw.randrange(3))
        out, error = self.end(launcher)
        self.assertRegex(out, r"goes on at step \d+")
        self.assertRegex(error, r"launch: rank \d of 3 failed: signal 9; all start again \(6 of 6\)\n")
        self.assertEqual(self.read("resumed"), self.read("whole"))

    def test_a_rank_that_keeps_failing_is_named(self):
        launcher = self.start(["--max-restarts=2"], *self.with_checkpoints("--dp=2", "--epochs=100000", MLP))
        for _ in range(3):
            before = newest_step(self.checkpoints)
            self.wait_for(launcher, lambda: newest_step(self.checkpoints) > before)
            self.kill(launcher, 1)
        _, error = self.end(launcher, 128 + signal.SIGKILL)
        self.assertIn("launch: rank 1 of 2 failed: signal 9; no restart of 2 is left after 3 failures "
                      "(rank 1 of 2: signal 9, signal 9, signal 9)\n", error)

    def test_a_rank_that_is_stopped_is_named_and_all_start_again(self):
        launcher = self.start(["--max-restarts=1"],
                              *self.with_checkpoints("--dp=3", "--timeout=3", "--epochs=4", MLP))
        self.wait_for(launcher, lambda: newest_step(self.checkpoints) > 0)
        os.kill(ranks_of(self.checkpoints)[2], signal.SIGSTOP)
        _, error = self.end(launcher)
        self.assertRegex(error, r"launch: rank 2 of 3 failed: (signal 34|exit code 138); all start again \(1 of 1\)\n")

    def test_goes_on_with_the_ranks_that_are_left(self):
        """4 -> 3 -> 2, with the same samples: the parameters are those of a run that had 4 throughout, but for sums in
        another order."""
        command = ["--dp=2", "--mp=2", "--epochs=4", LENET]
        self.call("train", *RUN, "--save=whole", *command)
        launcher = self.start(["--max-restarts=2", "--elastic"],
                              *self.with_checkpoints("--save=" + self.path("resumed")), *command)
        for rank in (3, 0):
            before = newest_step(self.checkpoints)
            self.wait_for(launcher, lambda: newest_step(self.checkpoints) > before)
            self.kill(launcher, rank)
        out, error = self.end(launcher)
        self.assertIn("launch: rank 3 of 4 failed: signal 9; all start again (1 of 2), with 3 ranks\n", error)
        self.assertIn("launch: rank 0 of 3 failed: signal 9; all start again (2 of 2), with 2 ranks\n", error)
        self.assertEqual(len(re.findall("goes on at step", out)), 2)
        self.assert_whole()

    def test_a_search_is_made_anew_for_the_ranks_that_are_left(self):
        """3 -> 2, each as the search splits them; the parameters are those of replicas."""
        self.call("train", *RUN, "--save=whole", "--dp=2", "--epochs=4", LENET)
        launcher = self.start(["--max-restarts=1", "--elastic"],
                              *self.with_checkpoints("--save=" + self.path("resumed"), "--search=auto",
                                                     "--cluster=two_cores", "--ranks=3", "--epochs=4", LENET))
        self.wait_for(launcher, lambda: newest_step(self.checkpoints) > 0)
        self.kill(launcher, 1)
        out, error = self.end(launcher)
        self.assertIn("launch: rank 1 of 3 failed: signal 9; all start again (1 of 1), with 2 ranks\n", error)
        first, second = re.findall(r"^\S+ +(.*?) +\d+\.\d+ +\d+\.\d+ +chosen; ", out, re.MULTILINE)
        self.assertNotEqual(first, second)
        self.assertRegex(out, r"goes on at step \d+ ")
        self.assert_whole()

    def assert_whole(self):
        whole, resumed = self.tensors("whole"), self.tensors("resumed")
        self.assertEqual(whole.keys(), resumed.keys())
        for name, values in whole.items():
            for ours, theirs in zip(resumed[name], values):
                self.assertAlmostEqual(ours, theirs, delta=2e-4 * max(1.0, abs(theirs)), msg=name)

    def tensors(self, name):
        """Floats of a safetensors file, by tensor."""
        data = self.read(name)
        length = int.from_bytes(data[:8], "little")
        header = json.loads(data[8:8 + length])
        tensors = {}
        for tensor, form in header.items():
            if tensor == "__metadata__" or form["dtype"] != "F32":
                continue
            begin, end = (8 + length + offset for offset in form["data_offsets"])
            tensors[tensor] = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
        self.assertGreater(len(tensors), 4)
        return tensors

    def test_logs_of_all_starts_are_kept(self):
        launcher = self.start(["--max-restarts=1", "--log-dir=logs"],
                              *self.with_checkpoints("--dp=2", "--epochs=3", MLP))
        self.wait_for(launcher, lambda: newest_step(self.checkpoints) > 0)
        self.kill(launcher, 1)
        self.end(launcher)
        log = self.read("logs/rank-0.log").decode()
        self.assertIn("training begins at step 0", log)
        self.assertIn("goes on at step", log)

    def test_what_another_start_does_not_mend(self):
        for code, says, command in (
                (3, "exit code 3", ["--dp=2", "--steps=3", "nowhere.pbtxt"]),
                (5, "exit code 5", ["--dp=2", "--steps=30", "--learning-rate=1000000", MLP]),
        ):
            with self.subTest(says=says):
                _, error = self.end(self.start(["--max-restarts=3"], *self.with_checkpoints(*command)), code)
                self.assertRegex(error, rf"launch: rank \d of 2 failed: {says}, which another start does not mend\n")
                self.assertNotIn("start again", error)

    def test_told_to_end_it_ends(self):
        launcher = self.start(["--max-restarts=3"], *self.with_checkpoints("--dp=2", "--epochs=100000", MLP))
        self.wait_for(launcher, lambda: newest_step(self.checkpoints) > 0)
        launcher.send_signal(signal.SIGTERM)
        _, error = self.end(launcher, 128 + signal.SIGTERM)
        self.assertNotIn("start again", error)

    def test_without_checkpoints_it_says_that_it_begins_from_nothing(self):
        report = self.path("report.json")  # by which its processes are found
        self.checkpoints = report
        launcher = self.start(["--max-restarts=1"], "--dp=2", "--epochs=40", "--report=" + report, MLP)
        self.assertIn("epoch 1", launcher.stdout.readline())
        self.kill(launcher, 1)
        _, error = self.end(launcher)
        self.assertIn("launch: train has no --checkpoint: if it is started again, it begins from nothing\n", error)
        self.assertIn("all start again (1 of 1), from nothing\n", error)

    def test_says_what_is_wrong(self):
        for says, launch, command in (
                ("--resume=auto is needed", ["--max-restarts=1"], ["--checkpoint=c", "--dp=2", MLP]),
                ("--elastic needs --max-restarts", ["--elastic"], ["--dp=2", MLP]),
                ("is for one number of ranks", ["--max-restarts=1", "--elastic"], ["--strategy=four.pbtxt", MLP]),
        ):
            with self.subTest(says=says):
                _, error = self.end(self.start([*launch, "--nproc=2"], *command), 2)
                self.assertIn(says, error)

    def test_another_launcher_starts_all_again(self):
        """As torchrun and Kubernetes do: with the same places and the same port, and by --resume=auto alone."""
        self.call("train", *RUN, "--save=whole", "--dp=2", "--epochs=4", MLP)
        reserved = job.reserve_port()
        self.addCleanup(reserved.close)
        port = job.port_of(reserved)
        command = [TRAINER, "train", *RUN, *self.with_checkpoints("--save=" + self.path("resumed")), "--dp=2",
                   "--epochs=4", MLP]
        # Rank 0 listens at the port after torchrun's, and that is the one that is reserved: any connection of another
        # test may come from the next one.
        torchrun = lambda rank: {"MASTER_PORT": str(int(port) - 1), "TORCHELASTIC_USE_AGENT_STORE": "True"}
        kubernetes = lambda rank: {"RANK": "", "WORLD_SIZE": "", "LOCAL_RANK": "", "PET_NNODES": "2",
                                   "PET_NODE_RANK": str(rank), "PET_MASTER_PORT": port, "MASTER_PORT": ""}
        for variables in (torchrun, kubernetes):
            for victim in (1, 0):
                before = newest_step(self.checkpoints)
                with job.Job(command, 2, without_launchers(), variables) as ranks:
                    deadline = time.monotonic() + job.PATIENCE
                    while newest_step(self.checkpoints) <= before:
                        self.assertLess(time.monotonic(), deadline, ranks.said(0))
                        time.sleep(0.001)
                    ranks.signal(victim, signal.SIGKILL)
                    ranks.wait([0, 1], time.monotonic() + job.PATIENCE)
                    self.assertEqual(ranks.processes[1 - victim].returncode, job.PEER_GONE, ranks.said(1 - victim))
            with job.Job(command, 2, without_launchers(), variables) as ranks:
                ranks.wait([0, 1], time.monotonic() + job.PATIENCE)
                self.assertEqual([process.returncode for process in ranks.processes], [0, 0], ranks.said(0))
            self.assertEqual(self.read("resumed"), self.read("whole"))
            subprocess.run(["rm", "-r", self.checkpoints, self.path("resumed")], check=True)


if __name__ == "__main__":
    unittest.main()
