"""Training in one call, on arrays or files."""

import os
import tempfile
from collections.abc import Mapping

import numpy

from partita import library
from partita.arrays import array_of, check_channels, dense, types_of
from partita.plans import Plan
from partita.session import Session, model_of
from partita.split import settings_of_split


def _named_arrays(data, fields, types):
    """Arrays under the names that files have, of the types of the model's fields."""
    named = {}
    for given, array in data.items():
        of, name = str(given).split("/", 1) if "/" in str(given) else ("train", given)
        if name not in types or of not in ("train", "test"):
            raise library.InvalidArgument(f"data has '{given}'; expected the fields {', '.join(sorted(types))}, or those of "
                                          "two sets, train/... and test/...")
        array, dtype = dense(given, array), types[name]
        check_channels(given, array, fields[name])
        # Bytes of a floating field stay bytes: pixels, which are scaled as those of files are.
        named[f"{of}/{name}"] = array if array.dtype.kind != dtype.kind else array_of(name, array, dtype)
    return named


def _saved(plan, path):
    with open(path, "w", encoding="utf-8") as file:
        file.write(plan.strategy)
    return path


def fit(model, data, *, split=None, devices=None, predict=(), loss=None, on_progress=None, on_epoch=None, **settings):
    """Trains a model to the end of the run, and returns its session.

    model: a Model, or the path of a graph or of an exported program (.pt2; `loss` as of Model).
    data: a path that `trainer train --data` takes, or a dict (or what numpy.load returns of a .npz) of arrays by field;
        the first size of each is the number of samples. Names that begin with "train/" and "test/" are those of two sets.
    split: "auto" finds the fastest split over `devices` ranks of a cluster (`cluster="dgx_a100"`, or a `profile` that
        `trainer calibrate` measured; without both, of a machine of two cores); {"dp": 2, "mp": 2} is one by rule, a path
        names a strategy, and a Plan has its split, batch and Plan.settings. None: one rank, or `devices` replicas.
    settings: as of Session; they override those of a Plan: epochs=3, batch=64, learning_rate=0.1, save="model.safetensors".
    """
    model = model_of(model, loss)
    with tempfile.TemporaryDirectory(prefix="partita-") as folder:
        strategy, file = os.path.join(folder, "strategy.pbtxt"), os.path.join(folder, "data.npz")
        if isinstance(split, Plan):
            settings = {"batch": split.batch or None, **split.settings, **settings}
            split = _saved(split, strategy)
        settings = settings_of_split(split, devices, settings)
        if isinstance(data, Mapping):
            fields = model.fields
            numpy.savez(file, **_named_arrays(data, fields, types_of(fields, settings)))
            data = file
        elif not isinstance(data, str | os.PathLike) and not (data is None and settings.get("mock_data")):
            raise library.InvalidArgument(f"data is of type {type(data).__name__}; expected a dict of arrays by field "
                                          f"({', '.join(model.fields)}), or a path that `trainer train --data` takes")
        try:
            session = Session(model, predict=predict, data=data, **settings)
            session.epochs = session.fit(on_progress=on_progress, on_epoch=on_epoch)
        except library.Error as error:
            error.args = (str(error).replace(file, "data").replace(strategy, "the plan's split"),)
            raise
    return session
