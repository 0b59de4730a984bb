#include "run/train/writable_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "run/spec/spec_error.h"

namespace partita {

absl::Status CheckWritableFolder(const char* flag, const std::string& path) {
  std::error_code error;
  std::filesystem::path there = path;
  while (!std::filesystem::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  if (there.empty()) there = ".";
  if (!std::filesystem::is_directory(there, error)) {
    return FlagError("flag --{}: {}: {} is not a folder", flag, path, there.string());
  }
  if (access(there.c_str(), W_OK) == 0) return absl::OkStatus();
  return FlagError("flag --{}: {} cannot be written: {}: {}", flag, path, there.string(), std::strerror(errno));
}

}  // namespace partita
