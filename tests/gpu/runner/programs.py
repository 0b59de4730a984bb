"""The trainer and the benchmark, each run once for a check."""

import json
import os
import tempfile

from . import lists, peers
from .check import FAILED, PASSED, SKIPPED, Check, result
from .session import last_line, was_cut_off


def run_program(session, program, name, arguments):
    command = [session.path("bin", program), arguments[0], "--device=cuda", *arguments[1:]]
    code, output, seconds = session.call(command, lists.limit_of(name), name)
    outcome = PASSED if code == 0 else SKIPPED if was_cut_off(code, output) else FAILED
    detail = output[-4000:] if code == 0 else f"exit code {code}: {last_line(output)}"
    return result(name, outcome, detail, seconds=round(seconds, 3))


def run_benchmark(session, name, arguments):
    """With the row that it writes."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "row.json")
        found = run_program(session, "benchmark", name, [*arguments, "--report=" + report])
        if found["outcome"] == PASSED:
            try:
                with open(report, encoding="utf-8") as file:
                    (found["row"],) = json.load(file)
            except (OSError, ValueError) as error:
                found |= {"outcome": FAILED, "detail": f"no row: {error}"}
    return found


def run_steps(session, name, model, precision, arguments, forms):
    peer = peers.flags(session)
    peer += ["--peer-forms=" + forms] if peer else []
    return run_benchmark(session, name, ["models", "--model=" + model, "--precision=" + precision, *arguments, *peer])


def checks():
    for name, arguments in lists.TRAINING:
        yield Check(name, lambda session, name=name, arguments=arguments:
                    [run_program(session, "trainer", name, arguments)])
    for model, precision, arguments, forms in lists.STEPS:
        name = lists.name_of_steps(model, precision, forms)
        yield Check(name, lambda session, steps=(name, model, precision, arguments, forms):
                    [run_steps(session, *steps)])
