#include "runtime/data/arrays/array_field.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "graph/value/node_name.h"
#include "runtime/base/bf16.h"
#include "runtime/base/f16.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

template <typename T>
T ElementOf(const std::vector<uint8_t>& bytes, int64_t element) {
  T value;
  std::memcpy(&value, bytes.data() + element * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

// The first words of a sentence about an element of a field.
std::string Place(const std::string& name, const Field& field, int64_t element) {
  const int64_t row_elements = Elements(field.row);
  if (row_elements == 1) return fmt::format("{}: field {}: row {}", name, Quoted(field.name), element);
  return fmt::format("{}: field {}: row {}, element {}", name, Quoted(field.name), element / row_elements,
                     element % row_elements);
}

// Calls `visit` with an element of each type: what depends on it is written once.
template <typename Visit>
auto OfType(ElementType type, const Visit& visit) {
  switch (type) {
    case ElementType::kBool:
    case ElementType::kU8:
      return visit(uint8_t{});
    case ElementType::kI8:
      return visit(int8_t{});
    case ElementType::kU16:
      return visit(uint16_t{});
    case ElementType::kI16:
      return visit(int16_t{});
    case ElementType::kU32:
      return visit(uint32_t{});
    case ElementType::kI32:
      return visit(int32_t{});
    case ElementType::kU64:
      return visit(uint64_t{});
    case ElementType::kI64:
      return visit(int64_t{});
    case ElementType::kF16:
      return visit(F16{});
    case ElementType::kBF16:
      return visit(Bf16{});
    case ElementType::kF32:
      return visit(float{});
    case ElementType::kF64:
      break;
  }
  return visit(double{});
}

bool IsFloat(ElementType type) {
  return type == ElementType::kF16 || type == ElementType::kBF16 || type == ElementType::kF32 ||
         type == ElementType::kF64;
}

std::vector<int64_t> WithoutOnes(std::vector<int64_t> sizes) {
  std::erase(sizes, 1);
  return sizes;
}

absl::Status CheckSizes(const std::string& name, const Array& array, const Field& field) {
  const std::vector<int64_t> found(array.sizes.begin() + 1, array.sizes.end());
  const std::vector<int64_t> row(field.row.begin(), field.row.end());
  const int64_t rows = array.sizes[0];
  const bool as_many = static_cast<int64_t>(array.bytes.size()) == rows * Elements(field.row) * SizeOf(array.type);
  if (WithoutOnes(found) == WithoutOnes(row) || (row.size() == 1 && as_many)) return absl::OkStatus();
  return InvalidArgument("{}: field {}: found {}[{}], the graph takes {}{} in each row", name, Quoted(field.name),
                         Name(array.type), fmt::join(array.sizes, ","), Name(field.dtype), ToString(field.row));
}

absl::Status CheckType(const std::string& name, const Array& array, const Field& field, const ByteScale& scale) {
  const bool bytes = array.type == ElementType::kU8, floating = IsFloating(field.dtype);
  if (!floating && IsFloat(array.type)) {
    return InvalidArgument("{}: field {}: found elements of {}, the graph takes {}, which is made of integers", name,
                           Quoted(field.name), Name(array.type), Name(field.dtype));
  }
  if (!scale.given() || (bytes && floating)) return absl::OkStatus();
  return InvalidArgument("{}: field {}: found elements of {} for {} with a scale; u8 for floating inputs is scaled",
                         name, Quoted(field.name), Name(array.type), Name(field.dtype));
}

// What is computed with: floating numbers of 16 bits are f32 exactly.
float Widened(F16 value) { return static_cast<float>(value); }
float Widened(Bf16 value) { return static_cast<float>(value); }
template <typename T>
T Widened(T value) {
  return value;
}

// Each element as the field's type: there is a sentence for the first that does not fit.
template <typename From, typename To>
absl::Status ConvertTo(const std::string& name, const Field& field, const std::vector<uint8_t>& from,
                       std::vector<uint8_t>& to) {
  const auto count = static_cast<int64_t>(from.size() / sizeof(From));
  to.resize(static_cast<size_t>(count) * sizeof(To));
  for (int64_t i = 0; i < count; ++i) {
    const auto value = Widened(ElementOf<From>(from, i));
    const To converted = static_cast<To>(value);
    if constexpr (std::is_floating_point_v<decltype(Widened(From()))>) {
      if (!std::isfinite(converted)) {
        return InvalidArgument("{} is {}, allowed are finite numbers{}", Place(name, field, i), value,
                               std::isfinite(value) ? " of f32" : "");
      }
      // A long double holds every integer of 64 bits.
    } else if (static_cast<long double>(converted) != static_cast<long double>(value)) {
      return InvalidArgument("{} is {}, which is no {}", Place(name, field, i), value, Name(field.dtype));
    }
    std::memcpy(to.data() + i * static_cast<int64_t>(sizeof(To)), &converted, sizeof(To));
  }
  return absl::OkStatus();
}

template <typename To>
absl::Status Convert(const std::string& name, const Field& field, Array& array) {
  return OfType(array.type, [&](auto element) -> absl::Status {
    using From = decltype(element);
    constexpr bool kFromFloating = std::is_floating_point_v<decltype(Widened(From()))>;
    if constexpr (std::is_floating_point_v<To> || !kFromFloating) {
      std::vector<uint8_t> converted;
      RETURN_IF_ERROR(CheckMemory(name, static_cast<int64_t>(array.bytes.size() / sizeof(From) * sizeof(To))));
      RETURN_IF_ERROR((ConvertTo<From, To>(name, field, array.bytes, converted)));
      array.bytes = std::move(converted);
    }
    return absl::OkStatus();
  });
}

absl::Status CheckLabels(const std::string& name, const WantedField& wanted, const std::vector<uint8_t>& bytes) {
  const auto count = static_cast<int64_t>(bytes.size() / sizeof(int32_t));
  for (int64_t i = 0; wanted.classes > 0 && i < count; ++i) {
    const auto label = ElementOf<int32_t>(bytes, i);
    const int64_t below = wanted.ClassesAt(i);
    if (below == 0 || (label >= 0 && label < below) || label == wanted.ignored) continue;
    return InvalidArgument("{} is {} {}, the graph's {} are 0 to {}{}", Place(name, wanted.field, i),
                           wanted.ids ? "id" : "label", label, wanted.ids ? "rows" : "classes", below - 1,
                           wanted.ignored ? fmt::format(", and it ignores {}", *wanted.ignored) : "");
  }
  return absl::OkStatus();
}

absl::Status CheckLengths(const std::string& name, const WantedField& wanted, const std::vector<uint8_t>& bytes) {
  const auto count = static_cast<int64_t>(bytes.size() / sizeof(int32_t));
  for (int64_t i = 0; wanted.places > 0 && i < count; ++i) {
    const auto length = ElementOf<int32_t>(bytes, i);
    if (length >= 0 && length <= wanted.places) continue;
    return InvalidArgument("{} is length {}, the graph's sequences have 0 to {} places", Place(name, wanted.field, i),
                           length, wanted.places);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ArrayField> MakeArrayField(const std::string& name, Array array, const WantedField& wanted,
                                          const ByteScale& scale) {
  const Field& field = wanted.field;
  RETURN_IF_ERROR(CheckSizes(name, array, field));
  RETURN_IF_ERROR(CheckType(name, array, field, scale));
  if (array.type == ElementType::kBool) std::ranges::for_each(array.bytes, [](uint8_t& byte) { byte = byte != 0; });
  ArrayField made{field, array.sizes[0], {}, {}, name, wanted.divides, wanted.divides || wanted.weighs, wanted.ignored};
  if (IsFloating(field.dtype) && array.type == ElementType::kU8) {
    RETURN_IF_ERROR(ScaleBytes(scale, made));
  } else if (field.dtype == DType::kF32) {
    RETURN_IF_ERROR(Convert<float>(name, field, array));
  } else if (field.dtype == DType::kF64) {
    RETURN_IF_ERROR(Convert<double>(name, field, array));
  } else if (field.dtype == DType::kI32) {
    RETURN_IF_ERROR(Convert<int32_t>(name, field, array));
    RETURN_IF_ERROR(CheckLabels(name, wanted, array.bytes));
    RETURN_IF_ERROR(CheckLengths(name, wanted, array.bytes));
  } else if (array.type != ElementType::kU8) {
    RETURN_IF_ERROR(Convert<uint8_t>(name, field, array));
  }
  made.bytes = std::move(array.bytes);
  return made;
}

absl::Status ScaleBytes(const ByteScale& scale, ArrayField& field) {
  const auto places = static_cast<size_t>(field.field.row.empty() ? 1 : field.field.row.back());
  if (const absl::Status valid = CheckByteScale(scale, places); !valid.ok()) {
    return WithContext(fmt::format("{}: field {}", field.array, Quoted(field.field.name)), valid);
  }
  field.scale = scale;
  field.table = TableOf(scale.given() ? scale : PlainBytes());
  return absl::OkStatus();
}

}  // namespace partita
