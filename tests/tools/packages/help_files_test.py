"""Manual pages and completions say what docs/reference says of the same flags, commands and exit codes."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from tools.packages import help_files, help_text, man_pages

PROGRAMS = ("tools/trainer", "tools/benchmark", "tools/models/build_model", "tools/service/partita_service")
# Where a line of commands is completed: words as bash splits them, the last one before the cursor.
COMPLETE = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
"_$1" 2>/dev/null  # compopt: nobody types
printf '%s\\n' "${COMPREPLY[@]}"
"""


def output_of(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60, **options).stdout


def flags_of_reference(command):
    """Those that docs/reference/flags.md has for a command; it is made from proto/run.proto."""
    with open("docs/reference/flags.md", encoding="utf-8") as file:
        rows = re.findall(r"^\| `(--[a-z0-9-]+).*?` \|.*\| ([a-z, -]+) \|$", file.read(), re.MULTILINE)
    return {flag for flag, commands in rows if commands == "all" or command in commands.split(", ")}


class HelpFilesTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.share = pathlib.Path(folder.name)
        help_files.write([os.path.abspath(program) for program in PROGRAMS], cls.share)
        cls.pages = sorted((cls.share / "man/man1").iterdir())
        cls.trainer = help_text.read_program(os.path.abspath("tools/trainer"))

    def shown(self, name):
        """A page as a reader sees it, in lines of any length."""
        page = self.share / "man/man1" / name
        text = output_of("groff", "-man", "-Tascii", "-P-c", "-rLL=1000n", page)
        return re.sub(".\\x08", "", text)  # bold: a character over itself

    def test_no_page_has_a_warning(self):
        self.assertGreater(len(self.pages), 20)
        for page in self.pages:
            with self.subTest(page.name):
                done = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8", page], capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_mandoc_finds_nothing(self):
        if shutil.which("mandoc") is None:
            self.skipTest("Debian's mandoc is not installed; groff has read the pages")
        done = subprocess.run(["mandoc", "-Tlint", "-Wstyle", *self.pages], capture_output=True, text=True)
        self.assertEqual(done.stdout, "")

    def test_each_command_has_a_page_with_its_flags(self):
        self.assertGreater(len(self.trainer.commands), 15)
        for command in self.trainer.commands:
            with self.subTest(command.name):
                text = self.shown(f"trainer-{command.name}.1")
                found = set(re.findall(r"^ {7}(--[a-z0-9-]+)", text, re.MULTILINE))
                self.assertEqual(found, flags_of_reference(command.name))
                for flag in command.flags:
                    self.assertIn(flag.variable, text)
                self.assertIn(command.usage, text)

    def test_a_flag_is_described(self):
        text = re.sub(r"\s+", " ", self.shown("trainer-train.1"))
        self.assertIn("--epochs=N Passes over the training set, including those before --load (default 1). "
                      "An integer from 1 to", text)
        self.assertIn("--device=host|cuda ", text)
        self.assertIn("One of host, cuda. TRAINER_DEVICE", text)

    def test_a_page_of_several_commands_says_which_take_a_flag(self):
        text = re.sub(r"\s+", " ", self.shown("benchmark.1"))
        self.assertIn("--stops=N Number of ranks to stop (default 100). An integer from 0 to 1000000. Commands: faults. "
                      "BENCHMARK_STOPS", text)
        self.assertIn("--help Print this text. BENCHMARK_HELP ", text)

    def test_exit_codes_are_those_of_the_reference(self):
        with open("docs/reference/commands.md", encoding="utf-8") as file:
            codes = man_pages.exit_codes(file.read())
        self.assertEqual(dict(codes)["138"], "a peer or a device was lost: start again")
        self.assertGreater(len(codes), 11)
        for page in self.pages:
            text = self.shown(page.name)
            for code, meaning in codes:
                self.assertRegex(text, rf"(?m)^ {{7}}{re.escape(code)}\s+{re.escape(man_pages.sentence(meaning))}$")

    def complete(self, *words):
        file = self.share / "bash-completion/completions" / words[0]
        return output_of("bash", "-c", COMPLETE, "bash", file, *words).split()

    def test_commands_are_completed(self):
        self.assertEqual(self.complete("trainer", "ev"), ["evaluate"])
        self.assertEqual(self.complete("trainer", "help", "post"), ["post-mortem"])
        self.assertEqual(self.complete("trainer", "launch", "--", "tr"), ["train"])
        self.assertIn("resnet-50", self.complete("build_model", ""))
        self.assertEqual(self.complete("partita_service", "se"), ["serve"])

    def test_flags_are_completed(self):
        self.assertEqual(self.complete("trainer", "train", "--epo"), ["--epochs="])
        self.assertEqual(self.complete("trainer", "train", "x", "--tl"), ["--tls"])
        self.assertEqual(self.complete("trainer", "launch", "--np"), ["--nproc="])
        self.assertEqual(self.complete("trainer", "launch", "--nproc", "=", "2", "--", "train", "--resu"), ["--resume="])
        self.assertEqual(self.complete("trainer", "score", "--epo"), [])
        for command in self.trainer.commands:
            found = {flag.rstrip("=") for flag in self.complete("trainer", command.name, "--")} - {"--", ""}
            self.assertEqual(found, flags_of_reference(command.name))

    def test_choices_are_completed_and_files_are_left_to_bash(self):
        self.assertEqual(self.complete("trainer", "train", "--device", "="), ["host", "cuda"])
        self.assertEqual(self.complete("trainer", "plan", "--format", "=", "d"), ["dot"])
        self.assertEqual(self.complete("trainer", "train", "--format", "=", "d"), [])
        self.assertEqual(self.complete("trainer", "train", "--load", "=", "tools"), [])
        self.assertEqual(self.complete("trainer", "train", "graph"), [])


class ParsingTest(unittest.TestCase):

    def test_entries_keep_text_over_lines_and_headings(self):
        lines = ["", "Model", "  --batch=N   size; an integer", "              from 1; T_BATCH",
                 "  --a-long-name=one|two", "              what; one of one, two; T_A"]
        self.assertEqual(help_text.entries(lines), [["Model", "--batch=N", "size; an integer from 1; T_BATCH"],
                                                    ["Model", "--a-long-name=one|two", "what; one of one, two; T_A"]])
        flag = help_text.flag_of(*help_text.entries(lines)[1])
        self.assertEqual((flag.name, flag.placeholder, flag.text, flag.variable), ("--a-long-name", "one|two", "what", "T_A"))
        self.assertEqual(flag.choices, ["one", "two"])

    def test_control_characters_begin_no_line(self):
        self.assertEqual(man_pages.paragraph(".pt2 or 'x' \\n --y"), ["\\&.pt2 or 'x' \\en \\-\\-y"])


if __name__ == "__main__":
    unittest.main()
