#!/usr/bin/env python3
"""Runs a GPU bundle: all tests, then the trainer on the GPU. Prints a line for each, `N passed, N failed` last.

    ./run [--results=FILE.json] [--only=WORD]

A check that was not run (a test that says it needs more than there is) counts as neither. Results go to results.json
beside this file unless told otherwise. The exit code is 1 if anything failed or nothing passed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))

# What the trainer must do on one GPU: name, exit code, arguments. `verify` compares with one rank, value by value.
TRAINING = [
    ("train one rank", ["train", "--mock-data", "--steps=50", "mini_inception.pbtxt"]),
    ("train, every kernel by itself", ["train", "--mock-data", "--steps=3", "--launch-each", "mini_inception.pbtxt"]),
    ("train in TF32", ["train", "--mock-data", "--steps=20", "--tf32", "mini_inception.pbtxt"]),
    ("train, nothing timed", ["train", "--mock-data", "--steps=20", "--deterministic", "mini_inception.pbtxt"]),
    ("train two replicas", ["train", "--mock-data", "--steps=20", "--dp=2", "mini_inception.pbtxt"]),
    ("verify one rank", ["verify", "--mock-data", "mini_inception.pbtxt"]),
    ("verify dp=2", ["verify", "--mock-data", "--dp=2", "lenet5.pbtxt"]),
    ("verify mp=2", ["verify", "--mock-data", "--mp=2", "lenet5.pbtxt"]),
    ("verify dp=2 mp=2", ["verify", "--mock-data", "--dp=2", "--mp=2", "lenet5.pbtxt"]),
    ("verify placement", ["verify", "--mock-data", "--strategy=lenet5_placement.pbtxt", "lenet5.pbtxt"]),
    ("verify mixed", ["verify", "--mock-data", "--strategy=mlp_mixed.pbtxt", "mlp.pbtxt"]),
    ("verify the hybrid", ["verify", "--mock-data", "--strategy=mini_inception_2x2.pbtxt", "mini_inception.pbtxt"]),
]


def environment():
    """Libraries of the bundle come behind none of the machine's own programs: only what it starts sees them."""
    return dict(os.environ, LD_LIBRARY_PATH=os.path.join(HERE, "lib") + ":" + os.environ.get("LD_LIBRARY_PATH", ""))


def call(command, timeout):
    """(exit code or None, output, seconds)."""
    begin = time.monotonic()
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=timeout, cwd=os.path.join(HERE, "models"), env=environment(), check=False)
        return done.returncode, done.stdout, time.monotonic() - begin
    except (subprocess.TimeoutExpired, OSError) as error:
        return None, str(error), time.monotonic() - begin


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def test_cases(path):
    """(name, outcome, detail) of each case in GoogleTest's JSON."""
    with open(path, encoding="utf-8") as file:
        for suite in json.load(file)["testsuites"]:
            for case in suite["testsuite"]:
                name = suite["name"] + "." + case["name"]
                if "failures" in case:
                    yield name, "failed", case["failures"][0].get("failure", "")
                elif case.get("result") == "SKIPPED" or case.get("status") == "NOTRUN":
                    yield name, "skipped", ""
                else:
                    yield name, "passed", ""


def run_test(name):
    """The results of one test program; one that crashes is one failure more than its cases say."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cases.json")
        code, output, seconds = call([os.path.join(HERE, "tests", name), "--gtest_output=json:" + path], 600)
        try:
            results = [{"name": name + ": " + case, "outcome": outcome, "detail": detail[:2000]}
                       for case, outcome, detail in test_cases(path)]
        except (OSError, ValueError, KeyError):
            results = []
    failed = any(result["outcome"] == "failed" for result in results)
    if not results or (code != 0 and not failed):
        results.append({"name": name, "outcome": "failed", "detail": f"exit code {code}: {output[-2000:]}"})
    return results, seconds


def run_training(name, arguments):
    command = [os.path.join(HERE, "bin", "trainer"), arguments[0], "--device=cuda", *arguments[1:]]
    code, output, seconds = call(command, 600)
    outcome = "passed" if code == 0 else "failed"
    detail = output[-4000:] if code == 0 else f"exit code {code}: {last_line(output)}"
    return {"name": name, "outcome": outcome, "detail": detail, "seconds": round(seconds, 3)}


def machine():
    code, output, _ = call(["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"], 60)
    return output.strip() if code == 0 else "no GPU: nvidia-smi does not run"


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", default=os.path.join(HERE, "results.json"))
    parser.add_argument("--only", default="", help="run only what has this word in its name")
    options = parser.parse_args(arguments)
    results = []
    where = machine()
    print(f"on {where}")
    for name in sorted(os.listdir(os.path.join(HERE, "tests"))):
        if options.only not in name:
            continue
        found, seconds = run_test(name)
        counts = {o: sum(r["outcome"] == o for r in found) for o in ("passed", "failed", "skipped")}
        print(f"{name}: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped, {seconds:.1f} s")
        results += found
    for name, command in TRAINING:
        if options.only not in name:
            continue
        result = run_training(name, command)
        shown = last_line(result["detail"]) if result["outcome"] == "failed" else ""
        print(f"{name}: {result['outcome']}, {result['seconds']:.1f} s {shown}".rstrip())
        results.append(result)
    passed = sum(result["outcome"] == "passed" for result in results)
    failed = sum(result["outcome"] == "failed" for result in results)
    revision = ""
    if os.path.exists(os.path.join(HERE, "REVISION")):
        with open(os.path.join(HERE, "REVISION"), encoding="utf-8") as file:
            revision = file.read().strip()
    with open(options.results, "w", encoding="utf-8") as file:
        json.dump({"schema_version": 1, "revision": revision, "machine": where, "time": time.strftime("%FT%TZ", time.gmtime()),
                   "passed": passed, "failed": failed, "results": results}, file, indent=1)
    for result in results:
        if result["outcome"] == "failed":
            print(f"failed: {result['name']}: {last_line(result['detail'])}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
