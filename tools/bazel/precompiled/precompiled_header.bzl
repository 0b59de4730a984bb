"""precompiled_header: a header that gcc has read once, for all sources of the same flags.

Most of a source's compile time goes into a few foreign headers that nearly all sources include. The rule copies the
header to where only generated files lie and puts what gcc made of it beside it; gcc takes that where a source includes
the header first, and where the flags do not allow it (OpenMP, another instruction set), it reads the copy.
"""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "ACTION_NAMES")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _flags(ctx, toolchain, header, output):
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts,
        source_file = header.path,
        output_file = output.path,
    )
    return cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = ACTION_NAMES.cpp_compile,
        variables = variables,
    )

def _precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    output = ctx.actions.declare_file(ctx.label.name + ".h.gch")
    ctx.actions.expand_template(template = ctx.file.header, output = header, substitutions = {})
    ctx.actions.run(
        executable = "python3",
        # -S: gcc keeps the name of its temporary assembler file where it writes one.
        arguments = [ctx.file._precompile.path, output.path, toolchain.compiler_executable] +
                    ["-x", "c++-header"] + _flags(ctx, toolchain, header, output) + ["-S"],
        inputs = depset([header, ctx.file._precompile], transitive = [toolchain.all_files]),
        use_default_shell_env = True,
        outputs = [output],
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling " + header.short_path,
    )
    return [DefaultInfo(files = depset([header, output]))]

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    attrs = {
        "copts": attr.string_list(doc = "flags of the sources that are not the whole build's"),
        "header": attr.label(allow_single_file = [".inc"], mandatory = True),
        "_precompile": attr.label(allow_single_file = True, default = ":precompile.py"),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
