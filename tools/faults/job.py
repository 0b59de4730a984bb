"""A job of real processes whose ranks can be killed or stopped."""

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

    def __init__(self, command, ranks, environment=None, variables=lambda rank: {}):
        """variables(rank): besides those that a launcher sets."""
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
                subprocess.Popen(command, env=place, stdout=self._files[rank], stderr=subprocess.STDOUT))

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


def fault(command, ranks, victim, delay, number, limit, join_timeout):
    """Starts a job, sends a signal to one rank after `delay` seconds, and waits for the others, which must end with
    PEER_GONE within `limit` seconds and name the rank; who waits for ranks to come may take join_timeout.

    Returns (phase, seconds until the last one had ended); phase is "meeting", "running" or "over".
    """
    with Job(command, ranks) as job:
        time.sleep(delay)
        over = all(process.poll() is not None for process in job.processes)
        job.signal(victim, number)
        begin = time.monotonic()
        others = [rank for rank in range(ranks) if rank != victim]
        seconds = job.wait(others, begin + join_timeout + limit) - begin
        codes = {rank: job.processes[rank].returncode for rank in others}
        errors = {rank: job.said(rank) for rank in others}
        what = f"rank {victim} signal {number} after {delay:.3f} s: codes {codes} in {seconds:.3f} s: {errors}"
        if over or all(code == 0 for code in codes.values()):
            return "over", seconds
        # In the last moment some may already be done.
        assert all(code in (0, PEER_GONE) for code in codes.values()), what
        failed = [rank for rank in others if codes[rank] == PEER_GONE]
        if any(MISSING.search(errors[rank]) for rank in failed):
            return "meeting", seconds
        named = re.compile(rf"rank {victim} (is gone|has been silent|has not answered|has left)|"
                           rf"no connection to rank {victim}")
        assert all(named.search(errors[rank]) for rank in failed), what
        assert seconds < limit, what
        return "running", seconds


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
