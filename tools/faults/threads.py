"""Stops one thread of a process, as a debugger does, while the others run on."""

import ctypes
import errno
import os

SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17  # of ptrace
ALL_THREADS = 0x40000000  # __WALL


class NotAllowed(Exception):
    """This machine lets nobody look into a process."""


def _ptrace(request, thread):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    if libc.ptrace(request, thread, None, None) == 0:
        return
    number = ctypes.get_errno()
    if number in (errno.EPERM, errno.ENOSYS):
        raise NotAllowed(os.strerror(number))
    raise OSError(number, os.strerror(number))


def thread_named(process, name):
    """The thread of a process that has this name; None: there is none yet."""
    folder = f"/proc/{process}/task"
    for thread in os.listdir(folder):
        try:
            with open(f"{folder}/{thread}/comm", encoding="utf-8") as file:
                if file.read().rstrip("\n") == name:
                    return int(thread)
        except OSError:  # it has just ended
            pass
    return None


class StoppedThread:
    """While the context lasts, or until the process ends. To be used by one thread, of which the process is a child: a
    process that is killed has not ended before its thread was reaped or let go."""

    def __init__(self, thread):
        self._thread = thread
        _ptrace(SEIZE, thread)
        _ptrace(INTERRUPT, thread)
        os.waitpid(thread, ALL_THREADS)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if not self.reap():
            _ptrace(DETACH, self._thread)

    def reap(self):
        """Whether the thread has ended: its process ends no sooner than this was seen."""
        try:
            thread, status = os.waitpid(self._thread, ALL_THREADS | os.WNOHANG)
        except ChildProcessError:
            return True
        return thread != 0 and (os.WIFEXITED(status) or os.WIFSIGNALED(status))
