#include "runtime/data/read_array.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/memory.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// The bytes of the elements if the stream can hold them, and we.
absl::StatusOr<int64_t> CheckedBytes(const ByteStream& stream, const std::string& name, int64_t sizes_offset,
                                     int64_t limit, const Array& array) {
  const int64_t bound = stream.UpperBound();
  int64_t bytes = SizeOf(array.type);
  for (const int64_t size : array.sizes) {
    if (__builtin_mul_overflow(bytes, size, &bytes) || bytes > bound) {
      return InvalidArgument("{}: offset {}: found sizes {}, the data behind them can be at most {} bytes", name,
                             sizes_offset, fmt::join(array.sizes, " x "), bound);
    }
  }
  if (bytes > limit) {
    return InvalidArgument("{}: offset {}: found sizes {}, allowed are at most {} bytes", name, sizes_offset,
                           fmt::join(array.sizes, " x "), limit);
  }
  RETURN_IF_ERROR(CheckMemory(name, bytes));
  return bytes;
}

// Compressed data may end long before what the header promises: memory is touched as they come.
absl::Status ReadBytes(ByteStream& stream, const std::string& name, int64_t offset, int64_t count,
                       std::vector<uint8_t>& bytes) {
  constexpr int64_t kPiece = int64_t{16} << 20;
  bytes.reserve(static_cast<size_t>(count));
  while (static_cast<int64_t>(bytes.size()) < count) {
    const size_t done = bytes.size();
    bytes.resize(static_cast<size_t>(std::min(count, static_cast<int64_t>(done) + kPiece)));
    ASSIGN_OR_RETURN(const int64_t got, stream.Read(std::span(bytes).subspan(done)));
    if (static_cast<size_t>(got) == bytes.size() - done) continue;
    return InvalidArgument("{}: offset {}: found the end of the data after {} of the {} bytes of the elements", name,
                           offset, static_cast<int64_t>(done) + got, count);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadExactly(ByteStream& stream, std::span<uint8_t> out, const std::string& name, int64_t offset,
                         const char* what) {
  ASSIGN_OR_RETURN(const int64_t got, stream.Read(out));
  if (got == static_cast<int64_t>(out.size())) return absl::OkStatus();
  return InvalidArgument("{}: offset {}: found the end of the data after {} of the {} bytes of {}", name, offset, got,
                         out.size(), what);
}

absl::Status ReadElements(ByteStream& stream, const std::string& name, int64_t sizes_offset, int64_t offset,
                          int64_t limit, Array& array) {
  ASSIGN_OR_RETURN(const int64_t bytes, CheckedBytes(stream, name, sizes_offset, limit, array));
  RETURN_IF_ERROR(ReadBytes(stream, name, offset, bytes, array.bytes));
  uint8_t surplus;
  ASSIGN_OR_RETURN(const int64_t more, stream.Read({&surplus, 1}));
  if (more == 0) return absl::OkStatus();
  return InvalidArgument("{}: offset {}: found more bytes, allowed is the end after sizes {}", name, offset + bytes,
                         fmt::join(array.sizes, " x "));
}

void TurnElements(Array& array) {
  const int64_t size = SizeOf(array.type);
  if (size == 1) return;
  for (auto at = array.bytes.begin(); at != array.bytes.end(); at += size) std::reverse(at, at + size);
}

}  // namespace partita
