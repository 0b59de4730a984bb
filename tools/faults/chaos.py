"""Trains again and again while processes are killed, stopped, cut off and starved of disk, and looks at their files.

A trial is one training, from nothing to its end, by processes that are started again after each fault. Behind every
start that ended early:
  - each process ended as it should: hit, or because another one was (PEER_GONE), or told to
  - no checkpoint that was there is gone, but for older ones that made room, and each is to the bit that of the run that
    was let be (Reference), with its step, its sums of losses and its metrics; so no sample was left out or taken twice
Behind the trial: the model is that of the run that was let be, and nothing half-written is left.
"""

import argparse
import collections
import contextlib
import dataclasses
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time

try:
    from tools.faults.hosts import Hosts, NoNamespaces
    from tools.faults.job import PEER_GONE, Job
    from tools.faults.processes import newest_step
    from tools.faults.reference import Reference, checkpoint_flags
except ImportError:  # run as a script beside it
    from hosts import Hosts, NoNamespaces
    from job import PEER_GONE, Job
    from processes import newest_step
    from reference import Reference, checkpoint_flags

SPLITS = {1: [], 2: ["--dp=2"], 3: ["--dp=3"], 4: ["--dp=2", "--mp=2"]}
EVERY = 5  # steps from one checkpoint to the next
TIMEOUT = 2  # seconds after which a rank that stands still is lost; twice as many are too long for anybody
LONGEST = 120  # seconds of any start: then it hangs

# What else a process that is hit may end with: killed, by SIGTERM before it has begun to train or later, or without room
# on the disk (tools/program/exit_code.h).
ENDS = {-signal.SIGKILL, -signal.SIGTERM, 128 + signal.SIGTERM, 4}

# Where a process can be made to die (trainer version --fail-points), what of a training that is, and how often it is
# passed at most.
POINTS = {
    "job.joined": ("rendezvous", 1),
    "job.connected": ("rendezvous", 1),
    "training.step": ("steps", 60),
    "training.evaluation": ("evaluation", 2),
    "checkpoint.begun": ("saves", 6),
    "checkpoint.shards": ("saves", 6),
    "checkpoint.record": ("saves", 6),
    "checkpoint.committed": ("saves", 6),
    "job.leaving": ("farewell", 1),
}
RANK_ZERO_ALONE = ["checkpoint.record"]
OF_SEVERAL = ["job.joined", "job.connected", "job.leaving"]  # a rank that is alone passes none of these

# In turns, so that each has its share. "kill": at a point that the program names; "kill at a time": at any moment;
# "kill all": every rank at that moment; "pause": stopped for less than the timeout; "hang": for longer; "cut cable":
# half of the ranks live on another host, which cannot be reached any more.
KINDS = ["kill"] * 5 + ["kill at a time"] * 2 + ["kill all", "error", "pause", "hang", "terminate", "full disk"]
OF_TWO_HOSTS = ["cut cable"]


@dataclasses.dataclass
class Fault:
    kind: str
    rank: int = 0
    point: str = ""  # of "kill" and "error", with the pass
    passing: int = 1
    delay: float = 0  # of the others: seconds behind the start

    def armed(self):
        if self.kind not in ("kill", "error"):
            return ""
        return f"{self.point}={self.kind},rank={self.rank},pass={self.passing}"


@dataclasses.dataclass
class Hit:
    """What became of a fault. where: of the training; "missed": it came too late, or its point was not passed."""
    kind: str
    where: str
    kept: bool = True  # all was as promised


def draw_faults(draw, count, ranks, seconds, two_hosts=True):
    """`seconds`: of a training that is let be. `two_hosts`: whether there can be two."""
    possible = KINDS + (OF_TWO_HOSTS if two_hosts and ranks > 1 else [])
    kinds = []
    while len(kinds) < count:
        kinds += draw.sample(possible, len(possible))
    faults = []
    for kind in kinds[:count]:
        point = draw.choice([point for point in POINTS if ranks > 1 or point not in OF_SEVERAL])
        if (kind, point) == ("error", "job.leaving"):  # who leaves asks for no answer
            point = "training.step"
        rank = 0 if point in RANK_ZERO_ALONE else draw.randrange(ranks)
        faults.append(Fault(kind, rank, point, 1 + draw.randrange(POINTS[point][1]), draw.uniform(0, seconds)))
    return faults


class Trial:
    """One training in a folder of its own, with so many ranks."""

    def __init__(self, reference, ranks, home):
        self._reference, self._ranks = reference, ranks
        self.folder, self.model = os.path.join(home, "checkpoints"), os.path.join(home, "model.safetensors")
        self.hits, self.breaches = [], []
        self._command = [*reference.command, f"--timeout={TIMEOUT}", "--join-timeout=10",
                         *checkpoint_flags(self.folder, EVERY, 3), f"--save={self.model}"]

    def run(self, faults):
        """Until the training has come to its end: the last start is let be."""
        for fault in faults:
            if self._start(fault) or self.breaches:
                break
        else:
            if not self._start(None) and not self.breaches:
                self.breaches.append("a start that was let be did not end well")
        if not self.breaches:
            self.breaches += self._reference.wrong_model(self.model)
            left = [name for name in os.listdir(self.folder) if not name.startswith("step-") and name != "lock"]
            self.breaches += [f"{name} is left" for name in left]

    def _start(self, fault):
        """Whether the training came to its end."""
        before = newest_step(self.folder)
        environment = {**os.environ, "PARTITA_FAIL_POINTS": fault.armed() if fault else ""}
        with self._job(fault, environment) as job:
            if fault:
                self.hits.append(Hit(fault.kind, self._hit(job, fault)))
            try:
                job.wait(range(self._ranks), time.monotonic() + LONGEST)
            except AssertionError as running:
                self._break(job, fault, str(running))
                return False
            codes = [process.returncode for process in job.processes]
            if fault and fault.armed():
                self.hits[-1].where = self._place(fault, codes)
            allowed = {0, PEER_GONE} | (ENDS if fault else set())
            if not allowed.issuperset(codes):
                self._break(job, fault, f"found exit codes {codes}")
            if newest_step(self.folder) < before:
                self._break(job, fault, f"the newest checkpoint was of step {before}")
            for sentence in self._reference.wrong_checkpoints(self.folder):
                self._break(job, fault, sentence)
        return not any(codes)

    @contextlib.contextmanager
    def _job(self, fault, environment):
        if fault is None or fault.kind not in OF_TWO_HOSTS:
            with Job(self._command, self._ranks, environment) as job:
                yield job
            return
        with Hosts() as self._hosts:
            with self._hosts.job(self._command, self._ranks, environment) as job:
                yield job

    def _break(self, job, fault, sentence):
        if fault and self.hits:
            self.hits[-1].kept = False
        said = {rank: job.said(rank) for rank in range(self._ranks)}
        self.breaches.append(f"{sentence}: {self._ranks} ranks, {fault}: {said}")

    def _hit(self, job, fault):
        """Does what is done from outside, and says where it hit; of what the program does itself that is seen later."""
        if fault.armed():
            return ""
        time.sleep(fault.delay)
        if job.processes[fault.rank].poll() is not None:
            return "missed"
        where = self._now(job)
        victims = range(self._ranks) if fault.kind == "kill all" else [fault.rank]
        if fault.kind.startswith("kill"):
            for rank in victims:
                job.signal(rank, signal.SIGKILL)
        elif fault.kind == "terminate":
            job.signal(fault.rank, signal.SIGTERM)
        elif fault.kind == "cut cable":
            self._hosts.pull_cable()
        elif fault.kind == "full disk":
            fill_disk(job.processes[fault.rank], 0.1 + fault.delay % 0.4)
        else:
            job.signal(fault.rank, signal.SIGSTOP)
            time.sleep(TIMEOUT * (2 if fault.kind == "hang" else 0.2))
            job.signal(fault.rank, signal.SIGCONT)
        return where

    def _now(self, job):
        if "at step" not in job.said(0):
            return "rendezvous"
        return "saves" if any(name.startswith("writing-") for name in os.listdir(self.folder)) else "steps"

    def _place(self, fault, codes):
        if fault.kind == "kill":
            return POINTS[fault.point][0] if -signal.SIGKILL in codes else "missed"
        return POINTS[fault.point][0] if any(codes) else "missed"


def fill_disk(process, seconds):
    """No file of it grows beyond what its output needs for so long."""
    try:
        _, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (20_000, hard))
        time.sleep(seconds)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (hard, hard))
    except ProcessLookupError:  # it has ended
        pass


def can_make_hosts():
    try:
        with Hosts():
            return True
    except NoNamespaces as why:
        print(f"chaos: no cable is cut, as this machine makes no network namespaces: {why}", file=sys.stderr, flush=True)
        return False


def tally(kept):
    return {"count": len(kept), "kept": sum(kept)}


class Chaos:
    """Trials, one after the other, until there were so many kills."""

    def __init__(self, trainer, graph, steps):
        self._trainer, self._graph, self._steps = trainer, graph, steps
        self._references = {}
        self._two_hosts = can_make_hosts()
        self.trials, self.hits, self.breaches = [], [], []

    def kills(self):
        return sum(hit.kind.startswith("kill") and hit.where != "missed" for hit in self.hits)

    def found(self):
        """As JSON has it."""
        kept = collections.defaultdict(list)
        for hit in self.hits:
            kept[hit.kind, hit.where].append(hit.kept)
        references = [reference for reference, _ in self._references.values()]
        return {
            "faults": [{"fault": kind, "where": where, **tally(each)} for (kind, where), each in sorted(kept.items())],
            "trials": tally(self.trials),
            "checkpoints": {"count": sum(reference.compared for reference in references),
                            "kept": sum(reference.same for reference in references)},
            "breaches": self.breaches,
        }

    def run(self, ranks, faults, draw, home):
        """One trial of so many faults; what breaks is said."""
        reference, seconds = self._reference(ranks, home)
        with tempfile.TemporaryDirectory(dir=home) as folder:
            trial = Trial(reference, ranks, folder)
            trial.run(draw_faults(draw, faults, ranks, seconds, self._two_hosts))
        self.trials.append(not trial.breaches)
        self.hits += trial.hits
        self.breaches += trial.breaches

    def _reference(self, ranks, home):
        if ranks not in self._references:
            command = [self._trainer, "train", "--mock-data", "--batch=12", "--flip", "--threads=1", "--epochs=1000",
                       "--log=warning", f"--steps={self._steps}", *SPLITS[ranks], self._graph]
            begin = time.monotonic()
            with tempfile.TemporaryDirectory(dir=home) as folder:
                self._references[ranks] = Reference(self._trainer, command, EVERY, folder), time.monotonic() - begin
        return self._references[ranks]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trainer", required=True)
    parser.add_argument("--graph", required=True)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--steps", type=int, default=180)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(f"{options.seed} chaos")
    chaos = Chaos(options.trainer, options.graph, options.steps)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with tempfile.TemporaryDirectory() as home:
            while chaos.kills() < options.kills and not chaos.breaches:
                chaos.run(1 + len(chaos.trials) % len(SPLITS), 14, draw, home)
                print(f"chaos: {chaos.kills()} of {options.kills} kills, {len(chaos.trials)} trainings",
                      file=sys.stderr, flush=True)
    except KeyboardInterrupt:  # what was found until then
        pass
    print(json.dumps(chaos.found()))
    return 1 if chaos.breaches else 0


if __name__ == "__main__":
    sys.exit(main())
