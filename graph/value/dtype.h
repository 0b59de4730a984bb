// Element types. f32 is what training uses; f64 serves the gradient checks on the host; bf16 what mixed precision
// computes on (graph/passes/mix_precision.h); i32 labels; u8 raw images.
#ifndef PARTITA_GRAPH_VALUE_DTYPE_H_
#define PARTITA_GRAPH_VALUE_DTYPE_H_

#include <cstdint>
#include <optional>
#include <string>

namespace partita {

enum class DType : uint8_t { kF32, kF64, kI32, kU8, kBF16 };

// In the order in which messages list them.
inline constexpr DType kDTypes[] = {DType::kF32, DType::kF64, DType::kBF16, DType::kI32, DType::kU8};

// Bytes of one element.
constexpr int64_t SizeOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return 4;
    case DType::kF64:
      return 8;
    case DType::kI32:
      return 4;
    case DType::kU8:
      return 1;
    case DType::kBF16:
      return 2;
  }
  return 0;
}

constexpr bool IsFloating(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kBF16; }

// What sums and statistics of such elements are kept in: no less than f32.
constexpr DType AccumulatorOf(DType dtype) { return dtype == DType::kBF16 ? DType::kF32 : dtype; }

// "f32", "f64", "bf16", "i32", "u8": the names of the text form and of messages.
constexpr const char* Name(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "f32";
    case DType::kF64:
      return "f64";
    case DType::kI32:
      return "i32";
    case DType::kU8:
      return "u8";
    case DType::kBF16:
      return "bf16";
  }
  return "?";
}

inline std::optional<DType> ParseDType(const std::string& name) {
  for (DType dtype : kDTypes) {
    if (name == Name(dtype)) return dtype;
  }
  return std::nullopt;
}

}  // namespace partita

#endif  // PARTITA_GRAPH_VALUE_DTYPE_H_
