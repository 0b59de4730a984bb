// Whole files: read under a limit, written so that a reader sees the old one or the new one, never a part.
//
// Errors name the path, what was tried and the system's reason. A path that cannot be opened, read or created is
// kInvalidArgument; what cannot be written for another reason (a full disk, quota or file-size limit, a disk that
// fails) is kResourceExhausted. A file-size limit is such an error only where SIGXFSZ is ignored. Thread-safe.
#ifndef PARTITA_RUNTIME_BASE_FILES_H_
#define PARTITA_RUNTIME_BASE_FILES_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace partita {

// For the next bytes of a pipe: what makes them may take a while to start.
inline constexpr std::chrono::milliseconds kPipePatience = std::chrono::seconds(30);

// The bytes of a file of at most `limit` bytes. A larger one is refused before anything is allocated; one without a
// size (a pipe, /dev/stdin that is one) is read until its end or the limit, and refused if no data arrives for
// `patience`. A directory or a device is refused. kResourceExhausted: there is no memory for it.
absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t limit,
                                     std::chrono::milliseconds patience = kPipePatience);

// Writes the concatenation of `pieces`: to a new file in the same folder, to the disk (fsync), then renamed over
// `path`. After an error `path` is as it was (or, if only the sync of its folder failed, already the new file). The new
// file has no name until it is complete (O_TMPFILE), so nothing is left of it if the process ends. On a file system
// without such files it is PATH.tmp-*, which is removed after an error but outlives a killed process. An existing pipe
// or device is written in place, because there is nothing to replace. A symbolic link is refused, since another user
// may have made it; only those of the system (/dev/stdout, /dev/fd/3) are followed.
absl::Status WriteFileAtomically(const std::string& path, std::span<const std::string_view> pieces);
absl::Status WriteFileAtomically(const std::string& path, std::string_view contents);

// The same of bytes that `make` hands to `write` one after the other, of a file that is larger than what is to be held
// at once. `make` is called once at most; an error of `write` is for it to return.
using WriteBytes = std::function<absl::Status(std::string_view bytes)>;
using MakeBytes = std::function<absl::Status(const WriteBytes& write)>;
absl::Status WriteFileAtomically(const std::string& path, const MakeBytes& make);

// The same of a file whose first bytes are not known before all others are: `make` produces the rest, which is spooled
// to disk (in the file's folder, or in that of temporary files if `path` is a pipe or a device). Then `head` returns
// the first bytes, and only then is the file created.
using MakeHead = std::function<absl::StatusOr<std::string>()>;
absl::Status WriteFileAtomically(const std::string& path, const MakeBytes& make, const MakeHead& head);

}  // namespace partita

#endif  // PARTITA_RUNTIME_BASE_FILES_H_
