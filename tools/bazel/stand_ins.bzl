"""Stand-ins for repositories that Debian's Bazel asks for and Debian does not have in a form that it can read."""

_CC_RULES = [
    "cc_binary",
    "cc_import",
    "cc_library",
    "cc_proto_library",
    "cc_test",
    "cc_toolchain",
    "cc_toolchain_suite",
    "objc_import",
    "objc_library",
]

def _rules_cc_impl(context):
    context.file("BUILD")
    context.file("cc/BUILD")
    context.file("cc/defs.bzl", "".join(["{0} = native.{0}\n".format(rule) for rule in _CC_RULES]))

rules_cc = repository_rule(
    doc = "The names of rules_cc on the native rules: Debian's rules_cc is too new for Debian's Bazel.",
    implementation = _rules_cc_impl,
)

_COVERAGE = """
filegroup(
    name = "coverage_report_generator",
    visibility = ["//visibility:public"],
)
"""

def _remote_coverage_tools_impl(context):
    context.file("BUILD", _COVERAGE)

remote_coverage_tools = repository_rule(
    doc = "Each test names a label in it; without it Bazel would fetch the real one.",
    implementation = _remote_coverage_tools_impl,
)
