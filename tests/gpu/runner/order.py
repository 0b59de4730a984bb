"""All checks, in the order of lists.ORDER."""

from . import google_tests, lists, losses, lost_peer, programs, sanitizers


def checks(session):
    found = [*google_tests.checks(session), *programs.checks(), *losses.checks(), *lost_peer.checks(),
             *sanitizers.checks()]
    return sorted(found, key=lambda check: (lists.place_of(check.name), lists.limit_of(check.name)))
