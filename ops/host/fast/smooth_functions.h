// Exponentials of floats and what is made of them, as loops over them become vectors: no table, no branch, no
// conversion.
#ifndef PARTITA_OPS_HOST_FAST_SMOOTH_FUNCTIONS_H_
#define PARTITA_OPS_HOST_FAST_SMOOTH_FUNCTIONS_H_

#include <bit>
#include <cstdint>
#include <limits>

#include "ops/host/fast/lanes.h"

namespace partita {

inline constexpr float kToInteger = 12582912;  // 1.5 * 2^23: behind it a sum has no fraction, and ends in its bits

// x = n ln 2 + r with |r| <= ln 2 / 2, where a polynomial has exp(r) within 2 units in the last place (the constants
// are S. Moshier's, Cephes, expf).
struct ReducedExponential {
  float of_rest;   // exp(r)
  uint32_t power;  // n in its last bits
};

PARTITA_INLINE ReducedExponential Reduced(float x) {
  constexpr float kLog2E = 1.44269504f, kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  const float shifted = x * kLog2E + kToInteger;
  const float n = shifted - kToInteger;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  return {(p * (r * r) + r) + 1, std::bit_cast<uint32_t>(shifted)};
}

// 2^n, of the last bits of `n`.
PARTITA_INLINE float PowerOf2(uint32_t n) { return std::bit_cast<float>((n << 23) + 0x3F800000u); }

inline constexpr float kLeastExponent = -87.3f;  // of e: below it there is no normal number

// exp(x) of a number that is at most 0. What would be no normal number is 0; a NaN stays one.
PARTITA_INLINE float ExponentialBelow0(float x) {
  const ReducedExponential e = Reduced(x < kLeastExponent ? kLeastExponent : x);
  return x < kLeastExponent ? 0.0f : e.of_rest * PowerOf2(e.power);
}

// exp(x), infinite where it is no float.
PARTITA_INLINE float Exponential(float x) {
  constexpr float kLargest = 88.7228317f;
  const float limited = x < kLeastExponent ? kLeastExponent : x;
  const ReducedExponential e = Reduced(limited > kLargest ? kLargest : limited);
  // 2^128 is no float, but its root is one.
  const auto n = static_cast<int32_t>(e.power - std::bit_cast<uint32_t>(kToInteger)), half = n >> 1;
  const float y = e.of_rest * PowerOf2(static_cast<uint32_t>(half)) * PowerOf2(static_cast<uint32_t>(n - half));
  const float finite = x < kLeastExponent ? 0.0f : y;
  return x > kLargest ? std::numeric_limits<float>::infinity() : finite;
}

// 1 - erf(x), within 6 units in the last place: t P(t) exp(-x^2) of a number x from 0 on, where t = 1 / (1 + 0.4 x). P
// is the polynomial of degree 10 that has the least relative error, 6e-9. The square is taken of x's first 12 bits,
// which is exact, because the exponential multiplies its error.
PARTITA_INLINE float ErrorComplement(float x) {
  constexpr float kLargest = 10;  // from there on it is no normal number
  const float absolute = x < 0 ? -x : x, z = absolute > kLargest ? kLargest : absolute;
  const float t = 1 / (1 + 0.4f * z);
  float p = -2.92170979e-2f;
  p = p * t + 1.40457138e-1f;
  p = p * t - 2.35550821e-1f;
  p = p * t + 1.37591287e-1f;
  p = p * t - 4.69184555e-2f;
  p = p * t + 8.39278996e-2f;
  p = p * t + 1.19004734e-1f;
  p = p * t + 1.71739951e-1f;
  p = p * t + 2.07613662e-1f;
  p = p * t + 2.25675866e-1f;
  p = p * t + 2.25675836e-1f;
  const auto high = std::bit_cast<float>(std::bit_cast<uint32_t>(z) & 0xFFFFF000u);
  const float rest = (z - high) * (z + high);  // at most 0.1
  const float decay = 1 - rest * (1 - rest * (0.5f - rest * (1.66666667e-1f - rest * 4.16666667e-2f)));
  const float above = t * p * (ExponentialBelow0(-high * high) * decay);
  return x < 0 ? 2 - above : above;
}

// 1 / (1 + exp(-x))
PARTITA_INLINE float Logistic(float x) {
  const float decay = ExponentialBelow0(x < 0 ? x : -x);
  return (x < 0 ? decay : 1.0f) / (1 + decay);
}

// tanh(x) of |x| below kNear0, where quotients of exponentials lose what 1 - exp(-2x) cancels (the constants are
// S. Moshier's, Cephes, tanhf).
inline constexpr float kNear0 = 0.625f;
PARTITA_INLINE float SquashedNear0(float x) {
  const float square = x * x;
  float p = -5.70498872745e-3f;
  p = p * square + 2.06390887954e-2f;
  p = p * square - 5.37397155531e-2f;
  p = p * square + 1.33314422036e-1f;
  p = p * square - 3.33332819422e-1f;
  return p * square * x + x;
}

// tanh(x), within 2 units in the last place.
PARTITA_INLINE float Squashed(float x) {
  const float decay = ExponentialBelow0(x < 0 ? 2 * x : -2 * x), size = (1 - decay) / (1 + decay);
  const float far = x < 0 ? -size : size;
  return x * x < kNear0 * kNear0 ? SquashedNear0(x) : far;
}

}  // namespace partita

#endif  // PARTITA_OPS_HOST_FAST_SMOOTH_FUNCTIONS_H_
