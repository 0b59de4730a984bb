"""The trainer and the benchmark, each run once for a check; PyTorch beside the benchmark."""

import json
import os
import shutil
import sys

from . import lists
from .session import last_line, was_cut_off

PEER_FORMS = "eager,graph"  # torch.compile takes minutes
HAS_TORCH = "import sys, torch; print(torch.__version__); sys.exit(not torch.cuda.is_available())"


def run_program(session, program, name, arguments):
    command = [session.path("bin", program), arguments[0], "--device=cuda", *arguments[1:]]
    code, output, seconds = session.call(command, lists.limit_of(name), name)
    outcome = "passed" if code == 0 else "skipped" if was_cut_off(code, output) else "failed"
    detail = output[-4000:] if code == 0 else f"exit code {code}: {last_line(output)}"
    return {"name": name, "outcome": outcome, "detail": detail, "seconds": round(seconds, 3)}


def run_trainer(session, name, arguments):
    return run_program(session, "trainer", name, arguments)


def run_benchmark(session, name, arguments):
    """With the row that it writes."""
    report = os.path.join(session.out, "row.json")
    result = run_program(session, "benchmark", name, [*arguments, "--report=" + report])
    if result["outcome"] == "passed":
        try:
            with open(report, encoding="utf-8") as file:
                (result["row"],) = json.load(file)
            os.remove(report)
        except (OSError, ValueError) as error:
            result |= {"outcome": "failed", "detail": f"no row: {error}"}
    return result


def peer_flags(session):
    """Of the benchmark, so that PyTorch trains beside it; none where no Python has PyTorch for this GPU."""
    for python in (sys.executable, shutil.which("python3"), shutil.which("python")):
        if python and session.call([python, "-c", HAS_TORCH], 60, "pytorch")[0] == 0:
            return ["--peer=pytorch", "--peer-forms=" + PEER_FORMS, "--peer-python=" + python, "--skip-agreement"]
    return []


def run_programs(session, wanted, run, programs):
    for name, arguments in programs:
        if wanted(name):
            result = run(session, name, arguments)
            shown = last_line(result["detail"]) if result["outcome"] == "failed" else ""
            yield f"{name}: {result['outcome']}, {result['seconds']:.1f} s {shown}".rstrip(), [result]
