#include "run/plan_report/plan_objective.h"

#include <fmt/format.h>

#include "partitioner/choose/ranked_finalists.h"
#include "runtime/base/status.h"

namespace partita {

absl::StatusOr<PlanObjectiveProto> ObjectiveToProto(const Objective& objective, const PlanFigures& figures) {
  PlanObjectiveProto proto;
  ASSIGN_OR_RETURN(const double value, ValueOf(objective, figures));
  proto.set_name(Name(objective.kind));
  proto.set_value(value);
  proto.set_batch(figures.batch);
  if (objective.kind != ObjectiveKind::kTimeToAccuracy) return proto;
  ASSIGN_OR_RETURN(const StepsToAccuracy steps, StepsAt(*objective.curve, figures.batch));
  proto.set_epochs(steps.epochs);
  proto.set_steps_per_epoch(steps.steps_per_epoch);
  proto.set_curve(objective.curve->name);
  return proto;
}

std::string FormatObjective(const PlanObjectiveProto& objective) {
  std::string text =
      fmt::format("{}: {}", objective.name(), FormatValue(*FindObjective(objective.name()), objective.value()));
  if (objective.epochs() == 0) return text;
  return text + fmt::format(", {:g} epochs of {} steps with --batch={} ({})", objective.epochs(),
                            objective.steps_per_epoch(), objective.batch(), objective.curve());
}

}  // namespace partita
