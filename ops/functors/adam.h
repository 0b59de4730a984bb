// Adam (Kingma and Ba 2015, algorithm 1), as PyTorch's torch.optim.Adam: with t = 1, 2, ... the number of the step
//   g' = clip g + weight_decay w
//   m' = beta1 m + (1 - beta1) g'       v' = beta2 v + (1 - beta2) g'^2
//   w' = w - rate / (1 - beta1^t) m' / (sqrt(v' / (1 - beta2^t)) + epsilon)
#ifndef PARTITA_OPS_FUNCTORS_ADAM_H_
#define PARTITA_OPS_FUNCTORS_ADAM_H_

#include <cmath>

#include "ops/functors/update.h"

namespace partita {

struct Adam {
  static constexpr char kName[] = "adam";
  static constexpr bool kIsOptimizer = true;
  static constexpr bool kCountsSteps = true;
  static constexpr double kFlops = 15;
  static constexpr std::array kSlots = {UpdateSlot{"mean", 0}, UpdateSlot{"mean_square", 0}};

  double beta1 = 0, beta2 = 0, epsilon = 0, weight_decay = 0;
  static constexpr std::array kAttributes = {UpdateAttribute<Adam>{"beta1", &Adam::beta1, 0.9, 0, 1},
                                             UpdateAttribute<Adam>{"beta2", &Adam::beta2, 0.999, 0, 1},
                                             UpdateAttribute<Adam>{"epsilon", &Adam::epsilon, 1e-8, 0},
                                             UpdateAttribute<Adam>{"weight_decay", &Adam::weight_decay, 0}};

  // 1 - beta^t by expm1 of these keeps all its digits in every T, however near 1 beta is.
  double log_beta1 = 0, log_beta2 = 0;
  void Derive() {
    log_beta1 = std::log(beta1);
    log_beta2 = std::log(beta2);
  }

  template <typename T>
  struct Step {
    T rate, clip, weight_decay, beta1, beta2, rest1, rest2, root, epsilon;  // rate and root are corrected for t
    PARTITA_HOST_DEVICE void operator()(T& w, T g, T* slots) const {
      T &m = slots[0], &v = slots[1];
      const T gradient = clip * g + weight_decay * w;
      m = beta1 * m + rest1 * gradient;
      v = beta2 * v + rest2 * gradient * gradient;
      w = w - rate * m / (std::sqrt(v) / root + epsilon);
    }
  };

  template <typename T>
  PARTITA_HOST_DEVICE Step<T> In(const UpdateScalars<T>& scalars) const {
    Step<T> step{};
    step.rate = scalars.rate / -std::expm1(scalars.step * static_cast<T>(log_beta1));
    step.root = std::sqrt(-std::expm1(scalars.step * static_cast<T>(log_beta2)));
    step.clip = scalars.clip;
    step.weight_decay = static_cast<T>(weight_decay);
    step.beta1 = static_cast<T>(beta1);
    step.beta2 = static_cast<T>(beta2);
    step.rest1 = static_cast<T>(1 - beta1);
    step.rest2 = static_cast<T>(1 - beta2);
    step.epsilon = static_cast<T>(epsilon);
    return step;
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_ADAM_H_
