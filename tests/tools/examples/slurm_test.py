"""tools/examples/jobs/slurm.sh on a Slurm cluster of two nodes: equal to threads, warned, and with a killed rank."""

import os
import re
import signal
import time
import unittest

from tests.tools.commands.trainer_case import MLP, TRAINER, TrainerCase, without_launchers
from tests.tools.examples import slurm_cluster
from tools.faults import hosts, job

SCRIPT = os.path.abspath("tools/examples/jobs/slurm.sh")
# A schedule that does not depend on when training ends.
TRAIN = ("--mock-data", "--batch=8", "--dp=2", "--threads=1", "--schedule=constant")
TRAINING = re.compile(r"^epoch 1 ", re.MULTILINE)
MORE = 30  # steps after a restart


class SlurmTest(TrainerCase):

    def setUp(self):
        super().setUp()
        if why := slurm_cluster.why_not():
            self.skipTest(why)
        os.mkdir(self.path("programs"))
        os.symlink(TRAINER, self.path("programs/trainer"))
        programs = self.path("programs") + ":" + os.environ["PATH"]
        self.cluster = slurm_cluster.SlurmCluster(self.folder, {**without_launchers(), "PATH": programs})
        try:
            self.cluster.__enter__()
        except hosts.NoNamespaces as why:
            self.skipTest(f"this machine makes no network namespaces: {why}")
        self.addCleanup(self.assert_gone)

    def assert_gone(self):
        self.cluster.__exit__()
        self.assertEqual(self.cluster.left(), [])

    def limit_steps(self, steps):
        """What a job reads when it starts, and reads again when it is requeued."""
        with open(self.path("steps.conf"), "w", encoding="utf-8") as file:
            file.write(f"steps = {steps}\n")

    def start(self, *arguments):
        return self.cluster.submit(SCRIPT, *TRAIN, "--config=steps.conf", "--save=" + self.path("job"), *arguments, MLP)

    def start_training(self):
        """A job that has trained for an epoch, and does not end by itself."""
        self.limit_steps(10**9)
        number = self.start()
        self.wait_until(lambda: TRAINING.search(self.log(number)), number)
        return number

    def log(self, number):
        """What the script and its tasks have written; nothing before they begin."""
        try:
            with open(self.path(f"partita-{number}.log"), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def end_of_log(self, number):
        return self.log(number)[-3000:]

    def wait_until(self, ready, number):
        deadline = time.monotonic() + job.PATIENCE
        while not ready():
            self.assertLess(time.monotonic(), deadline, self.end_of_log(number))
            time.sleep(0.1)

    def steps_of_checkpoints(self, number):
        try:
            names = os.listdir(self.path(f"checkpoints-{number}"))
        except FileNotFoundError:
            return []
        return sorted(int(name.removeprefix("step-")) for name in names if name.startswith("step-"))

    def kill_second_rank(self):
        task, = self.cluster.tasks(1)
        os.kill(task, signal.SIGKILL)

    def finish_requeued(self, number, says):
        """Lets a requeued job train MORE steps: it must end as threads do that were never interrupted."""
        self.assertEqual(self.cluster.wait(number, "PENDING")["Restarts"], "1")
        self.assertRegex(self.log(number), says)
        step = self.steps_of_checkpoints(number)[-1]
        self.limit_steps(step + MORE)
        self.cluster.call("scontrol", "update", "JobId=" + number, "StartTime=now+5")  # else in two minutes
        about = self.cluster.wait(number, "COMPLETED", "FAILED")
        self.assertEqual(about["JobState"], "COMPLETED", self.end_of_log(number))
        self.assertIn(f"step {step} ", self.log(number))
        self.assert_equals_threads(step + MORE)

    def assert_equals_threads(self, steps):
        self.call("train", *TRAIN, f"--steps={steps}", "--save=threads", MLP)
        with open(self.path("job"), "rb") as spread, open(self.path("threads"), "rb") as threads:
            self.assertEqual(spread.read(), threads.read())

    def test_two_nodes_equal_threads(self):
        self.limit_steps(20)
        number = self.start()
        about = self.cluster.wait(number, "COMPLETED", "FAILED")
        self.assertEqual((about["JobState"], about["NumNodes"]), ("COMPLETED", "2"), self.end_of_log(number))
        self.assert_equals_threads(20)

    def test_a_warned_job_is_requeued_and_resumes(self):
        """The test sends the warning as Slurm does, which waits for its clock."""
        with open(SCRIPT, encoding="utf-8") as file:
            self.assertRegex(file.read(), r"(?m)^#SBATCH --signal=USR1@\d+$")
        number = self.start_training()
        self.cluster.call("scancel", "--signal=USR1", number)
        self.finish_requeued(number, r"ended with 143 after step-\d+; job \d+ is queued again")

    def test_a_lost_rank_requeues_a_job_with_a_checkpoint(self):
        self.limit_steps(10**9)
        number = self.start("--checkpoint-every=50")
        self.wait_until(lambda: self.steps_of_checkpoints(number), number)
        self.kill_second_rank()
        self.finish_requeued(number, r"(?s)rank 1 (is gone|has left).*ended with 138 after step-\d+")

    def test_a_lost_node_requeues_a_job(self):
        """Slurm does it, whatever the script says."""
        self.limit_steps(10**9)
        number = self.start("--checkpoint-every=50")
        self.wait_until(lambda: self.steps_of_checkpoints(number), number)
        self.cluster.call("scontrol", "update", "NodeName=n2", "State=DOWN", "Reason=test")
        self.cluster.wait(number, "PENDING")
        self.cluster.call("scontrol", "update", "NodeName=n2", "State=RESUME")
        self.finish_requeued(number, "has no checkpoint: training begins at step 0")

    def test_a_lost_rank_ends_a_job_without_progress(self):
        number = self.start_training()
        self.kill_second_rank()
        about = self.cluster.wait(number, "COMPLETED", "FAILED", "PENDING")
        self.assertEqual((about["JobState"], about["ExitCode"]), ("FAILED", "138:0"), self.end_of_log(number))
        self.assertRegex(self.log(number), "rank 1 (is gone|has left)")

    def test_a_cancelled_job_saves_and_stays_cancelled(self):
        number = self.start_training()
        self.cluster.call("scancel", number)
        self.assertEqual(self.cluster.wait(number, "CANCELLED", "PENDING")["JobState"], "CANCELLED")
        self.wait_until(lambda: self.steps_of_checkpoints(number), number)


if __name__ == "__main__":
    unittest.main()
