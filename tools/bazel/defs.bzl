"""Flags of our own loops: OpenMP, except under the thread sanitizer, which does not understand libgomp."""

OPENMP_COPTS = select({
    "//tools/bazel:tsan": [],
    "//conditions:default": ["-fopenmp"],
})

OPENMP_LINKOPTS = select({
    "//tools/bazel:tsan": [],
    "//conditions:default": ["-fopenmp"],
})
