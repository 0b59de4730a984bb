// Whole files: read under a limit, written so that a reader sees the old one or the new one, never a part.
//
// Errors name the path, what was tried and the system's reason. A path that cannot be opened, read or created is
// kInvalidArgument; a full disk, quota or file-size limit is kResourceExhausted. Thread-safe.
#ifndef PARTITA_RUNTIME_BASE_FILES_H_
#define PARTITA_RUNTIME_BASE_FILES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace partita {

// The bytes of a file of at most `limit` bytes. A larger one is refused before anything is allocated; one without a
// size (a pipe, /dev/stdin) is read until its end or the limit. A directory is refused.
absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t limit);

// Writes the concatenation of `pieces`: to a temporary file in the same folder, to the disk (fsync), then renamed over
// `path`. After an error no temporary file is left and `path` is as it was (or, if only the
// sync of its folder failed, already the new file). An existing pipe or device is written in place,
// for there is nothing to replace; a symbolic link to a file is followed and its target replaced.
absl::Status WriteFileAtomically(const std::string& path, std::span<const std::string_view> pieces);
absl::Status WriteFileAtomically(const std::string& path, std::string_view contents);

}  // namespace partita

#endif  // PARTITA_RUNTIME_BASE_FILES_H_
