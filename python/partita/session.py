"""Models and sessions over the compiled library."""

import ctypes
import dataclasses
import json
import operator
import os
import threading

from partita import _interface, library
from partita.arrays import TYPES, Batch, Field, Handle, Values, encoded, types_of


@dataclasses.dataclass(frozen=True)
class Step:
    """The result of a step: its loss, and further metrics by name. gradient_norm: of all gradients, before they are
    clipped; None where nothing clips them and the setting gradient_norm=True is not given.
    """

    loss: float
    metrics: dict
    gradient_norm: float | None = None


@dataclasses.dataclass(frozen=True)
class Progress:
    """Where a run stands: steps done and of the whole run, epochs passed, loss and metrics of the last step."""

    step: int
    steps: int
    epoch: float
    loss: float
    learning_rate: float
    samples_per_second: float
    metrics: dict
    gradient_norm: float | None = None


@dataclasses.dataclass(frozen=True)
class Epoch:
    """An epoch that ended: means over its steps, and of the test set, if there is one (else None and {})."""

    number: int
    loss: float
    metrics: dict
    test_loss: float | None
    test_metrics: dict
    seconds: float


def _metrics(struct, prefix=""):
    count = getattr(struct, prefix + "metric_count")
    names, values = getattr(struct, prefix + "metric_names"), getattr(struct, prefix + "metric_values")
    return {names[m].decode(): values[m] for m in range(count)}


def _norm(struct):
    return struct.gradient_norm if struct.has_gradient_norm else None


class Model:
    """A graph with its loss and optimizer, from a file (.pbtxt, .textproto, .pb), an exported program of PyTorch (.pt2)
    or an ONNX model (.onnx). It never changes.

    loss: of a .pt2 or .onnx that returns predictions: "cross_entropy", "mse", "l1" or "bce_with_logits".
    frozen_statistics: batch norms of a .pt2 may be those of a module in evaluation, and keep their statistics.
    """

    def __init__(self, path, *, loss=None, frozen_statistics=False):
        if isinstance(path, str) and "\n" in path:
            raise library.InvalidArgument("the path of a model has several lines; Model.parse takes the text of a graph")
        options = library.made(
            _interface.ImportOptions,
            loss=None if loss is None else loss.encode(),
            frozen_statistics=int(frozen_statistics),
        )
        self._handle = Handle("partita_model_free")
        library.call(
            "partita_model_from_file", encoded(path), ctypes.byref(options), ctypes.byref(self._handle.address)
        )

    @classmethod
    def parse(cls, text):
        """The model of a .pbtxt file's text."""
        return cls._by("partita_model_from_text", text.encode())

    @classmethod
    def _by(cls, function, *arguments):
        model = cls.__new__(cls)
        model._handle = Handle("partita_model_free")
        library.call(function, *arguments, ctypes.byref(model._handle.address))
        return model

    @property
    def address(self):
        """For calls of the library."""
        return self._handle.address

    def with_batch(self, batch):
        """The same model for batches of another size."""
        samples = operator.index(batch)
        if not 1 <= samples < 2**31:
            raise library.InvalidArgument(f"batch is {batch}; expected an integer from 1 to {2**31 - 1}")
        return self._by("partita_model_with_batch", self._handle.address, samples)

    @property
    def fields(self):
        """What a batch of training contains, by name."""
        fields = {}
        for index in range(library.ask("partita_model_field_count", self._handle.address)):
            field = library.made(_interface.Tensor)
            library.call("partita_model_field", self._handle.address, index, ctypes.byref(field))
            shape = tuple(field.shape[d] for d in range(field.rank))
            fields[field.name.decode()] = Field(TYPES[field.type], shape)
        return fields


def _text(value):
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def options_of(settings, **others):
    """The struct of a session's options, of settings with _ for -; those that are None are left out."""
    named = {name.replace("_", "-"): _text(value) for name, value in settings.items() if value is not None}
    return library.made(_interface.SessionOptions, settings=json.dumps(named).encode(), **others)


def model_of(model, loss=None):
    """A Model, or that of a path, which `loss` is for."""
    if isinstance(model, str | bytes | os.PathLike):
        return Model(model, loss=loss)
    if not isinstance(model, Model):
        raise library.InvalidArgument(f"the model is of type {type(model).__name__}; expected a partita.Model, or the path of a "
                                      "graph, of a program of PyTorch (partita.export writes one) or of an ONNX model")
    if loss is not None:
        raise library.InvalidArgument("loss is of a model that is read here; give it to Model")
    return model


class Session:
    """A model, or the file of one, at work on its ranks. Use it in a `with` block, or close() it.

    predict: names of the values that predict() returns.
    train: False: only for predictions, without memory for gradients and optimizer.
    settings: any flag of `trainer train` (docs/reference/flags.md), with _ for -: dp=2, mp=2, threads=1, batch=64,
        search="auto", ranks=2, precision="bf16", device="cuda", data="photos", epochs=5, checkpoint="folder".

    A session runs one call at a time, but interrupt() and cancel() may be called from any thread. A wrong batch is an
    error of its call alone.
    """

    def __init__(self, model, *, predict=(), train=True, **settings):
        model = model_of(model)
        values = [encoded(name) for name in ([predict] if isinstance(predict, str) else predict)]
        options = options_of(
            settings,
            values=(ctypes.c_char_p * len(values))(*values),
            value_count=len(values),
            predict_only=int(not train),
        )
        self._fields = model.fields
        self._types = types_of(self._fields, settings)
        self._handle = Handle("partita_session_free")
        library.call(
            "partita_session_start", model.address, ctypes.byref(options), ctypes.byref(self._handle.address)
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends the ranks. Every later call raises Misuse."""
        self._handle.close()

    @property
    def _address(self):
        if not self._handle.address:
            raise library.Misuse("the session is closed")
        return self._handle.address

    def step(self, **fields):
        """Trains one step over a whole batch, one array for each field of the model."""
        return self._step("partita_session_train", fields)

    def evaluate(self, **fields):
        """The same without training: batch norm by its running statistics, no dropout."""
        return self._step("partita_session_evaluate", fields)

    def _step(self, function, fields):
        batch, step = Batch(fields, self._types, self._fields), library.made(_interface.Step)
        with self._handle.used():
            library.call(function, self._address, batch.tensors, len(batch), ctypes.byref(step))
            return Step(step.loss, _metrics(step), _norm(step))

    def predict(self, **fields):
        """The values that the session was started for, by name: arrays without a copy. Labels are not needed; a batch
        may have fewer samples than the model's.
        """
        return self._values("partita_session_predict", fields)

    def compute(self, entry, **fields):
        """The results, by name, of an entry point that the graph defines."""
        return self._values("partita_session_compute", fields, entry.encode())

    def _values(self, function, fields, *before):
        batch, values = Batch(fields, self._types, self._fields), Values()
        library.call(
            function, self._address, *before, batch.tensors, len(batch), ctypes.byref(values.address)
        )
        return values.arrays()

    def fit(self, *, on_progress=None, on_epoch=None, progress_seconds=2, deadline_seconds=0):
        """Trains on the setting `data` to the end of the run, with checkpoints and saved models as the settings say.

        on_progress: called with a Progress every `progress_seconds`; a result that is false, but not None, ends the call.
        on_epoch: called with an Epoch after each epoch.
        deadline_seconds: ends the call after the steps in flight; 0: none.

        Callbacks are called by another thread; of their session they may call interrupt(), cancel() and close(), which
        ends the call after the steps in flight. Returns the epochs that ended in this call. A call that was stopped, also
        by interrupt() or Ctrl-C, is continued by the next one.
        """
        for name, call in (("on_progress", on_progress), ("on_epoch", on_epoch)):
            if call is not None and not callable(call):
                raise library.InvalidArgument(f"{name} is of type {type(call).__name__}; expected a function")
        address, epochs, raised = self._address, [], []

        def guarded(call):
            try:
                return call()
            except BaseException as error:  # ctypes would print it and go on
                raised.append(error)
                return False

        def stop():
            library.ask("partita_error_free", library.ask("partita_session_interrupt", address))  # it may be closed

        def progress(user, report):
            of = report.contents
            told = Progress(
                of.step, of.steps, of.epoch, of.loss, of.learning_rate, of.samples_per_second, _metrics(of), _norm(of)
            )
            wanted = guarded(lambda: on_progress(told) if on_progress else None)
            return 0 if raised or (wanted is not None and not wanted) else 1

        def epoch(user, report):
            of = report.contents
            tested = of.test_loss if of.is_tested else None
            epochs.append(Epoch(of.number, of.loss, _metrics(of), tested, _metrics(of, "test_"), of.seconds))
            guarded(lambda: on_epoch and on_epoch(epochs[-1]))
            if raised:
                stop()

        options = library.made(
            _interface.FitOptions,
            on_progress=_interface.ProgressFunction(progress),
            on_epoch=_interface.EpochFunction(epoch),
            progress_seconds=progress_seconds,
            deadline_seconds=deadline_seconds,
        )
        ended = threading.Event()  # not Thread.join, which forgets a running thread when a signal raises within it

        def work():
            guarded(lambda: library.call("partita_session_fit", address, ctypes.byref(options), None))
            ended.set()

        threading.Thread(target=work).start()
        try:
            # A signal is handled here, between two calls, and never within a callback, where it would be lost.
            while not ended.wait(0.1):
                pass
        except BaseException as error:
            raised.insert(0, error)
            stop()
            ended.wait()
        if raised:
            raise raised[0]
        return epochs

    def interrupt(self):
        """From any thread: ends the fit() in progress after the steps in flight; the session stays usable."""
        library.call("partita_session_interrupt", self._address)

    def cancel(self):
        """From any thread, and final: the running step and every later call raise Cancelled."""
        library.call("partita_session_cancel", self._address)

    def save(self, path):
        """Writes all states as `trainer train --save` does (.safetensors)."""
        library.call("partita_session_save", self._address, encoded(path))

    def load(self, path):
        """Reads such a file; training continues bitwise as if it had not been stopped."""
        library.call("partita_session_load", self._address, encoded(path))

    def load_weights(self, path):
        """Reads only what predictions need; optimizer and step do not change."""
        library.call("partita_session_load_weights", self._address, encoded(path))

    @property
    def states(self):
        """The names of parameters, running statistics and what the optimizer keeps."""
        count = ctypes.c_size_t()
        library.call("partita_session_state_count", self._address, ctypes.byref(count))
        names = []
        with self._handle.used():
            for index in range(count.value):
                name = ctypes.c_char_p()
                library.call("partita_session_state_name", self._address, index, ctypes.byref(name))
                names.append(name.value.decode())
        return names

    def read(self, state):
        """The whole array of a state."""
        values = Values()
        library.call("partita_session_read", self._address, state.encode(), ctypes.byref(values.address))
        return values.arrays()[state]

    def write(self, state, array):
        """Sets a state; the shape is the state's, and the array becomes of its type."""
        batch = Batch({state: array}, {state: self.read(state).dtype}, {})
        library.call("partita_session_write", self._address, batch.tensors)
