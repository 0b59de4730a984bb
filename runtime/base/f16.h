// IEEE 754 binary16, as files store it: 5 bits of exponent and 10 of fraction. It becomes an f32 exactly.
#ifndef PARTITA_RUNTIME_BASE_F16_H_
#define PARTITA_RUNTIME_BASE_F16_H_

#include <cmath>
#include <cstdint>
#include <limits>

namespace partita {

class F16 {
 public:
  F16() = default;

  explicit operator float() const {
    constexpr int kFraction = 10, kLargestExponent = 31, kBias = 15;
    const int exponent = bits_ >> kFraction & kLargestExponent, fraction = bits_ & ((1 << kFraction) - 1);
    float size;
    if (exponent == kLargestExponent) {
      size = fraction == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    } else if (exponent == 0) {
      size = std::ldexp(static_cast<float>(fraction), 1 - kBias - kFraction);
    } else {
      size = std::ldexp(static_cast<float>(fraction + (1 << kFraction)), exponent - kBias - kFraction);
    }
    return bits_ >> 15 != 0 ? -size : size;
  }

 private:
  uint16_t bits_ = 0;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_BASE_F16_H_
