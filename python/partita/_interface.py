"""The C interface of the library, for ctypes. Made by tools/c_interface from partita/c/api.toml."""

import ctypes

OK = 0
INVALID_ARGUMENT = 1
DOES_NOT_FIT = 2
NOT_FINITE = 3
CANCELLED = 4
UNAVAILABLE = 5
INTERNAL = 6
MISUSE = 7

LEVEL_DETAIL = 0
LEVEL_INFO = 1
LEVEL_WARNING = 2


LogFunction = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_char_p)

F32 = 0
F64 = 1
I32 = 2
U8 = 3


class Tensor(ctypes.Structure):
    """A dense, row-major tensor: passed in, a view of the caller's memory that is read only during the call."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("data", ctypes.c_void_p),
    ]


class ImportOptions(ctypes.Structure):
    """How an exported program of PyTorch (.pt2) or an ONNX model (.onnx) is read."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("loss", ctypes.c_char_p),
        ("frozen_statistics", ctypes.c_int32),
    ]


SendFunction = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p, ctypes.c_size_t)


ReceiveFunction = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p, ctypes.c_size_t)


CloseFunction = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32)

SUM = 0


class AllReduce(ctypes.Structure):
    """A reduction among the ranks of a group: output[i] = the sum of the members' input[i]."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("group", ctypes.c_int32),
        ("rank_count", ctypes.c_int32),
        ("ranks", ctypes.POINTER(ctypes.c_int32)),
        ("reduction", ctypes.c_int32),
        ("type", ctypes.c_int32),
        ("count", ctypes.c_size_t),
        ("input", ctypes.c_void_p),
        ("output", ctypes.c_void_p),
    ]


AllReduceFunction = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(AllReduce))


BarrierFunction = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)


PutFunction = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)


GetFunction = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64, ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t))


class Transport(ctypes.Structure):
    """How the ranks of a job reach each other where the program does it, e.g. by MPI, one rank in each process. With send, receive and close all bytes go by the program: for each other rank, one thread sends while another one receives, and what a rank sends arrives in order. With put and get in their place, the ranks find each other by the program and connect by themselves, by memory on one host, else by TCP. all_reduce, which needs close, and barrier are optional with both. All functions and `user` are used until the session was freed and its last call has ended. They must not call the library. Results are bitwise those of threads, unless an all_reduce adds in another order."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("rank", ctypes.c_int32),
        ("ranks", ctypes.c_int32),
        ("send", SendFunction),
        ("receive", ReceiveFunction),
        ("close", CloseFunction),
        ("user", ctypes.c_void_p),
        ("all_reduce", AllReduceFunction),
        ("barrier", BarrierFunction),
        ("put", PutFunction),
        ("get", GetFunction),
        ("address", ctypes.c_char_p),
    ]


class SessionOptions(ctypes.Structure):
    """How a session runs."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("settings", ctypes.c_char_p),
        ("values", ctypes.POINTER(ctypes.c_char_p)),
        ("value_count", ctypes.c_size_t),
        ("predict_only", ctypes.c_int32),
        ("transport", ctypes.POINTER(Transport)),
    ]


class PlanSummary(ctypes.Structure):
    """What a plan predicts, in short. Times are those of the rank that takes longest, and 0 without a machine: the settings cluster and profile name one. Strings are the plan's."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("split", ctypes.c_char_p),
        ("cluster", ctypes.c_char_p),
        ("ranks", ctypes.c_int32),
        ("batch", ctypes.c_int64),
        ("step_seconds", ctypes.c_double),
        ("compute_seconds", ctypes.c_double),
        ("exposed_seconds", ctypes.c_double),
        ("idle_seconds", ctypes.c_double),
        ("memory_bytes", ctypes.c_int64),
        ("memory_limit_bytes", ctypes.c_int64),
        ("device_used_bytes", ctypes.c_int64),
        ("device_memory_bytes", ctypes.c_int64),
        ("wire_bytes", ctypes.c_int64),
    ]


class Step(ctypes.Structure):
    """The result of a step."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("loss", ctypes.c_double),
        ("metric_count", ctypes.c_size_t),
        ("metric_names", ctypes.POINTER(ctypes.c_char_p)),
        ("metric_values", ctypes.POINTER(ctypes.c_double)),
        ("has_gradient_norm", ctypes.c_int32),
        ("gradient_norm", ctypes.c_double),
    ]


class Progress(ctypes.Structure):
    """Where a run stands. Pointers are valid during the callback."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("step", ctypes.c_int64),
        ("steps", ctypes.c_int64),
        ("epoch", ctypes.c_double),
        ("loss", ctypes.c_double),
        ("learning_rate", ctypes.c_double),
        ("samples_per_second", ctypes.c_double),
        ("metric_count", ctypes.c_size_t),
        ("metric_names", ctypes.POINTER(ctypes.c_char_p)),
        ("metric_values", ctypes.POINTER(ctypes.c_double)),
        ("has_gradient_norm", ctypes.c_int32),
        ("gradient_norm", ctypes.c_double),
    ]


class Epoch(ctypes.Structure):
    """An epoch that ended. Pointers are valid during the callback."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("number", ctypes.c_int32),
        ("loss", ctypes.c_double),
        ("metric_count", ctypes.c_size_t),
        ("metric_names", ctypes.POINTER(ctypes.c_char_p)),
        ("metric_values", ctypes.POINTER(ctypes.c_double)),
        ("is_tested", ctypes.c_int32),
        ("test_loss", ctypes.c_double),
        ("test_metric_count", ctypes.c_size_t),
        ("test_metric_names", ctypes.POINTER(ctypes.c_char_p)),
        ("test_metric_values", ctypes.POINTER(ctypes.c_double)),
        ("seconds", ctypes.c_double),
    ]


ProgressFunction = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(Progress))


EpochFunction = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(Epoch))


class FitOptions(ctypes.Structure):
    """How long a call of partita_session_fit may take, and what it reports meanwhile."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("on_progress", ProgressFunction),
        ("on_epoch", EpochFunction),
        ("user", ctypes.c_void_p),
        ("progress_seconds", ctypes.c_double),
        ("deadline_seconds", ctypes.c_double),
    ]


class FitResult(ctypes.Structure):
    """What a call of partita_session_fit did."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("steps", ctypes.c_int64),
        ("step", ctypes.c_int64),
        ("samples", ctypes.c_int64),
        ("seconds", ctypes.c_double),
        ("stopped", ctypes.c_int32),
    ]


class Preprocessing(ctypes.Structure):
    """How images become a model's input: (byte / 255 - mean) / deviation, by channel."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("height", ctypes.c_int64),
        ("width", ctypes.c_int64),
        ("channels", ctypes.c_int64),
        ("mean", ctypes.POINTER(ctypes.c_double)),
        ("deviation", ctypes.POINTER(ctypes.c_double)),
        ("resize", ctypes.c_int64),
        ("class_count", ctypes.c_size_t),
        ("class_names", ctypes.POINTER(ctypes.c_char_p)),
    ]


# Result and parameters of each function.
FUNCTIONS = {
    "partita_error_code": (
        ctypes.c_int32,
        [
            ctypes.c_void_p,
        ],
    ),
    "partita_error_message": (
        ctypes.c_char_p,
        [
            ctypes.c_void_p,
        ],
    ),
    "partita_error_free": (
        None,
        [
            ctypes.c_void_p,
        ],
    ),
    "partita_version": (
        ctypes.c_char_p,
        [],
    ),
    "partita_set_log": (
        ctypes.c_void_p,
        [
            LogFunction,
            ctypes.c_void_p,
        ],
    ),
    "partita_tensor_from_dlpack": (
        ctypes.c_void_p,
        [
            ctypes.c_char_p,
            ctypes.c_void_p,
            ctypes.POINTER(Tensor),
        ],
    ),
    "partita_values_count": (
        ctypes.c_size_t,
        [
            ctypes.c_void_p,
        ],
    ),
    "partita_values_get": (
        ctypes.c_void_p,
        [
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.POINTER(Tensor),
        ],
    ),
    "partita_values_find": (
        ctypes.c_void_p,
        [
            ctypes.c_void_p,
            ctypes.c_char_p,
            ctypes.POINTER(Tensor),
        ],
    ),
    "partita_values_to_dlpack": (
        ctypes.c_void_p,
        [
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.POINTER(ctypes.c_void_p),
        ],
    ),
    "partita_values_free": (
        None,
        [
            ctypes.c_void_p,
        ],
    ),
    "partita_model_from_file": (
        ctypes.c_void_p,
        [
            ctypes.c_char_p,
            ctypes.POINTER(ImportOptions),
            ctypes.POINTER(ctypes.c_void_p),
        ],
    ),
    "partita_model_from_text": (
        ctypes.c_void_p,
        [
            ctypes.c_char_p,
            ctypes.POINTER(ctypes.c_void_p),
        ],
    ),
    "partita_model_with_batch": (
        ctypes.c_void_p,
        [
            ctypes.c_void_p,
            ctypes.c_int64,
            ctypes.POINTER(ctypes.c_void_p),
        ],
    ),
    "partita_model_field_count": (
        ctypes.c_size_t,
        [
            ctypes.c_void_p,
        ],
    ),
    "partita_model_field": (
        ctypes.c_void_p,
        [
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.POINTER(Tensor),
        ],
    ),
    "partita_model_free": (
        None,
        [
            ctypes.c_void_p,
        ],
    ),
    "partita_session_start": (
        ctypes.c_void_p,
        [
            ctypes.c_void_p,
            ctypes.POINTER(SessionOptions),
            ctypes.POINTER(ctypes.c_void_p),
        ],
    ),
    "partita_plan_make": (
        ctypes.c_void_p,
        [
            ctypes.c_void_p,
            ctypes.POINTER(SessionOptions),
            ctypes.POINTER(ctypes.c_void_p),
        ],
    ),
    "partita_plan_summarize": (
        ctypes.c_void_p,
        [
            ctypes.c_void_p,
            ctypes.POINTER(PlanSummary),
        ],
    ),
    "partita_plan_json": (
        ctypes.c_void_p,
        [
            ctypes.c_void_p,
            ctypes.POINTER(ctypes.c_char_p),
        ],
    ),
    "partita_plan_page": (
        ctypes.c_void_p,
        [
            ctypes.c_void_p,
            ctypes.POINTER(ctypes.c_char_p),
        ],
    ),
    "partita_plan_strategy": (
        ctypes.c_void_p,
        [
            ctypes.c_void_p,
            ctypes.POINTER(ctypes.c_char_p),
        ],
    ),
    "partita_plan_free": (
        None,
        [
            ctypes.c_void_p,
        ],
    ),
    "partita_session_train": (
        ctypes.c_void_p,
        [
            ctypes.c_void_p,
            ctypes.POINTER(Tensor),
            ctypes.c_size_t,
            ctypes.POINTER(Step),
        ],
    ),
    "partita_session_evaluate": (
        ctypes.c_void_p,
        [
            ctypes.c_void_p,
            ctypes.POINTER(Tensor),
            ctypes.c_size_t,
            ctypes.POINTER(Step),
        ],
    ),
    "partita_session_predict": (
        ctypes.c_void_p,
        [
            ctypes.c_void_p,
            ctypes.POINTER(Tensor),
            ctypes.c_size_t,
            ctypes.POINTER(ctypes.c_void_p),
        ],
    ),
    "partita_session_compute": (
        ctypes.c_void_p,
        [
            ctypes.c_void_p,
            ctypes.c_char_p,
            ctypes.POINTER(Tensor),
            ctypes.c_size_t,
            ctypes.POINTER(ctypes.c_void_p),
        ],
    ),
    "partita_session_fit": (
        ctypes.c_void_p,
        [
            ctypes.c_void_p,
            ctypes.POINTER(FitOptions),
            ctypes.POINTER(FitResult),
        ],
    ),
    "partita_session_interrupt": (
        ctypes.c_void_p,
        [
            ctypes.c_void_p,
        ],
    ),
    "partita_session_cancel": (
        ctypes.c_void_p,
        [
            ctypes.c_void_p,
        ],
    ),
    "partita_session_free": (
        None,
        [
            ctypes.c_void_p,
        ],
    ),
    "partita_session_save": (
        ctypes.c_void_p,
        [
            ctypes.c_void_p,
            ctypes.c_char_p,
        ],
    ),
    "partita_session_load": (
        ctypes.c_void_p,
        [
            ctypes.c_void_p,
            ctypes.c_char_p,
        ],
    ),
    "partita_session_load_weights": (
        ctypes.c_void_p,
        [
            ctypes.c_void_p,
            ctypes.c_char_p,
        ],
    ),
    "partita_session_state_count": (
        ctypes.c_void_p,
        [
            ctypes.c_void_p,
            ctypes.POINTER(ctypes.c_size_t),
        ],
    ),
    "partita_session_state_name": (
        ctypes.c_void_p,
        [
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.POINTER(ctypes.c_char_p),
        ],
    ),
    "partita_session_read": (
        ctypes.c_void_p,
        [
            ctypes.c_void_p,
            ctypes.c_char_p,
            ctypes.POINTER(ctypes.c_void_p),
        ],
    ),
    "partita_session_write": (
        ctypes.c_void_p,
        [
            ctypes.c_void_p,
            ctypes.POINTER(Tensor),
        ],
    ),
    "partita_session_preprocessing": (
        ctypes.c_void_p,
        [
            ctypes.c_void_p,
            ctypes.POINTER(Preprocessing),
        ],
    ),
}
