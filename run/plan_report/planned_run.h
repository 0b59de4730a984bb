// A run that is planned and not started: its split, and what is predicted of it. `trainer plan` and the library's plans
// are made of one.
#ifndef PARTITA_RUN_PLAN_REPORT_PLANNED_RUN_H_
#define PARTITA_RUN_PLAN_REPORT_PLANNED_RUN_H_

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "graph/ir/program.h"
#include "partitioner/explain/explanation.h"
#include "proto/plan.pb.h"
#include "proto/run.pb.h"
#include "run/plan/objective.h"
#include "run/plan_page/explanation_report.h"
#include "run/plan_report/plan_proto.h"
#include "run/start.h"

namespace partita {

class PlannedRun {
 public:
  // Reads the model, unless it is given, and chooses the split. `spec`: one that CheckSpec accepts for `plan`.
  static absl::StatusOr<PlannedRun> Make(const RunSpec& spec, std::optional<Model> given = std::nullopt);

  const RunSpec& spec() const { return spec_; }
  const RunPlan& plan() const { return plan_; }
  const Objective& objective() const { return objective_; }
  const std::vector<std::string>& repairs() const { return repairs_; }  // why Repair changed the split

  // The split compiled and simulated, once, or another one. Only with a machine, as the calls below without Report.
  absl::StatusOr<const PredictedPlan*> Predicted();
  absl::StatusOr<PredictedPlan> Predict(const Strategy& strategy) const;

  // Replaces a split that does not fit, where --repair asks for it. Prints to `out` what does not fit, and the repairs.
  // kResourceExhausted: it does not fit, and --repair is not given or no repair fits.
  absl::Status Repair(std::ostream& out);

  // What `plan` prints for programs. `out`: for repairs of what does not fit, which is kResourceExhausted.
  absl::StatusOr<Plan> Report(std::ostream& out);
  // The value of --objective.
  absl::StatusOr<PlanObjectiveProto> ObjectiveValue();

  // What --page and --explain show. `plan` and `explanation` must outlive it.
  ExplainedPlan Explained(const PredictedPlan& plan, const Explanation& explanation) const;
  absl::StatusOr<std::string> Page();

  // Why it is this split, a line each: of a search or of repairs.
  std::vector<std::string> Reasons() const;

 private:
  PlannedRun(const RunSpec& spec, Objective objective, RunPlan plan)
      : spec_(spec), objective_(std::move(objective)), plan_(std::move(plan)) {}

  absl::StatusOr<Plan> Compiled();

  RunSpec spec_;
  Objective objective_;
  RunPlan plan_;
  std::vector<std::string> repairs_;
  std::optional<PredictedPlan> predicted_;
  std::optional<Program> program_;  // of the split, if it was not predicted
};

}  // namespace partita

#endif  // PARTITA_RUN_PLAN_REPORT_PLANNED_RUN_H_
