"""One call of the runner: when it ends, and how it starts a program within that time."""

import os
import re
import signal
import subprocess
import time

NO_TIME = "no time was left (--seconds)"
LEAST_SECONDS = 3  # what has fewer left does not begin
ENDING = 2  # seconds kept to save the results


class Session:
    """`bundle`: the folder of programs; `out`: where results, logs and plans are kept; `seconds`: until the end."""

    def __init__(self, bundle, out, seconds=None):
        self.bundle, self.out = bundle, out
        self.end = None if seconds is None else time.monotonic() + seconds - ENDING
        os.makedirs(os.path.join(out, "logs"), exist_ok=True)

    def path(self, *names):
        return os.path.join(self.bundle, *names)

    def left(self):
        return float("inf") if self.end is None else self.end - time.monotonic()

    def keep(self, name, output):
        if name:
            with open(os.path.join(self.out, "logs", re.sub(r"[^A-Za-z0-9_.=-]+", "_", name) + ".log"), "a",
                      encoding="utf-8") as file:
                file.write(output)

    def environment(self, **more):
        """Libraries of the bundle come behind none of the machine's own programs: only what it starts sees them."""
        return dict(os.environ, LD_LIBRARY_PATH=self.path("lib") + ":" + os.environ.get("LD_LIBRARY_PATH", ""),
                    XDG_CACHE_HOME=os.path.join(self.out, "cache"), **more)

    def call(self, command, limit, name=""):
        """(exit code or None, output, seconds); the output is kept under the name. At the limit, or where the session
        ends, all that the command started is ended."""
        begin = time.monotonic()
        timeout = max(0.1, min(limit, self.left()))
        try:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                       errors="replace", cwd=self.path("models"), env=self.environment(),
                                       start_new_session=True)
        except OSError as error:
            return None, str(error), time.monotonic() - begin
        code = None
        try:
            output, _ = process.communicate(timeout=timeout)
            code = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            output += "\n" + (NO_TIME if timeout < limit else f"no end within {limit} s")
        except BaseException:  # Ctrl-C does not reach a session of its own
            os.killpg(process.pid, signal.SIGKILL)
            raise
        self.keep(name, output)
        return code, output, time.monotonic() - begin


def was_cut_off(code, output):
    """By the session's end, not by its own limit."""
    return code is None and output.endswith(NO_TIME)


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
