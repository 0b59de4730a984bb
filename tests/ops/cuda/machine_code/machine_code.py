"""What the compiler made of kernels, as cuobjdump prints it: registers, stack, calls, loads, instructions."""

import collections
import itertools
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

Kernel = collections.namedtuple("Kernel", "name registers stack local calls loads code")

# Helpers that ptxas calls: integer division and remainder of 64 bits.
DIVISION = re.compile(r"(div|rem)_[su]64$")


def disassembler():
    """The path of cuobjdump, which runs the nvdisasm beside it: of the pinned wheel (tools/bazel/python.txt), in a copy,
    since wheels are unpacked without the right to be run."""
    folders = [os.path.join(path, "nvidia/cu13/bin") for path in sys.path]
    wheel = next(folder for folder in folders if os.path.exists(os.path.join(folder, "cuobjdump")))
    folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
    for tool in ["cuobjdump", "nvdisasm"]:
        os.chmod(shutil.copy(os.path.join(wheel, tool), folder), 0o755)
    os.environ["PATH"] = folder + ":" + os.environ.get("PATH", "")
    return os.path.join(folder, "cuobjdump")


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


def _code(text):
    """{kernel: [[(address, instruction)] of each architecture, in the order of the file]}"""
    found, code = collections.defaultdict(list), None
    for line in text.splitlines():
        instruction = re.match(r"\s+/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;", line)
        if "Function : " in line:
            code = []
            found[line.split()[-1]].append(code)
        elif instruction:
            code.append((int(instruction.group(1), 16), instruction.group(2)))
    return found


def _loads(codes):
    """Bits of the loads from global memory."""
    found = set()
    for _, instruction in itertools.chain(*codes):
        if "LDG" in instruction:
            wide = re.search(r"\bLDG[.\w]*\.(64|128)\b", instruction)
            found.add(int(wide.group(1)) if wide else 32)
    return found


def read(cuobjdump, path):
    """The kernels of an object file: of each the worst of all architectures that it was compiled for, and the code for
    the last of them."""
    calls, codes = _calls(_run(cuobjdump, "-elf", path)), _code(_run(cuobjdump, "-sass", path))
    return [
        Kernel(name, *(max(column) for column in zip(*resources)), calls[name], _loads(codes[name]), codes[name][-1])
        for name, resources in _resources(_run(cuobjdump, "-res-usage", path)).items()
    ]


def _loops(code):
    """[(first address, last address)] of the loops, by their backward branches."""
    loops = []
    for address, instruction in code:
        branch = re.search(r"\bBRA\b.*?\b0x([0-9a-f]+)", instruction)
        if branch and int(branch.group(1), 16) < address:
            loops.append((int(branch.group(1), 16), address))
    return loops


def innermost(code):
    """The instructions of each loop that has no other within it."""
    loops = _loops(code)
    for begin, end in loops:
        if not any(begin <= first and last <= end for first, last in loops if (first, last) != (begin, end)):
            yield [instruction for address, instruction in code if begin <= address <= end]


def instructions(code, rounds):
    """Instructions that a thread executes if each loop takes `rounds` of its depth, the outermost loop first.

    All branches within a round count as taken. Not counted: what lies behind the last EXIT, which are the slow paths of
    divisions, and inner loops that call those, which kernels keep for rare values.
    """
    end = max(address for address, instruction in code if re.search(r"\bEXIT\b", instruction))
    loops = _loops(code)
    outer = [loop for loop in loops if not any(o[0] <= loop[0] and loop[1] < o[1] for o in loops)]
    calls = [address for address, instruction in code if "CALL" in instruction]
    rare = [loop for loop in loops if loop not in outer and any(loop[0] <= call <= loop[1] for call in calls)]
    count = 0
    for address, _ in code:
        around = [loop for loop in loops if loop[0] <= address <= loop[1]]
        if address <= end and not set(around) & set(rare):
            count += math.prod(rounds[:len(around)])
    return count


def faults(kernel, registers=64, load=128, has=(), lacks=(), most=None, stack=0):
    """What is wrong with a hot kernel.

    `load`: bits that its widest load must have. `has`, `lacks`: parts of instructions that it must have, or must not.
    `most`: (instructions, elements of a thread, rounds of its loops by depth), how many instructions an element may
    take. `stack`: bytes of a frame that nothing is spilled to.
    """
    found = []
    if kernel.registers > registers:
        found.append("{} registers, allowed are {}".format(kernel.registers, registers))
    if kernel.stack > stack or kernel.local:
        found.append("{} bytes of stack, {} of local memory".format(kernel.stack, kernel.local))
    found += ["calls " + helper for helper in sorted(kernel.calls) if DIVISION.search(helper)]
    if max(kernel.loads, default=0) < load:
        found.append("loads of {} bits, {} are needed".format(sorted(kernel.loads), load))
    found += ["no " + name for name in has if not any(name in instruction for _, instruction in kernel.code)]
    found += ["has " + part for part in lacks if any(part in instruction for _, instruction in kernel.code)]
    if most is not None:
        count = instructions(kernel.code, most[2]) / most[1]
        if count > most[0]:
            found.append("{:.1f} instructions per element, allowed are {}".format(count, most[0]))
    return found
