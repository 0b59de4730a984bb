"""Kills and stops ranks at random: see README.md. Prints a line for each kind of fault in each phase of a job."""

import argparse
import collections
import random
import signal
import statistics
import sys

try:
    from tools.faults import job, recovery
except ImportError:  # run as a script beside it
    import job
    import recovery

JOIN_TIMEOUT = 3  # seconds
STOP_TIMEOUT = 1

# A process needs a while to start, from when on it waits for the others.
JOINING = JOIN_TIMEOUT + 2
PROMISES = {
    "kill": (signal.SIGKILL, job.Promise(1.0, JOINING)),
    "stop": (signal.SIGSTOP, job.Promise(STOP_TIMEOUT + 1.0, JOINING + STOP_TIMEOUT)),
}

# Of ten faults so many are aimed at each phase (job.Aim). Joining takes long to be noticed, and training is what a job
# does most.
PHASES = ["rendezvous"] * 2 + ["training"] * 6 + ["shutdown", "farewell"]

# Seconds of a job's training, and of its end, over which faults are spread.
TRAINING = 1.0
SHUTDOWN = 0.01


def command_of(trainer, graph, ranks, join_timeout=JOIN_TIMEOUT, timeout=STOP_TIMEOUT):
    """A run without its --epochs; both timeouts in seconds."""
    return [
        trainer, "train", "--mock-data", "--batch=16", f"--dp={ranks}", "--threads=1", "--log=warning",
        f"--join-timeout={join_timeout}", f"--timeout={timeout}", graph
    ]


def draw_aims(draw, count, ranks, trained):
    """Phases in turn, so that each gets its share of few faults too; in each a random rank at a random moment."""
    spread = {"rendezvous": trained, "training": TRAINING, "shutdown": SHUTDOWN, "farewell": SHUTDOWN}
    phases = []
    while len(phases) < count:
        phases += draw.sample(PHASES, len(PHASES))
    return [
        job.Aim(phase, 0 if phase == "shutdown" else draw.randrange(ranks), draw.uniform(0, spread[phase]))
        for phase in phases[:count]
    ]


def run(command, ranks, kind, count, seed, promise=None):
    """The outcome of each fault, judged by PROMISES[kind] unless another promise is passed."""
    number, promised = PROMISES[kind]
    promise = promise or promised
    aims = draw_aims(random.Random(f"{seed} {kind}"), count, ranks, job.first_epoch(command, ranks))
    return [job.fault(command, ranks, aim, number, promise) for aim in aims]


def line(kind, phase, outcomes):
    seconds = sorted(outcome.seconds for outcome in outcomes)
    p99 = seconds[min(len(seconds) - 1, int(0.99 * len(seconds)))]
    wrong = sum(outcome.wrong != "" for outcome in outcomes)
    return (f"{kind:<6} {phase:<10} {len(seconds):>6} {1e3 * statistics.median(seconds):>10.1f} "
            f"{1e3 * p99:>10.1f} {1e3 * seconds[-1]:>10.1f} {wrong:>8}")


def recovery_line(phase, seconds):
    return line("kill", phase, [job.Outcome(phase, each) for each in seconds])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trainer", required=True)
    parser.add_argument("--graph", required=True)
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--stops", type=int, default=100)
    parser.add_argument("--restarts", type=int, default=30)
    parser.add_argument("--shrinkings", type=int, default=10)
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
    if options.restarts > 0:
        draw = random.Random(f"{options.seed} restart")
        print(recovery_line("recovery", recovery.recoveries(options.trainer, options.graph, 4, options.restarts, draw)),
              flush=True)
    if options.shrinkings > 0:
        draw = random.Random(f"{options.seed} shrinking")
        print(recovery_line("shrinking", recovery.shrinkings(options.trainer, options.graph, options.shrinkings, draw)),
              flush=True)
    print(f"{outside} of {options.kills + options.stops} outside of what is promised: the others end and name the rank "
          f"{PROMISES['kill'][1].limit:.0f} s after a kill, {PROMISES['stop'][1].limit:.0f} s after a stop (a timeout of "
          f"{STOP_TIMEOUT} s and one more), {JOINING} and {JOINING + STOP_TIMEOUT} s where it did not join", flush=True)
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
