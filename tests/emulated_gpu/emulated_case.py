"""Runs the trainer on an emulated GPU: what tests of it share."""

import glob
import os

from tests.tools.commands.trainer_case import EXAMPLES, TrainerCase, without_launchers

BUILD_MODEL = os.path.abspath("tools/models/build_model")


class EmulatedCase(TrainerCase):

    trainer = os.path.abspath("tests/emulated_gpu/trainer")

    def on_gpu(self, command, *arguments, code=0, mock=True, launcher=None, **variables):
        """`variables` are PARTITA_EMULATED_*: GPUS of the machine, SEED of the order in which work is done. `launcher`:
        what a launcher sets."""
        environment = without_launchers() | (launcher or {})
        environment["XDG_CACHE_HOME"] = self.path("cache")
        environment.update({f"PARTITA_EMULATED_{name}": str(value) for name, value in variables.items()})
        before, after = ([], [command]) if command != "launch" else (["launch", "--", "train"], [])
        data = ["--mock-data"] if mock else []
        return self.call(*before, *after, "--device=cuda", *data, *arguments, code=code, environment=environment)

    def build(self, model, *sizes):
        """A graph of these sizes."""
        self.execute(BUILD_MODEL, model, f"--output={model}.pbtxt", *sizes)
        return f"{model}.pbtxt"


def strategies_of(name):
    """The shipped strategies of a model."""
    found = sorted(glob.glob(os.path.join(EXAMPLES, name + "_*.pbtxt")) +
                   glob.glob(os.path.join(EXAMPLES, name, "*.pbtxt")))
    # The one is for a graph that is built otherwise, and is not of this one.
    return [path for path in found if not path.endswith("_local.pbtxt")]
