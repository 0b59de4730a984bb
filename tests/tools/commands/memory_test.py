"""What `plan` says of the memory of whole processes, beside what processes of training have in memory."""

import json
import os
import re
import subprocess
import unittest

from tests.tools.commands.trainer_case import LENET, MLP, TRAINER, TrainerCase, example, without_launchers

BUILD_MODEL = os.path.abspath("tools/models/build_model")
MINI = example("mini_inception.pbtxt")

# How much of 34 MiB of code and libraries is in memory is the kernel's to choose, and differs from run to run.
PAGES_OF_CODE = 24 << 20


class MemoryTest(TrainerCase):

    def planned(self, *arguments):
        return json.loads(self.call("plan", "--format=json", *arguments).stdout)["processes"]

    def resident(self, *arguments, environment=None):
        """The most bytes that a process of training had in memory, less its data set: random pixels of 52.5 batches."""
        command = [TRAINER, "train", "--mock-data", "--steps=2", "--log=error", *arguments]
        process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL,
                                   env=environment or without_launchers())
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        images = re.search(r"images f32\[(\d+),(\d+),(\d+),(\d+)\]", self.call("show", *arguments[-1:]).stdout)
        self.assertIsNotNone(images)
        batch, height, width, channels = map(int, images.groups())
        return usage.ru_maxrss * 1024 - 52.5 * batch * height * width * channels

    def test_is_that_of_processes(self):
        self.execute(BUILD_MODEL, "inception-v3", "--batch=4", "--image-size=107", "--width=0.5", "--output=inception.pb")
        for arguments in ([MINI], ["--dp=4", MINI], ["--strategy=" + example("mini_inception_2x2.pbtxt"), MINI],
                          ["inception.pb"], ["--dp=2", "inception.pb"]):
            with self.subTest(arguments=arguments):
                (process,) = self.planned(*arguments)
                resident = self.resident(*arguments)
                self.assertLessEqual(abs(process["total_bytes"] - resident), max(0.1 * resident, PAGES_OF_CODE))

    def test_of_a_large_network_is_within_a_tenth(self):
        """What the kernel chooses is little of it: by the rule's kernels, and by those that are the fastest here."""
        self.execute(BUILD_MODEL, "inception-v3", "--batch=2", "--image-size=107", "--auxiliary-head",
                     "--output=inception.pb")
        timed = without_launchers()
        timed.pop("TRAINER_DETERMINISTIC", None)
        keeps = ["--plan-cache=" + self.path("plans"), "inception.pb"]
        self.resident(*keeps, environment=timed)  # which times them, on memory of their own
        self.assertNotEqual(os.listdir(self.path("plans")), [])
        for arguments, environment in (["inception.pb"], None), (keeps, timed):
            with self.subTest(arguments=arguments):
                (process,) = json.loads(
                    self.call("plan", "--format=json", *arguments, environment=environment).stdout)["processes"]
                resident = self.resident(*arguments, environment=environment)
                self.assertGreater(resident, 10 * PAGES_OF_CODE)
                self.assertLessEqual(abs(process["total_bytes"] - resident), 0.1 * resident)

    def test_adds_up(self):
        plan = json.loads(self.call("plan", "--dp=2", "--format=json", LENET).stdout)
        (process,) = plan["processes"]
        self.assertEqual(process["ranks"], [0, 1])
        self.assertEqual(process["arena_bytes"], sum(rank["memory"]["total_bytes"] for rank in plan["ranks"]))
        self.assertEqual(process["total_bytes"],
                         process["arena_bytes"] + process["batch_bytes"] + process["program_bytes"])
        # Three batches of training and three of evaluation, which has weights: pictures as bytes, labels of four.
        batch = 64 * (28 * 28 + 4)
        self.assertEqual(process["batch_bytes"], 3 * batch + 3 * (batch + 64 * 4))

    def test_of_each_process(self):
        processes = self.planned("--dp=2", "--processes", MLP)
        self.assertEqual([process["ranks"] for process in processes], [[0], [1]])
        (both,) = self.planned("--dp=2", MLP)
        self.assertEqual(sum(process["batch_bytes"] for process in processes), both["batch_bytes"])

    def test_in_the_summary(self):
        self.assertRegex(self.call("plan", MINI).stdout, r"\nprocess +\S+iB without data sets: arenas ")


if __name__ == "__main__":
    unittest.main()
