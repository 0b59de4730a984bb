// RMSProp (Tieleman and Hinton 2012) in TensorFlow's form: epsilon stands inside the root, and the mean square begins
// at 1.
//   g' = clip g + weight_decay w
//   v' = decay v + (1 - decay) g'^2     m' = momentum m + rate g' / sqrt(v' + epsilon)     w' = w - m'
#ifndef PARTITA_OPS_FUNCTORS_UPDATES_RMSPROP_H_
#define PARTITA_OPS_FUNCTORS_UPDATES_RMSPROP_H_

#include <cmath>

#include "ops/functors/updates/update.h"

namespace partita {

struct RmsProp {
  static constexpr char kName[] = "rmsprop";
  static constexpr bool kIsOptimizer = true;
  static constexpr bool kCountsSteps = false;
  static constexpr double kFlops = 13;
  static constexpr std::array kSlots = {UpdateSlot{"mean_square", 1}, UpdateSlot{"momentum", 0}};

  double decay = 0, momentum = 0, epsilon = 0, weight_decay = 0;
  static constexpr std::array kAttributes = {UpdateAttribute<RmsProp>{"decay", &RmsProp::decay, 0.9, 0, 1},
                                             UpdateAttribute<RmsProp>{"momentum", &RmsProp::momentum, 0, 0, 1},
                                             UpdateAttribute<RmsProp>{"epsilon", &RmsProp::epsilon, 1e-10, 0},
                                             UpdateAttribute<RmsProp>{"weight_decay", &RmsProp::weight_decay, 0}};

  template <typename T>
  struct Step {
    T rate, clip, weight_decay, decay, rest, momentum, epsilon;
    PARTITA_HOST_DEVICE void operator()(T& w, T g, T* slots) const {
      T &v = slots[0], &m = slots[1];
      const T gradient = clip * g + weight_decay * w;
      v = decay * v + rest * gradient * gradient;
      m = momentum * m + rate * gradient / std::sqrt(v + epsilon);
      w = w - m;
    }
  };

  template <typename T>
  PARTITA_HOST_DEVICE Step<T> In(const UpdateScalars<T>& scalars) const {
    Step<T> step{};
    step.rate = scalars.rate;
    step.clip = scalars.clip;
    step.weight_decay = static_cast<T>(weight_decay);
    step.decay = static_cast<T>(decay);
    step.rest = static_cast<T>(1 - decay);
    step.momentum = static_cast<T>(momentum);
    step.epsilon = static_cast<T>(epsilon);
    return step;
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_UPDATES_RMSPROP_H_
