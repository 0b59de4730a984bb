// `trainer plan`: what would run: groups, layouts, kernels, bytes, memory and work, without running anything; why its
// step takes so long, what another strategy does otherwise, what would make it fit.
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "graph/proto_io/proto_io.h"
#include "graph/text/text.h"
#include "graph/value/node_name.h"
#include "partitioner/choose/ranked_finalists.h"
#include "run/plan/chosen_strategy.h"
#include "run/plan/machine.h"
#include "run/plan/objective.h"
#include "run/plan/pixel_forms.h"
#include "run/plan/predicted_plan.h"
#include "run/plan/run_options.h"
#include "run/start.h"
#include "runtime/api/backend/backend.h"
#include "runtime/base/files.h"
#include "tools/commands/commands.h"
#include "tools/commands/output/plan_finalists.h"
#include "tools/commands/output/plan_objective.h"
#include "tools/commands/output/plan_proto.h"
#include "tools/commands/output/strategy_file.h"
#include "tools/commands/output/timeline.h"
#include "tools/commands/pictures/memory_limit.h"
#include "tools/commands/plan/difference_report.h"
#include "tools/commands/plan/explanation_report.h"
#include "tools/commands/plan/fitting_strategy.h"
#include "tools/commands/plan/gather_report.h"
#include "tools/commands/plan/plan_page.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

class Planning {
 public:
  explicit Planning(const ContextOf<RunSpec>& context) : spec_(context.spec), out_(context.out) {}

  absl::StatusOr<int> Run() {
    ASSIGN_OR_RETURN(objective_, ReadObjective(spec_));
    ASSIGN_OR_RETURN(
        plan_,
        PlanRun(spec_,
                {.runs = false, .trains = false, .processes = spec_.plan().processes(), .objective = objective_}));
    if (spec_.debug().has_dump_after()) return Dump();
    if (spec_.split().repair()) RETURN_IF_ERROR(Fit());
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
    RETURN_IF_ERROR(
        ProgramOf(spec_, plan_, {.given = AssumedForms(plan_.model.graph), .after_pass = after_pass}).status());
    if (graphs.empty()) {
      return FlagError("flag --dump-after is {}, a pass that does not run here; expected one of {}", Quoted(wanted),
                       fmt::join(passes, ", "));
    }
    out_ << graphs;
    return kExitFinished;
  }

  absl::StatusOr<PredictedPlan> Predict(const Strategy& strategy) const {
    return PredictedPlanOf(spec_, plan_.model, *plan_.machine, strategy);
  }

  // Of the chosen strategy, which is compiled for it once.
  absl::StatusOr<const PredictedPlan*> Predicted() {
    if (!predicted_) {
      absl::StatusOr<PredictedPlan> plan = Predict(plan_.chosen.strategy);
      if (!plan.ok()) return WithContext(spec_.model().graph(), plan.status());
      predicted_ = *std::move(plan);
    }
    return &*predicted_;
  }

  // Puts a strategy that fits in place of one that does not.
  absl::Status Fit() {
    ASSIGN_OR_RETURN(const PredictedPlan* const plan, Predicted());
    ASSIGN_OR_RETURN(FittingStrategy fitting,
                     FittingStrategyOf(spec_, plan_.model, *plan_.machine, plan_.chosen.strategy, *plan, out_));
    if (fitting.reasons.empty()) return absl::OkStatus();
    plan_.chosen.strategy = std::move(fitting.strategy);
    ASSIGN_OR_RETURN(plan_.speed, SpeedFor(spec_, plan_.machine, plan_.chosen.strategy.mesh.size()));
    repairs_ = std::move(fitting.reasons);
    plan_.chosen.finalists.clear();
    predicted_.reset();
    return absl::OkStatus();
  }

  absl::StatusOr<int> Tell() {
    const bool tells_objective = objective_.kind != ObjectiveKind::kStep;
    if (tells_objective || spec_.output().has_page()) RETURN_IF_ERROR(Predicted().status());
    absl::StatusOr<Plan> made = MakePlanOfChosen();
    // What would make it fit; why it does not is said by who found out.
    if (absl::IsResourceExhausted(made.status()) && plan_.machine) Fit().IgnoreError();
    RETURN_IF_ERROR(made.status());
    PlanProto& plan = made->proto;
    RETURN_IF_ERROR(AddGather(spec_, plan_, predicted_ ? predicted_->program : *program_, plan));
    if (tells_objective) {
      ASSIGN_OR_RETURN(*plan.mutable_objective(), ObjectiveOfChosen());
    }
    AddFinalists(plan_.chosen.finalists, plan);
    for (const std::string& why : plan_.chosen.left_out) plan.add_left_out(why);
    if (spec_.output().has_page()) {
      ASSIGN_OR_RETURN(const PredictedPlan* const predicted, Predicted());
      const Explanation explanation = partita::Explain(*predicted);
      RETURN_IF_ERROR(SavePage(Explained(*predicted, explanation)));
    }
    RETURN_IF_ERROR(TellChosen());
    const std::string& format = spec_.output().format();
    const bool full = spec_.plan().full();
    if (format == "json") {
      WritePlanJson(*made, out_);
    } else if (format == "dot") {
      out_ << (full ? DrawWholePlan(plan) : DrawPlan(plan));
    } else if (full) {
      WriteWholePlan(*made, out_);
    } else {
      out_ << FormatPlan(plan);
    }
    return kExitFinished;
  }

  // Of a program that was predicted already, that one.
  absl::StatusOr<Plan> MakePlanOfChosen() {
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

  // What was found or repaired, before what is told of it.
  absl::Status TellChosen() {
    if (spec_.split().has_save_strategy()) RETURN_IF_ERROR(Save(spec_.split().save_strategy()));
    const bool text = spec_.output().format() == "text";
    if (text && !plan_.chosen.finalists.empty())
      out_ << FormatFinalists(plan_.chosen.finalists) << "\n" << FormatWords(plan_.chosen.finalists) << "\n";
    if (!text || objective_.kind == ObjectiveKind::kStep) return absl::OkStatus();
    for (const std::string& why : plan_.chosen.left_out) out_ << why << "\n";
    ASSIGN_OR_RETURN(const PlanObjectiveProto told, ObjectiveOfChosen());
    out_ << FormatObjective(told) << "\n\n";
    return absl::OkStatus();
  }

  // Of what was predicted.
  absl::StatusOr<PlanObjectiveProto> ObjectiveOfChosen() {
    ASSIGN_OR_RETURN(const PredictedPlan* const plan, Predicted());
    ASSIGN_OR_RETURN(const int64_t batch, BatchFor(objective_, plan_.model.graph));
    const PlanFigures figures{plan->step.seconds(), plan->memory.total, plan->program.ranks(), batch};
    absl::StatusOr<PlanObjectiveProto> told = ObjectiveToProto(objective_, figures);
    if (!told.ok()) return WithContext(spec_.plan().curve(), told.status());
    return told;
  }

  absl::Status Save(const std::string& path) const {
    if (!plan_.chosen.finalists.empty()) return SaveFoundStrategy(plan_.chosen.strategy, plan_.chosen.finalists, path);
    const std::vector<std::string> unchanged = {"It fits as it was given."};
    return SaveStrategyWithReasons(plan_.chosen.strategy, repairs_.empty() ? unchanged : repairs_, path);
  }

  absl::StatusOr<int> Explain() {
    RETURN_IF_ERROR(Fit());
    ASSIGN_OR_RETURN(const PredictedPlan* const plan, Predicted());
    RETURN_IF_ERROR(TellChosen());
    if (spec_.output().has_trace()) RETURN_IF_ERROR(SaveTimelines(plan->step.timelines, spec_.output().trace()));
    const Explanation explanation = partita::Explain(*plan);
    const ExplainedPlan explained = Explained(*plan, explanation);
    if (spec_.output().has_page()) RETURN_IF_ERROR(SavePage(explained));
    out_ << (spec_.output().format() == "json" ? ExplanationToJson(explained)
                                               : ExplanationToText(explained, spec_.plan().full()));
    return kExitFinished;
  }

  ExplainedPlan Explained(const PredictedPlan& plan, const Explanation& explanation) const {
    return {plan_.model.name, plan_.machine->cluster.name, plan,
            explanation,      plan_.chosen.finalists,      MemoryLimitOf(spec_, plan_.machine)};
  }

  absl::Status SavePage(const ExplainedPlan& explained) const {
    return WriteFileAtomically(spec_.output().page(), PlanToHtml(explained));
  }

  absl::StatusOr<int> Diff() {
    const std::string& path = spec_.split().diff();
    ASSIGN_OR_RETURN(const Strategy other, LoadStrategy(path));
    RETURN_IF_ERROR(WithContext(path, CheckStrategy(other, plan_.model.graph)));
    ASSIGN_OR_RETURN(const PredictedPlan* const plan, Predicted());
    const absl::StatusOr<PredictedPlan> with_other = Predict(other);
    if (!with_other.ok()) return WithContext(path, with_other.status());
    RETURN_IF_ERROR(TellChosen());
    const DifferingPlan a{NameOfChosen(), *plan}, b{path, *with_other};
    const PlanDifference difference = DifferenceOf(*plan, *with_other);
    out_ << (spec_.output().format() == "json" ? DifferenceToJson(a, b, difference)
                                               : DifferenceToText(a, b, difference, spec_.plan().full()));
    return kExitFinished;
  }

  std::string NameOfChosen() const {
    if (!repairs_.empty()) return "repaired";
    if (Searches(spec_)) return "found by --search=" + spec_.split().search();
    return spec_.split().has_strategy() ? spec_.split().strategy() : "of --dp and --mp";
  }

  const RunSpec& spec_;
  std::ostream& out_;
  Objective objective_;
  RunPlan plan_;
  std::vector<std::string> repairs_;  // why the strategy was changed; empty: it was not
  std::optional<PredictedPlan> predicted_;
  std::optional<Program> program_;  // of the chosen strategy, if it was not predicted
};

absl::StatusOr<int> RunPlanCommand(const ContextOf<RunSpec>& context) { return Planning(context).Run(); }

}  // namespace

Command PlanCommand() {
  return {"plan", "show what would run: layouts, bytes, memory, work", "GRAPH", Runs<RunSpec>(RunPlanCommand)};
}

}  // namespace partita
