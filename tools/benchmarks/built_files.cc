#include "tools/benchmarks/built_files.h"

#include <cstdlib>
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

std::string PeerPython(const std::string& chosen) {
  if (!chosen.empty()) return chosen;
  const char* const home = std::getenv("HOME");
  return std::string(home == nullptr ? "" : home) + "/.cache/partita/peer/bin/python";
}

}  // namespace partita
