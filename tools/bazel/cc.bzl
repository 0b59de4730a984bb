"""cc_library, cc_binary and cc_test of this project: with the foreign headers that most sources include precompiled."""

load("@rules_cc//cc:defs.bzl", _cc_binary = "cc_binary", _cc_library = "cc_library", _cc_test = "cc_test")

_FOLDER = "tools/bazel/precompiled/"

def _with(header, arguments):
    precompiled = dict(arguments)
    precompiled["copts"] = ["-include", _FOLDER + header + ".h"] + arguments.get("copts", [])
    precompiled["deps"] = ["//{}:{}_header".format(_FOLDER[:-1], header)] + arguments.get("deps", [])
    return precompiled

def cc_library(**arguments):
    # A library of headers compiles nothing.
    _cc_library(**(_with("foreign", arguments) if arguments.get("srcs") else arguments))

def cc_binary(**arguments):
    _cc_binary(**_with("foreign", arguments))

def cc_test(**arguments):
    _cc_test(**_with("test", arguments))
