"""Plans over the compiled library: what a session would be, found without starting it."""

import ctypes
import html
import json

from partita import _interface, library
from partita.arrays import Handle
from partita.session import model_of, options_of
from partita.split import settings_of_split

# Settings that change what a step computes or where; the split has a file of its own.
_OF_THE_STEP = ("device", "precision", "optimizer", "learning_rate", "schedule", "freeze", "rate_scale", "no_decay",
                "lora", "lora_rank", "lora_alpha", "lora_train", "lora_dropout")


def _bytes(count):
    """In the largest unit of which there is at least one."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.1f} {unit}" if unit != "B" else f"{count} B"
        count /= 1024


class Plan:
    """The split of a model and what is predicted of it.

    split: "data:2 model:2", or the trainer's flags that say it. ranks: one device each. batch: samples of a step.
    cluster: the machine's name; None: no `cluster` or `profile` was named, and nothing is known of times and devices.
    step_seconds: of the rank that takes longest: compute_seconds + exposed_seconds (collectives run, and nothing is
        computed) + idle_seconds. samples_per_second: of the whole batch.
    memory_bytes: of the fullest rank. memory_limit_bytes: the setting `memory`, or None.
    device_used_bytes, device_memory_bytes: of the fullest device, by all ranks on it, and what it has.
    wire_bytes: that leave ranks in a step.
    settings: those given that change the step, such as precision; fit(split=plan) trains with them.
    """

    def __init__(self, model, **settings):
        self.settings = {name: settings[name] for name in _OF_THE_STEP if name in settings}
        self._handle = Handle("partita_plan_free")
        options = options_of(settings)
        library.call("partita_plan_make", model.address, ctypes.byref(options), ctypes.byref(self._handle.address))
        told = library.made(_interface.PlanSummary)
        library.call("partita_plan_summarize", self._handle.address, ctypes.byref(told))
        self.split = told.split.decode()
        self.cluster = told.cluster.decode() or None
        self.ranks = told.ranks
        self.batch = told.batch
        timed = self.cluster is not None
        self.step_seconds = told.step_seconds if timed else None
        self.compute_seconds = told.compute_seconds if timed else None
        self.exposed_seconds = told.exposed_seconds if timed else None
        self.idle_seconds = told.idle_seconds if timed else None
        self.samples_per_second = told.batch / told.step_seconds if timed else None
        self.memory_bytes = told.memory_bytes
        self.memory_limit_bytes = told.memory_limit_bytes or None
        self.device_used_bytes = told.device_used_bytes if timed else None
        self.device_memory_bytes = told.device_memory_bytes if timed else None
        self.wire_bytes = told.wire_bytes

    def _text(self, function):
        text = ctypes.c_char_p()
        library.call(function, self._handle.address, ctypes.byref(text))
        return text.value.decode()

    @property
    def json(self):
        """What `trainer plan --deterministic --format=json` prints, as text."""
        return self._text("partita_plan_json")

    @property
    def details(self):
        """The same as a dict: "ranks" with memory, times and launches, "nodes" with layouts and bytes, "groups" with what
        their collectives move, "finalists" of a search.
        """
        return json.loads(self.json)

    @property
    def page(self):
        """The page of `trainer plan --page`: HTML that loads nothing. Needs a cluster."""
        return self._text("partita_plan_page")

    @property
    def strategy(self):
        """The split as the text of a strategy file (.pbtxt); comments say why it was chosen."""
        return self._text("partita_plan_strategy")

    def __repr__(self):
        parts = [f"{self.ranks} rank{'s' if self.ranks > 1 else ''}"]
        if self.cluster is not None:
            parts.append(f"a step of {self.batch} takes {self.step_seconds * 1e3:.3f} ms on {self.cluster}")
        parts.append(f"{_bytes(self.memory_bytes)} on the fullest rank")
        return f"<Plan {self.split}: {', '.join(parts)}>"

    def _repr_html_(self):
        """For notebooks: the page in a frame of its own, so that no style leaves it. None, which shows the text: there is
        no cluster.
        """
        if self.cluster is None:
            return None
        return (f'<iframe sandbox title="{html.escape(repr(self))}" srcdoc="{html.escape(self.page)}" '
                'style="width: 100%; height: 40em; border: 0"></iframe>')


def plan(model, *, split=None, devices=None, batch=None, loss=None, **settings):
    """What a session would be: a Plan, without starting anything and without data.

    model, split, devices, loss: as of fit().
    batch: samples of a step; None: as the model has it.
    settings: as of Session, and those of `trainer plan`: cluster="dgx_a100", device="cuda", memory="16GiB", repair=True.
        Those that only training reads have no effect.

    DoesNotFit says what is lacking. Train as planned with fit(model, data, split=plan).
    """
    return Plan(model_of(model, loss), batch=batch, **settings_of_split(split, devices, settings))
