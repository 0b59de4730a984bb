"""Processes of this machine, by what they were started with."""

import os


def processes_of(command):
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                if command in file.read().decode(errors="replace"):
                    found.append(int(entry))
        except OSError:
            pass
    return found
