"""wheels: a repository of pinned PyPI wheels, unpacked side by side in its folder site/, as an installation would."""

_BUILD = """
py_library(
    name = "site",
    srcs = glob(["site/**/*.py"], exclude = ["site/**/tests/**"], allow_empty = True),
    data = glob(["site/**"], exclude = ["site/**/*.py", "site/**/tests/**", "site/**/* *"]),
    imports = ["site"],
    visibility = ["@partita//tools/bazel/third_party:__pkg__"],
)
"""

def _execute(context, arguments):
    result = context.execute(arguments, timeout = 600)
    if result.return_code != 0:
        fail("{} failed:\n{}{}".format(" ".join([str(a) for a in arguments]), result.stdout, result.stderr))

def _wheels_impl(context):
    # Tests run on the system's Python, so its pip downloads, whatever else the caller has in PATH.
    python = "/usr/bin/python3"
    if not context.path(python).exists:
        fail("{} is missing: tools/install installs it".format(python))
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
        "--requirement=" + str(context.path(context.attr.requirements)),
    ])
    for wheel in context.path("wheels").readdir():
        _execute(context, [python, "-m", "zipfile", "-e", wheel, "site"])
    context.delete("wheels")
    context.file("BUILD", _BUILD)

wheels = repository_rule(
    doc = "Downloads the wheels that a requirements file names with their sha256; again only when that file changes.",
    implementation = _wheels_impl,
    attrs = {"requirements": attr.label(allow_single_file = True, mandatory = True)},
)
