// What a session would be, without starting it.
#include <algorithm>
#include <memory>
#include <mutex>
#include <ostream>
#include <sstream>
#include <utility>

#include "partita/convert.h"
#include "partita/model_parts.h"
#include "partita/partita.h"
#include "partita/spec_of.h"
#include "proto/plan.pb.h"
#include "run/plan_report/plan_proto.h"
#include "run/plan_report/planned_run.h"
#include "run/plan_report/strategy_file.h"
#include "run/spec/spec_error.h"
#include "runtime/base/status.h"
#include "runtime/train/graph_fields.h"

namespace partita::api {
namespace {

// The trainer prints repairs of what does not fit; a caller of the library gets the sentence.
std::ostream& Nowhere() {
  thread_local std::ostream nowhere(nullptr);
  return nowhere;
}

std::string SplitOf(const RunPlan& plan) {
  if (!plan.chosen.finalists.empty()) return plan.chosen.finalists[0].candidate.plan;
  return plan.chosen.strategy.mesh.ToString();
}

PlanSummary SummaryOf(const PlannedRun& run, const PlanProto& report) {
  PlanSummary summary;
  summary.split = SplitOf(run.plan());
  summary.cluster = report.cluster();
  summary.ranks = report.ranks_size();
  summary.batch = BatchRows(run.plan().model.graph).value_or(0);
  summary.memory_limit_bytes = run.spec().execution().memory();
  for (const PlanGroupProto& group : report.groups()) summary.wire_bytes += group.wire_bytes();
  for (const PlanRankProto& rank : report.ranks()) {
    summary.memory_bytes = std::max<int64_t>(summary.memory_bytes, rank.memory().total_bytes());
    if (rank.room().used_bytes() > summary.device_used_bytes) {
      summary.device_used_bytes = rank.room().used_bytes();
      summary.device_memory_bytes = rank.room().memory_bytes();
    }
    const PlanTimeProto& time = rank.time();
    if (time.step_seconds() <= summary.step_seconds) continue;
    summary.step_seconds = time.step_seconds();
    summary.compute_seconds = time.compute_seconds();
    summary.exposed_seconds = time.exposed_seconds();
    summary.idle_seconds = time.idle_seconds();
  }
  return summary;
}

}  // namespace

struct Plan::Parts {
  Parts(PlannedRun planned, partita::Plan made, PlanSummary short_form)
      : run(std::move(planned)), report(std::move(made)), summary(std::move(short_form)) {}

  PlannedRun run;
  partita::Plan report;
  PlanSummary summary;
  std::mutex predicting;  // of the page, for which the run is predicted once

  static absl::StatusOr<std::shared_ptr<Parts>> Make(const absl::StatusOr<RunSpec>& spec, const partita::Model& model) {
    RETURN_IF_ERROR(spec.status());
    ASSIGN_OR_RETURN(PlannedRun run, PlannedRun::Make(*spec, model));
    if (spec->split().repair()) RETURN_IF_ERROR(run.Repair(Nowhere()));
    ASSIGN_OR_RETURN(partita::Plan report, run.Report(Nowhere()));
    PlanSummary summary = SummaryOf(run, report.proto);
    return std::make_shared<Parts>(std::move(run), std::move(report), std::move(summary));
  }
  static Result<Plan> Planned(const absl::StatusOr<RunSpec>& spec, const partita::Model& model) {
    absl::StatusOr<std::shared_ptr<Parts>> parts = Make(spec, model);
    if (!parts.ok()) return ErrorOf(parts.status());
    return Plan(*std::move(parts));
  }

  absl::StatusOr<std::string> Page() {
    if (!run.plan().machine) {
      return FlagError("a page needs --cluster or --profile: the machine that is planned for");
    }
    const std::lock_guard lock(predicting);
    return run.Page();
  }
};

Result<Plan> Plan::Make(const Model& model, const Split& split, const Options& options) {
  return Guarded<Result<Plan>>([&] {
    return Parts::Planned(SpecOf(model.parts_->source, split, options, SpecUse::kPlan), model.parts_->model);
  });
}

Result<Plan> Plan::Make(const Model& model, const Run& run) {
  return Guarded<Result<Plan>>(
      [&] { return Parts::Planned(SpecOf(model.parts_->source, run, SpecUse::kPlan), model.parts_->model); });
}

const PlanSummary& Plan::summary() const { return parts_->summary; }

Result<std::string> Plan::Json() const {
  return Guarded<Result<std::string>>([&]() -> Result<std::string> {
    std::ostringstream json;
    WritePlanJson(parts_->report, json);
    return json.str();
  });
}

Result<std::string> Plan::Page() const {
  return Guarded<Result<std::string>>([&]() -> Result<std::string> {
    absl::StatusOr<std::string> page = parts_->Page();
    if (!page.ok()) return ErrorOf(page.status());
    return *std::move(page);
  });
}

Result<std::string> Plan::StrategyText() const {
  return Guarded<Result<std::string>>([&]() -> Result<std::string> {
    return PrintStrategyWithReasons(parts_->run.plan().chosen.strategy, parts_->run.Reasons());
  });
}

}  // namespace partita::api
