#include "tests/partitioner/papers/tables/simulated_step.h"

#include <memory>

#include "ops/registry.h"
#include "partitioner/cost/cluster_speed.h"
#include "partitioner/predict/predicted_plan.h"
#include "partitioner/simulate/step_prediction.h"
#include "runtime/api/backend/backend.h"
#include "runtime/base/status.h"

namespace partita {

absl::StatusOr<StepTimes> SimulatedStepOf(const Model& model, const Strategy& strategy, const Cluster& cluster) {
  const int ranks = strategy.mesh.size();
  ASSIGN_OR_RETURN(const std::unique_ptr<Backend> backend, Backend::OpenToPlan(ranks, Spread::kThreads, {}));
  const KernelTimes none_measured;
  PlanBasis basis{model, Ops(), cluster, none_measured, backend->kernels()};
  basis.program.speed = SpeedOf(cluster, ranks);
  basis.schedule.speed = basis.program.speed;
  ASSIGN_OR_RETURN(const PredictedPlan plan, PredictPlan(basis, strategy));
  return MostOfAnyRank(plan.step);
}

}  // namespace partita
