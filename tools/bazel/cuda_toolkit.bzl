"""cuda_toolkit: the repository @cuda, whatever this machine has of CUDA, cuDNN, NCCL and CUPTI.

PARTITA_CUDA (environment or --repo_env) chooses:
  system   the toolkit in CUDA_HOME, else the one of `nvcc` in PATH, else /usr/local/cuda
  wheels   the pinned wheels of PyPI (cuda.txt)
  none     no GPU backend
  unset    system where all of it is found, else none
PARTITA_CUDA_ARCHITECTURES: what machine code is made for, "80,90" unless set; of the last one PTX too.

The repository holds toolkit/ (bin, nvvm, include, lib), version.txt (part of every nvcc action's key), summary.txt (one
line for people), config.bzl (CUDA, ARCHITECTURES) and BUILD. The headers of cuDNN and NCCL may lie apart from CUDA's.
"""

_FOUND = """
load("@bazel_skylib//rules:common_settings.bzl", "bool_flag")
load("@rules_cc//cc:defs.bzl", "cc_import", "cc_library")

package(default_visibility = ["//visibility:public"])

bool_flag(
    name = "has_cuda",
    build_setting_default = True,
)

config_setting(
    name = "found",
    flag_values = {":has_cuda": "True"},
)

filegroup(
    name = "nvcc",
    srcs = ["toolkit/bin/nvcc"],
)

# Without CUDA's C++ library and those that nothing here calls: they are 1,800 of 2,000 headers, each of which a
# sandbox links for each source above them, which took twice as long as to compile it.
_HEADERS = glob(
    ["toolkit/include/" + headers for headers in ["*.h", "*.hpp", "crt/**", "nv/**", "nvtx3/**"]],
    exclude = ["toolkit/include/{}*".format(library) for library in [
        "cufft",
        "curand",
        "cusolver",
        "cusparse",
        "nvperf",
    ]],
)

# What a run of nvcc reads.
filegroup(
    name = "compiler",
    srcs = ["version.txt"] + _HEADERS + glob(["toolkit/bin/**", "toolkit/nvvm/**"]),
)

cc_library(
    name = "headers",
    hdrs = _HEADERS,
    includes = ["toolkit/include"],
)

cc_import(
    name = "cudart_static",
    static_library = "toolkit/lib/libcudart_static.a",
)

# It opens the driver at its first call, and returns an error where there is none.
cc_library(
    name = "runtime",
    linkopts = ["-ldl", "-lrt", "-pthread"],
    deps = [":cudart_static", ":headers"],
)
"""

_NONE = """
load("@bazel_skylib//rules:common_settings.bzl", "bool_flag")
load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])

bool_flag(
    name = "has_cuda",
    build_setting_default = False,
)

config_setting(
    name = "found",
    flag_values = {":has_cuda": "True"},
)

filegroup(name = "compiler")

# Rules are still looked at, though never run: they want one file.
filegroup(
    name = "nvcc",
    srcs = ["version.txt"],
)

cc_library(name = "headers")

cc_library(name = "runtime")
"""

# One header of each part that the backend is built against.
_HEADERS = ["cuda_runtime.h", "cublasLt.h", "cupti.h", "nvtx3/nvToolsExt.h", "cudnn.h", "nccl.h"]

_SYSTEM_INCLUDES = ["/usr/include", "/usr/include/x86_64-linux-gnu", "/usr/local/include"]

def _link_children(context, source, folder):
    for child in source.readdir():
        context.symlink(child, "toolkit/{}/{}".format(folder, child.basename))

def _version(context, include):
    """What the headers say of themselves: CUDA's and cuDNN's and NCCL's version numbers."""
    found = {}
    for header, names in [
        ("cuda.h", ["CUDA_VERSION"]),
        ("cudnn_version.h", ["CUDNN_MAJOR", "CUDNN_MINOR", "CUDNN_PATCHLEVEL"]),
        ("nccl.h", ["NCCL_MAJOR", "NCCL_MINOR", "NCCL_PATCH"]),
    ]:
        for line in context.read(include.get_child(header)).split("\n"):
            words = [word for word in line.split(" ") if word]
            if len(words) >= 3 and words[0] == "#define" and words[1] in names and words[1] not in found:
                found[words[1]] = words[2]
    cuda = int(found["CUDA_VERSION"])
    return "CUDA {}.{}, cuDNN {}.{}.{}, NCCL {}.{}.{}".format(
        cuda // 1000,
        cuda % 1000 // 10,
        found["CUDNN_MAJOR"],
        found["CUDNN_MINOR"],
        found["CUDNN_PATCHLEVEL"],
        found["NCCL_MAJOR"],
        found["NCCL_MINOR"],
        found["NCCL_PATCH"],
    )

def _system_root(context):
    home = context.os.environ.get("CUDA_HOME", "")
    if home:
        return context.path(home)
    nvcc = context.which("nvcc")
    if nvcc:
        return nvcc.realpath.dirname.dirname
    return context.path("/usr/local/cuda")

def _find_system(context):
    """Returns why there is no toolkit; "" if there is: then toolkit/ is made."""
    root = _system_root(context)
    if not root.get_child("bin").get_child("nvcc").exists:
        return "no CUDA toolkit: there is no {}/bin/nvcc".format(root)
    include = root.get_child("include")
    apart = {}
    for header in _HEADERS:
        places = [context.path("{}/{}".format(folder, header)) for folder in [include] + _SYSTEM_INCLUDES]
        places = [place for place in places if place.exists]
        if not places:
            return "the toolkit in {} lacks {}".format(root, header)
        if places[0].dirname != include and "/" not in header:
            apart[header] = places[0].dirname
    lib = root.get_child("lib64") if root.get_child("lib64").exists else root.get_child("lib")
    if not lib.get_child("libcudart_static.a").exists:
        return "the toolkit in {} lacks libcudart_static.a".format(root)
    context.symlink(root.get_child("bin"), "toolkit/bin")
    context.symlink(root.get_child("nvvm"), "toolkit/nvvm")
    context.symlink(lib, "toolkit/lib")
    _link_children(context, include, "include")
    for header, folder in apart.items():
        stem = header[:-len(".h")]
        for child in folder.readdir():
            if child.basename.startswith(stem):
                context.symlink(child, "toolkit/include/" + child.basename)
    return ""

def _unite_wheels(context):
    site = context.path(Label("@cuda_wheels//:BUILD")).dirname.get_child("site").get_child("nvidia")
    cuda = site.get_child("cu13")
    for folder in ["bin", "nvvm"]:
        # Wheels are unpacked without the right to be run.
        result = context.execute(["chmod", "-R", "u+x", str(cuda.get_child(folder))])
        if result.return_code != 0:
            fail(result.stderr)
        context.symlink(cuda.get_child(folder), "toolkit/" + folder)
    for package in [cuda, site.get_child("cudnn"), site.get_child("nccl")]:
        for folder in ["include", "lib"]:
            _link_children(context, package.get_child(folder), folder)

def _architectures(context):
    text = context.os.environ.get("PARTITA_CUDA_ARCHITECTURES", "") or "80,90"
    architectures = text.split(",")
    for architecture in architectures:
        if not architecture.rstrip("af").isdigit():
            fail("PARTITA_CUDA_ARCHITECTURES is '{}'; allowed are numbers with commas between, like 80,90".format(text))
    return architectures

def _cuda_toolkit_impl(context):
    mode = context.os.environ.get("PARTITA_CUDA", "")
    if mode not in ["", "system", "wheels", "none"]:
        fail("PARTITA_CUDA is '{}'; allowed are system, wheels and none".format(mode))
    why = "PARTITA_CUDA is none"
    if mode == "wheels":
        _unite_wheels(context)
        why = ""
    elif mode != "none":
        why = _find_system(context)
        if why and mode == "system":
            fail("PARTITA_CUDA is system, but {}".format(why))
    found = why == ""
    architectures = _architectures(context)
    version = _version(context, context.path("toolkit/include")) if found else "none"
    where = "wheels" if mode == "wheels" else str(context.path("toolkit/bin").realpath.dirname) if found else ""
    context.file("version.txt", version + "\n")
    context.file(
        "summary.txt",
        "{} from {}, for sm_{}\n".format(version, where, ", sm_".join(architectures)) if found else "none ({}): no GPU backend\n".format(why),
    )
    context.file("config.bzl", "CUDA = {}\nARCHITECTURES = {}\n".format(found, architectures))
    context.file("BUILD", _FOUND if found else _NONE)

cuda_toolkit = repository_rule(
    doc = "Finds CUDA; see above.",
    implementation = _cuda_toolkit_impl,
    environ = ["CUDA_HOME", "PARTITA_CUDA", "PARTITA_CUDA_ARCHITECTURES", "PATH"],
    local = True,
)
