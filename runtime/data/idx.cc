#include "runtime/data/idx.h"

#include <array>
#include <bit>
#include <memory>
#include <optional>

#include "runtime/base/exhaustion.h"
#include "runtime/base/input_file.h"
#include "runtime/base/status.h"
#include "runtime/data/byte_stream.h"
#include "runtime/data/read_array.h"

namespace partita {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are turned round");

constexpr int64_t kLargestFile = int64_t{8} << 30, kLargestArray = kLargestFile;
constexpr int kMostDimensions = 8;

std::optional<ElementType> TypeOf(uint8_t code) {
  switch (code) {
    case 0x08:
      return ElementType::kU8;
    case 0x09:
      return ElementType::kI8;
    case 0x0B:
      return ElementType::kI16;
    case 0x0C:
      return ElementType::kI32;
    case 0x0D:
      return ElementType::kF32;
    case 0x0E:
      return ElementType::kF64;
    default:
      return std::nullopt;
  }
}

// The type of the elements and the number of dimensions.
absl::StatusOr<int> ReadMagic(ByteStream& stream, const std::string& name, ElementType& type) {
  std::array<uint8_t, 4> magic;
  RETURN_IF_ERROR(ReadExactly(stream, magic, name, 0, "the IDX magic number"));
  if (magic[0] != 0 || magic[1] != 0) {
    return InvalidArgument("{}: offset 0: found bytes {:#04x} {:#04x}, an IDX file begins with 0x00 0x00", name,
                           magic[0], magic[1]);
  }
  const std::optional<ElementType> found = TypeOf(magic[2]);
  if (!found) {
    return InvalidArgument(
        "{}: offset 2: found element type {:#04x}, allowed are 0x08 (u8), 0x09 (i8), 0x0b (i16), 0x0c (i32), 0x0d "
        "(f32) and 0x0e (f64)",
        name, magic[2]);
  }
  type = *found;
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

}  // namespace

absl::StatusOr<Array> ParseIdx(const std::string& name, std::string_view bytes) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> stream, OpenByteStream(name, bytes));
  Array array;
  ASSIGN_OR_RETURN(const int dimensions, ReadMagic(*stream, name, array.type));
  ASSIGN_OR_RETURN(array.sizes, ReadSizes(*stream, dimensions, name));
  RETURN_IF_ERROR(ReadElements(*stream, name, 4, 4 + 4 * dimensions, kLargestArray, array));
  TurnElements(array);
  return array;
}

absl::StatusOr<Array> ReadIdx(const std::string& path) {
  return OrExhausted(path.c_str(), [&]() -> absl::StatusOr<Array> {
    ASSIGN_OR_RETURN(const std::string bytes, ReadRegularFile(path, kLargestFile));
    return ParseIdx(path, bytes);
  });
}

}  // namespace partita
