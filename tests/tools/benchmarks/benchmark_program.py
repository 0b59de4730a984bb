"""Calls the real benchmark program, which tests have as tools/benchmark, and what it needs beside it."""

import json
import os
import subprocess
import sys
import tempfile

BENCHMARK = os.path.abspath("tools/benchmark")


def call(*arguments):
    return subprocess.run([BENCHMARK, *arguments], capture_output=True, text=True, timeout=300)


def history_of(test, *arguments):
    """What a benchmark of four steps that count adds to a history."""
    with tempfile.TemporaryDirectory() as folder:
        history = os.path.join(folder, "history.jsonl")
        done = call(*arguments, "--history=" + history)
        test.assertEqual(done.returncode, 0, done.stderr)
        with open(history, encoding="utf-8") as file:
            runs = [json.loads(line) for line in file]
    for run in runs:
        test.assertEqual((run["cluster"], run["steps"]), ("two-cores", 4))
        kinds = [kind for kind in run["terms"] if kind.startswith("op ")]
        test.assertGreater(len(kinds), 2, run)
        for kind in ["step", "memory", *kinds]:
            test.assertGreater(run["terms"][kind]["predicted"], 0)
            test.assertGreater(run["terms"][kind]["measured"], 0)
    return runs


# Stands for the Python of tools/peer/install: trains at a speed of its own, agrees or not, and has no compiler.
FAKE_PEER = """#!{python}
import os, sys
open(sys.argv[1]).close()
print("9.9", flush=True)
if "--mode=compile" in sys.argv:
    sys.exit(1)
if not os.environ.get("MALLOC_TRIM_THRESHOLD_") and "--mode=eager" in sys.argv:
    seconds = 1000
else:
    seconds = 500
print("ready", flush=True)
for line in sys.stdin:
    if sys.argv[1].endswith("agree.py"):
        print('{{"loss_difference": 1e-7, "gradients": 3, "gradient_error": {difference}, "peer_error": 1e-4, "largest": "w"}}', flush=True)
    else:
        print(seconds, flush=True)
"""


def make_home(folder, difference):
    """A home folder with a peer whose gradients differ by so much."""
    programs = os.path.join(folder, ".cache/partita/peer/bin")
    os.makedirs(programs)
    path = os.path.join(programs, "python")
    with open(path, "w", encoding="utf-8") as file:
        file.write(FAKE_PEER.format(python=sys.executable, difference=difference))
    os.chmod(path, 0o755)
