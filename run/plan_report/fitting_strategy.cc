#include "run/plan_report/fitting_strategy.h"

#include <algorithm>

#include "partitioner/repair/repairs.h"
#include "run/plan/chosen_strategy.h"
#include "run/plan/predicted_plan.h"
#include "run/plan_report/repair_report.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// The rank with the largest arena in a training step.
int FullestRank(const PredictedPlan& plan) {
  const std::vector<const Schedule*> schedules = plan.train.ByRank();
  const auto fullest = std::ranges::max_element(schedules, {}, [](const Schedule* s) { return s->memory.total; });
  return static_cast<int>(fullest - schedules.begin());
}

Prediction PredictionOf(const PredictedPlan& plan) { return {plan.step.seconds(), plan.memory.total, plan.fits}; }

void Tell(const RunSpec& spec, const Prediction& broken, const std::vector<Repair>& repairs, std::ostream& out) {
  const std::string& format = spec.output().format();
  const bool any = !repairs.empty() && repairs[0].status.ok(), repair = spec.split().repair();
  if (format == "text") {
    out << RepairsToText(broken, repairs) << (any && !repair ? "--repair takes the first\n" : "") << "\n";
  }
  if (format == "json" && !(any && repair)) out << RepairsToJson(broken, repairs);  // else the plan is what is printed
}

}  // namespace

absl::StatusOr<FittingStrategy> FittingStrategyOf(const RunSpec& spec, const Model& model, const Machine& machine,
                                                  const Strategy& strategy, const PredictedPlan& plan,
                                                  std::ostream& out) {
  if (plan.fits.ok()) return FittingStrategy{strategy, {}};
  const Prediction broken = PredictionOf(plan);
  const auto predict = [&](const Strategy& changed) -> absl::StatusOr<Prediction> {
    const absl::StatusOr<PredictedPlan> other = PredictedPlanOf(spec, model, machine, changed);
    if (!other.ok()) return WithContext(spec.model().graph(), other.status());
    return PredictionOf(*other);
  };
  const int fullest = FullestRank(plan);
  const std::vector<Repair> repairs =
      FindRepairs({model.graph, plan.program, strategy, static_cast<int>(RanksOn(machine, spec)), predict,
                   plan.train.ByRank()[static_cast<size_t>(fullest)], &plan.step.Of(fullest)});
  Tell(spec, broken, repairs, out);
  const bool any = !repairs.empty() && repairs[0].status.ok();
  if (any && spec.split().repair()) return FittingStrategy{repairs[0].strategy, ReasonsFor(broken, repairs[0])};
  const char* const more = any ? "" : "; none of the repairs fits";
  return ResourceExhausted("{}: {}{}", spec.model().graph(), std::string(plan.fits.message()), more);
}

}  // namespace partita
