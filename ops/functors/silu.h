// x times the logistic function of x (Elfwing et al. 2018), also called swish.
#ifndef PARTITA_OPS_FUNCTORS_SILU_H_
#define PARTITA_OPS_FUNCTORS_SILU_H_

#include <string>

#include "ops/functors/sigmoid.h"
#include "runtime/base/philox.h"

namespace partita {

struct Silu {
  static std::string Name() { return "silu"; }
  static constexpr bool kGradientReadsResult = false;  // two inputs have the same result
  static constexpr int kCost = Sigmoid::kCost;
  static constexpr double kExamples[][2] = {{-2, -0.23840584404423512}, {0, 0}, {3, 2.8577223804672998}};

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x) {
    return x * Sigmoid::Value(x);
  }

  template <typename T>
  PARTITA_HOST_DEVICE static T Gradient(T dy, T x) {
    const T s = Sigmoid::Value(x);
    return dy * (s * (T(1) + x * (T(1) - s)));
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_SILU_H_
