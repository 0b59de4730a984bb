// The hyperbolic tangent.
#ifndef PARTITA_OPS_FUNCTORS_TANH_H_
#define PARTITA_OPS_FUNCTORS_TANH_H_

#include <cmath>
#include <string>

#include "runtime/base/philox.h"

namespace partita {

struct Tanh {
  static std::string Name() { return "tanh"; }
  static constexpr bool kGradientReadsResult = true;
  static constexpr int kCost = 20;
  static constexpr double kExamples[][2] = {
      {-2, -0.9640275800758169}, {1e-4, 9.9999999666666668e-05}, {0.5, 0.46211715726000974}};

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x) {
    using std::tanh;
    return tanh(x);
  }

  // 1 - y^2, in the form that loses least where y is near 1 or -1.
  template <typename T>
  PARTITA_HOST_DEVICE static T Gradient(T dy, T y) {
    return dy * ((T(1) - y) * (T(1) + y));
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_TANH_H_
