#include "runtime/data/arrays/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string_view>

#include "graph/value/node_name.h"
#include "runtime/base/status.h"
#include "runtime/data/arrays/npy_header.h"
#include "runtime/data/read_array.h"

namespace partita {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are taken as they are");

constexpr int64_t kMagicBytes = 6, kLargestHeader = int64_t{64} << 10, kLargestArray = int64_t{1} << 40;
constexpr size_t kMostDimensions = 8;

struct Descr {
  std::string_view text;
  ElementType type;
};

constexpr Descr kDescrs[] = {{"|u1", ElementType::kU8},  {"|i1", ElementType::kI8},  {"<i2", ElementType::kI16},
                             {"<i4", ElementType::kI32}, {"<i8", ElementType::kI64}, {"<f4", ElementType::kF32},
                             {"<f8", ElementType::kF64}};

// The length of the header, which begins at `offset` then.
absl::StatusOr<int64_t> ReadPrefix(ByteStream& stream, const std::string& name, int64_t& offset) {
  std::array<uint8_t, kMagicBytes + 2> magic;
  RETURN_IF_ERROR(ReadExactly(stream, magic, name, 0, "the magic string and version of .npy"));
  if (!std::equal(magic.begin(), magic.begin() + kMagicBytes, reinterpret_cast<const uint8_t*>(kNpyMagic))) {
    return InvalidArgument("{}: offset 0: found other bytes than \\x93NUMPY, with which .npy data begins", name);
  }
  const int major = magic[kMagicBytes], minor = magic[kMagicBytes + 1];
  if ((major != 1 && major != 2) || minor != 0) {
    return InvalidArgument("{}: offset 6: found version {}.{} of .npy, allowed are 1.0 and 2.0", name, major, minor);
  }
  std::array<uint8_t, 4> length = {};
  const size_t length_bytes = major == 1 ? 2 : 4;
  RETURN_IF_ERROR(ReadExactly(stream, std::span(length).first(length_bytes), name, 8, "the header's length"));
  offset = 8 + static_cast<int64_t>(length_bytes);
  return int64_t{length[0]} | length[1] << 8 | length[2] << 16 | int64_t{length[3]} << 24;
}

absl::StatusOr<std::string> ReadHeader(ByteStream& stream, const std::string& name, int64_t length, int64_t offset) {
  if (length > kLargestHeader) {
    return InvalidArgument("{}: offset 8: found a header of {} bytes, allowed are at most {}", name, length,
                           kLargestHeader);
  }
  std::string text(static_cast<size_t>(length), '\0');
  RETURN_IF_ERROR(
      ReadExactly(stream, {reinterpret_cast<uint8_t*>(text.data()), text.size()}, name, offset, "the header"));
  return text;
}

absl::Status CheckHeader(const NpyHeader& header, const std::string& name, ElementType& type) {
  const auto found = std::ranges::find(kDescrs, std::string_view(header.descr), &Descr::text);
  if (found == std::end(kDescrs)) {
    return InvalidArgument(
        "{}: found elements of {}, allowed are '<f4' (f32), '<f8' (f64), '<i4' (i32), '<i8' (i64), '|u1' (u8), '|i1' "
        "(i8) and '<i2' (i16)",
        name, Quoted(header.descr));
  }
  type = found->type;
  if (header.fortran_order) {
    return InvalidArgument("{}: found Fortran order, allowed is C order (numpy.ascontiguousarray makes it)", name);
  }
  if (header.shape.empty() || header.shape.size() > kMostDimensions) {
    return InvalidArgument("{}: found {} dimensions, allowed are 1 to {}, the first one the rows", name,
                           header.shape.size(), kMostDimensions);
  }
  if (std::ranges::find(header.shape, 0) == header.shape.end()) return absl::OkStatus();
  return InvalidArgument("{}: found an array without elements, allowed are sizes from 1", name);
}

}  // namespace

absl::StatusOr<Array> ReadNpy(ByteStream& stream, const std::string& name) {
  int64_t offset = 0;
  ASSIGN_OR_RETURN(const int64_t length, ReadPrefix(stream, name, offset));
  ASSIGN_OR_RETURN(const std::string text, ReadHeader(stream, name, length, offset));
  ASSIGN_OR_RETURN(const NpyHeader header, ParseNpyHeader(text, name));
  Array array;
  RETURN_IF_ERROR(CheckHeader(header, name, array.type));
  array.sizes = header.shape;
  RETURN_IF_ERROR(ReadElements(stream, name, offset, offset + length, kLargestArray, array));
  return array;
}

}  // namespace partita
