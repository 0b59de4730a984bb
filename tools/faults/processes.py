"""Processes of this machine, by what they were started with; and how far a job of them has come."""

import os
import re


def processes_of(text):
    """That have it in their command lines."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                if text in file.read().decode(errors="replace"):
                    found.append(int(entry))
        except OSError:  # it has just gone
            pass
    return found


def ranks_of(text):
    """Of those, the process of each rank of a job."""
    ranks = {}
    for process in processes_of(text):
        try:
            with open(f"/proc/{process}/environ", "rb") as file:
                rank = re.search(rb"(?:^|\0)RANK=(\d+)\0", file.read())
        except OSError:
            continue
        if rank:
            ranks[int(rank.group(1))] = process
    return ranks


def newest_step(folder):
    """Of the checkpoints there; -1: there is none."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return max((int(name[5:]) for name in names if name.startswith("step-")), default=-1)
