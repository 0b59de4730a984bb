"""One call of the runner: when it ends, what it has started, and the folder of what it found."""

import os
import time

from . import lists, peers
from .log import Log
from .program import Program, wait_for

NO_TIME = "no time was left (--seconds)"
ENDING = 2  # seconds kept to save the results


class Session:
    """`bundle`: the folder of programs; `out`: where results, logs and plans are kept; `seconds`: until the end."""

    def __init__(self, bundle, out, seconds=None):
        self.bundle, self.out = bundle, out
        self.end = None if seconds is None else time.monotonic() + seconds - ENDING
        os.makedirs(out, exist_ok=True)
        self.log = Log(os.path.join(out, "log.txt"))
        self.peer_python = None  # that has PyTorch; empty: none has, None: not known yet
        self.gpu = None  # machine.gpu; None: not known yet
        self.stuck = []  # names of programs that no signal ended

    def path(self, *names):
        return os.path.join(self.bundle, *names)

    def left(self):
        return float("inf") if self.end is None else self.end - time.monotonic()

    def environment(self, seconds, **more):
        """Of a program that has so many seconds. Libraries of the bundle are for its own programs: PyTorch's Python
        gets the machine's path back (peer_python)."""
        given = os.environ.get("LD_LIBRARY_PATH", "")
        return {**os.environ, **peers.environment(self.peer_python or "", given, seconds),
                "LD_LIBRARY_PATH": os.pathsep.join(filter(None, [self.path("lib"), given])),
                "XDG_CACHE_HOME": self.path("cache"), **more}

    def has_time(self, name):
        return self.left() >= lists.least_of(name)

    def start(self, command, seconds, name, **variables):
        """Its output is logged under the name, and belongs to the program's log."""
        log = self.log.begin(name, command)
        return Program(command, log, cwd=self.path("models"), env=self.environment(seconds, **variables))

    def call(self, command, limit, name="", **variables):
        """(exit code or None, output, seconds). At the limit, or where the session ends, all that the command started
        is killed."""
        begin = time.monotonic()
        try:
            ((code, output),) = self.call_together([(name or os.path.basename(command[0]), command, variables)], limit)
        except OSError as error:
            code, output = None, str(error)
        return code, output, time.monotonic() - begin

    def call_together(self, programs, limit):
        """(exit code or None, output) of each (name, command, variables); they run at the same time."""
        begin = time.monotonic()
        seconds = max(0.1, min(limit, self.left()))
        started = []
        try:
            for name, command, variables in programs:
                started.append(self.start(command, seconds, name, **variables))
        finally:
            wait_for(started, seconds if len(started) == len(programs) else 0)
        took = time.monotonic() - begin
        return [(program.code, self.output_of(program, limit, seconds < limit, took)) for program in started]

    def output_of(self, program, limit, cut_off, took):
        """And why it was killed, if it was."""
        output, ending = program.log.text(), f"exit code {program.code}"
        if program.code is None:
            why = NO_TIME if cut_off else f"no end within {limit} s"
            if program.prints_too_much():
                why = f"it printed {program.printed >> 20} MiB and was killed for it"
            if program.stuck:
                self.stuck.append(program.log.name)
                why = "SIGKILL did not end it: it hangs in the driver; " + why
            output += "\n" + why
            ending = "killed: " + why
        program.log.end(f"{ending}, {took:.1f} s")
        return output


def was_cut_off(code, output):
    """By the session's end, not by its own limit."""
    return code is None and output.endswith(NO_TIME)


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
