// RMSProp in the form of PyTorch's torch.optim.RMSprop, in two ops: to be centered wants a slot more. Unlike
// TensorFlow's (rmsprop.h) epsilon stands outside of the root, the mean square begins at 0, and momentum does not see
// the rate.
//   g' = clip g + weight_decay w       v' = alpha v + (1 - alpha) g'^2
//   rmsprop_torch                      r = sqrt(v')
//   rmsprop_torch_centered             a' = alpha a + (1 - alpha) g'     r = sqrt(v' - a'^2)
//   m' = momentum m + g' / (r + epsilon)      w' = w - rate m'
// Where rounding makes v' less than a'^2, r is 0.
#ifndef PARTITA_OPS_FUNCTORS_UPDATES_RMSPROP_TORCH_H_
#define PARTITA_OPS_FUNCTORS_UPDATES_RMSPROP_TORCH_H_

#include <cmath>

#include "ops/functors/updates/update.h"

namespace partita {

template <typename T, bool kCentered>
struct RmsPropTorchStep {
  T rate, clip, weight_decay, alpha, rest, momentum, epsilon;
  PARTITA_HOST_DEVICE void operator()(T& w, T g, T* slots) const {
    const T gradient = clip * g + weight_decay * w;
    slots[0] = alpha * slots[0] + rest * gradient * gradient;
    T square = slots[0];
    if constexpr (kCentered) {
      slots[2] = alpha * slots[2] + rest * gradient;
      square = square - slots[2] * slots[2];
      square = square > T(0) ? square : T(0);
    }
    slots[1] = momentum * slots[1] + gradient / (std::sqrt(square) + epsilon);
    w = w - rate * slots[1];
  }
};

template <bool kCentered>
struct RmsPropTorchForm {
  static constexpr const char* kName = kCentered ? "rmsprop_torch_centered" : "rmsprop_torch";
  static constexpr bool kIsOptimizer = false;  // `rmsprop_torch` is one or the other
  static constexpr bool kCountsSteps = false;
  static constexpr double kFlops = kCentered ? 18 : 13;
  static constexpr auto kSlots = [] {
    constexpr UpdateSlot kSquare{"mean_square", 0}, kMomentum{"momentum", 0}, kMean{"mean", 0};
    if constexpr (kCentered) {
      return std::array{kSquare, kMomentum, kMean};
    } else {
      return std::array{kSquare, kMomentum};
    }
  }();

  double alpha = 0, momentum = 0, epsilon = 0, weight_decay = 0;
  using Attribute = UpdateAttribute<RmsPropTorchForm>;
  static constexpr std::array kAttributes = {Attribute{"alpha", &RmsPropTorchForm::alpha, 0.99, 0, 1},
                                             Attribute{"momentum", &RmsPropTorchForm::momentum, 0, 0, 1},
                                             Attribute{"epsilon", &RmsPropTorchForm::epsilon, 1e-8},
                                             Attribute{"weight_decay", &RmsPropTorchForm::weight_decay, 0}};

  template <typename T>
  using Step = RmsPropTorchStep<T, kCentered>;

  template <typename T>
  PARTITA_HOST_DEVICE Step<T> In(const UpdateScalars<T>& scalars) const {
    Step<T> step{};
    step.rate = scalars.rate;
    step.clip = scalars.clip;
    step.weight_decay = static_cast<T>(weight_decay);
    step.alpha = static_cast<T>(alpha);
    step.rest = static_cast<T>(1 - alpha);
    step.momentum = static_cast<T>(momentum);
    step.epsilon = static_cast<T>(epsilon);
    return step;
  }
};

using RmsPropTorch = RmsPropTorchForm<false>;
using RmsPropTorchCentered = RmsPropTorchForm<true>;

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_UPDATES_RMSPROP_TORCH_H_
