"""Programs that are started, read while they run, and ended with all that they started."""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import time

POLL = 0.2  # seconds between two looks at a program that prints nothing
GRACE = 1  # seconds for what a killed program still needs to end, and for output behind the end of a program
PIECE = 1 << 16
MOST_OUTPUT = 100 << 20  # bytes; a program that prints more does not stop
PR_SET_PDEATHSIG = 1

LIBC = ctypes.CDLL(None)


def end_with_the_runner():
    """In the child. A runner that is killed leaves no program on the GPU."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Program:
    """Its output goes to `log` as it comes. It has a group of its own, and is killed with what it started."""

    def __init__(self, command, log, **options):
        self.log, self.printed, self.output_ended = log, 0, False
        self.code = None  # none: it was killed
        self.stuck = False  # and that did not end it
        # preexec_fn: the runner has one thread.
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, process_group=0, preexec_fn=end_with_the_runner,
                                        **options)
        os.set_blocking(self.fileno(), False)

    def prints_too_much(self):
        return self.printed > MOST_OUTPUT

    def fileno(self):
        return self.process.stdout.fileno()

    def ended(self):
        """With all its output, but not what others that have the same output print later."""
        self.code = self.process.poll()
        if self.code is None:
            return False
        end = time.monotonic() + GRACE
        while self.has_output(0) and time.monotonic() < end:
            self.read()
        return True

    def has_output(self, seconds):
        return not self.output_ended and bool(select.select([self], [], [], seconds)[0])

    def read(self):
        piece = os.read(self.fileno(), PIECE)
        self.output_ended = not piece
        self.printed += len(piece)
        self.log.add(piece)

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        try:
            self.process.wait(GRACE)
        except subprocess.TimeoutExpired:  # it is in a call of the driver that no signal ends
            self.stuck = True
        self.process.stdout.close()


def read(programs, seconds, happened=lambda: False):
    """What they print, until all have ended or print too much, or until something has happened."""
    deadline = time.monotonic() + seconds
    running = list(programs)
    while running and not happened() and (left := deadline - time.monotonic()) > 0:
        printing = [program for program in running if not program.output_ended]
        if printing:
            for program in select.select(printing, [], [], min(POLL, left))[0]:
                program.read()
        else:
            time.sleep(min(POLL / 10, left))
        running = [program for program in running if not program.ended() and not program.prints_too_much()]


def wait_for(programs, seconds):
    """Until all have ended; those that run for longer or print too much are killed, as all are if this call ends
    early."""
    try:
        read(programs, seconds)
    finally:
        for program in programs:
            program.kill()
