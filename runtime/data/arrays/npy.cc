#include "runtime/data/arrays/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/value/node_name.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/data/arrays/npy_header.h"
#include "runtime/data/read_array.h"

namespace partita {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are taken as they are");

constexpr int64_t kMagicBytes = 6, kLargestHeader = int64_t{64} << 10, kLargestArray = int64_t{1} << 40;
constexpr size_t kMostDimensions = 8;

// A descr without its first character, the byte order.
struct Descr {
  std::string_view text;
  ElementType type;
};

constexpr Descr kDescrs[] = {{"b1", ElementType::kBool}, {"u1", ElementType::kU8},  {"i1", ElementType::kI8},
                             {"u2", ElementType::kU16},  {"i2", ElementType::kI16}, {"u4", ElementType::kU32},
                             {"i4", ElementType::kI32},  {"u8", ElementType::kU64}, {"i8", ElementType::kI64},
                             {"f2", ElementType::kF16},  {"f4", ElementType::kF32}, {"f8", ElementType::kF64},
                             {"V2", ElementType::kBF16}};
constexpr std::string_view kByteOrders = "<>|=";

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
  const std::string_view descr = header.descr;
  const auto found = std::ranges::find(kDescrs, descr.substr(std::min<size_t>(1, descr.size())), &Descr::text);
  if (found == std::end(kDescrs) || kByteOrders.find(descr[0]) == std::string_view::npos) {
    return InvalidArgument(
        "{}: found elements of {}; expected truth values (b1), integers (i1 to i8, u1 to u8) or floating numbers (f2, "
        "f4, f8); numpy.ndarray.astype converts them",
        name, Quoted(header.descr));
  }
  type = found->type;
  if (header.shape.empty() || header.shape.size() > kMostDimensions) {
    return InvalidArgument("{}: found {} dimensions, allowed are 1 to {}, the first one the rows", name,
                           header.shape.size(), kMostDimensions);
  }
  if (std::ranges::find(header.shape, 0) == header.shape.end()) return absl::OkStatus();
  return InvalidArgument("{}: found an array without elements, allowed are sizes from 1", name);
}

// From Fortran order, in which the first dimension changes fastest, to C order, in which the last one does.
absl::Status MakeRowMajor(const std::string& name, Array& array) {
  const auto longer = [](int64_t size) { return size > 1; };
  if (std::ranges::count_if(array.sizes, longer) < 2) return absl::OkStatus();
  RETURN_IF_ERROR(CheckMemory(name, static_cast<int64_t>(array.bytes.size())));
  const size_t dimensions = array.sizes.size();
  const int64_t element = SizeOf(array.type);
  std::vector<int64_t> steps(dimensions, element), at(dimensions, 0);
  for (size_t d = 1; d < dimensions; ++d) steps[d] = steps[d - 1] * array.sizes[d - 1];
  std::vector<uint8_t> ordered(array.bytes.size());
  int64_t from = 0;
  for (auto to = ordered.begin(); to != ordered.end(); to += element) {
    std::copy_n(array.bytes.begin() + from, element, to);
    for (size_t d = dimensions; d-- > 0;) {
      from += steps[d];
      if (++at[d] < array.sizes[d]) break;
      from -= steps[d] * array.sizes[d];
      at[d] = 0;
    }
  }
  array.bytes = std::move(ordered);
  return absl::OkStatus();
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
  if (header.descr.starts_with('>')) TurnElements(array);
  if (header.fortran_order) RETURN_IF_ERROR(MakeRowMajor(name, array));
  return array;
}

}  // namespace partita
