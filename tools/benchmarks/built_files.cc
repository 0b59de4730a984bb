#include "tools/benchmarks/built_files.h"

#include <filesystem>

#include "runtime/base/status.h"

namespace partita {

namespace fs = std::filesystem;

absl::StatusOr<std::string> BuiltFile(const std::string& path) {
  std::error_code error;
  if (fs::exists(path, error)) return fs::absolute(path, error).string();
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path beside = fs::path(program.string() + ".runfiles") / "partita" / path;
  if (fs::exists(beside, error)) return beside.string();
  return InvalidArgument("{} is neither here nor at {}; `bazel build //tools:benchmark` puts it there", path,
                         beside.string());
}

}  // namespace partita
