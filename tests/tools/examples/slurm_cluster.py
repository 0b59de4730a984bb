"""A Slurm cluster of two nodes on this machine: each node is a network namespace of tools/faults/hosts.py."""

import os
import re
import shutil
import subprocess
import time

from tools.faults import hosts, job

DAEMONS = ("slurmctld", "slurmd")
CLIENTS = ("sbatch", "scancel", "scontrol", "sinfo", "squeue", "srun")
NODES = ("n1", "n2")

# No daemon outside the folder, no control groups: what a namespace in a container has.
CONFIGURATION = """
ClusterName=partita
SlurmctldHost={nodes[0]}({addresses[0]})
SlurmUser=root
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
NodeName={nodes[0]} NodeAddr={addresses[0]} CPUs=1
NodeName={nodes[1]} NodeAddr={addresses[1]} CPUs=1
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def path_of(program):
    return shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin")


def why_not():
    """Why this machine can have no such cluster; empty if it can."""
    missing = [program for program in (*DAEMONS, *CLIENTS) if path_of(program) is None]
    if missing:
        return f"Debian's slurmctld, slurmd or slurm-client are not installed: there is no {missing[0]}"
    if os.geteuid() != 0:
        return "slurmd starts tasks for users: only root may"
    return ""


class SlurmCluster:

    def __init__(self, folder, environment):
        """environment: of users' commands."""
        self._folder = folder
        self._environment = {**environment, "SLURM_CONF": os.path.join(folder, "slurm.conf")}
        self._hosts = hosts.Hosts(as_root=True)
        self._daemons = []

    def __enter__(self):
        self._hosts.__enter__()
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *unused):
        self._end_jobs()
        for daemon in reversed(self._daemons):
            daemon.terminate()
            try:
                daemon.wait(timeout=20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self._daemons = []
        self._hosts.__exit__()

    def left(self):
        """Processes of the cluster that still run."""
        return self._hosts.left()

    def call(self, *command):
        """What a user's command on the first node prints."""
        done = subprocess.run(self._at(0, command), env=self._environment, cwd=self._folder, capture_output=True,
                              text=True, timeout=job.PATIENCE)
        assert done.returncode == 0, f"{command}: {done.returncode} {done.stdout}{done.stderr}"
        return done.stdout

    def submit(self, script, *arguments):
        return re.search(r"\d+", self.call("sbatch", "--parsable", script, *arguments)).group()

    def about(self, number):
        """What Slurm knows of a job, by name."""
        return dict(re.findall(r"(\w+)=(\S*)", self.call("scontrol", "show", "job", number)))

    def wait(self, number, *states):
        """Until the job is in one of these states; what Slurm then knows of it."""
        deadline = time.monotonic() + job.PATIENCE
        while (about := self.about(number))["JobState"] not in states:
            assert time.monotonic() < deadline, about
            time.sleep(0.1)
        return about

    def tasks(self, host):
        """The processes on a host that a step started: slurmstepd's children."""
        found = []
        for process in self._hosts.left(host):
            parent = _status(process).get("PPid", "0")
            if _status(parent).get("Name") == "slurmstepd" and _status(process).get("Name") != "slurm_script":
                found.append(process)
        return found

    def _at(self, host, command):
        """Each node has its own name and knows both nodes' addresses."""
        enter = f'hostname {NODES[host]}; mount --bind "{self._folder}/hosts" /etc/hosts; exec "$@"'
        return [*self._hosts.at(host), "unshare", "--mount", "--uts", "bash", "-c", enter, "bash", *command]

    def _start(self):
        places = {"folder": self._folder, "nodes": NODES, "addresses": hosts.ADDRESSES}
        self._write("slurm.conf", CONFIGURATION.format(**places))
        names = [f"{address} {name}\n" for address, name in zip(hosts.ADDRESSES, NODES)]
        self._write("hosts", "127.0.0.1 localhost\n" + "".join(names))
        os.mkdir(os.path.join(self._folder, "state"))
        self._daemon(0, "slurmctld", "-D")
        for host, name in enumerate(NODES):
            os.mkdir(os.path.join(self._folder, "spool-" + name))
            self._daemon(host, "slurmd", "-D", "-N", name)
        deadline = time.monotonic() + job.PATIENCE
        while not self._is_idle():
            assert time.monotonic() < deadline, self._logs()
            time.sleep(0.1)

    def _write(self, name, text):
        with open(os.path.join(self._folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def _daemon(self, host, *command):
        log = os.path.join(self._folder, f"{command[0]}-{host}.log")
        with open(log, "wb") as file:
            self._daemons.append(subprocess.Popen(self._at(host, [path_of(command[0]), *command[1:]]), stdout=file,
                                                  stderr=file, env=self._environment))

    def _is_idle(self):
        done = subprocess.run(self._at(0, ["sinfo", "--noheader", "--format=%T %D"]), env=self._environment,
                              capture_output=True, text=True, timeout=job.PATIENCE)
        return done.stdout.split() == ["idle", "2"]

    def _logs(self):
        logs = sorted(name for name in os.listdir(self._folder) if name.endswith(".log"))
        return "\n".join(open(os.path.join(self._folder, name), encoding="utf-8").read() for name in logs)

    def _end_jobs(self):
        if len(self._daemons) == 3 and all(daemon.poll() is None for daemon in self._daemons):
            self.call("scancel", "--user=root")
            deadline = time.monotonic() + job.PATIENCE
            while not self._is_idle() and time.monotonic() < deadline:
                time.sleep(0.1)


def _status(process):
    try:
        with open(f"/proc/{process}/status", encoding="utf-8") as file:
            return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    except OSError:
        return {}
