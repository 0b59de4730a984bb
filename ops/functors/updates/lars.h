// LARS (You, Gitman and Ginsburg 2017, algorithm 1): the rate of each parameter is a multiple of the ratio of its norm
// and that of its gradient.
//   g' = clip g    local = trust |w| / (|g'| + weight_decay |w|)
//   m' = momentum m + rate local (g' + weight_decay w)    w' = w - m'
// `local` is 1 where one of the norms is 0, and where `adapt` is false.
#ifndef PARTITA_OPS_FUNCTORS_UPDATES_LARS_H_
#define PARTITA_OPS_FUNCTORS_UPDATES_LARS_H_

#include "ops/functors/updates/update.h"

namespace partita {

struct Lars {
  static constexpr char kName[] = "lars";
  static constexpr bool kIsOptimizer = true;
  static constexpr bool kCountsSteps = false;
  static constexpr double kFlops = 7;
  static constexpr std::array kSlots = {UpdateSlot{"momentum", 0}};

  double trust = 0, momentum = 0, weight_decay = 0, adapt = 0;
  static constexpr std::array kAttributes = {UpdateAttribute<Lars>{"trust", &Lars::trust, 0.001},
                                             UpdateAttribute<Lars>{"momentum", &Lars::momentum, 0.9, 0, 1},
                                             UpdateAttribute<Lars>{"weight_decay", &Lars::weight_decay, 0},
                                             UpdateAttribute<Lars>{"adapt", &Lars::adapt, 1, 0, 2, true}};

  template <typename T>
  struct Step {
    T rate, clip, weight_decay, momentum, trust;
    bool adapt;
    PARTITA_HOST_DEVICE void SetNorms(T w, T g) {
      const T clipped = clip * g;
      if (adapt && w > T(0) && clipped > T(0)) rate = rate * (trust * w / (clipped + weight_decay * w));
    }
    PARTITA_HOST_DEVICE void operator()(T& w, T g, T* m) const {
      *m = momentum * *m + rate * (clip * g + weight_decay * w);
      w = w - *m;
    }
  };

  template <typename T>
  PARTITA_HOST_DEVICE Step<T> In(const UpdateScalars<T>& scalars) const {
    return {scalars.rate,          scalars.clip, static_cast<T>(weight_decay), static_cast<T>(momentum),
            static_cast<T>(trust), adapt != 0};
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_UPDATES_LARS_H_
