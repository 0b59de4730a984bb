// Stochastic gradient descent, with PyTorch's meaning of momentum, in two ops: momentum wants a slot.
//   g' = clip g + weight_decay w
//   sgd            w' = w - rate g'
//   sgd_momentum   m' = momentum m + g';  w' = w - rate (nesterov ? g' + momentum m' : m')
#ifndef PARTITA_OPS_FUNCTORS_UPDATES_SGD_H_
#define PARTITA_OPS_FUNCTORS_UPDATES_SGD_H_

#include "ops/functors/updates/update.h"

namespace partita {

struct Sgd {
  static constexpr char kName[] = "sgd";
  static constexpr bool kIsOptimizer = false;  // `sgd` is this one or the next
  static constexpr bool kCountsSteps = false;
  static constexpr double kFlops = 4;
  static constexpr std::array<UpdateSlot, 0> kSlots = {};

  double weight_decay = 0;
  static constexpr std::array kAttributes = {UpdateAttribute<Sgd>{"weight_decay", &Sgd::weight_decay, 0}};

  template <typename T>
  struct Step {
    T rate, clip, weight_decay;
    PARTITA_HOST_DEVICE void operator()(T& w, T g, T*) const { w = w - rate * (clip * g + weight_decay * w); }
  };

  template <typename T>
  PARTITA_HOST_DEVICE Step<T> In(const UpdateScalars<T>& scalars) const {
    return {scalars.rate, scalars.clip, static_cast<T>(weight_decay)};
  }
};

struct SgdMomentum {
  static constexpr char kName[] = "sgd_momentum";
  static constexpr bool kIsOptimizer = false;
  static constexpr bool kCountsSteps = false;
  static constexpr double kFlops = 8;
  static constexpr std::array kSlots = {UpdateSlot{"momentum", 0}};

  double momentum = 0, weight_decay = 0, nesterov = 0;
  static constexpr std::array kAttributes = {
      UpdateAttribute<SgdMomentum>{"momentum", &SgdMomentum::momentum, 0, 0, 1},
      UpdateAttribute<SgdMomentum>{"weight_decay", &SgdMomentum::weight_decay, 0},
      UpdateAttribute<SgdMomentum>{"nesterov", &SgdMomentum::nesterov, 0, 0, 2, true}};

  const char* Fault() const {
    if (nesterov == 0 || momentum > 0) return nullptr;
    return "optimizer.nesterov is true, but optimizer.momentum is 0; it needs a momentum above 0";
  }

  template <typename T>
  struct Step {
    T rate, clip, weight_decay, momentum;
    bool nesterov;
    PARTITA_HOST_DEVICE void operator()(T& w, T g, T* m) const {
      const T gradient = clip * g + weight_decay * w;
      *m = momentum * *m + gradient;
      w = w - rate * (nesterov ? gradient + momentum * *m : *m);
    }
  };

  template <typename T>
  PARTITA_HOST_DEVICE Step<T> In(const UpdateScalars<T>& scalars) const {
    return {scalars.rate, scalars.clip, static_cast<T>(weight_decay), static_cast<T>(momentum), nesterov != 0};
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_UPDATES_SGD_H_
