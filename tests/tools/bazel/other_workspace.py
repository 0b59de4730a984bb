"""Runs the program of tools/examples/workspace, a workspace that has Partita as a repository. Exit code 0: it works.

  other_workspace.py           Bazel reads all of it there, and compiles the program and a library of each kind. What it
                               would link is linked, but over objects of the main build, which must be there.
  other_workspace.py --whole   all is compiled there: 5 minutes of two cores

A step of tools/test: Bazel runs no test that runs Bazel.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.realpath(__file__).rsplit("/", 4)[0]
WORKSPACE = os.path.join(ROOT, "tools/examples/workspace")
PROGRAM = "//:train_and_predict"
OBJECT = "_objs/train_and_predict/train_and_predict.o"

# With generated sources, with headers from a wheel, of plain C++; by nvcc: a pattern, passed over without CUDA.
LIBRARIES = ["@partita//proto", "@partita//graph/proto_io", "@partita//ops/host/onednn", "@partita//graph/optimizer",
             "@partita//runtime/device/cuda/kernels:all"]
# As the main build has it (.bazelrc there), so that objects have the same names.
AS_MAIN = ["--compilation_mode=opt", "--features=-supports_pic", "--features=-supports_dynamic_linker"]


def bazel(command, *arguments):
    """Runs Bazel in the other workspace, and gives its output."""
    chosen = os.path.join(ROOT, ".cuda.bazelrc")  # by tools/install --cuda
    startup = ["--bazelrc=" + chosen] if os.path.exists(chosen) else []
    flags = ["--symlink_prefix=/", "--noshow_progress", "--disk_cache=~/.cache/partita-bazel"]
    print("other workspace: bazel", command, *arguments, flush=True)
    return subprocess.run(["bazel", *startup, command, *flags, *arguments], cwd=WORKSPACE, check=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True).stdout


def main_build(what):
    return subprocess.run(["bazel", "info", what], cwd=ROOT, check=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()


def link_command(output):
    """What Bazel would run to link the program, as it is run from the main build's place with its objects."""
    actions = json.loads(bazel("aquery", *AS_MAIN, "--output=jsonproto", f'mnemonic("CppLink", {PROGRAM})'))["actions"]
    own = "bazel-out/k8-opt/bin/"
    known = {own + "train_and_predict": output,
             own + OBJECT: os.path.join(bazel("info", *AS_MAIN, "bazel-bin").strip(), OBJECT)}
    # A file of arguments, which repeats them, is written by a build alone.
    arguments = [argument for argument in actions[0]["arguments"] if not argument.startswith("@")]
    arguments = [known.get(argument, argument.replace(own + "external/partita/", own)) for argument in arguments]
    # Under the output base itself: beside the objects are links to the repositories that the last build needed, only.
    external = os.path.join(main_build("output_base"), "external/")
    return [re.sub("(?<!/)external/", external, argument) for argument in arguments]


def try_quickly():
    bazel("build", *AS_MAIN, "--output_groups=compilation_outputs", PROGRAM)
    bazel("build", *AS_MAIN, *LIBRARIES)
    shared = os.path.join(main_build("bazel-bin"), "_solib_k8")
    libraries = ":".join(os.path.join(shared, folder) for folder in os.listdir(shared))
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "train_and_predict")
        subprocess.run(link_command(program), cwd=main_build("execution_root"), check=True)
        subprocess.run([program], env={**os.environ, "LD_LIBRARY_PATH": libraries}, check=True)


def main():
    try:
        if sys.argv[1:] == ["--whole"]:
            print(bazel("run", PROGRAM))
        else:
            try_quickly()
        return 0
    except subprocess.CalledProcessError as error:
        print("other workspace: exit code", error.returncode, "of", *error.cmd[:3])
        return 1
    finally:
        subprocess.run(["bazel", "shutdown"], cwd=WORKSPACE, check=False)


if __name__ == "__main__":
    sys.exit(main())
