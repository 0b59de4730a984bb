"""How a caller names a split, as settings."""

import os
from collections.abc import Mapping

from partita import library

# By rule, and of any split.
_RULES = ("dp", "mp", "convolutions", "dense", "input_gradients", "micro_batches", "exchanges", "recompute", "bucket_bytes",
          "overlap_halo", "ranks")
_SEARCHES = ("auto", "data", "grid", "groups", "placement", "pipeline", "layerwise")


def _machine_of_search(split, devices, settings):
    """A search has to know the machine. Threads of the host are by default on the one that was measured, of two cores."""
    if settings.get("cluster") or settings.get("profile"):
        return {}
    if settings.get("device", "host") == "host" and (devices or 2) <= 2:
        return {"cluster": "two_cores"}
    raise library.InvalidArgument(f"split is {split!r} for {devices or 'all'} devices of an unknown machine; name it by "
                                  "cluster, a shipped one (docs/reference/machines.md) or a file, or by profile, which "
                                  "`trainer calibrate` measures")


def _by_rule(split):
    for name in split:
        if name not in _RULES:
            raise library.InvalidArgument(f"split has {name!r}; expected {', '.join(_RULES)}")
    return dict(split)


def _strategy(split):
    if isinstance(split, str | bytes | os.PathLike) and os.path.splitext(os.fsdecode(split))[1]:
        return os.fsdecode(split)
    raise library.InvalidArgument(f"split is {split!r}; expected a dict as {{'dp': 2, 'mp': 2}}, a search "
                                  f"({', '.join(_SEARCHES)}), the path of a strategy (.pbtxt, .pb), or a Plan")


def settings_of_split(split, devices, settings):
    """The settings with those of a split: a dict of them, "auto" or another kind of search, or the path of a strategy."""
    if split is None:
        of_split = {} if devices is None else {"dp": devices}
    elif isinstance(split, str) and split in _SEARCHES:
        of_split = {"search": split, "ranks": devices, **_machine_of_search(split, devices, settings)}
    elif devices is not None:
        raise library.InvalidArgument(f"split is {split!r} and devices is {devices}; a split by rule or from a file says "
                                      "how many devices there are")
    else:
        of_split = _by_rule(split) if isinstance(split, Mapping) else {"strategy": _strategy(split)}
    for name, value in of_split.items():
        if settings.get(name, value) != value:
            raise library.InvalidArgument(f"split says {name}={value!r}, and {name} is {settings[name]!r}")
    return {**settings, **of_split}
