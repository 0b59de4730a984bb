#include "partitioner/simulate/step_prediction.h"

#include <algorithm>

#include "graph/timeline/step_times.h"
#include "partitioner/simulate/simulate.h"
#include "runtime/base/status.h"

namespace partita {

absl::StatusOr<StepPrediction> StepPredictionOf(const Program& program, const std::vector<Schedule>& schedules,
                                                const Cluster& cluster, const KernelTimes& times) {
  StepPrediction most;
  std::vector<const Schedule*> by_rank;
  for (const Schedule& schedule : schedules) {
    by_rank.push_back(&schedule);
    most.memory_bytes = std::max(most.memory_bytes, schedule.memory.total);
  }
  ASSIGN_OR_RETURN(const SimulatedStep step, Simulate(program, by_rank, cluster, {.times = times}));
  for (const RankTimeline& timeline : step.timelines) {
    const StepTimes rank = TimesOf(timeline.spans);
    most.step = std::max(most.step, rank.step);
    most.compute = std::max(most.compute, rank.compute);
    most.communication = std::max(most.communication, rank.communication);
  }
  return most;
}

}  // namespace partita
