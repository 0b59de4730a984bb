// LAMB (You et al. 2020, algorithm 2), in two ops with norms between them. With bias correction, as the paper writes
// it; the paper's phi is the identity, or bounded above by `weight_norm_limit` (0: not bounded). With t = 1, 2, ... the
// number of the step
//   lamb_direction   g' = clip g    m' = beta1 m + (1 - beta1) g'    v' = beta2 v + (1 - beta2) g'^2
//                    d = m' / (1 - beta1^t) / (sqrt(v' / (1 - beta2^t)) + epsilon) + weight_decay w
//   lamb             w' = w - rate min(|w|, weight_norm_limit) / |d| d
// The ratio of the norms is 1 where one of them is 0, and where `adapt` is false.
#ifndef PARTITA_OPS_FUNCTORS_UPDATES_LAMB_H_
#define PARTITA_OPS_FUNCTORS_UPDATES_LAMB_H_

#include <cmath>

#include "ops/functors/updates/update.h"

namespace partita {

struct LambDirection {
  static constexpr char kName[] = "lamb_direction";
  static constexpr bool kIsOptimizer = false;
  static constexpr bool kIsDirection = true;
  static constexpr bool kCountsSteps = true;
  static constexpr bool kReadsRate = false;
  static constexpr double kFlops = 15;
  static constexpr std::array kSlots = {UpdateSlot{"mean", 0}, UpdateSlot{"mean_square", 0}};

  double beta1 = 0, beta2 = 0, epsilon = 0, weight_decay = 0;
  static constexpr std::array kAttributes = {
      UpdateAttribute<LambDirection>{"beta1", &LambDirection::beta1, 0.9, 0, 1},
      UpdateAttribute<LambDirection>{"beta2", &LambDirection::beta2, 0.999, 0, 1},
      UpdateAttribute<LambDirection>{"epsilon", &LambDirection::epsilon, 1e-6},
      UpdateAttribute<LambDirection>{"weight_decay", &LambDirection::weight_decay, 0.01}};

  // 1 - beta^t by expm1 of these keeps all its digits in every T, however near 1 beta is.
  double log_beta1 = 0, log_beta2 = 0;
  void Derive() {
    log_beta1 = std::log(beta1);
    log_beta2 = std::log(beta2);
  }

  template <typename T>
  struct Step {
    T clip, decay, beta1, beta2, rest1, rest2, correction, root, epsilon;
    PARTITA_HOST_DEVICE void operator()(T& w, T g, T* slots) const {
      T &m = slots[0], &v = slots[1];
      const T gradient = clip * g;
      m = beta1 * m + rest1 * gradient;
      v = beta2 * v + rest2 * gradient * gradient;
      w = m / correction / (std::sqrt(v) / root + epsilon) + decay * w;
    }
  };

  template <typename T>
  PARTITA_HOST_DEVICE Step<T> In(const UpdateScalars<T>& scalars) const {
    Step<T> step{};
    step.clip = scalars.clip;
    step.decay = static_cast<T>(weight_decay);
    step.beta1 = static_cast<T>(beta1);
    step.beta2 = static_cast<T>(beta2);
    step.rest1 = static_cast<T>(1 - beta1);
    step.rest2 = static_cast<T>(1 - beta2);
    step.correction = -std::expm1(scalars.step * static_cast<T>(log_beta1));
    step.root = std::sqrt(-std::expm1(scalars.step * static_cast<T>(log_beta2)));
    step.epsilon = static_cast<T>(epsilon);
    return step;
  }
};

struct Lamb {
  using Direction = LambDirection;
  static constexpr char kName[] = "lamb";
  static constexpr bool kIsOptimizer = true;
  static constexpr bool kCountsSteps = false;
  static constexpr double kFlops = 2;
  static constexpr std::array<UpdateSlot, 0> kSlots = {};

  double weight_norm_limit = 0, adapt = 0;
  static constexpr std::array kAttributes = {UpdateAttribute<Lamb>{"weight_norm_limit", &Lamb::weight_norm_limit, 0},
                                             UpdateAttribute<Lamb>{"adapt", &Lamb::adapt, 1, 0, 2, true}};

  template <typename T>
  struct Step {
    T rate, limit;
    bool adapt;
    PARTITA_HOST_DEVICE void SetNorms(T w, T d) {
      if (!adapt || !(w > T(0) && d > T(0))) return;
      rate = rate * ((limit > T(0) && w > limit ? limit : w) / d);
    }
    PARTITA_HOST_DEVICE void operator()(T& w, T d, T*) const { w = w - rate * d; }
  };

  template <typename T>
  PARTITA_HOST_DEVICE Step<T> In(const UpdateScalars<T>& scalars) const {
    return {scalars.rate, static_cast<T>(weight_norm_limit), adapt != 0};
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_UPDATES_LAMB_H_
