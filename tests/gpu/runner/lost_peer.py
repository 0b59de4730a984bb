"""A rank that is killed in the middle of a training, whose collectives run in captured steps: the other one ends with
exit code 138 and names it."""

import os
import signal
import tempfile
import time

from . import lists, two_ranks
from .check import FAILED, PASSED, SKIPPED, Check, result
from .program import read
from .session import NO_TIME, last_line

NAME = "a killed peer"
LOST = 138


def has_trained(metrics):
    """Rank 0 has written a step."""
    return os.path.exists(metrics) and os.path.getsize(metrics) > 0


def judge(code, output):
    if code == LOST and "rank 1" in output:
        return result(NAME, PASSED, last_line(output))
    return result(NAME, FAILED, f"rank 0: exit code {code}, {LOST} and the name of rank 1 are expected: "
                  + last_line(output))


def kill_a_peer(session):
    limit = lists.limit_of(NAME)
    seconds = min(limit, session.left())
    begin = time.monotonic()
    started = []
    with tempfile.TemporaryDirectory() as folder, two_ranks.reserved_port() as port:
        metrics = os.path.join(folder, "metrics.jsonl")
        command = [session.path("bin", "trainer"), "train", "--device=cuda", "--deterministic", "--mock-data", "--dp=2",
                   "--steps=100000000", "--timeout=20", "--metrics=" + metrics, "lenet5.pbtxt"]
        try:
            for rank in range(2):
                started.append(session.start(command, seconds, f"{NAME}, rank {rank}", **two_ranks.variables(rank, port)))
            read(started, seconds, lambda: has_trained(metrics) or any(program.code is not None for program in started))
            trained = has_trained(metrics)
            if trained:
                os.kill(started[1].process.pid, signal.SIGKILL)
                read(started, seconds - (time.monotonic() - begin))
        finally:
            for program in started:
                program.kill()
    took = time.monotonic() - begin
    outputs = [session.output_of(program, limit, seconds < limit, took) for program in started]
    if started[0].code is None and seconds < limit:
        return result(NAME, SKIPPED, NO_TIME)
    if not trained:
        return result(NAME, FAILED, "no step was trained: " + "; ".join(map(last_line, outputs)))
    return judge(started[0].code, outputs[0])


def checks():
    yield Check(NAME, lambda session: [kill_a_peer(session)])
