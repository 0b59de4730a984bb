#include "runtime/data/idx.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include "runtime/base/exhaustion.h"
#include "runtime/base/input_file.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/data/byte_stream.h"

namespace partita {
namespace {

constexpr int64_t kLargestFile = int64_t{8} << 30, kLargestArray = kLargestFile;
constexpr int kMostDimensions = 4;
constexpr uint8_t kUnsignedByte = 0x08;

// Reads exactly out.size() bytes that lie at `offset`, and say what `what` is if they do not.
absl::Status ReadExactly(ByteStream& stream, std::span<uint8_t> out, const std::string& name, int64_t offset,
                         const char* what) {
  ASSIGN_OR_RETURN(const int64_t got, stream.Read(out));
  if (got == static_cast<int64_t>(out.size())) return absl::OkStatus();
  return InvalidArgument("{}: offset {}: found the end of the data after {} of the {} bytes of {}", name, offset, got,
                         out.size(), what);
}

absl::StatusOr<int> ReadDimensions(ByteStream& stream, const std::string& name) {
  std::array<uint8_t, 4> magic;
  RETURN_IF_ERROR(ReadExactly(stream, magic, name, 0, "the IDX magic number"));
  if (magic[0] != 0 || magic[1] != 0) {
    return InvalidArgument("{}: offset 0: found bytes {:#04x} {:#04x}, an IDX file begins with 0x00 0x00", name,
                           magic[0], magic[1]);
  }
  if (magic[2] != kUnsignedByte) {
    return InvalidArgument("{}: offset 2: found element type {:#04x}, allowed is 0x08 (unsigned byte)", name, magic[2]);
  }
  if (magic[3] < 1 || magic[3] > kMostDimensions) {
    return InvalidArgument("{}: offset 3: found {} dimensions, allowed are 1 to {}", name, magic[3], kMostDimensions);
  }
  return magic[3];
}

absl::StatusOr<std::vector<int64_t>> ReadSizes(ByteStream& stream, int dimensions, const std::string& name) {
  std::vector<int64_t> sizes;
  for (int i = 0; i < dimensions; ++i) {
    std::array<uint8_t, 4> bytes;
    const int64_t offset = 4 + 4 * i;
    RETURN_IF_ERROR(ReadExactly(stream, bytes, name, offset, "a size"));
    const int64_t size = int64_t{bytes[0]} << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
    if (size == 0) return InvalidArgument("{}: offset {}: found size 0, allowed is 1 or more", name, offset);
    sizes.push_back(size);
  }
  return sizes;
}

// The product of the sizes if the stream can hold it, and we.
absl::StatusOr<int64_t> ElementCount(const std::vector<int64_t>& sizes, const ByteStream& stream,
                                     const std::string& name) {
  const int64_t bound = stream.UpperBound();
  int64_t count = 1;
  for (const int64_t size : sizes) {
    if (__builtin_mul_overflow(count, size, &count) || count > bound) {
      return InvalidArgument("{}: offset 4: found sizes {}, the data behind them can be at most {} bytes", name,
                             fmt::format("{}", fmt::join(sizes, " x ")), bound);
    }
  }
  if (count > kLargestArray) {
    return InvalidArgument("{}: offset 4: found sizes {}, allowed are at most {} bytes", name,
                           fmt::format("{}", fmt::join(sizes, " x ")), kLargestArray);
  }
  RETURN_IF_ERROR(CheckMemory(name, count));
  return count;
}

// Compressed data may end long before what the header promises: memory is touched as they come.
absl::StatusOr<std::vector<uint8_t>> ReadElements(ByteStream& stream, int64_t count, const std::string& name,
                                                  int64_t offset) {
  constexpr int64_t kPiece = int64_t{16} << 20;
  std::vector<uint8_t> values;
  values.reserve(static_cast<size_t>(count));
  while (static_cast<int64_t>(values.size()) < count) {
    const size_t done = values.size();
    values.resize(static_cast<size_t>(std::min(count, static_cast<int64_t>(done) + kPiece)));
    ASSIGN_OR_RETURN(const int64_t got, stream.Read(std::span(values).subspan(done)));
    if (static_cast<size_t>(got) == values.size() - done) continue;
    return InvalidArgument("{}: offset {}: found the end of the data after {} of the {} bytes of the elements", name,
                           offset, static_cast<int64_t>(done) + got, count);
  }
  return values;
}

}  // namespace

absl::StatusOr<IdxArray> ParseIdx(const std::string& name, std::string_view bytes) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> stream, OpenByteStream(name, bytes));
  IdxArray array;
  ASSIGN_OR_RETURN(const int dimensions, ReadDimensions(*stream, name));
  ASSIGN_OR_RETURN(array.sizes, ReadSizes(*stream, dimensions, name));
  ASSIGN_OR_RETURN(const int64_t count, ElementCount(array.sizes, *stream, name));
  const int64_t offset = 4 + 4 * dimensions;
  ASSIGN_OR_RETURN(array.values, ReadElements(*stream, count, name, offset));
  uint8_t surplus;
  ASSIGN_OR_RETURN(const int64_t more, stream->Read({&surplus, 1}));
  if (more != 0) {
    return InvalidArgument("{}: offset {}: found more bytes, allowed is the end after sizes {}", name, offset + count,
                           fmt::format("{}", fmt::join(array.sizes, " x ")));
  }
  return array;
}

absl::StatusOr<IdxArray> ReadIdx(const std::string& path) {
  return OrExhausted(path.c_str(), [&]() -> absl::StatusOr<IdxArray> {
    ASSIGN_OR_RETURN(const std::string bytes, ReadRegularFile(path, kLargestFile));
    return ParseIdx(path, bytes);
  });
}

}  // namespace partita
