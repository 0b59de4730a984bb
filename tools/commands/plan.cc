// `trainer plan`: what would run: groups, layouts, kernels, bytes, memory and work, without running anything; why its
// step takes so long, what another strategy does otherwise, what would make it fit.
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "graph/proto_io/proto_io.h"
#include "graph/text/text.h"
#include "graph/value/node_name.h"
#include "partitioner/choose/ranked_finalists.h"
#include "run/plan/chosen_strategy.h"
#include "run/plan/pixel_forms.h"
#include "run/plan_page/explanation_report.h"
#include "run/plan_report/plan_objective.h"
#include "run/plan_report/plan_proto.h"
#include "run/plan_report/planned_run.h"
#include "run/plan_report/strategy_file.h"
#include "run/plan_report/timeline.h"
#include "run/spec/spec_error.h"
#include "run/start.h"
#include "runtime/base/files.h"
#include "runtime/base/status.h"
#include "tools/commands/commands.h"
#include "tools/commands/output/plan_text.h"
#include "tools/commands/plan/difference_report.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

class Planning {
 public:
  Planning(PlannedRun run, std::ostream& out) : run_(std::move(run)), spec_(run_.spec()), out_(out) {}

  absl::StatusOr<int> Run() {
    if (spec_.debug().has_dump_after()) return Dump();
    if (spec_.split().repair()) RETURN_IF_ERROR(run_.Repair(out_));
    if (spec_.split().has_diff()) return Diff();
    if (spec_.plan().explain()) return Explain();
    return Tell();
  }

 private:
  absl::StatusOr<int> Dump() {
    const std::string& wanted = spec_.debug().dump_after();
    std::vector<std::string> passes;
    std::string graphs;
    const auto after_pass = [&](const std::string& pass, const std::string& entry, const Graph& graph) {
      if (std::ranges::find(passes, pass) == passes.end()) passes.push_back(pass);
      if (pass == wanted) graphs += fmt::format("// {} after {}\n{}\n", entry, pass, ToText(graph));
    };
    const ProgramUse use{.given = AssumedForms(run_.plan().model.graph), .after_pass = after_pass};
    RETURN_IF_ERROR(ProgramOf(spec_, run_.plan(), use).status());
    if (graphs.empty()) {
      return FlagError("flag --dump-after is {}, a pass that does not run here; expected one of {}", Quoted(wanted),
                       fmt::join(passes, ", "));
    }
    out_ << graphs;
    return kExitFinished;
  }

  absl::StatusOr<int> Tell() {
    if (spec_.output().has_page()) RETURN_IF_ERROR(run_.Predicted().status());
    ASSIGN_OR_RETURN(const Plan made, run_.Report(out_));
    RETURN_IF_ERROR(SavePage());
    RETURN_IF_ERROR(TellChosen());
    const std::string& format = spec_.output().format();
    const bool full = spec_.plan().full();
    if (format == "json") {
      WritePlanJson(made, out_);
    } else if (format == "dot") {
      out_ << (full ? DrawWholePlan(made.proto) : DrawPlan(made.proto));
    } else if (full) {
      WriteWholePlan(made, out_);
    } else {
      out_ << FormatPlan(made.proto);
    }
    return kExitFinished;
  }

  // What was found or repaired, before what is told of it.
  absl::Status TellChosen() {
    const ChosenStrategy& chosen = run_.plan().chosen;
    if (spec_.split().has_save_strategy()) {
      RETURN_IF_ERROR(SaveStrategyWithReasons(chosen.strategy, run_.Reasons(), spec_.split().save_strategy()));
    }
    const bool text = spec_.output().format() == "text";
    if (text && !chosen.finalists.empty())
      out_ << FormatFinalists(chosen.finalists) << "\n" << FormatWords(chosen.finalists) << "\n";
    if (!text || run_.objective().kind == ObjectiveKind::kStep) return absl::OkStatus();
    for (const std::string& why : chosen.left_out) out_ << why << "\n";
    ASSIGN_OR_RETURN(const PlanObjectiveProto told, run_.ObjectiveValue());
    out_ << FormatObjective(told) << "\n\n";
    return absl::OkStatus();
  }

  absl::StatusOr<int> Explain() {
    RETURN_IF_ERROR(run_.Repair(out_));
    ASSIGN_OR_RETURN(const PredictedPlan* const plan, run_.Predicted());
    RETURN_IF_ERROR(TellChosen());
    if (spec_.output().has_trace()) RETURN_IF_ERROR(SaveTimelines(plan->step.timelines, spec_.output().trace()));
    RETURN_IF_ERROR(SavePage());
    const Explanation explanation = partita::Explain(*plan);
    const ExplainedPlan explained = run_.Explained(*plan, explanation);
    out_ << (spec_.output().format() == "json" ? ExplanationToJson(explained)
                                               : ExplanationToText(explained, spec_.plan().full()));
    return kExitFinished;
  }

  // If --page is given.
  absl::Status SavePage() {
    if (!spec_.output().has_page()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::string page, run_.Page());
    return WriteFileAtomically(spec_.output().page(), page);
  }

  absl::StatusOr<int> Diff() {
    const std::string& path = spec_.split().diff();
    ASSIGN_OR_RETURN(const Strategy other, LoadStrategy(path));
    RETURN_IF_ERROR(WithContext(path, CheckStrategy(other, run_.plan().model.graph)));
    ASSIGN_OR_RETURN(const PredictedPlan* const plan, run_.Predicted());
    const absl::StatusOr<PredictedPlan> with_other = run_.Predict(other);
    if (!with_other.ok()) return WithContext(path, with_other.status());
    RETURN_IF_ERROR(TellChosen());
    const DifferingPlan a{NameOfChosen(), *plan}, b{path, *with_other};
    const PlanDifference difference = DifferenceOf(*plan, *with_other);
    out_ << (spec_.output().format() == "json" ? DifferenceToJson(a, b, difference)
                                               : DifferenceToText(a, b, difference, spec_.plan().full()));
    return kExitFinished;
  }

  std::string NameOfChosen() const {
    if (!run_.repairs().empty()) return "repaired";
    if (Searches(spec_)) return "found by --search=" + spec_.split().search();
    return spec_.split().has_strategy() ? spec_.split().strategy() : "of --dp and --mp";
  }

  PlannedRun run_;
  const RunSpec& spec_;
  std::ostream& out_;
};

absl::StatusOr<int> RunPlanCommand(const ContextOf<RunSpec>& context) {
  ASSIGN_OR_RETURN(PlannedRun run, PlannedRun::Make(context.spec));
  return Planning(std::move(run), context.out).Run();
}

}  // namespace

Command PlanCommand() {
  return {"plan", "show what would run: layouts, bytes, memory, work", "GRAPH", Runs<RunSpec>(RunPlanCommand)};
}

}  // namespace partita
