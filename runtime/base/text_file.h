// Text files of any system, read alike by every reader of text.
#ifndef PARTITA_RUNTIME_BASE_TEXT_FILE_H_
#define PARTITA_RUNTIME_BASE_TEXT_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace partita {

// The bytes of a text file of at most `limit` bytes, without the byte order mark of UTF-8 that editors of Windows put
// before the first line. kInvalidArgument: text in UTF-16 or UTF-32, with a mark or without, and what ReadFile
// (runtime/base/files.h) refuses.
absl::StatusOr<std::string> ReadTextFile(const std::string& path, int64_t limit);

// The same of bytes that have been read.
absl::Status TakeOffMark(const std::string& path, std::string& bytes);

}  // namespace partita

#endif  // PARTITA_RUNTIME_BASE_TEXT_FILE_H_
