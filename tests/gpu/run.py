#!/usr/bin/env python3
"""Runs a GPU bundle: tests, steps of two models, the trainer on the GPU, then tests under compute-sanitizer where the
machine has it. The cheapest come first and each has a limit, so that a machine shows within a minute what is wrong.
Prints a line for each, `N passed, N failed` last.

    ./run [--seconds=N] [--out=DIR] [--only=WORD] [--skip=WORD]

A check that was not run (a test that says it needs more than there is) counts as neither. DIR, by default the folder
`out` beside this file, gets results.json, written anew after every check, a log of each program, the timeline, and the
libraries' timed plans. With --seconds all ends within N seconds: a check that the end cuts off counts with the cases it
had finished, and the rest is skipped. A second call with the same DIR continues: it reads the plans, skips checks that
have passed and adds its results; --only repeats what it names. `./table out/results.json` prints the results as
Markdown. The exit code is 1 if anything failed or nothing passed, 2 if DIR belongs to another bundle or machine.
"""

import argparse
import functools
import glob
import itertools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))

# How long a program may take, and those that may take another time: tests, and checks of the lists below. Tests of up
# to EARLY seconds come before everything else.
SECONDS = 120
EARLY = 60
KERNELS = "device_test"  # our own kernels; runs right after the early tests, although it takes longer
LIMITS = {
    "cuda_library_test": 20,
    "cuda_device_test": 20,
    "cuda_local_test": 20,
    "nccl_world_test": 20,
    "nccl_abort_test": 60,
    "stream_test": 60,
    "captured_step_test": 60,
    "collectives_test": 300,
    "device_test": 600,
    "plans in f32": 300,
    "plans in TF32": 300,
    "plans in bf16": 300,
    "steps of inception-v3 in bf16": 300,
    "steps of resnet-50 in bf16": 300,
}

# Steps of models, beside PyTorch on the same GPU where a Python has it: name, arguments of the benchmark. A row says
# what share of the GPU's limit the steps reach. The first ones are decided by convolutions and by products of matrices.
STEPS = [
    (f"steps of {model} in {name}", ["models", "--model=" + model, "--precision=" + precision, "--steps=3",
                                     "--rounds=1"])
    for name, precision in [("bf16", "bf16"), ("TF32", "tf32")] for model in ["wide-mlp", "conv-stack"]
] + [
    (f"steps of {model} in bf16", ["models", "--model=" + model, "--precision=bf16", "--batch=128", "--steps=10",
                                   "--rounds=2"])
    for model in ["inception-v3", "resnet-50", "gnmt", "big-lstm"]
]
PEER_FORMS = "eager,graph"  # torch.compile takes minutes

# What the trainer must do on one GPU: name, arguments. `verify` compares with one rank, value by value, and times
# nothing: it comes first. The first to train time the plans of the libraries, for which these may compile kernels;
# later ones find them in the cache.
TRAINING = [
    ("verify dp=2", ["verify", "--mock-data", "--dp=2", "lenet5.pbtxt"]),
    ("verify mp=2", ["verify", "--mock-data", "--mp=2", "lenet5.pbtxt"]),
    ("verify dp=2 mp=2", ["verify", "--mock-data", "--dp=2", "--mp=2", "lenet5.pbtxt"]),
    ("verify in bf16", ["verify", "--mock-data", "--precision=bf16", "--dp=2", "--mp=2", "lenet5.pbtxt"]),
    ("verify placement", ["verify", "--mock-data", "--strategy=lenet5_placement.pbtxt", "lenet5.pbtxt"]),
    ("verify mixed", ["verify", "--mock-data", "--strategy=mlp_mixed.pbtxt", "mlp.pbtxt"]),
    ("verify domains", ["verify", "--mock-data", "--strategy=lenet5_domain.pbtxt", "lenet5.pbtxt"]),
    ("verify groups", ["verify", "--mock-data", "--strategy=lenet5_groups.pbtxt", "lenet5.pbtxt"]),
    ("verify a grid", ["verify", "--mock-data", "--strategy=lenet5_grid.pbtxt", "lenet5.pbtxt"]),
    ("verify a pipeline", ["verify", "--mock-data", "--strategy=lenet5_pipeline.pbtxt", "lenet5.pbtxt"]),
    ("verify meshes", ["verify", "--mock-data", "--strategy=lenet5_meshes.pbtxt", "lenet5.pbtxt"]),
    ("verify split classes", ["verify", "--mock-data", "--strategy=mlp_classes.pbtxt", "mlp.pbtxt"]),
    ("verify one rank", ["verify", "--mock-data", "mini_inception.pbtxt"]),
    ("verify the hybrid", ["verify", "--mock-data", "--strategy=mini_inception_2x2.pbtxt", "mini_inception.pbtxt"]),
    ("verify words", ["verify", "--mock-data", "big_lstm.pbtxt"]),
    ("verify words in bf16", ["verify", "--mock-data", "--precision=bf16", "big_lstm.pbtxt"]),
    ("verify words, the hybrid", ["verify", "--mock-data", "--strategy=big_lstm_2x2.pbtxt", "big_lstm.pbtxt"]),
    ("verify sentences", ["verify", "--mock-data", "gnmt.pbtxt"]),
    ("verify sentences in bf16", ["verify", "--mock-data", "--precision=bf16", "gnmt.pbtxt"]),
    ("verify sentences, the hybrid", ["verify", "--mock-data", "--strategy=gnmt_2x2.pbtxt", "gnmt.pbtxt"]),
    ("plans in f32", ["train", "--mock-data", "--steps=1", "mini_inception.pbtxt"]),
    ("plans in TF32", ["train", "--mock-data", "--steps=1", "--tf32", "mini_inception.pbtxt"]),
    ("plans in bf16", ["train", "--mock-data", "--steps=1", "--precision=bf16", "mini_inception.pbtxt"]),
    ("train one rank", ["train", "--mock-data", "--steps=50", "mini_inception.pbtxt"]),
    ("train, every kernel by itself", ["train", "--mock-data", "--steps=3", "--launch-each", "mini_inception.pbtxt"]),
    ("train in TF32", ["train", "--mock-data", "--steps=20", "--tf32", "mini_inception.pbtxt"]),
    ("train, nothing timed", ["train", "--mock-data", "--steps=20", "--deterministic", "mini_inception.pbtxt"]),
    ("train with a timeline", ["train", "--mock-data", "--steps=20", "--trace=timeline.json", "mini_inception.pbtxt"]),
    ("train in bf16", ["train", "--mock-data", "--steps=20", "--precision=bf16", "mini_inception.pbtxt"]),
    ("train two replicas", ["train", "--mock-data", "--steps=20", "--dp=2", "mini_inception.pbtxt"]),
]

# The same training on two processes that share the GPU and talk by NCCL, as on one rank: name, arguments of the two, of
# the one.
PROCESSES = [
    ("two processes, replicas", ["--dp=2"], []),
    ("two processes, channels", ["--mp=2"], []),
    ("two processes, a pipeline", ["--strategy=lenet5_pipeline.pbtxt"], []),
]

# Losses of 50 steps that may differ by so much: name, bar, both arguments.
LOSSES = [
    ("bf16 beside f32", 2e-2, ["--precision=bf16", "mini_inception.pbtxt"], ["mini_inception.pbtxt"]),
    ("bf16 beside f32, LeNet-5", 2e-2, ["--precision=bf16", "lenet5.pbtxt"], ["lenet5.pbtxt"]),
    ("delays beside none", 0, ["--dp=2", "--mp=2", "--delay-seed=3", "lenet5.pbtxt"],
     ["--dp=2", "--mp=2", "lenet5.pbtxt"]),
    ("TF32 beside f32", 2e-2, ["--tf32", "mini_inception.pbtxt"], ["mini_inception.pbtxt"]),
]

# Tools of compute-sanitizer, and what runs under each: name, test program, which of its cases. Only kernels of our own
# are watched: those of libraries are not ours to mend, and would take all the time.
SANITIZERS = ["memcheck", "synccheck", "racecheck"]
SANITIZED = [
    ("kernels", "device_test", "Cuda/DeviceKernel.EqualsTheHostsReference/*"),
    ("captured steps", "captured_step_test", "*/cuda"),
    ("collectives", "collectives_test", "WalkedTogether/CollectivesTest.*/cuda_local_3"),
]
SANITIZED_EARLY = ["captured steps"]  # under memcheck, before plans are timed
SANITIZER_SECONDS = 600  # kernels run many times slower
FOUND_BY_SANITIZER = 99  # its exit code then

HAS_TORCH = "import sys, torch; print(torch.__version__); sys.exit(not torch.cuda.is_available())"

NO_GPU = "no GPU: nvidia-smi does not run"
NO_TIME = "no time was left (--seconds)"
LEAST_SECONDS = 3  # what has fewer left does not begin
ENDING = 2  # seconds kept to save the results


class Session:
    """One call of the runner: when it ends, and where it keeps what programs print."""

    def __init__(self, out, seconds=None):
        self.out = out
        self.end = None if seconds is None else time.monotonic() + seconds - ENDING
        os.makedirs(os.path.join(out, "logs"), exist_ok=True)

    def left(self):
        return float("inf") if self.end is None else self.end - time.monotonic()

    def keep(self, name, output):
        if name:
            with open(os.path.join(self.out, "logs", re.sub(r"[^A-Za-z0-9_.=-]+", "_", name) + ".log"), "a",
                      encoding="utf-8") as file:
                file.write(output)


SESSION = None  # of main


def limit_of(name):
    return LIMITS.get(name, SECONDS)


def environment(**more):
    """Libraries of the bundle come behind none of the machine's own programs: only what it starts sees them."""
    return dict(os.environ, LD_LIBRARY_PATH=os.path.join(HERE, "lib") + ":" + os.environ.get("LD_LIBRARY_PATH", ""),
                XDG_CACHE_HOME=os.path.join(SESSION.out, "cache"), **more)


def call(command, limit, name=""):
    """(exit code or None, output, seconds); the output is kept under the name. At the limit, or where the session
    ends, all that the command started is ended."""
    begin = time.monotonic()
    timeout = max(0.1, min(limit, SESSION.left()))
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   errors="replace", cwd=os.path.join(HERE, "models"), env=environment(),
                                   start_new_session=True)
    except OSError as error:
        return None, str(error), time.monotonic() - begin
    code = None
    try:
        output, _ = process.communicate(timeout=timeout)
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        output += "\n" + (NO_TIME if timeout < limit else f"no end within {limit} s")
    except BaseException:  # Ctrl-C does not reach a session of its own
        os.killpg(process.pid, signal.SIGKILL)
        raise
    SESSION.keep(name, output)
    return code, output, time.monotonic() - begin


def was_cut_off(code, output):
    """By the session's end, not by its own limit."""
    return code is None and output.endswith(NO_TIME)


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


def finished_cases(output):
    """(name, outcome, detail) of each case whose end GoogleTest printed before the program was killed."""
    outcomes = {"       OK ": "passed", "  FAILED  ": "failed", "  SKIPPED ": "skipped"}
    for mark, name in re.findall(r"(?m)^\[(       OK |  FAILED  |  SKIPPED )\] (\S+).* \(\d+ ms\)$", output):
        yield name.rstrip(","), outcomes[mark], ""


def run_test(name):
    """The results of one test program; one that crashes is one failure more than its cases say."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cases.json")
        code, output, seconds = call([os.path.join(HERE, "tests", name), "--gtest_output=json:" + path],
                                     limit_of(name), name)
        try:
            cases = list(test_cases(path))
        except (OSError, ValueError, KeyError):
            cases = list(finished_cases(output))
    results = [{"name": name + ": " + case, "outcome": outcome, "detail": detail[:2000]}
               for case, outcome, detail in cases]
    failed = any(result["outcome"] == "failed" for result in results)
    if was_cut_off(code, output):
        results.append({"name": name, "outcome": "skipped", "detail": NO_TIME})
    elif not results or (code != 0 and not failed):
        results.append({"name": name, "outcome": "failed", "detail": f"exit code {code}: {output[-2000:]}"})
    return results, seconds


def run_program(program, name, arguments):
    command = [os.path.join(HERE, "bin", program), arguments[0], "--device=cuda", *arguments[1:]]
    code, output, seconds = call(command, limit_of(name), name)
    outcome = "passed" if code == 0 else "skipped" if was_cut_off(code, output) else "failed"
    detail = output[-4000:] if code == 0 else f"exit code {code}: {last_line(output)}"
    return {"name": name, "outcome": outcome, "detail": detail, "seconds": round(seconds, 3)}


def peer_flags():
    """Of the benchmark, so that PyTorch trains beside it; none where no Python has PyTorch for this GPU."""
    for python in (sys.executable, shutil.which("python3"), shutil.which("python")):
        if python and call([python, "-c", HAS_TORCH], 60, "pytorch")[0] == 0:
            return ["--peer=pytorch", "--peer-forms=" + PEER_FORMS, "--peer-python=" + python, "--skip-agreement"]
    return []


def trainer(*arguments):
    return [os.path.join(HERE, "bin", "trainer"), "train", "--device=cuda", "--deterministic", "--mock-data",
            "--steps=50", *arguments]


def loss_of(report):
    """(mean over the steps or None, what went wrong)."""
    try:
        with open(report, encoding="utf-8") as file:
            return json.load(file)["epochs"][0]["training_loss"], ""
    except (OSError, ValueError, LookupError) as error:
        return None, f"no loss in the report: {error}"


def loss_of_one(arguments, folder):
    report = os.path.join(folder, "one.json")
    code, output, _ = call(trainer("--report=" + report, *arguments), SECONDS, "loss " + " ".join(arguments))
    return loss_of(report) if code == 0 else (None, f"exit code {code}: {last_line(output)}")


def wrong_of_two(arguments, report, port):
    """What went wrong in each rank, if anything did."""
    ranks = []
    for rank in range(2):
        variables = environment(RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK="0", MASTER_ADDR="127.0.0.1",
                                MASTER_PORT=str(port), NCCL_HOSTID=f"rank{rank}")
        ranks.append(subprocess.Popen(trainer("--report=" + report, *arguments), cwd=os.path.join(HERE, "models"),
                                      env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                      errors="replace"))
    wrong = []
    for rank, process in enumerate(ranks):
        try:
            output, _ = process.communicate(timeout=max(0.1, min(SECONDS, SESSION.left())))
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
        SESSION.keep("rank {} {}".format(rank, " ".join(arguments)), output)
        if process.returncode != 0:
            wrong.append(f"rank {rank}: exit code {process.returncode}: {last_line(output)}")
    return wrong


def loss_of_two(arguments, folder):
    """The same with two ranks, which are on two hosts as far as NCCL can tell."""
    report = os.path.join(folder, "two.json")
    with socket.socket() as reserved:  # no other program gets the port before rank 0 listens there
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        wrong = wrong_of_two(arguments, report, reserved.getsockname()[1])
    return (None, "; ".join(wrong)) if wrong else loss_of(report)


def compare(name, bar, one, other):
    """Two losses, each with what went wrong."""
    for loss, wrong in (one, other):
        if loss is None:
            cut_off = SESSION.left() <= 0
            outcome, detail = ("skipped", NO_TIME) if cut_off else ("failed", wrong)
            return {"name": name, "outcome": outcome, "detail": detail}
    difference = abs(one[0] - other[0]) / abs(other[0])
    detail = f"losses {one[0]:.6f} and {other[0]:.6f} differ by {difference:.2e}; {bar:.0e} is allowed"
    return {"name": name, "outcome": "passed" if difference <= bar else "failed", "detail": detail}


def comparisons(wanted):
    with tempfile.TemporaryDirectory() as folder:
        for name, two, one in PROCESSES:
            if wanted(name):
                graph = "lenet5.pbtxt"
                yield compare(name, 5e-4, loss_of_two([*two, graph], folder), loss_of_one([*one, graph], folder))
        for name, bar, arguments, reference in LOSSES:
            if wanted(name):
                yield compare(name, bar, loss_of_one(arguments, folder), loss_of_one(reference, folder))


def find_sanitizer():
    """Its path; empty: the machine does not have it. A toolkit has it, and a package of Python's."""
    folders = [os.environ.get("PATH", os.defpath)]
    folders += [os.path.join(os.environ[name], "bin") for name in ("CUDA_HOME", "CUDA_PATH") if name in os.environ]
    folders += ["/usr/local/cuda/bin", *sorted(glob.glob("/usr/local/cuda-*/bin"))]
    for packages in sys.path:
        folders += glob.glob(os.path.join(packages, "nvidia", "*", "bin"))
    return shutil.which("compute-sanitizer", path=os.pathsep.join(folders)) or ""


def sanitize(program, tool, test, cases):
    """(outcome, detail) of cases of a test under a tool of compute-sanitizer."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cases.json")
        code, output, _ = call([program, "--tool", tool, "--report-api-errors", "no", "--kernel-name",
                                "kernel_substring=partita", "--error-exitcode", str(FOUND_BY_SANITIZER),
                                os.path.join(HERE, "tests", test), "--gtest_filter=" + cases,
                                "--gtest_output=json:" + path], SANITIZER_SECONDS, f"{tool} {test}")
        if was_cut_off(code, output):
            return "skipped", NO_TIME
        if code != 0:
            said = "errors were found" if code == FOUND_BY_SANITIZER else f"exit code {code}"
            return "failed", f"{said}: {output.strip()[-2000:]}"
        try:
            outcomes = [outcome for _, outcome, _ in test_cases(path)]
        except (OSError, ValueError, KeyError) as error:
            return "failed", f"no results of the test: {error}"
    if not outcomes:
        return "failed", f"the test has no cases {cases}"
    passed = outcomes.count("passed")
    return ("passed", f"{passed} cases") if passed else ("skipped", "the test skips all its cases on this machine")


def sanitizations(wanted, early):
    program, where = find_sanitizer(), machine()
    why_not = NO_GPU if where == NO_GPU else "" if program else "compute-sanitizer is not found"
    for tool in SANITIZERS:
        for what, test, cases in SANITIZED:
            name = f"sanitizer {tool}: {what}"
            is_early = tool == SANITIZERS[0] and what in SANITIZED_EARLY
            if is_early == early and wanted(name):
                outcome, detail = ("skipped", why_not) if why_not else sanitize(program, tool, test, cases)
                yield {"name": name, "outcome": outcome, "detail": detail}


def machine():
    code, output, _ = call(["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"], 60)
    return output.strip() if code == 0 else NO_GPU


def versions():
    """Of the libraries, as the trainer opens them."""
    return call([os.path.join(HERE, "bin", "trainer"), "version"], 60, "versions")[1].strip()


def run_tests(names):
    for name in names:
        found, seconds = run_test(name)
        counts = {o: count(found, o) for o in ("passed", "failed", "skipped")}
        yield (f"{name}: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped, "
               f"{seconds:.1f} s"), found


def run_benchmark(name, arguments):
    """With the row that it writes."""
    report = os.path.join(SESSION.out, "row.json")
    result = run_program("benchmark", name, [*arguments, "--report=" + report])
    if result["outcome"] == "passed":
        try:
            with open(report, encoding="utf-8") as file:
                (result["row"],) = json.load(file)
            os.remove(report)
        except (OSError, ValueError) as error:
            result |= {"outcome": "failed", "detail": f"no row: {error}"}
    return result


def run_programs(wanted, run, programs):
    for name, arguments in programs:
        if wanted(name):
            result = run(name, arguments)
            shown = last_line(result["detail"]) if result["outcome"] == "failed" else ""
            yield f"{name}: {result['outcome']}, {result['seconds']:.1f} s {shown}".rstrip(), [result]


def singly(results):
    for result in results:
        yield f"{result['name']}: {result['outcome']}, {last_line(result['detail'])}", [result]


def checks(wanted):
    """(a line to print, results) of one after the other."""
    tests = sorted(os.listdir(os.path.join(HERE, "tests")), key=lambda name: (limit_of(name), name))
    first = [name for name in tests if limit_of(name) <= EARLY or name == KERNELS]
    yield from run_tests(name for name in first if wanted(name))
    train = functools.partial(run_program, "trainer")
    verifying = [entry for entry in TRAINING if entry[0].startswith("verify")]
    yield from run_programs(wanted, train, verifying)
    yield from singly(sanitizations(wanted, early=True))
    yield from run_programs(wanted, train, [entry for entry in TRAINING if entry not in verifying])
    steps = [entry for entry in STEPS if wanted(entry[0])]
    peer = peer_flags() if steps else []
    yield from run_programs(wanted, run_benchmark, [(name, arguments + peer) for name, arguments in steps])
    yield from run_tests(name for name in tests if name not in first and wanted(name))
    yield from singly(itertools.chain(comparisons(wanted), sanitizations(wanted, early=False)))


def count(results, outcome):
    return sum(result["outcome"] == outcome for result in results)


def revision():
    """Of the sources that the bundle was made from."""
    try:
        with open(os.path.join(HERE, "REVISION"), encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""


def results_of_earlier_calls(path, where):
    """Those of the same bundle on the same machine; results of another one end the program."""
    try:
        with open(path, encoding="utf-8") as file:
            saved = json.load(file)
        results = saved["results"]
    except (OSError, ValueError, LookupError):
        return []
    for key in ("revision", "machine"):
        if saved.get(key) != where[key]:
            print(f"{path}: {key} is {saved.get(key) or 'none'}; expected {where[key] or 'none'}. Choose another folder "
                  "with --out.", file=sys.stderr)
            sys.exit(2)
    return results


def has_passed(check, results):
    """All that it found: one result of its name, or those of a test's cases."""
    found = [result for result in results if result["name"] == check or result["name"].startswith(check + ": ")]
    return any(result["outcome"] == "passed" for result in found) and not any(
        result["outcome"] == "failed" or result["detail"] == NO_TIME for result in found)


def save(path, where, earlier, results):
    """Beside what earlier calls found. What this call had no time for stays as it was."""
    no_time = {result["name"] for result in results if result["detail"] == NO_TIME}
    # Of a test that an earlier call did not see to its end, and this one did.
    ended = {result["name"].partition(": ")[0] for result in results} - no_time
    found = {result["name"]: result for result in earlier if result["name"] not in ended}
    for result in results:
        if result["detail"] != NO_TIME or found.get(result["name"], result)["outcome"] == "skipped":
            found[result["name"]] = result
    results = list(found.values())
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schema_version": 1, **where, "time": time.strftime("%FT%TZ", time.gmtime()),
                   "passed": count(results, "passed"), "failed": count(results, "failed"), "results": results}, file,
                  indent=1)


def has_time(name, results):
    """Whether a check may begin; one that may not is skipped."""
    if SESSION.left() >= LEAST_SECONDS:
        return True
    if not any(result["name"] == name for result in results):
        results.append({"name": name, "outcome": "skipped", "detail": NO_TIME})
    return False


def keep_timeline():
    timeline = os.path.join(HERE, "models", "timeline.json")
    if os.path.exists(timeline):
        shutil.move(timeline, os.path.join(SESSION.out, "timeline.json"))


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, help="end within N seconds, with the results so far")
    parser.add_argument("--out", default=os.path.join(HERE, "out"), help="folder of results, logs and plans")
    parser.add_argument("--only", default="", help="run only what has this word in its name")
    parser.add_argument("--skip", default=None, help="skip what has this word in its name")
    options = parser.parse_args(arguments)

    global SESSION
    SESSION = Session(os.path.abspath(options.out), options.seconds)
    path = os.path.join(SESSION.out, "results.json")
    where = {"revision": revision(), "machine": machine(), "versions": versions()}
    earlier, results = results_of_earlier_calls(path, where), []

    def wanted(name):
        if options.only not in name or (options.skip is not None and options.skip in name):
            return False
        return bool(options.only) or not has_passed(name, earlier)

    print(f"on {where['machine']}")
    if earlier and not options.only:
        print(f"{path}: {count(earlier, 'passed')} passed before; checks that have passed are skipped")
    save(path, where, earlier, results)
    for line, found in checks(lambda name: wanted(name) and has_time(name, results)):
        print(line, flush=True)
        results += found
        save(path, where, earlier, results)
    keep_timeline()
    save(path, where, earlier, results)
    for result in results:
        if result["outcome"] == "failed":
            print(f"failed: {result['name']}: {last_line(result['detail'])}")
    cut_off = sum(result["detail"] == NO_TIME for result in results)
    if cut_off:
        print(f"no time was left for {cut_off} checks; a call with --out={options.out} continues with them")
    elif not results:
        print(f"no check has '{options.only}' in its name" if options.only else "all checks passed before")
    passed, failed = count(results, "passed"), count(results, "failed")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not (passed or earlier and not options.only) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
