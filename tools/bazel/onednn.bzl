"""oneDNN 3.2 on GNU OpenMP, from two pinned PyPI wheels (Debian's 2.6.3 is up to twice as slow)."""

_WHEELS = {
    "onednn-cpu-gomp": "2f22a54d6a890ed14bfa185d42a4be65d8b5b1df85dc1f0f3a9abe31620416fb",
    "onednn-devel-cpu-gomp": "9763c69e8c907e119056bd52ad918ca84ac9ba939d130a99dfa95ccca3e5e284",
}

_VERSION = "2023.2.0"

def _execute(context, arguments):
    result = context.execute(arguments, timeout = 600)
    if result.return_code != 0:
        fail("{} failed:\n{}{}".format(" ".join([str(a) for a in arguments]), result.stdout, result.stderr))
    return result

def _wheels_impl(context):
    python = context.which("python3")
    if not python:
        fail("python3 is missing: tools/install installs it")
    context.file("requirements.txt", "".join([
        "{}=={} --hash=sha256:{}\n".format(name, _VERSION, sha256)
        for name, sha256 in _WHEELS.items()
    ]))
    _execute(context, [
        python,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--only-binary=:all:",
        "--require-hashes",
        "--dest=wheels",
        "--requirement=requirements.txt",
    ])
    for wheel in context.path("wheels").readdir():
        _execute(context, [python, "-m", "zipfile", "-e", wheel, "unpacked"])
    for folder in context.path("unpacked").readdir():
        data = folder.get_child("data")
        for part in ["include", "lib"]:
            if data.get_child(part).exists:
                _execute(context, ["cp", "-r", "--no-preserve=mode", data.get_child(part), context.path("")])
    _execute(context, ["rm", "-rf", "wheels", "unpacked"])
    context.file("BUILD", "")

# Downloads and unpacks; apart from the rule that writes the BUILD file, so that an edit there does not fetch again.
_onednn_wheels = repository_rule(implementation = _wheels_impl)

_BUILD = """
load("@rules_cc//cc:defs.bzl", "cc_import", "cc_library")

cc_import(
    name = "libdnnl",
    shared_library = "lib/libdnnl.so.3",
)

cc_library(
    name = "onednn",
    hdrs = glob(["include/**"]),
    includes = ["include"],
    visibility = ["@partita//tools/bazel/third_party:__pkg__"],
    deps = [":libdnnl"],
)
"""

def _onednn_impl(context):
    root = context.path(context.attr.wheels).dirname
    context.symlink(root.get_child("include"), "include")
    library = [f for f in root.get_child("lib").readdir() if f.basename.startswith("libdnnl.so.3")]
    if not library:
        fail("the oneDNN wheel holds no libdnnl.so.3")

    # The file's name must be the soname: that is what the loader looks for beside the binary.
    context.symlink(library[0], "lib/libdnnl.so.3")
    context.file("BUILD", _BUILD)

_onednn = repository_rule(
    implementation = _onednn_impl,
    attrs = {"wheels": attr.label(default = "@onednn_wheels//:BUILD")},
)

def onednn_repositories():
    _onednn_wheels(name = "onednn_wheels")
    _onednn(name = "onednn")
