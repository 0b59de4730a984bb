// The logistic function and its gradient. A NaN goes through.
#ifndef PARTITA_OPS_FUNCTORS_SIGMOID_H_
#define PARTITA_OPS_FUNCTORS_SIGMOID_H_

#include <cmath>

#include "runtime/base/philox.h"

namespace partita {

// Never overflows: only exponentials of numbers below zero are taken.
template <typename T>
PARTITA_HOST_DEVICE inline T Sigmoid(T x) {
  const T decay = std::exp(x < T(0) ? x : -x);
  return (x < T(0) ? decay : T(1)) / (T(1) + decay);
}

// `y` is the result of Sigmoid.
template <typename T>
PARTITA_HOST_DEVICE inline T SigmoidGrad(T dy, T y) {
  return dy * y * (T(1) - y);
}

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_SIGMOID_H_
