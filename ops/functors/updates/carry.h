// The update of a value carried from step to step: a state s becomes the value that the step made for it, s' = value.
// It has the form of an optimizer's update: s takes the place of w, the value that of its gradient. It reads no rate.
#ifndef PARTITA_OPS_FUNCTORS_UPDATES_CARRY_H_
#define PARTITA_OPS_FUNCTORS_UPDATES_CARRY_H_

#include "ops/functors/updates/update.h"

namespace partita {

struct CarryUpdate {
  static constexpr char kName[] = "carry";
  static constexpr bool kIsOptimizer = false;
  static constexpr bool kCountsSteps = false;
  static constexpr bool kReadsRate = false;
  static constexpr bool kIsTrained = false;
  static constexpr double kFlops = 0;
  static constexpr std::array<UpdateSlot, 0> kSlots = {};
  static constexpr std::array<UpdateAttribute<CarryUpdate>, 0> kAttributes = {};

  template <typename T>
  struct Step {
    PARTITA_HOST_DEVICE void operator()(T& state, T value, T*) const { state = value; }
  };

  template <typename T>
  PARTITA_HOST_DEVICE Step<T> In(const UpdateScalars<T>&) const {
    return {};
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_UPDATES_CARRY_H_
