"""partita_dependencies: the repositories that Partita is built from, in its own workspace and in one that uses it."""

load(":cuda_toolkit.bzl", "cuda_toolkit")
load(":onednn.bzl", "onednn")
load(":stand_ins.bzl", "remote_coverage_tools", "rules_cc")
load(":wheels.bzl", "wheels")

# Debian's Bazel carries the rule sets it needs; pointing at them keeps the build off the network.
_DEBIAN = {
    "bazel_skylib": "/usr/share/bazel/tools/skylib",
    "platforms": "/usr/share/bazel/platforms",
    "rules_java": "/usr/share/bazel/rules/java",
    "rules_proto": "/usr/share/bazel/rules/proto",
}

def partita_dependencies():
    """One call in a WORKSPACE where Partita is the workspace itself or a repository named `partita`."""
    for name, path in _DEBIAN.items():
        native.local_repository(name = name, path = path)
    rules_cc(name = "rules_cc")
    remote_coverage_tools(name = "remote_coverage_tools")

    # A Label() is looked up from this file, a string from the WORKSPACE that calls.
    wheels(name = "onednn_wheels", requirements = Label("//tools/bazel:onednn.txt"))
    onednn(name = "onednn", wheels = "@onednn_wheels//:BUILD")

    # Fetched only with PARTITA_CUDA=wheels.
    wheels(name = "cuda_wheels", requirements = Label("//tools/bazel:cuda.txt"))
    cuda_toolkit(name = "cuda")
