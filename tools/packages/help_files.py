"""Writes manual pages and bash completions of programs, from their help:

  python3 -m tools.packages.help_files --output=FOLDER PROGRAM...   into FOLDER/man/man1 and FOLDER/bash-completion
"""

import argparse
import datetime
import os
import pathlib
import subprocess

from tools.packages import completion, help_text, man_pages

ROOT = pathlib.Path(__file__).resolve().parents[2]


def date_of_revision():
    """Of the commit, so that the same commit gives the same pages; outside a repository today."""
    done = subprocess.run(["git", "-C", str(ROOT), "log", "-1", "--format=%cs"], capture_output=True, text=True)
    return done.stdout.strip() or datetime.date.today().isoformat()


def write(programs, share):
    """share: the folder /usr/share, or one that stands for it."""
    reference = (ROOT / "docs/reference/commands.md").read_text(encoding="utf-8")
    manual, completions = share / "man/man1", share / "bash-completion/completions"
    for folder in (manual, completions):
        folder.mkdir(parents=True, exist_ok=True)
    for path in programs:
        program = help_text.read_program(path)
        for name, text in man_pages.pages_of(program, reference, date_of_revision()).items():
            (manual / name).write_text(text, encoding="utf-8")
        (completions / program.name).write_text(completion.completion_of(program), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", required=True, help="folder of the files")
    parser.add_argument("programs", nargs="+", help="paths of programs")
    given = parser.parse_args()
    write([os.path.abspath(path) for path in given.programs], pathlib.Path(given.output))


if __name__ == "__main__":
    main()
