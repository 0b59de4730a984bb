// exp of numbers that are at most 0, as a loop over floats becomes vectors: no table, no branch, no conversion.
#ifndef PARTITA_OPS_HOST_FAST_EXPONENTIAL_H_
#define PARTITA_OPS_HOST_FAST_EXPONENTIAL_H_

#include <bit>
#include <cstdint>

#include "ops/host/fast/lanes.h"

namespace partita {

// x = n ln 2 + r with |r| <= ln 2 / 2, where a polynomial has exp(r) within 2 units in the last place (the constants
// are S. Moshier's, Cephes, expf). What would be no normal number is 0; a NaN stays one.
PARTITA_INLINE float ExponentialBelow0(float x) {
  constexpr float kSmallest = -87.3f, kLog2E = 1.44269504f, kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  constexpr float kToInteger = 12582912;  // 1.5 * 2^23: behind it a sum has no fraction, and ends in n's bits
  const float limited = x < kSmallest ? kSmallest : x;
  const float shifted = limited * kLog2E + kToInteger;
  const float n = shifted - kToInteger;
  const float r = (limited - n * kLn2High) - n * kLn2Low;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = (p * (r * r) + r) + 1;
  const float power = std::bit_cast<float>((std::bit_cast<uint32_t>(shifted) << 23) + 0x3F800000u);  // 2^n
  return x < kSmallest ? 0.0f : p * power;
}

}  // namespace partita

#endif  // PARTITA_OPS_HOST_FAST_EXPONENTIAL_H_
