"""Kills and stops ranks at random: see README.md. Prints a line for each kind of fault in each phase of a job."""

import argparse
import collections
import random
import signal
import statistics
import sys

try:
    from tools.faults import job
except ImportError:  # run as a script beside it
    import job

JOIN_TIMEOUT = 3  # seconds
STOP_TIMEOUT = 1

# A process needs a while to start, from when on it waits for the others.
JOINING = JOIN_TIMEOUT + 2
PROMISES = {
    "kill": (signal.SIGKILL, job.Promise(1.0, JOINING)),
    "stop": (signal.SIGSTOP, job.Promise(STOP_TIMEOUT + 1.0, JOINING + STOP_TIMEOUT)),
}

# Seconds behind rank 0's last word in which ranks take leave of each other.
SHUTDOWN = 0.01

# Of the mlp with random images: about a second.
EPOCHS = 10


def command_of(trainer, graph, ranks):
    return [
        trainer, "train", "--mock-data", "--batch=16", f"--epochs={EPOCHS}", f"--dp={ranks}", "--threads=1", "--log=warning",
        f"--join-timeout={JOIN_TIMEOUT}", f"--timeout={STOP_TIMEOUT}", graph
    ]


def draw_moment(draw, trained, last_word):
    """A phase, and seconds for job.fault. Joining takes long to be noticed, and training is what a job does most."""
    phase = draw.choices(["rendezvous", "training", "shutdown"], [2, 6, 2])[0]
    if phase == "rendezvous":
        return phase, draw.uniform(0, trained)
    return phase, draw.uniform(trained, last_word) if phase == "training" else draw.uniform(0, SHUTDOWN)


def run(command, ranks, kind, count, seed):
    """The outcome of each fault."""
    number, promise = PROMISES[kind]
    draw = random.Random(f"{seed} {kind}")
    trained, last_word = job.phases_of(command, ranks)
    outcomes = []
    for _ in range(count):
        victim = draw.randrange(ranks)
        phase, delay = draw_moment(draw, trained, last_word)
        outcomes.append(job.fault(command, ranks, victim, phase, delay, number, promise))
    return outcomes


def line(kind, phase, outcomes):
    seconds = sorted(outcome.seconds for outcome in outcomes)
    p99 = seconds[min(len(seconds) - 1, int(0.99 * len(seconds)))]
    wrong = sum(outcome.wrong != "" for outcome in outcomes)
    return (f"{kind:<6} {phase:<10} {len(seconds):>6} {1e3 * statistics.median(seconds):>10.1f} "
            f"{1e3 * p99:>10.1f} {1e3 * seconds[-1]:>10.1f} {wrong:>8}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trainer", required=True)
    parser.add_argument("--graph", required=True)
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--stops", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    command = command_of(options.trainer, options.graph, options.ranks)
    print(f"{'fault':<6} {'phase':<10} {'count':>6} {'median ms':>10} {'p99 ms':>10} {'max ms':>10} {'outside':>8}",
          flush=True)
    outside = 0
    for kind, count in [("kill", options.kills), ("stop", options.stops)]:
        if count == 0:
            continue
        phases = collections.defaultdict(list)
        for outcome in run(command, options.ranks, kind, count, options.seed):
            phases[outcome.phase].append(outcome)
            if outcome.wrong:
                outside += 1
                print(f"{kind} not as promised: {outcome.wrong}", file=sys.stderr, flush=True)
        for phase, outcomes in sorted(phases.items()):
            print(line(kind, phase, outcomes), flush=True)
    print(f"{outside} of {options.kills + options.stops} outside of what is promised: the others end and name the rank "
          f"{PROMISES['kill'][1].limit:.0f} s after a kill, {PROMISES['stop'][1].limit:.0f} s after a stop (a timeout of "
          f"{STOP_TIMEOUT} s and one more), {JOINING} and {JOINING + STOP_TIMEOUT} s where it did not join", flush=True)
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
