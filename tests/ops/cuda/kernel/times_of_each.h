// A timer that asks a function for the time of each plan, in order.
#ifndef PARTITA_TESTS_OPS_CUDA_KERNEL_TIMES_OF_EACH_H_
#define PARTITA_TESTS_OPS_CUDA_KERNEL_TIMES_OF_EACH_H_

#include <functional>
#include <vector>

#include "ops/cuda/plans/plan_timer.h"

namespace partita {

inline PlanTimer TimesOfEach(std::function<absl::StatusOr<double>(const PlanToTime& plan)> time) {
  return [time](const std::vector<PlanToTime>& plans) {
    std::vector<absl::StatusOr<double>> times;
    for (const PlanToTime& plan : plans) times.push_back(time(plan));
    return times;
  };
}

}  // namespace partita

#endif  // PARTITA_TESTS_OPS_CUDA_KERNEL_TIMES_OF_EACH_H_
