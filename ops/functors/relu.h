// max(x, 0), and the same with an end at 6.
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

// min(max(x, 0), 6) (Krizhevsky 2010). At 0 and at 6 the derivative is 0, as in PyTorch.
struct Relu6 {
  static std::string Name() { return "relu6"; }
  static constexpr bool kGradientReadsResult = true;
  static constexpr int kCost = 2;
  static constexpr double kBends[2] = {-7, 7};
  static constexpr double kExamples[][2] = {{-2, 0}, {0, 0}, {0.5, 0.5}, {6, 6}, {7, 6}};

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x) {
    return x < T(0) ? T(0) : x > T(6) ? T(6) : x;
  }

  template <typename T>
  PARTITA_HOST_DEVICE static T Gradient(T dy, T y) {
    return y <= T(0) || y >= T(6) ? T(0) : dy;
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_RELU_H_
