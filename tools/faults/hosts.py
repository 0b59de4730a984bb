"""Two hosts on one machine: network namespaces with a cable between, which is pulled or not."""

import os
import subprocess
import time

try:
    from tools.faults.job import Job
except ImportError:  # of a script beside it
    from job import Job

# Of each host: what its cable has, and what it is known by. The latter is there whatever becomes of the cable, so that
# ranks of one host reach each other.
CABLES = ["10.77.0.1", "10.77.0.2"]
ADDRESSES = ["10.77.1.1", "10.77.2.1"]

PORT = "29500"  # of the rendezvous: a namespace of its own has nobody at any port


class NoNamespaces(Exception):
    """Says why this machine makes none."""


class Hosts:
    """The namespaces belong to two sleeping processes: they and all in them go when these go."""

    def __init__(self, as_root=False):
        """as_root: without a user namespace, in which no process may change its groups; only root can."""
        self._as_root = as_root
        self._holders = []
        self.namespaces = []
        self._enter = []

    def __enter__(self):
        try:
            self._make()
        except (OSError, subprocess.SubprocessError) as error:
            self.__exit__()
            said = getattr(error, "stderr", None)
            raise NoNamespaces((said or str(error)).strip()) from error
        return self

    def __exit__(self, *unused):
        for holder in self._holders:
            holder.kill()
            holder.communicate()
        self._holders = []

    def at(self, host):
        """The beginning of a command that runs its rest on a host, 0 or 1."""
        return ["nsenter", f"--target={self._holders[host].pid}", *self._enter]

    def run(self, host, *command):
        subprocess.run([*self.at(host), *command], check=True, capture_output=True, text=True, timeout=60)

    def job(self, command, ranks, environment=None):
        """Of which the first half of the ranks live on the first host."""
        place = {"MASTER_ADDR": ADDRESSES[0], "MASTER_PORT": PORT}
        return Job(command, ranks, environment, lambda rank: place, lambda rank: self.at(2 * rank // ranks))

    def pull_cable(self):
        self.run(0, "ip", "link", "set", "cable0", "down")

    def left(self, host=None):
        """Processes that live on a host; None: on either."""
        namespaces = self.namespaces if host is None else [self.namespaces[host]]
        found = []
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{process}/ns/net") in namespaces:
                    found.append(int(process))
            except OSError:
                pass
        return found

    def _make(self):
        # As root of a user namespace, which anybody may be where the machine lets them.
        user, map_user = ([], []) if self._as_root else (["--user", "--preserve-credentials"], ["--map-root-user"])
        self._enter = [*user, "--net"]
        self._hold(["unshare", *map_user, "--net"])
        self._hold(["nsenter", f"--target={self._holders[0].pid}", *self._enter, "unshare", "--net"])
        self.run(0, "ip", "link", "add", "cable0", "type", "veth", "peer", "name", "cable1", "netns",
                 str(self._holders[1].pid))
        for host, other in [(0, 1), (1, 0)]:
            self.run(host, "ip", "link", "set", "lo", "up")
            self.run(host, "ip", "address", "add", ADDRESSES[host] + "/32", "dev", "lo")
            self.run(host, "ip", "address", "add", CABLES[host] + "/24", "dev", f"cable{host}")
            self.run(host, "ip", "link", "set", f"cable{host}", "up")
            self.run(host, "ip", "route", "add", ADDRESSES[other] + "/32", "via", CABLES[other], "src", ADDRESSES[host])

    def _hold(self, command):
        holder = subprocess.Popen([*command, "sleep", "600"], stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while not self._sleeps(holder.pid):
            if holder.poll() is not None or time.monotonic() > deadline:
                holder.kill()
                raise subprocess.SubprocessError(holder.communicate()[1] or "no namespace within 60 s")
            time.sleep(0.01)
        self._holders.append(holder)
        self.namespaces.append(os.readlink(f"/proc/{holder.pid}/ns/net"))

    @staticmethod
    def _sleeps(process):
        try:
            with open(f"/proc/{process}/comm", encoding="utf-8") as file:
                return file.read() == "sleep\n"
        except OSError:
            return False
