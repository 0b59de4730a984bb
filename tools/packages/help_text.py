"""A program's commands and flags, as its own help states them (tools/program/program_help.h)."""

import dataclasses
import re
import subprocess

ENTRY = re.compile(r"  (\S+)(?: +(.*))?$")
CHOICES = "one of "


@dataclasses.dataclass(frozen=True)
class Flag:
    group: str
    name: str  # with its hyphens
    placeholder: str  # what stands for the value; "": a switch
    text: str
    allowed: str
    variable: str  # of the environment

    @property
    def choices(self):
        return self.allowed.removeprefix(CHOICES).split(", ") if self.allowed.startswith(CHOICES) else []


@dataclasses.dataclass(frozen=True)
class Command:
    name: str
    summary: str
    usage: str
    flags: list

    @property
    def passes_on(self):
        """Whether another command's line stands behind `--`."""
        return " -- COMMAND" in self.usage


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    version: str
    summary: str
    commands: list


def entries(lines):
    """(heading, name, text) of each entry of a list in two columns."""
    found, heading = [], ""
    for line in lines:
        entry = ENTRY.match(line)
        if entry:
            found.append([heading, entry[1], entry[2] or ""])
        elif line.startswith("   "):
            found[-1][2] = f"{found[-1][2]} {line.strip()}".strip()
        elif line:
            heading = line
    return found


def flag_of(group, entry, text):
    name, _, placeholder = entry.partition("=")
    text, allowed, variable = text.rsplit("; ", 2)
    return Flag(group, name, placeholder, text, allowed, variable)


def read_command(path, name):
    summary, _, rest = output_of(path, name, "--help-all").partition("\nusage: ")
    usage, _how, *lines = rest.splitlines()
    flags = [flag_of(*entry) for entry in entries(lines)]
    return Command(name, " ".join(summary.split()).partition(": ")[2], usage, flags)


def read_program(path):
    head, _usage, *lines = output_of(path, "help").splitlines()
    name, _, summary = head.partition(": ")
    commands = [read_command(path, entry) for _, entry, _ in entries(lines) if entry != "help"]
    version = re.search(r"^\S+ (\S+),", output_of(path, "--version"))[1]
    return Program(name, version, summary, commands)


def output_of(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, timeout=60).stdout
