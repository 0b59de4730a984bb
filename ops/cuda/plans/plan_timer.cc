#include "ops/cuda/plans/plan_timer.h"

#include <optional>

#include "runtime/base/status.h"

namespace partita {

absl::StatusOr<FastestPlan> FindFastest(const PlanTimer& timer, const std::vector<PlanToTime>& plans) {
  const std::vector<absl::StatusOr<double>> seconds = timer(plans);
  std::optional<FastestPlan> fastest;
  for (size_t i = 0; i < seconds.size(); ++i) {
    if (seconds[i].ok() && (!fastest || *seconds[i] < fastest->seconds)) fastest = FastestPlan{i, *seconds[i]};
  }
  if (!fastest) return Unavailable("none of {} plans could be timed", plans.size());
  return *fastest;
}

}  // namespace partita
