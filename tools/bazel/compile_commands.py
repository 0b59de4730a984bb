"""Writes compile_commands.json, which clang-tidy, clangd and editors read, from what Bazel would run for some targets.

    tools/bazel/compile_commands.py [--output=FILE] [PATTERN...]     # default: compile_commands.json, //...

Bazel first makes the generated headers of these targets (protobuf), then says how it compiles each source. Nothing is
downloaded that a build has not downloaded before.
"""

import argparse
import json
import os
import subprocess
import sys

ROOT = os.path.realpath(__file__).rsplit("/", 3)[0]

# Flags that gcc knows and clang does not.
GCC_ALONE = ("-fno-canonical-system-headers", "-Wno-free-nonheap-object", "-Wunused-but-set-parameter")
# Flags that name what a compilation writes.
OUTPUTS = ("-o", "-MF")
# A path below one of these lies in Bazel's own folders, not in the source tree.
EXTERNAL = "external/"


def command(arguments, output_base):
    """What clang shall read of a command of gcc: without outputs, and with paths that are valid in the source tree."""
    kept = []
    following = iter(arguments)
    for argument in following:
        if argument in OUTPUTS:
            next(following, None)
        elif argument in GCC_ALONE or argument == "-MD" or argument.startswith("-frandom-seed="):
            continue
        elif argument.startswith(EXTERNAL):
            kept.append(os.path.join(output_base, argument))
        else:
            kept.append(argument)
    return kept


def entries(graph, root, output_base):
    """One entry for each source, the first command that compiles it; sorted by source."""
    found = {}
    for action in graph.get("actions", []):
        arguments = action["arguments"]
        if "-c" not in arguments:
            continue
        source = arguments[arguments.index("-c") + 1]
        found.setdefault(source, {"directory": root, "file": source, "arguments": command(arguments, output_base)})
    return [found[source] for source in sorted(found)]


def bazel(*arguments):
    command_line = ["bazel", *arguments]
    result = subprocess.run(command_line, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.exit(f"compile_commands: bazel {arguments[0]} ended with exit code {result.returncode}; see above")
    return result.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--output", default=os.path.join(ROOT, "compile_commands.json"))
    parser.add_argument("patterns", nargs="*", default=["//..."])
    options = parser.parse_args()
    quiet = ["--noshow_progress", "--show_result=0", "--ui_event_filters=-info"]
    bazel("build", *quiet, "--output_groups=compilation_prerequisites_INTERNAL_", "--", *options.patterns)
    query = f'mnemonic("CppCompile", set({" ".join(options.patterns)}))'
    graph = json.loads(bazel("aquery", *quiet, "--output=jsonproto", query))
    output_base = bazel("info", "output_base").strip()
    with open(options.output, "w", encoding="utf-8") as file:
        json.dump(entries(graph, ROOT, output_base), file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
