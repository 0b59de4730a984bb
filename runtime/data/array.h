// An array as a file holds it: of any element type that our readers know, before it becomes a field of a batch.
#ifndef PARTITA_RUNTIME_DATA_ARRAY_H_
#define PARTITA_RUNTIME_DATA_ARRAY_H_

#include <cstdint>
#include <vector>

namespace partita {

// More than graphs compute with: data may be stored in small or in wide integers (runtime/data/arrays/array_field.h).
enum class ElementType : uint8_t { kBool, kU8, kI8, kU16, kI16, kU32, kI32, kU64, kI64, kF16, kBF16, kF32, kF64 };

// Bytes of one element.
constexpr int64_t SizeOf(ElementType type) {
  switch (type) {
    case ElementType::kBool:
    case ElementType::kU8:
    case ElementType::kI8:
      return 1;
    case ElementType::kU16:
    case ElementType::kI16:
    case ElementType::kF16:
    case ElementType::kBF16:
      return 2;
    case ElementType::kU32:
    case ElementType::kI32:
    case ElementType::kF32:
      return 4;
    case ElementType::kU64:
    case ElementType::kI64:
    case ElementType::kF64:
      return 8;
  }
  return 0;
}

constexpr const char* Name(ElementType type) {
  switch (type) {
    case ElementType::kBool:
      return "bool";
    case ElementType::kU8:
      return "u8";
    case ElementType::kI8:
      return "i8";
    case ElementType::kU16:
      return "u16";
    case ElementType::kI16:
      return "i16";
    case ElementType::kU32:
      return "u32";
    case ElementType::kI32:
      return "i32";
    case ElementType::kU64:
      return "u64";
    case ElementType::kI64:
      return "i64";
    case ElementType::kF16:
      return "f16";
    case ElementType::kBF16:
      return "bf16";
    case ElementType::kF32:
      return "f32";
    case ElementType::kF64:
      return "f64";
  }
  return "?";
}

// At least one dimension, none of size 0; row-major, the elements as this machine has them.
struct Array {
  ElementType type = ElementType::kU8;
  std::vector<int64_t> sizes;
  std::vector<uint8_t> bytes;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_ARRAY_H_
