"""Arrays as the library takes and returns them, without copies where their types are the fields'."""

import contextlib
import ctypes
import dataclasses
import os
import threading

import numpy

from partita import _interface, library

TYPES = {
    _interface.F32: numpy.dtype("float32"),
    _interface.F64: numpy.dtype("float64"),
    _interface.I32: numpy.dtype("int32"),
    _interface.U8: numpy.dtype("uint8"),
}
_CODES = {dtype: code for code, dtype in TYPES.items()}


@dataclasses.dataclass(frozen=True)
class Field:
    """What a batch has to contain: an array of this type and shape, whose first size is the batch."""

    dtype: numpy.dtype
    shape: tuple


class Handle:
    """The address of an object of the library, which is freed with it."""

    def __init__(self, free):
        self.address = ctypes.c_void_p()
        self._free = free
        self._lock = threading.RLock()  # a handler of a signal may close what its thread is using
        self._users = 0
        self._closed = []  # addresses to be freed after the last use

    def __del__(self):
        self.close()

    def __reduce__(self):
        raise TypeError("models, plans and sessions cannot be copied or pickled")

    def close(self):
        with self._lock:
            if self.address:
                self._closed.append(self.address)
                self.address = ctypes.c_void_p()
            self._free_closed()

    @contextlib.contextmanager
    def used(self):
        """For calls that return the object's own memory: it is freed after they have read it."""
        with self._lock:
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                self._free_closed()

    def _free_closed(self):
        while self._closed and not self._users:
            library.ask(self._free, self._closed.pop())


def encoded(text):
    """Text as the library takes it, which ends a text at the first zero."""
    encoded = os.fsencode(text)
    if b"\0" in encoded:
        raise ValueError(f"{text!r} has a null character")
    return encoded


def dense(name, given):
    """As numpy's array."""
    try:
        return numpy.asarray(given)
    except (TypeError, ValueError, RuntimeError) as error:  # of tensors on a GPU or with gradients, and ragged lists
        raise library.InvalidArgument(f"field '{name}' is of type {type(given).__name__}, and no array: {error}") from error


def check_channels(name, array, field):
    """PyTorch has the channels of images first."""
    if field is None or array.ndim != 4 or len(field.shape) != 4:
        return
    height, width, channels = field.shape[1:]
    if channels > 1 and array.shape[1:] == (channels, height, width) != field.shape[1:]:
        raise library.InvalidArgument(f"field '{name}' has images of {channels} x {height} x {width}; expected their "
                                      f"channels last, {height} x {width} x {channels}: array.transpose(0, 2, 3, 1)")


def array_of(name, given, dtype):
    """The array as the library takes it: dense, of the field's type where that loses nothing. dtype: None of a name that
    the model does not have, which the library then says.
    """
    given = dense(name, given)
    if dtype is None:
        dtype = given.dtype if given.dtype in _CODES else {"i": numpy.dtype("int32"), "u": numpy.dtype("int32"),
                                                           "f": numpy.dtype("float32")}.get(given.dtype.kind)
    elif given.dtype != dtype:
        integers = given.dtype.kind in "iub" and dtype.kind in "iu"
        floats = given.dtype.kind == "f" and dtype.kind == "f"
        if not (integers or floats):
            dtype = None
        elif integers and given.size and not (
            numpy.iinfo(dtype).min <= given.min() and given.max() <= numpy.iinfo(dtype).max
        ):
            raise library.InvalidArgument(f"field '{name}' has numbers from {given.min()} to {given.max()}; expected "
                                          f"those of {dtype}")
    if dtype is None:
        raise library.InvalidArgument(f"field '{name}' is an array of {given.dtype}; expected one that can be taken as "
                                      "float32, float64, int32 or uint8")
    return numpy.ascontiguousarray(given, dtype=dtype)


class Batch:
    """Arrays as tensors of the interface; they live as long as this. fields: those that the model has."""

    def __init__(self, named, types, fields):
        self.arrays = {name: array_of(name, given, types.get(name)) for name, given in named.items()}
        for name, array in self.arrays.items():
            check_channels(name, array, fields.get(name))
        self.tensors = (_interface.Tensor * len(named))()
        self.shapes = []
        for tensor, (name, array) in zip(self.tensors, self.arrays.items(), strict=True):
            self.shapes.append((ctypes.c_int64 * array.ndim)(*array.shape))
            tensor.size = ctypes.sizeof(_interface.Tensor)
            tensor.name = encoded(name)
            tensor.type = _CODES[array.dtype]
            tensor.rank = array.ndim
            tensor.shape = self.shapes[-1]
            tensor.data = array.ctypes.data

    def __len__(self):
        return len(self.tensors)


class Values(Handle):
    """Tensors that the library returned; arrays of them keep them alive and copy nothing."""

    def __init__(self):
        super().__init__("partita_values_free")

    def arrays(self):
        return dict(self._array(index) for index in range(library.ask("partita_values_count", self.address)))

    def _array(self, index):
        tensor = library.made(_interface.Tensor)
        library.call("partita_values_get", self.address, index, ctypes.byref(tensor))
        shape = tuple(tensor.shape[d] for d in range(tensor.rank))
        dtype = TYPES[tensor.type]
        count = int(numpy.prod(shape, dtype=numpy.int64))
        if count == 0:
            return tensor.name.decode(), numpy.empty(shape, dtype)
        memory = (ctypes.c_byte * (count * dtype.itemsize)).from_address(tensor.data)
        memory.values = self
        return tensor.name.decode(), numpy.frombuffer(memory, dtype).reshape(shape)


def types_of(fields, settings):
    """Of the fields of a batch, in the precision of the run."""
    types = {name: field.dtype for name, field in fields.items()}
    if settings.get("precision") == "f64":
        types = {name: numpy.dtype("float64") if dtype.kind == "f" else dtype for name, dtype in types.items()}
    return types
