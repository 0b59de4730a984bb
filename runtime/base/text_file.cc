#include "runtime/base/text_file.h"

#include <string_view>

#include "runtime/base/files.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// What other encoding of Unicode the bytes are, as its mark says, or the zeros of its first ASCII character; null:
// none.
const char* WideEncoding(std::string_view bytes) {
  const auto begins = [&](std::string_view start) { return bytes.starts_with(start); };
  const auto has = [&](size_t at) { return at < bytes.size() && bytes[at] != '\0'; };
  const auto zero = [&](size_t at) { return at < bytes.size() && bytes[at] == '\0'; };
  if (begins(std::string_view("\xff\xfe\0\0", 4)) || begins(std::string_view("\0\0\xfe\xff", 4))) return "UTF-32";
  if (begins("\xff\xfe") || begins("\xfe\xff")) return "UTF-16";
  if (has(0) && zero(1) && zero(2) && zero(3)) return "UTF-32LE";
  if (zero(0) && zero(1) && zero(2) && has(3)) return "UTF-32BE";
  if (has(0) && zero(1) && has(2) && zero(3)) return "UTF-16LE";
  if (zero(0) && has(1) && zero(2) && has(3)) return "UTF-16BE";
  return nullptr;
}

}  // namespace

absl::StatusOr<std::string> ReadTextFile(const std::string& path, int64_t limit) {
  ASSIGN_OR_RETURN(std::string bytes, ReadFile(path, limit));
  RETURN_IF_ERROR(TakeOffMark(path, bytes));
  return bytes;
}

absl::Status TakeOffMark(const std::string& path, std::string& bytes) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (const char* const encoding = WideEncoding(bytes)) {
    return InvalidArgument("{}: is text in {}; expected UTF-8 (iconv -f {} -t UTF-8 FILE > NEW converts it)", path,
                           encoding, encoding);
  }
  if (bytes.starts_with(kMark)) bytes.erase(0, kMark.size());
  return absl::OkStatus();
}

}  // namespace partita
