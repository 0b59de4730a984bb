#include "partitioner/choose/step_seconds.h"

#include <algorithm>

#include "partitioner/cost/step_cost.h"

namespace partita {

// The slowest rank, one launch after the other; waiting for others is not in it.
absl::StatusOr<double> StepSeconds(const Program& program, const std::vector<Schedule>& schedules,
                                   const Cluster& cluster, const KernelTimes& times) {
  double slowest = 0;
  for (const Schedule& schedule : schedules) {
    const StepCost cost = CostOfStep(program, schedule, cluster, times);
    slowest = std::max(slowest, cost.compute + cost.communication);
  }
  return slowest;
}

}  // namespace partita
