"""A check: its name, and what gives its results."""

import dataclasses
from collections.abc import Callable

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclasses.dataclass
class Check:
    name: str
    run: Callable  # of the session; a list of results, each a dictionary of name, outcome, detail and what else it has


def result(name, outcome, detail="", **more):
    return {"name": name, "outcome": outcome, "detail": detail, **more}
