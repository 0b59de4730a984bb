"""onednn: a repository with the headers and the library that lie in oneDNN's unpacked wheels.

Apart from the download (wheels.bzl), so that an edit here does not fetch again.
"""

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

def _find(site, package, path):
    for folder in site.readdir():
        if folder.basename.startswith(package + "-") and folder.basename.endswith(".data"):
            return site.get_child(folder.basename).get_child("data").get_child(path)
    fail("{} holds no {}".format(site, package))

def _onednn_impl(context):
    site = context.path(context.attr.wheels).dirname.get_child("site")
    context.symlink(_find(site, "onednn_devel_cpu_gomp", "include"), "include")

    # The file's name must be the soname: that is what the loader looks for beside the binary.
    context.symlink(_find(site, "onednn_cpu_gomp", "lib").get_child("libdnnl.so.3"), "lib/libdnnl.so.3")
    context.file("BUILD", _BUILD)

onednn = repository_rule(
    implementation = _onednn_impl,
    attrs = {"wheels": attr.label(mandatory = True, doc = "the BUILD file of the wheels' repository")},
)
