"""Losses of a training that two ways of running it share: two processes and one, bf16 and f32."""

import json
import os
import tempfile

from . import lists, two_ranks
from .check import FAILED, PASSED, SKIPPED, Check, result
from .session import NO_TIME, last_line


def trainer(session, *arguments):
    return [session.path("bin", "trainer"), "train", "--device=cuda", "--deterministic", "--mock-data",
            "--steps=50", *arguments]


def loss_of(report):
    """(mean over the steps or None, what went wrong)."""
    try:
        with open(report, encoding="utf-8") as file:
            return json.load(file)["epochs"][0]["training_loss"], ""
    except (OSError, ValueError, LookupError) as error:
        return None, f"no loss in the report: {error}"


def loss_of_one(session, arguments, folder):
    report = os.path.join(folder, "one.json")
    command = trainer(session, "--report=" + report, *arguments)
    code, output, _ = session.call(command, lists.SECONDS, "loss " + " ".join(arguments))
    return loss_of(report) if code == 0 else (None, f"exit code {code}: {last_line(output)}")


def wrong_of_two(session, arguments, report, port):
    """What went wrong in each rank, if anything did."""
    command = trainer(session, "--report=" + report, *arguments)
    ranks = session.call_together([(f"rank {rank} " + " ".join(arguments), command, two_ranks.variables(rank, port))
                                   for rank in range(2)], lists.SECONDS)
    return [f"rank {rank}: exit code {code}: {last_line(output)}"
            for rank, (code, output) in enumerate(ranks) if code != 0]


def loss_of_two(session, arguments, folder):
    """The same with two ranks."""
    report = os.path.join(folder, "two.json")
    with two_ranks.reserved_port() as port:
        wrong = wrong_of_two(session, arguments, report, port)
    return (None, "; ".join(wrong)) if wrong else loss_of(report)


def compare(session, name, bar, one, other):
    """Two losses, each with what went wrong."""
    for loss, wrong in (one, other):
        if loss is None:
            return result(name, SKIPPED, NO_TIME) if session.left() <= 0 else result(name, FAILED, wrong)
    difference = abs(one[0] - other[0]) / abs(other[0])
    detail = f"losses {one[0]:.6f} and {other[0]:.6f} differ by {difference:.2e}; {bar:.0e} is allowed"
    return result(name, PASSED if difference <= bar else FAILED, detail)


def compare_processes(session, name, two, one):
    with tempfile.TemporaryDirectory() as folder:
        return compare(session, name, 5e-4, loss_of_two(session, [*two, "lenet5.pbtxt"], folder),
                       loss_of_one(session, [*one, "lenet5.pbtxt"], folder))


def compare_losses(session, name, bar, arguments, reference):
    with tempfile.TemporaryDirectory() as folder:
        return compare(session, name, bar, loss_of_one(session, arguments, folder),
                       loss_of_one(session, reference, folder))


def checks():
    for row in lists.PROCESSES:
        yield Check(row[0], lambda session, row=row: [compare_processes(session, *row)])
    for row in lists.LOSSES:
        yield Check(row[0], lambda session, row=row: [compare_losses(session, *row)])
