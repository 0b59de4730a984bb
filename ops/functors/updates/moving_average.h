// A moving average a of a value, as TensorFlow's ExponentialMovingAverage: with t = 1, 2, ... the number of the step
//   d = decay, with warmup min(decay, (1 + t) / (10 + t))     a' = a - (1 - d) (a - value)
// It is an update as those of optimizers: a is in the place of w, the value in that of its gradient.
#ifndef PARTITA_OPS_FUNCTORS_UPDATES_MOVING_AVERAGE_H_
#define PARTITA_OPS_FUNCTORS_UPDATES_MOVING_AVERAGE_H_

#include "ops/functors/updates/update.h"

namespace partita {

struct MovingAverageUpdate {
  static constexpr char kName[] = "moving_average";
  static constexpr bool kIsOptimizer = false;
  static constexpr bool kCountsSteps = true;
  static constexpr bool kIsTrained = false;
  static constexpr double kFlops = 3;
  static constexpr std::array<UpdateSlot, 0> kSlots = {};

  double decay = 0, warmup = 0;
  static constexpr std::array kAttributes = {
      UpdateAttribute<MovingAverageUpdate>{"decay", &MovingAverageUpdate::decay, 0.999, 0, 1},
      UpdateAttribute<MovingAverageUpdate>{"warmup", &MovingAverageUpdate::warmup, 0, 0, 2, true}};

  template <typename T>
  struct Step {
    T rest;  // 1 - d
    PARTITA_HOST_DEVICE void operator()(T& average, T value, T*) const { average = average - rest * (average - value); }
  };

  template <typename T>
  PARTITA_HOST_DEVICE Step<T> In(const UpdateScalars<T>& scalars) const {
    const T rest = static_cast<T>(1 - decay), early = T(9) / (T(10) + scalars.step);  // 1 - (1 + t) / (10 + t)
    return {warmup != 0 && early > rest ? early : rest};
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_UPDATES_MOVING_AVERAGE_H_
