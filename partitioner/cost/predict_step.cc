#include "partitioner/cost/predict_step.h"

#include <algorithm>

#include "partitioner/cost/step_cost.h"

namespace partita {

StepPrediction PredictStep(const Program& program, const std::vector<Schedule>& schedules, const Cluster& cluster,
                           const KernelTimes& times) {
  StepPrediction most;
  for (const Schedule& schedule : schedules) {
    const StepCost cost = CostOfStep(program, schedule, cluster, times);
    most.step = std::max(most.step, cost.compute + cost.communication);
    most.compute = std::max(most.compute, cost.compute);
    most.communication = std::max(most.communication, cost.communication);
    most.memory_bytes = std::max(most.memory_bytes, schedule.memory.total);
  }
  return most;
}

}  // namespace partita
