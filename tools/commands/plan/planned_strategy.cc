#include "tools/commands/plan/planned_strategy.h"

#include <memory>
#include <optional>

#include "ops/registry.h"
#include "run/plan/pixel_forms.h"
#include "run/plan/run_options.h"
#include "runtime/api/backend/backend.h"
#include "runtime/base/status.h"
#include "tools/program/exit_code.h"

namespace partita {

ProgramOptions PlannedOptions(const RunSpec& spec, const Model& model, const MachineSpeed& speed) {
  ProgramOptions options = ReadProgramOptions(spec, speed);
  options.count_votes = spec.plan().processes();
  options.given = AssumedForms(model.graph);
  return options;
}

absl::StatusOr<Program> PlannedProgramOf(const RunSpec& spec, const Model& model, const std::optional<Machine>& machine,
                                         const Strategy& strategy) {
  ASSIGN_OR_RETURN(const MachineSpeed speed, SpeedFor(spec, machine, strategy.mesh.size()));
  return MakeProgramOf(spec, model, strategy, PlannedOptions(spec, model, speed));
}

absl::StatusOr<PredictedPlan> PredictedPlanOf(const RunSpec& spec, const Model& model, const Machine& machine,
                                              const Strategy& strategy) {
  const int ranks = strategy.mesh.size();
  ASSIGN_OR_RETURN(const MachineSpeed speed, SpeedFor(spec, machine, ranks));
  const Spread spread = spec.plan().processes() ? Spread::kProcesses : Spread::kThreads;
  const auto backend = Backend::OpenToPlan(ranks, spread, ReadPlanOptions(spec, speed));
  RETURN_IF_ERROR(AsNoDevice(backend.status()));
  const KernelTimes times = KernelTimesOf(machine, ranks);
  const PlanBasis basis{model,
                        Ops(),
                        machine.cluster,
                        times,
                        (*backend)->kernels(),
                        PlannedOptions(spec, model, speed),
                        (*backend)->schedule_options()};
  absl::StatusOr<PredictedPlan> plan = PredictPlan(basis, strategy);
  if (!plan.ok()) return WithContext(spec.model().graph(), plan.status());
  return plan;
}

}  // namespace partita
