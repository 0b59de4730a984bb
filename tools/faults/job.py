"""A job of real processes whose ranks can be killed or stopped."""

import dataclasses
import fcntl
import os
import re
import signal
import socket
import subprocess
import tempfile
import time

PEER_GONE = 138  # tools/program/exit_code.h
TOKEN = "5" * 64


# Seconds after which a test gives up on what must happen: a machine may be busy, and how soon it happens is measured by
# `benchmark faults`.
PATIENCE = 120


def reserve_port():
    """A socket that keeps a free port of this machine for a rank that is yet to listen there, while it is open."""
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("127.0.0.1", 0))
    return reserved


def port_of(reserved):
    return str(reserved.getsockname()[1])


class Job:
    """Ranks as processes; what rank r writes is in said(r)."""

    def __init__(self, command, ranks, environment=None, variables=lambda rank: {}, host=lambda rank: []):
        """variables(rank): besides those that a launcher sets. host(rank): a command that runs another where the rank
        is to live."""
        self._files = [tempfile.TemporaryFile() for _ in range(ranks)]
        self._reserved = reserve_port()
        self.processes = []
        for rank in range(ranks):
            place = {
                "RANK": str(rank),
                "WORLD_SIZE": str(ranks),
                "LOCAL_RANK": str(rank),
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": port_of(self._reserved),
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
        self._reserved.close()

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

# More epochs than any job lives, and so few that a job soon ends.
ENDLESS = 1_000_000
FEW = 2

# What rank 0 says when all ranks have met and trained.
TRAINING = "epoch 1"


@dataclasses.dataclass
class Aim:
    """Which rank is hit and when. phase, and what `delay` seconds count from:
    "rendezvous": the start of the job;
    "training": the end of its first epoch; it would train for ever;
    "shutdown": rank 0, the victim, has nothing left to do but to write its report and to take leave, as the others do;
                it is kept from going on until it is hit;
    "farewell": the same moment, from when on rank 0 goes on, too; one that is quick may be gone when it is hit."""
    phase: str
    victim: int
    delay: float


@dataclasses.dataclass
class Outcome:
    """What one fault came to. phase: "joining" (before the ranks had met: the others give up when the time for joining
    is over), or what was aimed at, of which "training" becomes "collective" if one was in flight, else "step"; "over":
    the rank had ended already, or the job ended as if nothing had happened."""
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


class Report:
    """Where rank 0 writes what the run did: a pipe that is full, so that it waits until let(). It writes when all
    ranks have exchanged all they ever do."""

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(os.path.realpath(self._folder.name), "report.json")
        os.mkfifo(self.path)
        self._pipe = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)
        os.write(self._pipe, bytes(fcntl.fcntl(self._pipe, fcntl.F_GETPIPE_SZ)))
        return self

    def __exit__(self, *unused):
        os.close(self._pipe)
        self._folder.cleanup()

    def is_open_in(self, process):
        folder = f"/proc/{process.pid}/fd"
        try:
            return any(os.readlink(os.path.join(folder, file)) == self.path for file in os.listdir(folder))
        except OSError:  # a file of it, or the process, has just gone
            return False

    def let(self):
        os.read(self._pipe, fcntl.fcntl(self._pipe, fcntl.F_GETPIPE_SZ))


def reach(job, aim, report):
    """Waits for the moment, `delay` included. report: None but at the end of a job."""
    if aim.phase == "training":
        assert wait_until(job, lambda job: TRAINING in job.said(0), PATIENCE), job.said(0)
    if report:
        assert wait_until(job, lambda job: report.is_open_in(job.processes[0]), PATIENCE), job.said(0)
    if aim.phase == "farewell":
        report.let()
    time.sleep(aim.delay)


def hit(job, aim, number, promise, report):
    """Sends the signal, and looks at how the others end."""
    over = job.processes[aim.victim].poll() is not None
    job.signal(aim.victim, number)
    begin = time.monotonic()
    if aim.phase == "shutdown":
        report.let()
    others = [rank for rank in range(len(job.processes)) if rank != aim.victim]
    try:
        seconds = job.wait(others, begin + max(promise.limit, promise.joining) + 5) - begin
    except AssertionError as running:
        return Outcome(aim.phase, time.monotonic() - begin, f"victim {aim.victim}, {running}")
    codes = {rank: job.processes[rank].returncode for rank in others}
    errors = {rank: job.said(rank) for rank in others}
    return Outcome("over", seconds) if over else judge(aim.victim, aim.phase, seconds, codes, errors, promise)


def fault(command, ranks, aim, number, promise):
    """The outcome of one fault of a job that is started for it."""
    if aim.phase not in ("shutdown", "farewell"):
        with Job([*command, f"--epochs={ENDLESS}"], ranks) as job:
            reach(job, aim, None)
            return hit(job, aim, number, promise, None)
    with Report() as report, Job([*command, f"--epochs={FEW}", "--report=" + report.path], ranks) as job:
        reach(job, aim, report)
        return hit(job, aim, number, promise, report)


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


def first_epoch(command, ranks):
    """Of a job that nothing happens to: seconds from its start until it has trained an epoch. It must end well."""
    with Job([*command, f"--epochs={FEW}"], ranks) as job:
        begin = time.monotonic()
        assert wait_until(job, lambda job: TRAINING in job.said(0), PATIENCE), job.said(0)
        seconds = time.monotonic() - begin
        job.wait(range(ranks), time.monotonic() + PATIENCE)
        codes = [process.returncode for process in job.processes]
        assert not any(codes), f"codes {codes}: {job.said(0)}"
    return seconds


def stop_and_continue(command, ranks, victim):
    """How a rank ends that was stopped while it trained, and is continued when the others have given it up."""
    with Job(command, ranks) as job:
        assert wait_until(job, lambda job: TRAINING in job.said(0), PATIENCE), job.said(0)
        job.signal(victim, signal.SIGSTOP)
        others = [rank for rank in range(ranks) if rank != victim]
        job.wait(others, time.monotonic() + PATIENCE)
        job.signal(victim, signal.SIGCONT)
        job.wait([victim], time.monotonic() + PATIENCE)
        return job.processes[victim].returncode, job.said(victim)
