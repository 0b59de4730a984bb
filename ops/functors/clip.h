// Clipping by the global norm.
#ifndef PARTITA_OPS_FUNCTORS_CLIP_H_
#define PARTITA_OPS_FUNCTORS_CLIP_H_

#include <cmath>

#include "runtime/base/philox.h"

namespace partita {

// min(1, max_norm / sqrt(s)); 1 for a zero gradient, NaN for NaN.
template <typename T>
PARTITA_HOST_DEVICE inline T ClipScale(T sum_of_squares, double max_norm) {
  if (sum_of_squares <= T(0)) return T(1);
  const double ratio = max_norm / std::sqrt(static_cast<double>(sum_of_squares));
  return ratio > 1 ? T(1) : static_cast<T>(ratio);
}

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_CLIP_H_
