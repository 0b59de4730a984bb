"""Kills and stops ranks at random: see README.md. Prints one line for each kind of fault."""

import argparse
import collections
import random
import signal
import statistics

try:
    from tools.faults import job
except ImportError:  # run as a script beside it
    import job

KILL_LIMIT = 1.0  # seconds
STOP_TIMEOUT = 2

# Of the mlp with random images: about a second.
EPOCHS = 10


def command_of(trainer, graph, ranks):
    return [
        trainer, "train", "--mock-data", "--batch=16", f"--epochs={EPOCHS}", f"--dp={ranks}", "--threads=1", "--log=warning",
        "--join-timeout=3", f"--timeout={STOP_TIMEOUT}", graph
    ]


def run(command, ranks, kind, count, seed, longest):
    """Returns phase -> seconds of each fault; an AssertionError says which fault was not noticed as promised."""
    number, limit = {
        "kill": (signal.SIGKILL, KILL_LIMIT),
        "stop": (signal.SIGSTOP, STOP_TIMEOUT + 1),
    }[kind]
    draw = random.Random(f"{seed} {kind}")
    seconds = collections.defaultdict(list)
    for _ in range(count):
        victim, delay = draw.randrange(ranks), draw.uniform(0, longest)
        phase, taken = job.fault(command, ranks, victim, delay, number, limit, join_timeout=3 + 2)
        seconds[phase].append(taken)
    return seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trainer", required=True)
    parser.add_argument("--graph", required=True)
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--stops", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=float, default=1.5, help="seconds from the start to the latest fault")
    options = parser.parse_args()
    command = command_of(options.trainer, options.graph, options.ranks)
    print(f"{'fault':<6} {'phase':<8} {'count':>6} {'median ms':>10} {'p99 ms':>10} {'max ms':>10}")
    for kind, count in [("kill", options.kills), ("stop", options.stops)]:
        phases = run(command, options.ranks, kind, count, options.seed, options.longest)
        for phase, seconds in sorted(phases.items()):
            seconds.sort()
            p99 = seconds[min(len(seconds) - 1, int(0.99 * len(seconds)))]
            print(f"{kind:<6} {phase:<8} {len(seconds):>6} {1e3 * statistics.median(seconds):>10.1f} "
                  f"{1e3 * p99:>10.1f} {1e3 * seconds[-1]:>10.1f}", flush=True)


if __name__ == "__main__":
    main()
