// The logistic function, 1 / (1 + exp(-x)), what it gates itself, and stand-ins of few operations for both.
#ifndef PARTITA_OPS_FUNCTORS_SIGMOID_H_
#define PARTITA_OPS_FUNCTORS_SIGMOID_H_

#include <cmath>
#include <string>

#include "runtime/base/philox.h"

namespace partita {

// The host has this for numbers of its own as well, of which a conditional expression would not become vectors.
template <typename T>
PARTITA_HOST_DEVICE T Select(bool first, T a, T b) {
  return first ? a : b;
}

struct Sigmoid {
  static std::string Name() { return "sigmoid"; }
  static constexpr bool kGradientReadsResult = true;
  static constexpr int kCost = 10;
  static constexpr double kExamples[][2] = {{-2, 0.11920292202211755}, {0, 0.5}, {3, 0.95257412682243325}};

  // Never overflows: only exponentials of numbers below zero are taken.
  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x) {
    using std::exp;
    const T decay = exp(Select(x < T(0), x, -x));
    return Select(x < T(0), decay, T(1)) / (T(1) + decay);
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

// relu6(x + 3) / 6 (Howard et al. 2019). At its bends the derivative is 0, as in PyTorch.
struct HardSigmoid {
  static std::string Name() { return "hard_sigmoid"; }
  static constexpr bool kGradientReadsResult = true;
  static constexpr int kCost = 4;
  static constexpr double kBends[2] = {-7, 7};
  static constexpr double kExamples[][2] = {{-4, 0}, {-3, 0}, {-1.5, 0.25}, {0, 0.5}, {3, 1}, {5, 1}};

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x) {
    return x <= T(-3) ? T(0) : x >= T(3) ? T(1) : (x + T(3)) * T(1.0 / 6);
  }

  template <typename T>
  PARTITA_HOST_DEVICE static T Gradient(T dy, T y) {
    return y <= T(0) || y >= T(1) ? T(0) : dy * T(1.0 / 6);
  }
};

// x hard_sigmoid(x)
struct HardSwish {
  static std::string Name() { return "hard_swish"; }
  static constexpr bool kGradientReadsResult = false;  // two inputs have the same result
  static constexpr int kCost = 5;
  static constexpr double kBends[2] = {-7, 7};
  static constexpr double kExamples[][2] = {{-4, 0}, {-1.5, -0.375}, {0, 0}, {1.5, 1.125}, {3, 3}, {5, 5}};

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x) {
    return x * HardSigmoid::Value(x);
  }

  template <typename T>
  PARTITA_HOST_DEVICE static T Gradient(T dy, T x) {
    return x <= T(-3) ? T(0) : x >= T(3) ? dy : dy * (x * T(1.0 / 3) + T(0.5));
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_SIGMOID_H_
