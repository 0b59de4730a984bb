// The squared error of a prediction, and what its gradient multiplies the difference by.
#ifndef PARTITA_OPS_FUNCTORS_SQUARED_ERROR_H_
#define PARTITA_OPS_FUNCTORS_SQUARED_ERROR_H_

#include "runtime/base/philox.h"

namespace partita {

template <typename T>
PARTITA_HOST_DEVICE inline double SquaredError(T prediction, T target, T weight) {
  const double difference = static_cast<double>(prediction) - static_cast<double>(target);
  return static_cast<double>(weight) * difference * difference;
}

// `divisor`: what the mean is over.
template <typename T>
PARTITA_HOST_DEVICE inline T SquaredErrorFactor(T dloss, T weight, double divisor) {
  return dloss * weight * static_cast<T>(2 / divisor);
}

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_SQUARED_ERROR_H_
