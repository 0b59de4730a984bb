"""Strangers at the ports of a job: connections that say nothing, or nonsense, or what a rank once said, or end at once;
that begin with TLS, of today or of old, or know all of a rank's first words, and no token.

Run as a program it trains with and without them and compares: `python3 -m tools.faults.strangers --help`.
"""

import argparse
import os
import random
import socket
import ssl
import struct
import sys
import tempfile
import threading
import time

try:
    from tools.faults import job
except ImportError:  # run as a script beside it
    import job


LISTENING = "0A"  # of /proc/net/tcp
MAGIC = (0x5061727469746101).to_bytes(8, sys.byteorder)  # runtime/admission/handshake.cc
MOST_OPEN = 400  # of this process at a time


def ports_of(pid):
    """The TCP ports at which a process listens."""
    try:
        sockets = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
        with open(f"/proc/{pid}/net/tcp", encoding="ascii") as file:
            rows = [line.split() for line in file.readlines()[1:]]
    except OSError:  # it has ended
        return set()
    return {int(row[1].split(":")[1], 16) for row in rows if row[3] == LISTENING and f"socket:[{row[9]}]" in sockets}


def descriptors_of(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def client_hello():
    """What who begins with TLS 1.3 says first."""
    said = ssl.MemoryBIO()
    try:
        ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), said, server_hostname="rank-0").do_handshake()
    except ssl.SSLWantReadError:
        pass
    return said.read()


TLS_1_3 = client_hello()
TLS_1_0 = bytes.fromhex("160301002f0100002b0301") + bytes(32) + bytes.fromhex("000004002f000a0100")


def knock(nonce, tls):
    """What rank 1 says first to the rendezvous: it names all that can be known without the token. tls: whether it
    claims to be encrypted."""
    return MAGIC + struct.pack("=4i", 1, 0, 1 << 20, tls) + b"partita rendezvous".ljust(32, b"\0") + nonce


def memory_of(pid):
    """The most bytes that it has had."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            return next((1024 * int(line.split()[1]) for line in file if line.startswith("VmHWM:")), 0)
    except OSError:
        return 0


def words(draw):
    """What a stranger says first; None: it ends the connection at once."""
    noise = draw.randbytes(draw.randrange(1, 200))
    knocks = [knock(draw.randbytes(32), tls) + then for tls in (0, 1, 7) for then in (b"", draw.randbytes(32), TLS_1_3)]
    return draw.choice([b"", None, noise, b"GET / HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", MAGIC,
                        MAGIC + noise, MAGIC + bytes(4) * 3 + noise, TLS_1_0, TLS_1_3, TLS_1_3[:5] + noise, *knocks])


class Flood:
    """Strangers come to every port of the processes until `count` have, or it is stopped. What the processes have at
    most is seen all the while."""

    def __init__(self, processes, count, seed):
        self.came, self.descriptors, self.memory = 0, 0, 0
        self._processes, self._count, self._draw = processes, count, random.Random(seed)
        self._open, self._stop = [], threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *unused):
        self._stop.set()
        self._thread.join()
        for stranger in self._open:
            stranger.close()

    def _run(self):
        while not self._stop.is_set():
            ports = set() if self.came >= self._count else set().union(*(ports_of(each.pid) for each in self._processes))
            for port in ports:
                for _ in range(20):
                    self._come(port)
            self.descriptors = max([self.descriptors, *(descriptors_of(process.pid) for process in self._processes)])
            self.memory = max([self.memory, *(memory_of(process.pid) for process in self._processes)])
            if not ports:
                time.sleep(0.001 if self.came < self._count else 0.05)

    def _come(self, port):
        stranger = socket.socket()
        stranger.settimeout(1)
        try:
            stranger.connect(("127.0.0.1", port))
            said = words(self._draw)
            if said:
                stranger.sendall(said)
        except OSError:  # sent away, or the job has ended
            stranger.close()
            return
        self.came += 1
        if said is None:
            stranger.close()
        else:
            self._open.append(stranger)
        if len(self._open) > MOST_OPEN:
            self._open.pop(self._draw.randrange(len(self._open))).close()


def train(trainer, graph, ranks, epochs, folder, strangers=0, seed=1, flags=()):
    """(the saved model, the flood) of a job that strangers come to as long as it lives."""
    saved = os.path.join(folder, f"{strangers}.safetensors")
    command = [trainer, "train", "--mock-data", f"--batch={8 * ranks}", f"--dp={ranks}", f"--epochs={epochs}",
               "--threads=1", f"--save={saved}", *flags, graph]
    with job.Job(command, ranks) as processes, Flood(processes.processes, strangers, seed) as flood:
        processes.wait(list(range(ranks)), time.monotonic() + 600)
        for rank, process in enumerate(processes.processes):
            assert process.returncode == 0, processes.said(rank)
    with open(saved, "rb") as file:
        return file.read(), flood


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trainer", required=True)
    parser.add_argument("--graph", required=True)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=400)
    parser.add_argument("--connections", type=int, default=20000)
    parser.add_argument("--tls", action="store_true", help="the job that they come to is encrypted")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        quiet, unharmed = train(options.trainer, options.graph, options.ranks, options.epochs, folder)
        between = time.monotonic()
        beset, flood = train(options.trainer, options.graph, options.ranks, options.epochs, folder, options.connections,
                             flags=["--tls"] if options.tls else [])
        end = time.monotonic()
    print(f"{flood.came} strangers came while it trained: the model is {'the same' if quiet == beset else 'ANOTHER'}; "
          f"{end - between:.1f} s in place of {between - begin:.1f} s, {flood.descriptors} descriptors at most, "
          f"{1e-6 * flood.memory:.1f} MB of memory in place of {1e-6 * unharmed.memory:.1f}")
    return 0 if quiet == beset else 1


if __name__ == "__main__":
    sys.exit(main())
