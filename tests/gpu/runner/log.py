"""The log of all programs, one file, which grows while they print; and what each printed, for its result."""

import os
import time

HEAD = 256 << 10  # bytes of a program that are logged as they come
TAIL = 64 << 10  # and of its end
MOST = 12 << 20  # of the file; behind it, of each program only some lines


class Log:

    def __init__(self, path):
        self.path, self.broken = path, ""
        try:
            self.bytes = os.path.getsize(path)
        except OSError:
            self.bytes = 0

    def write(self, data):
        """A disk that is full ends the log, not the run."""
        if self.broken:
            return
        try:
            with open(self.path, "ab") as file:
                file.write(data)
            self.bytes += len(data)
        except OSError as error:
            self.broken = f"{self.path}: {error.strerror}"

    def begin(self, name, command):
        self.write(f"\n==== {time.strftime('%T', time.gmtime())} {name}: {' '.join(command)}\n".encode())
        return ProgramLog(self, name, HEAD if self.bytes < MOST else 0)


class ProgramLog:

    def __init__(self, log, name, head):
        self.log, self.name, self.head, self.bytes, self.kept = log, name, head, 0, bytearray()

    def add(self, piece):
        self.log.write(piece[:max(0, self.head - self.bytes)])
        self.bytes += len(piece)
        self.kept += piece
        if len(self.kept) > 2 * (HEAD + TAIL):
            del self.kept[HEAD:-TAIL]

    def end(self, says):
        if self.bytes > self.head:
            tail = self.kept[-min(TAIL, self.bytes - self.head):]
            self.log.write(f"\n... {self.bytes - self.head - len(tail)} bytes are left out ...\n".encode() + tail)
        self.log.write(f"==== {says}\n".encode())

    def text(self):
        """All, but of much the beginning and the end."""
        return self.kept.decode(errors="replace")
