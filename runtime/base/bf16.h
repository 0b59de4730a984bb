// bfloat16: the upper half of an f32, with its range and 8 bits of precision. A way to store numbers, not to compute:
// it has no arithmetic. Load it as a wider type, compute, store the result (Compute below). Host and device code share
// this file.
//
//   to bf16    round to nearest, ties to even, once, also from f64 and integers; what is too large becomes infinite; a
//              NaN stays one and, but on a GPU, keeps its sign and the upper bits of its payload
//   from bf16  exact in f32 and f64
#ifndef PARTITA_RUNTIME_BASE_BF16_H_
#define PARTITA_RUNTIME_BASE_BF16_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "runtime/base/philox.h"

namespace partita {

class Bf16 {
 public:
  Bf16() = default;
  PARTITA_HOST_DEVICE explicit Bf16(float value) : bits_(Rounded(value)) {}
  PARTITA_HOST_DEVICE explicit Bf16(double value) : bits_(Rounded(ToOdd(value))) {}
  // Integers of at most 53 bits.
  template <typename T, typename = std::enable_if_t<std::is_integral_v<T>>>
  PARTITA_HOST_DEVICE explicit Bf16(T value) : Bf16(static_cast<double>(value)) {}

  static PARTITA_HOST_DEVICE Bf16 FromBits(uint16_t bits) {
    Bf16 result;
    result.bits_ = bits;
    return result;
  }
  PARTITA_HOST_DEVICE uint16_t bits() const { return bits_; }

  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  PARTITA_HOST_DEVICE explicit operator T() const {
    return static_cast<T>(AsFloat(static_cast<uint32_t>(bits_) << 16));
  }

 private:
  static PARTITA_HOST_DEVICE float AsFloat(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
  }
  static PARTITA_HOST_DEVICE uint32_t AsBits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
  }

  // No branch, so that loops over it become vectors. A GPU has an instruction, which makes each NaN the same one.
  static PARTITA_HOST_DEVICE uint16_t Rounded(float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    uint16_t rounded;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(rounded) : "f"(value));
    return rounded;
#else
    const uint32_t bits = AsBits(value);
    const uint32_t nearest = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
    const uint32_t quiet = (bits >> 16) | 0x40;
    return static_cast<uint16_t>((bits & 0x7FFFFFFF) > 0x7F800000 ? quiet : nearest);
#endif
  }

  // To an f32 whose last bit is 1 if it is not exact: rounding that again to fewer bits is rounding once (Boldo and
  // Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
  static PARTITA_HOST_DEVICE float ToOdd(double value) {
    const float nearest = static_cast<float>(value);
    const double exact = nearest;
    const uint32_t bits = AsBits(nearest);
    if (exact == value || value != value || (bits & 1) != 0) return nearest;
    const bool away = (exact < 0 ? -exact : exact) > (value < 0 ? -value : value);  // rounded away from zero
    return AsFloat(away ? bits - 1 : bits + 1);
  }

  uint16_t bits_;
};
static_assert(sizeof(Bf16) == 2 && std::is_trivially_copyable_v<Bf16>);

// What values of a stored type are computed in.
template <typename T>
struct ComputeType {
  using Type = T;
};
template <>
struct ComputeType<Bf16> {
  using Type = float;
};
template <typename T>
using Compute = typename ComputeType<T>::Type;

}  // namespace partita

#endif  // PARTITA_RUNTIME_BASE_BF16_H_
