// x times the probability that a normal variable is less than x (Hendrycks and Gimpel 2016): x erfc(-x / sqrt(2)) / 2.
// Gelu is the exact form, GeluTanh the approximation (their section 2) that GPT-2 was trained with.
#ifndef PARTITA_OPS_FUNCTORS_GELU_H_
#define PARTITA_OPS_FUNCTORS_GELU_H_

#include <cmath>
#include <string>

#include "ops/functors/sigmoid.h"
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
    using std::exp;
    const T density = T(0.39894228040143267794) * exp(T(-0.5) * x * x);  // 1 / sqrt(2 pi)
    return dy * (Below(x) + x * density);
  }

 private:
  // By erfc, because 1 + erf has nothing left of the small probabilities.
  template <typename T>
  PARTITA_HOST_DEVICE static T Below(T x) {
    using std::erfc;
    return T(0.5) * erfc(x * T(-0.70710678118654752440));
  }
};

// x / 2 (1 + tanh u) with u = sqrt(2 / pi) (x + 0.044715 x^3), which is x / (1 + e^(-2 u)).
struct GeluTanh {
  static std::string Name() { return "gelu_tanh"; }
  static constexpr bool kGradientReadsResult = false;
  static constexpr int kCost = 30;
  static constexpr double kExamples[][2] = {
      {-6, -8.4396467007622970837e-11}, {-1, -0.15880800939172329522}, {0, 0}, {1, 0.84119199060827670478}};

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x) {
    return x * Sigmoid::Value(Twice(x));
  }

  template <typename T>
  PARTITA_HOST_DEVICE static T Gradient(T dy, T x) {
    using std::exp;
    const T twice = Twice(x), far = exp(Select(twice < T(0), twice, -twice));
    const T bend = far / ((T(1) + far) * (T(1) + far));  // of the share, by twice u
    // Where the share bends no longer, u may have overflowed.
    const T slope = Select(bend == T(0), T(0), x * bend * kRoot2<T> * (T(1) + T(0.134145) * x * x));
    return dy * (Sigmoid::Value(twice) + slope);
  }

 private:
  template <typename T>
  static constexpr T kRoot2 = T(1.59576912160573071176);  // 2 sqrt(2 / pi)

  template <typename T>
  PARTITA_HOST_DEVICE static T Twice(T x) {
    return kRoot2<T> * (x + T(0.044715) * x * x * x);
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_GELU_H_
