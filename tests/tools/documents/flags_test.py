"""Every flag that the guides and the reference name is one of our programs', or of a program in OTHERS."""

import glob
import re
import subprocess
import unittest

TRAINER, BENCHMARK, BUILD_MODEL = "tools/trainer", "tools/benchmark", "tools/models/build_model"
SERVICE = "tools/service/partita_service"
PAGES = ("docs/guide/*.md", "docs/reference/*.md", "docs/tutorial.md")

OTHERS = {
    "of no command": {"name", "version"},  # `--name=value` is the form of a flag
    "bazel": {"cxxopt", "dynamic_mode", "repo_env", "stamp"},
    "kubectl": {"for", "from-literal"},
    "mpirun": {"host"},
    "pkg-config": {"cflags", "libs"},
    "Slurm": {"cpus-per-task", "gpus-per-task", "nodes", "ntasks-per-node", "signal"},
    "tensorboard": {"logdir"},
    "tests/importer/step/exported_models.py": {"results"},
    "tools/docs": {"flags", "man", "ops"},
    "tools/install": {"cuda"},
    "tools/prepare/descriptions": {"language"},
    "torchrun": {"nnodes", "no-python", "nproc-per-node", "rdzv-backend", "rdzv-endpoint"},
}


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout


def flags_of(program):
    """The flags of all commands of a program."""
    commands = re.findall(r"^  ([a-z][a-z0-9-]*)(?: |$)", output_of(program, "help"), re.MULTILINE)
    helps = [output_of(program, command, "--help") for command in commands if command != "help"]
    return set(re.findall(r"^  --([a-z0-9-]+)", "\n".join(helps), re.MULTILINE))


def flags_in(text):
    return set(re.findall(r"(?<![\w-])--([a-z][a-z0-9_-]*)", text))


class FlagsTest(unittest.TestCase):
    def test_every_flag_exists(self):
        known = set().union(*map(flags_of, (TRAINER, BENCHMARK, BUILD_MODEL, SERVICE)), *OTHERS.values())
        self.assertGreater(len(known), 100)
        pages = [page for pattern in PAGES for page in glob.glob(pattern)]
        self.assertGreater(len(pages), 12)
        for page in pages:
            with self.subTest(page), open(page, encoding="utf-8") as file:
                self.assertEqual(sorted(flags_in(file.read()) - known), [])

    def test_flags_are_found_in_text(self):
        self.assertEqual(flags_in("`--dp=2 --no-x` | a--b ---- --repo_env"), {"dp", "no-x", "repo_env"})


if __name__ == "__main__":
    unittest.main()
