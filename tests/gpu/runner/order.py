"""The checks in their order: the cheapest, and those that show most, come first."""

import itertools
import os

from . import lists, losses, programs, sanitizers
from .google_tests import run_tests
from .session import last_line


def singly(results):
    for result in results:
        yield f"{result['name']}: {result['outcome']}, {last_line(result['detail'])}", [result]


def checks(session, wanted):
    """(a line to print, results) of one after the other."""
    tests = sorted(os.listdir(session.path("tests")), key=lambda name: (lists.limit_of(name), name))
    first = [name for name in tests if lists.limit_of(name) <= lists.EARLY or name == lists.KERNELS]
    yield from run_tests(session, (name for name in first if wanted(name)))
    verifying = [entry for entry in lists.TRAINING if entry[0].startswith("verify")]
    yield from programs.run_programs(session, wanted, programs.run_trainer, verifying)
    yield from singly(sanitizers.sanitizations(session, wanted, early=True))
    others = [entry for entry in lists.TRAINING if entry not in verifying]
    yield from programs.run_programs(session, wanted, programs.run_trainer, others)
    steps = [entry for entry in lists.STEPS if wanted(entry[0])]
    peer = programs.peer_flags(session) if steps else []
    steps = [(name, arguments + peer) for name, arguments in steps]
    yield from programs.run_programs(session, wanted, programs.run_benchmark, steps)
    yield from run_tests(session, (name for name in tests if name not in first and wanted(name)))
    yield from singly(itertools.chain(losses.comparisons(session, wanted),
                                      sanitizers.sanitizations(session, wanted, early=False)))
