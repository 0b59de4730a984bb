"""Runs a GPU bundle: tests, steps of two models, the trainer on the GPU, then tests under compute-sanitizer where the
machine has it. The cheapest come first and each has a limit, so that a machine shows within a minute what is wrong.
Prints a line for each, `N passed, N failed` last.

    ./run [--seconds=N] [--out=DIR] [--only=WORD] [--skip=WORD]

A check that was not run (a test that says it needs more than there is) counts as neither. DIR, by default the folder
`out` of the bundle, gets results.json, written anew after every check, a log of each program, the timeline, and the
libraries' timed plans. With --seconds all ends within N seconds: a check that the end cuts off counts with the cases it
had finished, and the rest is skipped. A second call with the same DIR continues: it reads the plans, skips checks that
have passed and adds its results; --only repeats what it names. `./table out/results.json` prints the results as
Markdown. The exit code is 1 if anything failed or nothing passed, 2 if DIR belongs to another bundle or machine.
"""

import argparse
import os
import shutil

from . import machine, order
from .results import count, has_passed, results_of_earlier_calls, save
from .session import LEAST_SECONDS, NO_TIME, Session, last_line


def has_time(session, name, results):
    """Whether a check may begin; one that may not is skipped."""
    if session.left() >= LEAST_SECONDS:
        return True
    if not any(result["name"] == name for result in results):
        results.append({"name": name, "outcome": "skipped", "detail": NO_TIME})
    return False


def keep_timeline(session):
    timeline = session.path("models", "timeline.json")
    if os.path.exists(timeline):
        shutil.move(timeline, os.path.join(session.out, "timeline.json"))


def main(arguments, bundle):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, help="end within N seconds, with the results so far")
    parser.add_argument("--out", default=os.path.join(bundle, "out"), help="folder of results, logs and plans")
    parser.add_argument("--only", default="", help="run only what has this word in its name")
    parser.add_argument("--skip", default=None, help="skip what has this word in its name")
    options = parser.parse_args(arguments)

    session = Session(bundle, os.path.abspath(options.out), options.seconds)
    path = os.path.join(session.out, "results.json")
    where = {"revision": machine.revision(session), "machine": machine.machine(session),
             "versions": machine.versions(session)}
    earlier, results = results_of_earlier_calls(path, where), []

    def wanted(name):
        if options.only not in name or (options.skip is not None and options.skip in name):
            return False
        return bool(options.only) or not has_passed(name, earlier)

    print(f"on {where['machine']}")
    if earlier and not options.only:
        print(f"{path}: {count(earlier, 'passed')} passed before; checks that have passed are skipped")
    save(path, where, earlier, results)
    for line, found in order.checks(session, lambda name: wanted(name) and has_time(session, name, results)):
        print(line, flush=True)
        results += found
        save(path, where, earlier, results)
    keep_timeline(session)
    save(path, where, earlier, results)
    for result in results:
        if result["outcome"] == "failed":
            print(f"failed: {result['name']}: {last_line(result['detail'])}")
    cut_off = sum(result["detail"] == NO_TIME for result in results)
    if cut_off:
        print(f"no time was left for {cut_off} checks; a call with --out={options.out} continues with them")
    elif not results:
        print(f"no check has '{options.only}' in its name" if options.only else "all checks passed before")
    passed, failed = count(results, "passed"), count(results, "failed")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not (passed or earlier and not options.only) else 0
