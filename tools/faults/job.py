"""A job of real processes whose ranks can be killed or stopped."""

import dataclasses
import os
import re
import signal
import socket
import subprocess
import tempfile
import time

PEER_GONE = 138  # tools/exit_code.h
TOKEN = "5" * 64


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Job:
    """Ranks as processes; what rank r writes is in said(r)."""

    def __init__(self, command, ranks, environment=None, variables=lambda rank: {}, host=lambda rank: []):
        """variables(rank): besides those that a launcher sets. host(rank): a command that runs another where the rank
        is to live."""
        self._files = [tempfile.TemporaryFile() for _ in range(ranks)]
        port = str(free_port())
        self.processes = []
        for rank in range(ranks):
            place = {
                "RANK": str(rank),
                "WORLD_SIZE": str(ranks),
                "LOCAL_RANK": str(rank),
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": port,
                "PARTITA_JOB_TOKEN": TOKEN,
            }
            place = {**(environment or os.environ), **place, **variables(rank)}
            self.processes.append(
                subprocess.Popen([*host(rank), *command], env=place, stdout=self._files[rank], stderr=subprocess.STDOUT))

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
        for file in self._files:
            file.close()

    def said(self, rank):
        self._files[rank].seek(0)
        return self._files[rank].read().decode(errors="replace")

    def signal(self, rank, number):
        self.processes[rank].send_signal(number)

    def wait(self, ranks, deadline):
        """The time at which the last of the ranks had ended; an AssertionError that names those that run on."""
        while True:
            running = [rank for rank in ranks if self.processes[rank].poll() is None]
            now = time.monotonic()
            if not running:
                return now
            assert now < deadline, f"ranks {running} still run"
            time.sleep(0.002)


# Of a fault before all ranks have met: the others wait for who does not come.
MISSING = re.compile(r"did not come|nobody serves|does not come")

# Rank 0's last word before all take leave of each other.
LAST_WORD = "outcome"


@dataclasses.dataclass
class Outcome:
    """What one fault came to. phase: "joining" (before the ranks had met: the others give up when the time for joining
    is over), or what was asked for, of which "training" becomes "collective" if one was in flight, else "step"; "over":
    the job had ended already, or ended as if nothing had happened."""
    phase: str
    seconds: float  # until the last of the others had ended
    wrong: str = ""  # what is not as promised; empty: all is


@dataclasses.dataclass
class Promise:
    """Within so many seconds of the fault the others end with PEER_GONE and name the rank."""
    limit: float
    joining: float  # where it did not join


def wait_until(job, ready, longest):
    """Whether ready(job) came true within so many seconds, and before the job ended."""
    deadline = time.monotonic() + longest
    while time.monotonic() < deadline:
        if ready(job):
            return True
        if all(process.poll() is not None for process in job.processes):
            return False
        time.sleep(0.001)
    return False


def fault(command, ranks, victim, phase, delay, number, promise):
    """Starts a job and sends a signal to one rank, `delay` seconds after its start, or in phase "shutdown" after rank 0
    has said its last word, and looks at how the others end."""
    with Job(command, ranks) as job:
        if phase == "shutdown":
            wait_until(job, lambda job: LAST_WORD in job.said(0), 60)
        time.sleep(delay)
        over = all(process.poll() is not None for process in job.processes)
        job.signal(victim, number)
        begin = time.monotonic()
        others = [rank for rank in range(ranks) if rank != victim]
        try:
            seconds = job.wait(others, begin + max(promise.limit, promise.joining) + 5) - begin
        except AssertionError as running:
            return Outcome(phase, time.monotonic() - begin, f"victim {victim}, {running}")
        codes = {rank: job.processes[rank].returncode for rank in others}
        errors = {rank: job.said(rank) for rank in others}
    if over or (phase != "shutdown" and all(code == 0 for code in codes.values())):
        return Outcome("over", seconds)
    return judge(victim, phase, seconds, codes, errors, promise)


def judge(victim, phase, seconds, codes, errors, promise):
    """codes, errors: of the other ranks."""
    failed = [rank for rank in codes if codes[rank] == PEER_GONE]
    joining = any(MISSING.search(errors[rank]) for rank in failed)
    if joining:
        phase = "joining"
    elif phase == "training":
        phase = "collective" if any("in flight" in errors[rank] for rank in failed) else "step"
    named = re.compile(rf"rank {victim} (is gone|has been silent|has not answered|has left)|"
                       rf"no connection to rank {victim}")
    limit = promise.joining if joining else promise.limit
    wrong = []
    if not all(code in (0, PEER_GONE) for code in codes.values()):  # in the last moment some may already be done
        wrong.append("another exit code")
    if not joining and not all(named.search(errors[rank]) for rank in failed):
        wrong.append("the rank is not named")
    if seconds > limit:
        wrong.append(f"later than {limit:.1f} s")
    what = f"{', '.join(wrong)}: rank {victim}, codes {codes} in {seconds:.3f} s: {errors}" if wrong else ""
    return Outcome(phase, seconds, what)


def phases_of(command, ranks):
    """Of a job that nothing happens to, seconds since its start: rank 0 has trained an epoch, has said its last word."""
    with Job(command, ranks) as job:
        begin = time.monotonic()
        assert wait_until(job, lambda job: "epoch 1" in job.said(0), 60), job.said(0)
        trained = time.monotonic() - begin
        wait_until(job, lambda job: LAST_WORD in job.said(0), 60)
        last_word = time.monotonic() - begin
        job.wait(range(ranks), time.monotonic() + 60)
        codes = [process.returncode for process in job.processes]
        assert not any(codes), f"codes {codes}: {job.said(0)}"
    return trained, last_word


def stop_and_continue(command, ranks, victim, delay, timeout):
    """A rank that was stopped longer than the timeout ends when it is continued: it was given up."""
    with Job(command, ranks) as job:
        time.sleep(delay)
        job.signal(victim, signal.SIGSTOP)
        others = [rank for rank in range(ranks) if rank != victim]
        job.wait(others, time.monotonic() + timeout + 5)
        job.signal(victim, signal.SIGCONT)
        job.wait([victim], time.monotonic() + 5)
        return job.processes[victim].returncode, job.said(victim)
