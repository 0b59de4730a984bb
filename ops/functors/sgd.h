// Stochastic gradient descent per element (PyTorch's semantics), and clipping by the global norm.
#ifndef PARTITA_OPS_FUNCTORS_SGD_H_
#define PARTITA_OPS_FUNCTORS_SGD_H_

#include <cmath>

#include "runtime/base/philox.h"

namespace partita {

// What all elements of a parameter share in a step.
template <typename T>
struct SgdStep {
  T rate, clip, weight_decay, momentum;
  bool nesterov;
};

template <typename T>
PARTITA_HOST_DEVICE inline T DecayedGradient(T w, T g, const SgdStep<T>& step) {
  return step.clip * g + step.weight_decay * w;
}

template <typename T>
PARTITA_HOST_DEVICE inline T Sgd(T w, T g, const SgdStep<T>& step) {
  return w - step.rate * DecayedGradient(w, g, step);
}

// Updates weight and momentum in place.
template <typename T>
PARTITA_HOST_DEVICE inline void SgdMomentum(T& w, T& m, T g, const SgdStep<T>& step) {
  const T gradient = DecayedGradient(w, g, step);
  m = step.momentum * m + gradient;
  w = w - step.rate * (step.nesterov ? gradient + step.momentum * m : m);
}

// min(1, max_norm / sqrt(s)); 1 for a zero gradient, NaN for NaN.
template <typename T>
PARTITA_HOST_DEVICE inline T ClipScale(T sum_of_squares, double max_norm) {
  if (sum_of_squares <= T(0)) return T(1);
  const double ratio = max_norm / std::sqrt(static_cast<double>(sum_of_squares));
  return ratio > 1 ? T(1) : static_cast<T>(ratio);
}

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_SGD_H_
