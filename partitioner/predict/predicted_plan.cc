#include "partitioner/predict/predicted_plan.h"

#include <algorithm>
#include <utility>

#include "partitioner/cost/check_fits.h"
#include "partitioner/simulate/step_prediction.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// Within the limit, if that is possible; else as small as it gets.
absl::StatusOr<FoldedSchedules> SchedulesOf(const PlanBasis& basis, const Program& program, const Graph& entry) {
  absl::StatusOr<FoldedSchedules> schedules = MakeFoldedSchedules(program, entry, basis.kernels, basis.schedule);
  if (basis.schedule.memory_limit == 0 || !absl::IsResourceExhausted(schedules.status())) return schedules;
  ScheduleOptions unlimited = basis.schedule;
  unlimited.memory_limit = 0;
  unlimited.device_bytes = basis.schedule.memory_limit;  // nothing lingers in memory where that is short
  return MakeFoldedSchedules(program, entry, basis.kernels, unlimited);
}

// By rank the schedule with the larger arena.
std::vector<const Schedule*> Larger(std::vector<const Schedule*> schedules,
                                    const std::vector<const Schedule*>& others) {
  for (size_t rank = 0; rank < schedules.size(); ++rank) {
    if (others[rank]->memory.total > schedules[rank]->memory.total) schedules[rank] = others[rank];
  }
  return schedules;
}

absl::Status CheckLimit(int64_t limit, const MemoryUse& use) {
  if (limit == 0 || use.total <= limit) return absl::OkStatus();
  return ResourceExhausted("a rank needs {} bytes, and {} are allowed", use.total, limit);
}

}  // namespace

absl::StatusOr<PredictedPlan> PredictPlan(const PlanBasis& basis, const Strategy& strategy) {
  PredictedPlan plan;
  ProgramOptions options = basis.program;
  options.entries = false;  // no other size takes longer, and hardly one more memory
  ASSIGN_OR_RETURN(plan.program, MakeProgram(basis.model, strategy, basis.registry, options));
  ASSIGN_OR_RETURN(plan.train, SchedulesOf(basis, plan.program, plan.program.graph(kTrainEntry)));
  ASSIGN_OR_RETURN(const FoldedSchedules evaluate,
                   SchedulesOf(basis, plan.program, plan.program.graph(kEvaluateEntry)));
  const std::vector<const Schedule*> train = plan.train.ByRank();
  ASSIGN_OR_RETURN(plan.step, Simulate(plan.program, train, basis.cluster, {.times = basis.times}));
  plan.compute_seconds = MostOfAnyRank(plan.step).compute;
  const std::vector<const Schedule*> larger = Larger(train, evaluate.ByRank());
  plan.memory = (*std::ranges::max_element(larger, {}, [](const Schedule* s) { return s->memory.total; }))->memory;
  plan.fits = CheckFits(larger, basis.cluster);
  if (plan.fits.ok()) plan.fits = CheckLimit(basis.schedule.memory_limit, plan.memory);
  return plan;
}

}  // namespace partita
