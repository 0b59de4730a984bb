#include "run/plan_report/planned_run.h"

#include <memory>
#include <utility>

#include "partitioner/choose/ranked_finalists.h"
#include "run/pictures/memory_limit.h"
#include "run/plan/machine.h"
#include "run/plan/pixel_forms.h"
#include "run/plan/predicted_plan.h"
#include "run/plan/run_options.h"
#include "run/plan_page/plan_page.h"
#include "run/plan_report/fitting_strategy.h"
#include "run/plan_report/gather_report.h"
#include "run/plan_report/plan_finalists.h"
#include "run/plan_report/plan_objective.h"
#include "run/spec/spec_error.h"
#include "runtime/api/backend/backend.h"
#include "runtime/base/status.h"

namespace partita {

absl::StatusOr<PlannedRun> PlannedRun::Make(const RunSpec& spec, std::optional<Model> given) {
  ASSIGN_OR_RETURN(Objective objective, ReadObjective(spec));
  ASSIGN_OR_RETURN(
      RunPlan plan,
      PlanRun(spec, {.runs = false, .trains = false, .processes = spec.plan().processes(), .objective = objective},
              std::move(given)));
  return PlannedRun(spec, std::move(objective), std::move(plan));
}

absl::StatusOr<PredictedPlan> PlannedRun::Predict(const Strategy& strategy) const {
  return PredictedPlanOf(spec_, plan_.model, *plan_.machine, strategy);
}

absl::StatusOr<const PredictedPlan*> PlannedRun::Predicted() {
  if (!predicted_) {
    absl::StatusOr<PredictedPlan> plan = Predict(plan_.chosen.strategy);
    if (!plan.ok()) return WithContext(spec_.model().graph(), plan.status());
    predicted_ = *std::move(plan);
  }
  return &*predicted_;
}

absl::Status PlannedRun::Repair(std::ostream& out) {
  ASSIGN_OR_RETURN(const PredictedPlan* const plan, Predicted());
  ASSIGN_OR_RETURN(FittingStrategy fitting,
                   FittingStrategyOf(spec_, plan_.model, *plan_.machine, plan_.chosen.strategy, *plan, out));
  if (fitting.reasons.empty()) return absl::OkStatus();
  plan_.chosen.strategy = std::move(fitting.strategy);
  ASSIGN_OR_RETURN(plan_.speed, SpeedFor(spec_, plan_.machine, plan_.chosen.strategy.mesh.size()));
  repairs_ = std::move(fitting.reasons);
  plan_.chosen.finalists.clear();
  predicted_.reset();
  return absl::OkStatus();
}

absl::StatusOr<Plan> PlannedRun::Report(std::ostream& out) {
  const bool tells_objective = objective_.kind != ObjectiveKind::kStep;
  if (tells_objective) RETURN_IF_ERROR(Predicted().status());
  absl::StatusOr<Plan> made = Compiled();
  // What would make it fit; why it does not is said by who found out.
  if (absl::IsResourceExhausted(made.status()) && plan_.machine) Repair(out).IgnoreError();
  RETURN_IF_ERROR(made.status());
  RETURN_IF_ERROR(AddGather(spec_, plan_, predicted_ ? predicted_->program : *program_, made->proto));
  if (tells_objective) {
    ASSIGN_OR_RETURN(*made->proto.mutable_objective(), ObjectiveValue());
  }
  AddFinalists(plan_.chosen.finalists, made->proto);
  for (const std::string& why : plan_.chosen.left_out) made->proto.add_left_out(why);
  return made;
}

// Of a program that was predicted already, that one.
absl::StatusOr<Plan> PlannedRun::Compiled() {
  if (!predicted_) {
    ASSIGN_OR_RETURN(program_, ProgramOf(spec_, plan_, {.given = AssumedForms(plan_.model.graph)}));
  }
  const Program& program = predicted_ ? predicted_->program : *program_;
  const std::optional<Machine>& machine = plan_.machine;
  const Spread spread = plan_.processes ? Spread::kProcesses : Spread::kThreads;
  const absl::StatusOr<std::unique_ptr<Backend>> backend =
      Backend::OpenToPlan(program.ranks(), spread, ReadPlanOptions(spec_, plan_.speed));
  RETURN_IF_ERROR(AsNoDevice(backend.status()));
  return MakePlan(plan_.model.name, program, **backend, machine ? &machine->cluster : nullptr,
                  machine ? KernelTimesOf(*machine, program.ranks()) : KernelTimes(), spec_.output().trace());
}

// Of what was predicted.
absl::StatusOr<PlanObjectiveProto> PlannedRun::ObjectiveValue() {
  ASSIGN_OR_RETURN(const PredictedPlan* const plan, Predicted());
  ASSIGN_OR_RETURN(const int64_t batch, BatchFor(objective_, plan_.model.graph));
  const PlanFigures figures{plan->step.seconds(), plan->memory.total, plan->program.ranks(), batch};
  absl::StatusOr<PlanObjectiveProto> told = ObjectiveToProto(objective_, figures);
  if (!told.ok()) return WithContext(spec_.plan().curve(), told.status());
  return told;
}

ExplainedPlan PlannedRun::Explained(const PredictedPlan& plan, const Explanation& explanation) const {
  return {plan_.model.name, plan_.machine->cluster.name, plan,
          explanation,      plan_.chosen.finalists,      MemoryLimitOf(spec_, plan_.machine)};
}

absl::StatusOr<std::string> PlannedRun::Page() {
  ASSIGN_OR_RETURN(const PredictedPlan* const plan, Predicted());
  const Explanation explanation = Explain(*plan);
  return PlanToHtml(Explained(*plan, explanation));
}

std::vector<std::string> PlannedRun::Reasons() const {
  if (!plan_.chosen.finalists.empty()) return ReasonsFor(plan_.chosen.finalists);
  if (!repairs_.empty()) return repairs_;
  return {"It fits as it was given."};
}

}  // namespace partita
