"""Kills ranks of a job that starts itself again, and measures how long it takes until it has gone on."""

import contextlib
import os
import signal
import subprocess
import tempfile
import time

try:
    from tools.faults.processes import newest_step, processes_of, ranks_of
except ImportError:  # of a script beside it
    from processes import newest_step, processes_of, ranks_of

# Longer than any recovery: then there is none.
PATIENCE = 60


def recoveries(trainer, graph, ranks, kills, draw):
    """Seconds from each kill of a drawn rank at a drawn moment until there is a newer checkpoint than before."""
    with _launched(trainer, graph, ranks, kills) as (launcher, folder):
        return [_recovery(launcher, folder, ranks, draw) for _ in range(kills)]


def shrinkings(trainer, graph, runs, draw):
    """The same of two kills in each of so many runs, which go on with 3 of 4 ranks, then with 2."""
    seconds = []
    for _ in range(runs):
        with _launched(trainer, graph, 4, 2, "--elastic") as (launcher, folder):
            seconds += [_recovery(launcher, folder, ranks, draw) for ranks in (4, 3)]
            assert len(ranks_of(folder)) == 2, f"{len(ranks_of(folder))} ranks are left of 4 after 2 kills"
    return seconds


@contextlib.contextmanager
def _launched(trainer, graph, ranks, restarts, *flags):
    with tempfile.TemporaryDirectory() as home:
        folder = os.path.join(home, "checkpoints")
        command = [trainer, "launch", f"--max-restarts={restarts}", *flags, "--", "train", "--mock-data", "--batch=12",
                   f"--dp={ranks}", "--threads=1", "--log=warning", "--epochs=1000000", "--checkpoint=" + folder,
                   "--checkpoint-every=20", "--resume=auto", graph]
        launcher = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield launcher, folder
        finally:
            launcher.kill()
            launcher.wait()
            while processes_of(folder):
                time.sleep(0.01)


def _recovery(launcher, folder, ranks, draw):
    before = newest_step(folder)
    _wait(launcher, lambda: newest_step(folder) > before)
    time.sleep(draw.uniform(0, 0.2))
    rank = draw.randrange(ranks)
    _wait(launcher, lambda: rank in ranks_of(folder))
    os.kill(ranks_of(folder)[rank], signal.SIGKILL)
    killed, before = time.monotonic(), newest_step(folder)
    _wait(launcher, lambda: newest_step(folder) > before)
    return time.monotonic() - killed


def _wait(launcher, condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert launcher.poll() is None, "the job has ended"
        assert time.monotonic() < deadline, f"not within {PATIENCE} s"
        time.sleep(0.001)
