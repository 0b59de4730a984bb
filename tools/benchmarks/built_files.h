// Files of the repository that a program which was built from it needs when it runs.
#ifndef PARTITA_TOOLS_BENCHMARKS_BUILT_FILES_H_
#define PARTITA_TOOLS_BENCHMARKS_BUILT_FILES_H_

#include <string>

#include "absl/status/statusor.h"

namespace partita {

// Where `path`, relative to the repository, lies: in the folder that the program is started in, as under `bazel run`
// and in tests, else among what Bazel puts beside the program (bazel-bin/tools/benchmark.runfiles), wherever it is
// started. kInvalidArgument: in neither.
absl::StatusOr<std::string> BuiltFile(const std::string& path);

// Of the environment that tools/peer/install makes; `chosen`, if it is not empty.
std::string PeerPython(const std::string& chosen);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_BUILT_FILES_H_
