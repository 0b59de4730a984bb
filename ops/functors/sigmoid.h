// The logistic function, 1 / (1 + exp(-x)), and what it gates itself.
#ifndef PARTITA_OPS_FUNCTORS_SIGMOID_H_
#define PARTITA_OPS_FUNCTORS_SIGMOID_H_

#include <cmath>
#include <string>

#include "runtime/base/philox.h"

namespace partita {

struct Sigmoid {
  static std::string Name() { return "sigmoid"; }
  static constexpr bool kGradientReadsResult = true;
  static constexpr int kCost = 10;
  static constexpr double kExamples[][2] = {{-2, 0.11920292202211755}, {0, 0.5}, {3, 0.95257412682243325}};

  // Never overflows: only exponentials of numbers below zero are taken.
  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x) {
    const T decay = std::exp(x < T(0) ? x : -x);
    return (x < T(0) ? decay : T(1)) / (T(1) + decay);
  }

  template <typename T>
  PARTITA_HOST_DEVICE static T Gradient(T dy, T y) {
    return dy * y * (T(1) - y);
  }
};

// x times the logistic function of x (Elfwing et al. 2018), also called swish.
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

#endif  // PARTITA_OPS_FUNCTORS_SIGMOID_H_
