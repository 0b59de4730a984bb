#include "tools/commands/launch/process_log.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/status.h"

namespace partita {

absl::StatusOr<ProcessLog> ProcessLog::Open(const std::string& path, bool goes_on) {
  // Not through a link, which a stranger may have made; children do not have it. A pipe without a reader is an error.
  const int flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  const int fd = ::open(path.c_str(), flags | (goes_on ? O_APPEND : O_TRUNC), 0666);
  if (fd < 0 && errno == ELOOP) {
    return InvalidArgument("{}: is a symbolic link; expected a file: logs are not written through links", path);
  }
  if (fd >= 0) ::fcntl(fd, F_SETFL, goes_on ? O_APPEND : 0);  // it may wait to write
  std::FILE* const file = fd < 0 ? nullptr : ::fdopen(fd, goes_on ? "a" : "w");
  if (file == nullptr) return ResourceExhausted("{}: cannot be opened: {}", path, std::strerror(errno));
  return ProcessLog(path, file);
}

absl::Status ProcessLog::Write(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size();
  if (written && std::fflush(file_.get()) == 0) return absl::OkStatus();
  return ResourceExhausted("{}: cannot be written: {}", path_, std::strerror(errno));
}

}  // namespace partita
