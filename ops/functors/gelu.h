// x times the probability that a normal variable is less than x (Hendrycks and Gimpel 2016): x erfc(-x / sqrt(2)) / 2.
// This is the exact form; what approximates it by tanh is another function.
#ifndef PARTITA_OPS_FUNCTORS_GELU_H_
#define PARTITA_OPS_FUNCTORS_GELU_H_

#include <cmath>
#include <string>

#include "runtime/base/philox.h"

namespace partita {

struct Gelu {
  static std::string Name() { return "gelu"; }
  static constexpr bool kGradientReadsResult = false;  // two inputs have the same result
  static constexpr int kCost = 30;
  static constexpr double kExamples[][2] = {
      {-6, -5.9195258702261885e-09}, {-1, -0.15865525393145705}, {0, 0}, {1, 0.84134474606854293}};

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x) {
    return x * Below(x);
  }

  template <typename T>
  PARTITA_HOST_DEVICE static T Gradient(T dy, T x) {
    const T density = T(0.39894228040143267794) * std::exp(T(-0.5) * x * x);  // 1 / sqrt(2 pi)
    return dy * (Below(x) + x * density);
  }

 private:
  // By erfc, because 1 + erf has nothing left of the small probabilities.
  template <typename T>
  PARTITA_HOST_DEVICE static T Below(T x) {
    return T(0.5) * std::erfc(x * T(-0.70710678118654752440));
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_GELU_H_
