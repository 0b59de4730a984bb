// A file that grows while a run lasts, which others may read at any time.
#ifndef PARTITA_RUNTIME_TELEMETRY_APPENDED_FILE_H_
#define PARTITA_RUNTIME_TELEMETRY_APPENDED_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace partita {

// Thread-compatible.
class AppendedFile {
 public:
  // The file of that name, or a new one. kInvalidArgument: it cannot be opened, or is a symbolic link, which another
  // user may have made; only those of the system (/dev/stdout) are followed.
  static absl::StatusOr<AppendedFile> Open(const std::string& path);
  AppendedFile(AppendedFile&& other) noexcept;
  AppendedFile& operator=(AppendedFile&& other) noexcept;
  ~AppendedFile();

  // The bytes have reached the file when it returns. kResourceExhausted: they, or some of them, have not.
  absl::Status Append(std::string_view bytes);

  // `line` has no end of its own. A half line in the file, which a crash or a full disk left, is ended first.
  absl::Status AppendLine(const std::string& line);

 private:
  AppendedFile(std::string path, int fd, bool cut) : path_(std::move(path)), fd_(fd), cut_(cut) {}

  std::string path_;
  int fd_;
  bool cut_;  // the file ends within a line
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_TELEMETRY_APPENDED_FILE_H_
