// max(x, 0)
#ifndef PARTITA_OPS_FUNCTORS_RELU_H_
#define PARTITA_OPS_FUNCTORS_RELU_H_

#include <string>

#include "runtime/base/philox.h"

namespace partita {

struct Relu {
  static std::string Name() { return "relu"; }
  static constexpr bool kGradientReadsResult = true;
  static constexpr int kCost = 1;
  static constexpr double kExamples[][2] = {{-2, 0}, {0, 0}, {0.5, 0.5}};

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x) {
    return x < T(0) ? T(0) : x;
  }

  // `y` may as well be what went in: both have the same sign.
  template <typename T>
  PARTITA_HOST_DEVICE static T Gradient(T dy, T y) {
    return y <= T(0) ? T(0) : dy;
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_RELU_H_
