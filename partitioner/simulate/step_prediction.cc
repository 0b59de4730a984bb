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

absl::StatusOr<StepPrediction> StepPredictionOf(const Program& program, std::span<const Schedule* const> schedules,
                                                const Cluster& cluster, const KernelTimes& times) {
  int64_t memory_bytes = 0;
  for (const Schedule* const schedule : schedules) memory_bytes = std::max(memory_bytes, schedule->memory.total);
  ASSIGN_OR_RETURN(SimulatedStep step, Simulate(program, schedules, cluster, {.times = times}));
  const StepTimes most = MostOfAnyRank(step);
  return StepPrediction{most.step, most.compute, most.communication, memory_bytes, std::move(step)};
}

}  // namespace partita
