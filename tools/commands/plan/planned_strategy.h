// A strategy compiled and predicted for the machine that a command's flags name.
#ifndef PARTITA_TOOLS_COMMANDS_PLAN_PLANNED_STRATEGY_H_
#define PARTITA_TOOLS_COMMANDS_PLAN_PLANNED_STRATEGY_H_

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/model.h"
#include "partitioner/predict/predicted_plan.h"
#include "proto/run.pb.h"
#include "run/plan/machine.h"

namespace partita {

// How `plan` compiles a strategy on a machine of this speed.
ProgramOptions PlannedOptions(const RunSpec& spec, const Model& model, const MachineSpeed& speed);

// Compiled so. Errors name the graph's file.
absl::StatusOr<Program> PlannedProgramOf(const RunSpec& spec, const Model& model, const std::optional<Machine>& machine,
                                         const Strategy& strategy);

// As `plan` makes it, with the same arenas and the same step. Errors name the graph's file.
absl::StatusOr<PredictedPlan> PredictedPlanOf(const RunSpec& spec, const Model& model, const Machine& machine,
                                              const Strategy& strategy);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_PLAN_PLANNED_STRATEGY_H_
