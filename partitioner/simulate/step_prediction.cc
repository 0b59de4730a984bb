#include "partitioner/simulate/step_prediction.h"

#include <algorithm>
#include <utility>

#include "runtime/base/status.h"

namespace partita {

StepTimes MostOfAnyRank(const SimulatedStep& step) {
  StepTimes most;
  for (const RankTimeline& timeline : step.timelines) {
    const StepTimes rank = TimesOf(timeline.spans);
    for (double StepTimes::*const time :
         {&StepTimes::step, &StepTimes::compute, &StepTimes::communication, &StepTimes::exposed, &StepTimes::idle}) {
      most.*time = std::max(most.*time, rank.*time);
    }
  }
  return most;
}

absl::StatusOr<StepPrediction> StepPredictionOf(const Program& program, const std::vector<Schedule>& schedules,
                                                const Cluster& cluster, const KernelTimes& times) {
  int64_t memory_bytes = 0;
  std::vector<const Schedule*> by_rank;
  for (const Schedule& schedule : schedules) {
    by_rank.push_back(&schedule);
    memory_bytes = std::max(memory_bytes, schedule.memory.total);
  }
  ASSIGN_OR_RETURN(SimulatedStep step, Simulate(program, by_rank, cluster, {.times = times}));
  const StepTimes most = MostOfAnyRank(step);
  return StepPrediction{most.step, most.compute, most.communication, memory_bytes, std::move(step)};
}

}  // namespace partita
