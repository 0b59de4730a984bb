"""cuda_library: .cu files compiled by nvcc. CUDA_ONLY: what a target says that cannot be built without CUDA."""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "C_COMPILE_ACTION_NAME")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load("@cuda//:config.bzl", "ARCHITECTURES")

# `target_compatible_with = CUDA_ONLY`: patterns like //... pass the target over where no toolkit was found.
CUDA_ONLY = select({
    "@cuda//:found": [],
    "//conditions:default": ["//tools/bazel:cuda_toolkit"],
})

def _gencode():
    newest = ARCHITECTURES[-1]
    flags = ["-gencode=arch=compute_{0},code=sm_{0}".format(a) for a in ARCHITECTURES[:-1]]
    return flags + ["-gencode=arch=compute_{0},code=[sm_{0},compute_{0}]".format(newest)]

def _compile(ctx, cc_toolchain, features, context, source):
    root = ctx.label.workspace_root  # "" where this is the main repository
    output = ctx.actions.declare_file("_nvcc/{}/{}.o".format(ctx.label.name, source.basename))
    arguments = ctx.actions.args()
    arguments.add_all([
        "-c",
        "-std=c++20",
        "-O2",
        "-DNDEBUG",
        "--expt-relaxed-constexpr",
        "-Xcompiler=-fPIC,-Wall,-Wextra",
        # The repository's root is an include folder; nvcc knows no -iquote.
        "-I" + (root or "."),
        "-I" + ctx.bin_dir.path + ("/" + root if root else ""),
    ])
    arguments.add(cc_common.get_tool_for_action(feature_configuration = features, action_name = C_COMPILE_ACTION_NAME), format = "-ccbin=%s")
    arguments.add_all(_gencode())
    arguments.add_all(context.defines, format_each = "-D%s")
    arguments.add_all(context.includes, format_each = "-I%s")
    arguments.add_all(context.system_includes, format_each = "-isystem=%s")
    arguments.add_all(ctx.attr.copts)
    arguments.add(source)
    arguments.add("-o", output)
    ctx.actions.run(
        executable = ctx.file._nvcc,
        arguments = [arguments],
        inputs = depset([source], transitive = [context.headers, depset(ctx.files._compiler), cc_toolchain.all_files]),
        outputs = [output],
        env = {"PATH": "/usr/bin:/bin"},
        mnemonic = "CudaCompile",
        progress_message = "Compiling {} with nvcc".format(source.short_path),
    )
    return output

def _cuda_library_impl(ctx):
    cc_toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(ctx = ctx, cc_toolchain = cc_toolchain)
    own = cc_common.create_compilation_context(headers = depset(ctx.files.hdrs))
    dependencies = [dep[CcInfo] for dep in ctx.attr.deps + [ctx.attr._runtime]]
    context = cc_common.merge_cc_infos(
        cc_infos = [CcInfo(compilation_context = own)] + dependencies,
    ).compilation_context
    objects = depset([_compile(ctx, cc_toolchain, features, context, source) for source in ctx.files.srcs])
    linking, _ = cc_common.create_linking_context_from_compilation_outputs(
        actions = ctx.actions,
        name = ctx.label.name,
        feature_configuration = features,
        cc_toolchain = cc_toolchain,
        compilation_outputs = cc_common.create_compilation_outputs(objects = objects, pic_objects = objects),
        linking_contexts = [info.linking_context for info in dependencies],
        disallow_dynamic_library = True,
        alwayslink = ctx.attr.alwayslink,
    )
    return [DefaultInfo(files = objects), CcInfo(compilation_context = context, linking_context = linking)]

_cuda_library = rule(
    implementation = _cuda_library_impl,
    attrs = {
        "srcs": attr.label_list(allow_files = [".cu"]),
        "hdrs": attr.label_list(allow_files = [".h", ".cuh"]),
        "deps": attr.label_list(providers = [CcInfo]),
        "copts": attr.string_list(),
        "alwayslink": attr.bool(),
        "_nvcc": attr.label(default = "@cuda//:nvcc", allow_single_file = True, cfg = "host"),
        "_compiler": attr.label(default = "@cuda//:compiler", cfg = "host"),
        "_runtime": attr.label(default = "@cuda//:runtime"),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def cuda_library(name, srcs, hdrs = [], deps = [], copts = [], **kwargs):
    """A library of .cu files, for any cc_library, cc_binary or cc_test to depend on.

    Keep what is slow to compile out of .cu files: Abseil, fmt, protobuf. CUDA's C++ library (CUB, Thrust) is not shown to
    them (cuda_toolkit.bzl).

    Args:
      name: of the library.
      srcs: .cu files; of headers in them write #include "folder/file.h" from the repository's root.
      hdrs: headers for others.
      deps: cc_library or cuda_library labels.
      copts: further flags of nvcc.
      **kwargs: visibility, alwayslink and the like.
    """
    _cuda_library(
        name = name,
        srcs = srcs,
        hdrs = hdrs,
        deps = deps,
        copts = copts,
        target_compatible_with = CUDA_ONLY,
        **kwargs
    )
