#include "runtime/telemetry/appended_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "runtime/base/status.h"

namespace partita {
namespace {

std::string Reason(int error) { return std::generic_category().message(error); }

bool EndsWithinLine(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::ifstream file(path, std::ios::binary);
  file.seekg(-1, std::ios::end);
  char last = '\n';
  return file.get(last) && last != '\n';
}

}  // namespace

absl::StatusOr<AppendedFile> AppendedFile::Open(const std::string& path) {
  const bool cut = EndsWithinLine(path);
  const int follow = path.starts_with("/dev/") || path.starts_with("/proc/") ? 0 : O_NOFOLLOW;
  // Without O_NONBLOCK opening a pipe that nothing reads would block for ever.
  const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | follow, 0666);
  if (fd < 0) return InvalidArgument("{}: cannot write: {}", path, Reason(errno));
  return AppendedFile(path, fd, cut);
}

AppendedFile::AppendedFile(AppendedFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), cut_(other.cut_) {}

AppendedFile& AppendedFile::operator=(AppendedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(cut_, other.cut_);
  return *this;
}

AppendedFile::~AppendedFile() {
  if (fd_ >= 0) close(fd_);
}

absl::Status AppendedFile::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return ResourceExhausted("{}: cannot write: {}", path_, Reason(written < 0 ? errno : ENOSPC));
    cut_ = bytes[static_cast<size_t>(written) - 1] != '\n';
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status AppendedFile::AppendLine(const std::string& line) { return Append((cut_ ? "\n" : "") + line + "\n"); }

}  // namespace partita
