"""What the compiler made of kernels, as cuobjdump tells it: registers, stack, calls and loads of each."""

import collections
import os
import re
import shutil
import subprocess
import sys

Kernel = collections.namedtuple("Kernel", "name registers stack local calls loads")

# Helpers that ptxas calls: integer division and remainder of 64 bits.
DIVISION = re.compile(r"(div|rem)_[su]64$")


def tools():
    """(path of cuobjdump, "") or (None, why not). It runs nvdisasm, which must lie beside it or in PATH."""
    folders = os.environ.get("PATH", "").split(":")
    folders += [os.path.join(os.environ[name], "bin") for name in ["CUDA_HOME"] if name in os.environ]
    folders += ["/usr/local/cuda/bin"] + [os.path.join(path, "nvidia/cu13/bin") for path in sys.path]
    path = ":".join(folders)
    for tool in ["cuobjdump", "nvdisasm"]:
        if shutil.which(tool, path=path) is None:
            return None, "no {} in PATH, CUDA_HOME/bin, /usr/local/cuda/bin or the wheels of Python".format(tool)
    os.environ["PATH"] = path
    return shutil.which("cuobjdump", path=path), ""


def _run(cuobjdump, what, path):
    return subprocess.run([cuobjdump, what, path], check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout


def _resources(text):
    """{kernel: [(registers, stack, local)]}, one of each architecture."""
    found = collections.defaultdict(list)
    for name, line in re.findall(r"Function (\S+):\n(.*)", text):
        numbers = dict(re.findall(r"(\w+):(\d+)", line))
        found[name].append(tuple(int(numbers[key]) for key in ["REG", "STACK", "LOCAL"]))
    return found


def _calls(text):
    """{kernel: {helpers in its section}}"""
    found, sections = collections.defaultdict(set), {}
    for line in text.splitlines():
        words = line.split()
        if "PROGBITS" in words and words[-1].startswith(".text."):  # of each image before its symbols
            sections[int(words[0], 16)] = words[-1][len(".text."):]
        elif "FUNC" in words and words[-1].startswith("$__internal_"):
            found[sections[int(words[-2], 16)]].add(words[-1].split("$")[-1])
    return found


def _loads(text):
    """{kernel: {bits of its loads from global memory}}"""
    found, name = collections.defaultdict(set), ""
    for line in text.splitlines():
        if "Function : " in line:
            name = line.split()[-1]
        elif "LDG" in line:
            wide = re.search(r"\bLDG[.\w]*\.(64|128)\b", line)
            found[name].add(int(wide.group(1)) if wide else 32)
    return found


def read(cuobjdump, path):
    """The kernels of an object file: of each the worst of all architectures that it was compiled for."""
    calls, loads = _calls(_run(cuobjdump, "-elf", path)), _loads(_run(cuobjdump, "-sass", path))
    return [
        Kernel(name, *(max(column) for column in zip(*resources)), calls[name], loads[name])
        for name, resources in _resources(_run(cuobjdump, "-res-usage", path)).items()
    ]


def faults(kernel, registers=64, load=128):
    """What is wrong with a hot kernel; `load`: bits that its widest load must have."""
    found = []
    if kernel.registers > registers:
        found.append("{} registers, allowed are {}".format(kernel.registers, registers))
    if kernel.stack or kernel.local:
        found.append("{} bytes of stack, {} of local memory".format(kernel.stack, kernel.local))
    found += ["calls " + helper for helper in sorted(kernel.calls) if DIVISION.search(helper)]
    if max(kernel.loads, default=0) < load:
        found.append("loads of {} bits, {} are needed".format(sorted(kernel.loads), load))
    return found
