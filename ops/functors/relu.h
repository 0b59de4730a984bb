// relu and its gradient. A NaN goes through, so that a run that has become non-finite says so.
#ifndef PARTITA_OPS_FUNCTORS_RELU_H_
#define PARTITA_OPS_FUNCTORS_RELU_H_

#include "runtime/base/philox.h"

namespace partita {

template <typename T>
PARTITA_HOST_DEVICE inline T Relu(T x) {
  return x < T(0) ? T(0) : x;
}

// `y` is the result of Relu, or what went into it: both have the same sign.
template <typename T>
PARTITA_HOST_DEVICE inline T ReluGrad(T dy, T y) {
  return y <= T(0) ? T(0) : dy;
}

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_RELU_H_
