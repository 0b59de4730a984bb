// The logistic function and the hyperbolic tangent of floats, as loops over them become vectors.
#ifndef PARTITA_OPS_HOST_RECURRENCE_SQUASHING_H_
#define PARTITA_OPS_HOST_RECURRENCE_SQUASHING_H_

#include "ops/host/fast/exponential.h"
#include "ops/host/fast/lanes.h"

namespace partita {

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

#endif  // PARTITA_OPS_HOST_RECURRENCE_SQUASHING_H_
