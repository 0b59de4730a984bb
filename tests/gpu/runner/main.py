"""Runs a GPU bundle: whether the GPU, the libraries and the kernels run, whether steps are right, how fast models
train, beside PyTorch where a Python has it, and tests under compute-sanitizer where the machine has it. What shows most
in the least time comes first (lists.ORDER), and each check has a limit. Prints a line for each, `N passed, N failed`
last.

    ./run [--seconds=N] [--out=DIR] [--only=WORD] [--skip=WORD]

Where no GPU answers the run ends at once, unless --only names what to run all the same. A check that was not run (a
test that says it needs more than there is) counts as neither. DIR, by default the folder
`out` of the bundle, gets at most five files, each whole at every moment: results.json and table.txt after every check,
log.txt with what the programs print, as they print it, plans.zip with the libraries' timed plans, and
timeline.json.gz. With --seconds all ends within N seconds, whatever hangs: a check that the end cuts off counts with
the cases it had finished, and the rest is skipped. A second call with the same DIR continues: it reads the plans, skips
checks that have passed and adds its results; --only repeats what it names. Results of another bundle or GPU are set
aside. The exit code is 1 if anything failed or nothing passed, 143 at SIGTERM.
"""

import argparse
import os
import resource
import signal
import sys
import time

from . import machine, order
from .check import FAILED, PASSED, SKIPPED, result
from .keep import Keeper
from .results import Results, count
from .session import NO_TIME, Session, last_line

SPARE = 1  # seconds behind the end at which whatever still waits is ended
LAST = 2  # and after which the runner ends without another word


class TimeUp(BaseException):
    """The session's end, where something hangs that has no limit of its own: a disk, say."""


def time_up(*_):
    raise TimeUp


def terminate(*_):
    sys.exit(128 + signal.SIGTERM)


def watch_the_end(seconds):
    """Core files of programs that hold a GPU's memory are large, and nobody reads them."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    signal.signal(signal.SIGTERM, terminate)
    if seconds is not None:
        signal.signal(signal.SIGALRM, time_up)
        signal.setitimer(signal.ITIMER_REAL, max(0, seconds) + SPARE)


def parse(arguments, bundle):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--seconds", type=float, help="end within N seconds, with the results so far")
    parser.add_argument("--out", default=os.path.join(bundle, "out"), help="folder of results, logs and plans")
    parser.add_argument("--only", default="", help="run only what has this word in its name")
    parser.add_argument("--skip", default=None, help="skip what has this word in its name")
    return parser.parse_args(arguments)


def is_wanted(check, options, results):
    if options.only not in check.name or (options.skip is not None and options.skip in check.name):
        return False
    return bool(options.only) or not results.has_passed(check.name)


def run(check, session):
    """Its results. Whatever the machine lacks (room for temporary files, say) fails one check, not the run."""
    try:
        return check.run(session)
    except Exception as error:
        return [result(check.name, FAILED, f"the runner: {type(error).__name__}: {error}")]


def line_of(check, found, seconds):
    if len(found) == 1 and found[0]["name"] == check.name:
        says = f"{found[0]['outcome']}, {seconds:.1f} s"
        shown = "" if found[0]["outcome"] == PASSED and "row" not in found[0] else last_line(found[0]["detail"])
        return f"{check.name}: {says} {shown}".rstrip()
    counts = ", ".join(f"{count(found, outcome)} {outcome}" for outcome in (PASSED, FAILED, SKIPPED))
    return f"{check.name}: {counts}, {seconds:.1f} s"


def run_all(session, options, results):
    keeper = Keeper(session)
    keeper.restore_plans()
    checks = order.checks(session)
    results.checks = [check.name for check in checks]
    results.save()
    for check in checks:
        if not is_wanted(check, options, results):
            continue
        begin = time.monotonic()
        found = run(check, session) if session.has_time(check.name) else [result(check.name, SKIPPED, NO_TIME)]
        if found[0]["detail"] != NO_TIME or len(found) > 1:
            print(line_of(check, found, time.monotonic() - begin), flush=True)
        results.found += found
        results.save()
        try:
            keeper.keep()
        except OSError as error:
            print(f"plans and timeline are not kept: {error}", flush=True)


def print_end(session, options, results):
    found = results.found
    for each in found:
        if each["outcome"] == FAILED:
            print(f"failed: {each['name']}: {last_line(each['detail'])}")
    for name in session.stuck:
        print(f"{name}: SIGKILL did not end it, it hangs in the driver")
    for unkept in filter(None, (results.unsaved, session.log.broken)):
        print(f"not written: {unkept}")
    cut_off = sum(each["detail"] == NO_TIME for each in found)
    if cut_off:
        print(f"no time was left for {cut_off} checks; a call with --out={options.out} continues with them")
    elif not found:
        print(f"no check has '{options.only}' in its name" if options.only else "all checks passed before")
    print(f"{count(found, PASSED)} passed, {count(found, FAILED)} failed", flush=True)


def begin(session, options):
    where = {"revision": machine.revision(session), "machine": machine.gpu(session),
             "versions": machine.versions(session)}
    if where["machine"] == machine.NO_GPU and not options.only:
        print(machine.NO_GPU + "; nothing was run. --only=WORD runs a check all the same", flush=True)
        return None
    results = Results(session.out, where)
    print(f"on {where['machine']}", flush=True)
    if results.earlier and not options.only:
        print(f"{results.path}: {count(results.earlier, PASSED)} passed before; checks that have passed are skipped")
    return results


def main(arguments, bundle):
    options = parse(arguments, bundle)
    watch_the_end(options.seconds)
    results = None
    try:
        session = Session(bundle, os.path.abspath(options.out), options.seconds)
        results = begin(session, options)
        if results is not None:
            run_all(session, options, results)
    except TimeUp:
        print("the end came while the runner waited", flush=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if results is None:
        return 1
    if options.seconds is not None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, LAST)
    results.save()
    print_end(session, options, results)
    signal.setitimer(signal.ITIMER_REAL, 0)
    passed = count(results.found, PASSED)
    return 1 if count(results.found, FAILED) or not (passed or results.earlier and not options.only) else 0
