#include "tools/commands/launch/process_log.h"

#include <cerrno>
#include <cstring>

#include "runtime/base/status.h"

namespace partita {

absl::StatusOr<ProcessLog> ProcessLog::Open(const std::string& path, bool goes_on) {
  std::FILE* const file = std::fopen(path.c_str(), goes_on ? "ae" : "we");  // e: children do not have it
  if (file == nullptr) return ResourceExhausted("{}: cannot be opened: {}", path, std::strerror(errno));
  return ProcessLog(path, file);
}

absl::Status ProcessLog::Write(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size();
  if (written && std::fflush(file_.get()) == 0) return absl::OkStatus();
  return ResourceExhausted("{}: cannot be written: {}", path_, std::strerror(errno));
}

}  // namespace partita
