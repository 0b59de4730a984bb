"""The commands of docs/tutorial.md run one after the other, as a reader copies them, and print what the page shows."""

import os
import re
import unittest

from tests.tools.commands.trainer_case import TRAINER, TrainerCase, without_launchers

BUILD_MODEL = os.path.abspath("tools/models/build_model")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks_of(text):
    """(commands, lines that they print) of each block that is marked `bash`; an `output` block follows its commands."""
    blocks = [(match.group(1), match.group(2)) for match in BLOCK.finditer(text)]
    following = blocks[1:] + [("", "")]
    return [(commands, shown.splitlines() if kind_of_next == "output" else [])
            for (kind, commands), (kind_of_next, shown) in zip(blocks, following) if kind == "bash"]


def without_numbers(line):
    """Times, and the last digits of losses, differ between machines."""
    return re.sub(r"\s+", " ", re.sub(r"\d[\d.,]*", "0", line)).strip()


class TutorialTest(TrainerCase):
    def setUp(self):
        super().setUp()
        with open("docs/tutorial.md", encoding="utf-8") as file:
            self.blocks = blocks_of(file.read())
        programs = self.path("programs")
        os.mkdir(programs)
        os.symlink(TRAINER, os.path.join(programs, "trainer"))
        os.symlink(BUILD_MODEL, os.path.join(programs, "build_model"))
        self.environment = {**without_launchers(), "PATH": f"{programs}:{os.environ['PATH']}", "HOME": self.folder}
        self.folder = self.path("tutorial")
        os.mkdir(self.folder)

    def run_block(self, commands):
        done = self.execute("bash", "-euo", "pipefail", "-c", commands, environment=self.environment)
        return done.stdout.splitlines()

    def test_every_command_prints_what_is_shown(self):
        self.assertGreater(len(self.blocks), 8)
        accuracies = []
        for commands, shown in self.blocks:
            printed = self.run_block(commands)
            known = {without_numbers(line) for line in printed}
            for line in shown:
                if line != "...":
                    self.assertIn(without_numbers(line), known, f"{commands} printed {printed}")
            accuracies += re.findall(r"^epoch 8 .*test accuracy ([\d.]+) %", "\n".join(printed), re.MULTILINE)
        self.assertEqual(len(accuracies), 3)
        self.assertGreater(min(map(float, accuracies)), 90)


class BlocksTest(unittest.TestCase):
    def test_only_marked_blocks_are_commands(self):
        text = "```\nskipped\n```\n\n```bash\necho 1\n```\nso\n```output\n1\n```\n```bash\ntrue\n```\n"
        self.assertEqual(blocks_of(text), [("echo 1\n", ["1"]), ("true\n", [])])

    def test_numbers_are_not_compared(self):
        self.assertEqual(without_numbers("epoch 8   loss 0.0060   1.5 s"), without_numbers("epoch 8   loss 0.12   10 s"))
        self.assertNotEqual(without_numbers("loss 0.5"), without_numbers("test loss 0.5"))


if __name__ == "__main__":
    unittest.main()
