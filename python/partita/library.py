"""The compiled library: where it is, its errors and its log."""

import ctypes
import os
import pathlib

from partita import _interface

NAME = "libpartita.so.0"


class Error(Exception):
    """Why a call failed, in a sentence: which file, node or field, what was found, and what is allowed."""


class InvalidArgument(Error, ValueError):
    """The graph, the split, a setting, a file or an array is wrong."""


class DoesNotFit(Error, MemoryError):
    """Memory or another limit."""


class NotFinite(Error, ArithmeticError):
    """The loss or the norm of clipped gradients is not finite; no state has changed."""


class Cancelled(Error):
    """The session was cancelled."""


class Unavailable(Error, OSError):
    """A device, or another rank, is missing."""


class InternalError(Error):
    """A bug in Partita."""


class Misuse(Error, RuntimeError):
    """Two calls at once, or a session that was closed or belongs to the parent process."""


_CLASSES = {
    _interface.INVALID_ARGUMENT: InvalidArgument,
    _interface.DOES_NOT_FIT: DoesNotFit,
    _interface.NOT_FINITE: NotFinite,
    _interface.CANCELLED: Cancelled,
    _interface.UNAVAILABLE: Unavailable,
    _interface.MISUSE: Misuse,
}


def _load():
    """PARTITA_LIBRARY, or beside this package (a wheel), or where the system has its libraries."""
    named = os.environ.get("PARTITA_LIBRARY")
    beside = pathlib.Path(__file__).parent / "lib" / NAME
    path = named or (str(beside) if beside.exists() else NAME)
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"{path} cannot be loaded ({error}); install the package partita with its library, or name "
                          f"the path of {NAME} in PARTITA_LIBRARY") from error
    for name, (result, parameters) in _interface.FUNCTIONS.items():
        function = getattr(library, name, None)
        if function is None:
            raise ImportError(f"{path} has no function {name}: it is older than this package")
        function.restype, function.argtypes = result, parameters
    return library


_LIBRARY = _load()


def call(name, *arguments):
    """Calls a function that returns an error, and raises it."""
    error = getattr(_LIBRARY, name)(*arguments)
    if not error:
        return
    raised = _CLASSES.get(_LIBRARY.partita_error_code(error), InternalError)
    message = _LIBRARY.partita_error_message(error).decode(errors="replace")
    _LIBRARY.partita_error_free(error)
    raise raised(message)


def ask(name, *arguments):
    """The result of a function that cannot fail."""
    return getattr(_LIBRARY, name)(*arguments)


def made(struct, **members):
    """A struct of the interface."""
    return struct(size=ctypes.sizeof(struct), **members)


def version():
    """The version of the library, e.g. "0.2.0"."""
    return ask("partita_version").decode()


_LEVELS = {_interface.LEVEL_DETAIL: "detail", _interface.LEVEL_INFO: "info", _interface.LEVEL_WARNING: "warning"}
_log = None  # the library calls it until there is another one


def set_log(log):
    """Where lines go that runs log besides their results: `log(level, line)`, level "detail", "info" or "warning".
    None, as at the beginning: nowhere. For all sessions of the process; it must not call the library.
    """
    global _log

    def report(user, level, line):
        log(_LEVELS[level], line.decode(errors="replace"))

    kept = _interface.LogFunction(report) if log is not None else _interface.LogFunction()
    call("partita_set_log", kept, None)
    _log = kept
