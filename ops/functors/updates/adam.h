// Adam (Kingma and Ba 2015, algorithm 1), as PyTorch's torch.optim.Adam, and AdamW (Loshchilov and Hutter 2019,
// algorithm 2), whose decay is not part of the gradient, as torch.optim.AdamW: with t = 1, 2, ... the number of the
// step
//   adam    g' = clip g + weight_decay w    d = w
//   adamw   g' = clip g                     d = w - rate weight_decay w
//   m' = beta1 m + (1 - beta1) g'       v' = beta2 v + (1 - beta2) g'^2
//   w' = d - rate / (1 - beta1^t) m' / (sqrt(v' / (1 - beta2^t)) + epsilon)
#ifndef PARTITA_OPS_FUNCTORS_UPDATES_ADAM_H_
#define PARTITA_OPS_FUNCTORS_UPDATES_ADAM_H_

#include <cmath>

#include "ops/functors/updates/update.h"

namespace partita {

template <typename T, bool kDecoupled>
struct AdamStep {
  T rate, clip, decay, beta1, beta2, rest1, rest2, root, epsilon;  // rate and root are corrected for t
  PARTITA_HOST_DEVICE void operator()(T& w, T g, T* slots) const {
    T &m = slots[0], &v = slots[1];
    const T gradient = kDecoupled ? clip * g : clip * g + decay * w;
    if (kDecoupled) w = w - decay * w;
    m = beta1 * m + rest1 * gradient;
    v = beta2 * v + rest2 * gradient * gradient;
    w = w - rate * m / (std::sqrt(v) / root + epsilon);
  }
};

template <bool kDecoupled>
struct AdamForm {
  static constexpr const char* kName = kDecoupled ? "adamw" : "adam";
  static constexpr bool kIsOptimizer = true;
  static constexpr bool kCountsSteps = true;
  static constexpr double kFlops = 15;
  static constexpr std::array kSlots = {UpdateSlot{"mean", 0}, UpdateSlot{"mean_square", 0}};

  double beta1 = 0, beta2 = 0, epsilon = 0, weight_decay = 0;
  using Attribute = UpdateAttribute<AdamForm>;
  static constexpr std::array kAttributes = {
      Attribute{"beta1", &AdamForm::beta1, 0.9, 0, 1}, Attribute{"beta2", &AdamForm::beta2, 0.999, 0, 1},
      Attribute{"epsilon", &AdamForm::epsilon, 1e-8, 0},
      Attribute{"weight_decay", &AdamForm::weight_decay, kDecoupled ? 0.01 : 0.0}};

  // 1 - beta^t by expm1 of these keeps all its digits in every T, however near 1 beta is.
  double log_beta1 = 0, log_beta2 = 0;
  void Derive() {
    log_beta1 = std::log(beta1);
    log_beta2 = std::log(beta2);
  }

  template <typename T>
  using Step = AdamStep<T, kDecoupled>;

  template <typename T>
  PARTITA_HOST_DEVICE Step<T> In(const UpdateScalars<T>& scalars) const {
    Step<T> step{};
    step.rate = scalars.rate / -std::expm1(scalars.step * static_cast<T>(log_beta1));
    step.root = std::sqrt(-std::expm1(scalars.step * static_cast<T>(log_beta2)));
    step.clip = scalars.clip;
    step.decay = kDecoupled ? scalars.rate * static_cast<T>(weight_decay) : static_cast<T>(weight_decay);
    step.beta1 = static_cast<T>(beta1);
    step.beta2 = static_cast<T>(beta2);
    step.rest1 = static_cast<T>(1 - beta1);
    step.rest2 = static_cast<T>(1 - beta2);
    step.epsilon = static_cast<T>(epsilon);
    return step;
  }
};

using Adam = AdamForm<false>;
using AdamW = AdamForm<true>;

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_UPDATES_ADAM_H_
