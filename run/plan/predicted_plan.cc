#include "run/plan/predicted_plan.h"

#include <memory>
#include <optional>

#include "ops/registry.h"
#include "run/plan/pixel_forms.h"
#include "run/plan/run_options.h"
#include "run/spec/spec_error.h"
#include "runtime/api/backend/backend.h"
#include "runtime/base/status.h"

namespace partita {

absl::StatusOr<PredictedPlan> PredictedPlanOf(const RunSpec& spec, const Model& model, const Machine& machine,
                                              const Strategy& strategy) {
  const int ranks = strategy.mesh.size();
  ASSIGN_OR_RETURN(const MachineSpeed speed, SpeedFor(spec, machine, ranks));
  const auto backend = Backend::OpenToPlan(ranks, SpreadOf(machine), ReadPlanOptions(spec, speed));
  RETURN_IF_ERROR(AsNoDevice(backend.status()));
  const KernelTimes times = KernelTimesOf(machine, ranks);
  PlanBasis basis{model,
                  Ops(),
                  machine.cluster,
                  times,
                  (*backend)->kernels(),
                  ReadProgramOptions(spec, speed),
                  (*backend)->schedule_options()};
  basis.program.count_votes = machine.processes;
  basis.program.given = AssumedForms(model.graph);
  return PredictPlan(basis, strategy);
}

}  // namespace partita
