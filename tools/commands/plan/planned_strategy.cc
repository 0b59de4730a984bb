#include "tools/commands/plan/planned_strategy.h"

#include <memory>
#include <optional>

#include "ops/registry.h"
#include "runtime/api/backend/backend.h"
#include "runtime/base/status.h"
#include "tools/commands/input/pixel_forms.h"
#include "tools/commands/input/run_options.h"
#include "tools/program/exit_code.h"

namespace partita {

absl::StatusOr<PredictedPlan> PredictedPlanOf(const Flags& flags, const Model& model, const Machine& machine,
                                              const Strategy& strategy) {
  const int ranks = strategy.mesh.size();
  ASSIGN_OR_RETURN(const MachineSpeed speed, SpeedFor(flags, machine, ranks));
  const Spread spread = flags.Bool("processes") ? Spread::kProcesses : Spread::kThreads;
  const auto backend = Backend::OpenToPlan(ranks, spread, ReadPlanOptions(flags, speed));
  RETURN_IF_ERROR(AsNoDevice(backend.status()));
  const KernelTimes times = KernelTimesOf(machine, ranks);
  PlanBasis basis{model,
                  Ops(),
                  machine.cluster,
                  times,
                  (*backend)->kernels(),
                  ReadProgramOptions(flags, speed),
                  (*backend)->schedule_options()};
  basis.program.count_votes = spread == Spread::kProcesses;
  basis.program.given = AssumedForms(model.graph);
  absl::StatusOr<PredictedPlan> plan = PredictPlan(basis, strategy);
  if (!plan.ok()) return WithContext(flags.arguments()[0], plan.status());
  return plan;
}

}  // namespace partita
