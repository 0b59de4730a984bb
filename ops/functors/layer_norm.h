// Layer normalization of a row: xhat = (x - mean) inverse, y = gamma xhat + beta.
#ifndef PARTITA_OPS_FUNCTORS_LAYER_NORM_H_
#define PARTITA_OPS_FUNCTORS_LAYER_NORM_H_

#include <cmath>

#include "runtime/base/philox.h"

namespace partita {

// What a gradient has to know of a row.
struct RowStatistics {
  double mean, inverse;
};

// From the sum of the squares of (x - mean) over a row of `count`: 1 / sqrt(variance + epsilon), the variance biased.
PARTITA_HOST_DEVICE inline double InverseDeviation(double squares, double count, double epsilon) {
  return 1 / std::sqrt(squares / count + epsilon);
}

// dx = inverse (g - mean(g) - xhat mean(g xhat)), with g = gamma dy (docs/papers.md 11.10).
template <typename A>
PARTITA_HOST_DEVICE inline A LayerNormGradient(A g, A xhat, A inverse, A mean_g, A mean_g_xhat) {
  return inverse * (g - mean_g - xhat * mean_g_xhat);
}

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_LAYER_NORM_H_
