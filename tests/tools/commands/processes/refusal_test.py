"""Processes that do not fit together do not begin."""

import os
import signal
import time
import unittest

from tests.tools.commands.trainer_case import MLP, TRAINER, TrainerCase, without_launchers
from tools.faults import job

TWO_CORES = os.path.abspath("partitioner/clusters/two_cores.pbtxt")


class RefusalTest(TrainerCase):

    def test_launch(self):
        self.assertIn("behind `--`", self.call("launch", "--nproc=2", code=2).stderr)
        for name in ("plan", "verify", "convert", "version", "help", "launch", "--dp=2", "tran"):
            refused = self.call("launch", "--nproc=2", "--", name, MLP, code=2).stderr
            self.assertIn(f"the command is '{name}'; expected one of train, evaluate, predict, decode", refused)
        for words in (["train", "--dp=2", MLP], ["--nproc=2", "plan", MLP]):
            self.assertIn("'--' is missing before", self.call("launch", *words, code=2).stderr)
        wrong = self.call("launch", "--nproc=2", "--", "train", "--mock-data", "--dp=3", MLP, code=2)
        self.assertIn("the job has 2 processes by trainer launch, but the strategy has 3 ranks", wrong.stderr)

    def test_an_error_of_all_ranks_is_one_line(self):
        error = self.call("launch", "--", "train", "--mock-data", "--dp=3", "none.pbtxt", code=3).stderr
        self.assertRegex(error, r"\A\[\d\] trainer: none.pbtxt: cannot open: No such file or directory\n\Z")

    def test_launch_passes_its_config_on(self):
        with open(self.path("c.toml"), "w", encoding="utf-8") as file:
            file.write("dp = 2\nlog-dir = 'logs'\n")
        train = ["train", "--mock-data", "--batch=8", "--steps=1", MLP]
        self.call("launch", "--config=c.toml", "--", *train)
        self.assertEqual(sorted(os.listdir(self.path("logs"))), ["rank-0.log", "rank-1.log"])
        with open(self.path("one.toml"), "w", encoding="utf-8") as file:
            file.write("dp = 1\n")
        self.call("launch", "--config=c.toml", "--log-dir=one", "--", *train, "--config=one.toml")
        self.assertEqual(os.listdir(self.path("one")), ["rank-0.log"])

    def test_launch_helps_once(self):
        done = self.call("launch", "--nproc=3", "--", "train", "--help")
        self.assertEqual(done.stdout, self.call("train", "--help").stdout)

    def test_launchers_that_do_not_agree(self):
        both = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "PMI_RANK": "1", "PMI_SIZE": "2"}
        wrong = self.call("train", "--mock-data", "--dp=2", MLP, code=2,
                          environment={**without_launchers(), **both})
        self.assertIn("unset one of them", wrong.stderr)

    def test_ranks_that_do_not_mean_the_same(self):
        command = [TRAINER, "train", "--mock-data", "--batch=8", "--steps=3", "--dp=2", MLP]
        for variable, says in [("TRAINER_SEED", "do not agree on flag --seed: rank 0 has '', rank 1 has '7'"),
                               ("TRAINER_LEARNING_RATE", "do not agree on flag --learning-rate")]:
            with job.Job(command, 2, without_launchers(), lambda rank: {variable: "7"} if rank == 1 else {}) as ranks:
                ranks.wait([0, 1], time.monotonic() + job.PATIENCE)
                for rank in range(2):
                    self.assertEqual(ranks.processes[rank].returncode, 3, ranks.said(rank))
                    self.assertIn(says, ranks.said(rank))

    def test_encrypted_or_not_but_all_alike(self):
        command = [TRAINER, "train", "--mock-data", "--batch=8", "--steps=3", "--dp=2", MLP]
        for rank, says in (0, "rank 0 has it, rank 1 has not"), (1, "rank 1 has it, rank 0 has not"):
            variables = [{"TRAINER_TLS": "true"} if own == rank else {} for own in range(2)]
            with job.Job(command, 2, without_launchers(), lambda own: variables[own]) as ranks:
                ranks.wait([0, 1], time.monotonic() + job.PATIENCE)
                for each in range(2):
                    self.assertEqual(ranks.processes[each].returncode, 3, ranks.said(each))
                    self.assertIn("ranks do not agree on TLS: " + says, ranks.said(each))
        reserved = job.reserve_port()
        self.addCleanup(reserved.close)
        place = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_PORT": job.port_of(reserved)}
        alone = self.execute(*command, "--tls", code=2, environment={**without_launchers(), **place})
        self.assertIn("flag --tls: keys are made of a secret that all ranks share: set PARTITA_JOB_TOKEN", alone.stderr)

    def test_ranks_that_load_different_files_of_one_name(self):
        for rank in range(2):
            os.mkdir(self.path(str(rank)))
            self.call("train", "--mock-data", "--batch=8", "--steps=1", f"--seed={rank}",
                      "--save-weights-only", "--save=" + self.path(f"{rank}/m.safetensors"), MLP)
        for command in ("train", "evaluate"):
            with job.Job([TRAINER, command, "--mock-data", "--batch=8", "--dp=2", "--load=m.safetensors", MLP], 2,
                         without_launchers(), host=lambda rank: ["env", "--chdir=" + self.path(str(rank))]) as ranks:
                ranks.wait([0, 1], time.monotonic() + job.PATIENCE)
                for rank in range(2):
                    self.assertEqual(ranks.processes[rank].returncode, 3, ranks.said(rank))
                    self.assertRegex(ranks.said(rank), r'ranks do not agree on what "m.safetensors" holds: '
                                     r"rank 0 has '[0-9a-f]{32}', rank 1 has '[0-9a-f]{32}'")

    def test_ranks_that_choose_for_different_clusters(self):
        with open(TWO_CORES) as file:
            text = file.read()
        for rank in range(2):
            os.mkdir(self.path(str(rank)))
            with open(self.path(f"{rank}/c.pbtxt"), "w") as file:
                file.write(text.replace("launch_seconds: 1e-6", f"launch_seconds: {rank + 1}e-6"))
        with job.Job([TRAINER, "train", "--mock-data", "--batch=8", "--dp=2", "--cluster=c.pbtxt", MLP], 2,
                     without_launchers(), host=lambda rank: ["env", "--chdir=" + self.path(str(rank))]) as ranks:
            ranks.wait([0, 1], time.monotonic() + job.PATIENCE)
            for rank in range(2):
                self.assertEqual(ranks.processes[rank].returncode, 3, ranks.said(rank))
                self.assertIn("do not agree on the speeds that choices are made by", ranks.said(rank))

    def test_a_rank_that_never_comes(self):
        command = [TRAINER, "train", "--mock-data", "--batch=9", "--steps=3", "--dp=3", "--join-timeout=1", MLP]
        reserved = job.reserve_port()
        self.addCleanup(reserved.close)
        place = {"RANK": "0", "WORLD_SIZE": "3", "LOCAL_RANK": "0", "MASTER_PORT": job.port_of(reserved)}
        alone = self.execute(*command, code=138, environment={**without_launchers(), **place})
        self.assertIn("ranks 1, 2 did not come within 1.0 s", alone.stderr)

    def test_strangers_do_no_harm(self):
        command = [TRAINER, "train", "--mock-data", "--batch=8", "--epochs=100000", "--dp=2", MLP]
        with job.Job(command, 2, without_launchers()) as ranks:
            deadline = time.monotonic() + job.PATIENCE
            while "epoch 1" not in ranks.said(0):
                self.assertLess(time.monotonic(), deadline, ranks.said(0))
                time.sleep(0.05)
            place = self.environment_of(ranks.processes[1])
            for says, variables in [("there is a rank 1 already", {}),
                                    ("has another token", {"PARTITA_JOB_TOKEN": "x" * 64}),
                                    ("rank 1 has it, rank 0 has not", {"TRAINER_TLS": "true"})]:
                second = self.execute(*command, code=3, environment={**place, **variables})
                self.assertIn(says, second.stderr)
            self.assertEqual([process.poll() for process in ranks.processes], [None, None])
            ranks.signal(1, signal.SIGTERM)  # one is told, both stop after the same step
            ranks.wait([0, 1], time.monotonic() + job.PATIENCE)
            for rank in range(2):
                self.assertEqual(ranks.processes[rank].returncode, 143, ranks.said(rank))

    @staticmethod
    def environment_of(process):
        with open(f"/proc/{process.pid}/environ", "rb") as file:
            entries = file.read().decode().split("\0")
        return dict(entry.split("=", 1) for entry in entries if "=" in entry)


if __name__ == "__main__":
    unittest.main()
