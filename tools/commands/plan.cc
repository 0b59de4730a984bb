// `trainer plan`: what would run: groups, layouts, kernels, bytes, memory and work, without running anything; why its
// step takes so long, what another strategy does otherwise, what would make it fit.
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "graph/proto_io/proto_io.h"
#include "graph/read/model_entries.h"
#include "graph/text/text.h"
#include "graph/value/node_name.h"
#include "ops/registry.h"
#include "partitioner/choose/ranked_finalists.h"
#include "partitioner/data_model_strategy.h"
#include "run/plan/chosen_strategy.h"
#include "run/plan/inputs.h"
#include "run/plan/machine.h"
#include "run/plan/objective.h"
#include "run/plan/run_options.h"
#include "runtime/api/backend/backend.h"
#include "runtime/base/files.h"
#include "tools/commands/commands.h"
#include "tools/commands/output/outputs.h"
#include "tools/commands/output/plan_finalists.h"
#include "tools/commands/output/plan_objective.h"
#include "tools/commands/output/plan_proto.h"
#include "tools/commands/output/strategy_file.h"
#include "tools/commands/output/timeline.h"
#include "tools/commands/plan/difference_report.h"
#include "tools/commands/plan/explanation_report.h"
#include "tools/commands/plan/fitting_strategy.h"
#include "tools/commands/plan/gather_report.h"
#include "tools/commands/plan/plan_page.h"
#include "tools/commands/plan/planned_strategy.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

// A dump ends before there is a plan to print or to save.
absl::Status CheckDump(const RunSpec& spec) {
  if (!spec.debug().has_dump_after()) return absl::OkStatus();
  const std::pair<const char*, bool> others[] = {{"diff", spec.split().has_diff()},
                                                 {"explain", spec.plan().explain()},
                                                 {"format", spec.output().format() != "text"},
                                                 {"full", spec.plan().full()},
                                                 {"page", spec.plan().has_page()},
                                                 {"repair", spec.split().repair()},
                                                 {"save-strategy", spec.split().has_save_strategy()},
                                                 {"trace", spec.output().has_trace()}};
  for (const auto& [flag, given] : others) {
    if (given) return FlagError("flags --dump-after and --{} are given; a dump is text and nothing else", flag);
  }
  return absl::OkStatus();
}

// What is told of times is told of machines, and one thing at a time.
absl::Status CheckFlags(const RunSpec& spec) {
  RETURN_IF_ERROR(CheckDump(spec));
  const bool machine = spec.machine().has_cluster() || spec.machine().has_profile();
  if (spec.output().has_trace() && !machine) {
    return FlagError("flag --trace: a predicted timeline needs --cluster or --profile: the machines that it is for");
  }
  const std::pair<const char*, bool> of_machines[] = {{"diff", spec.split().has_diff()},
                                                      {"explain", spec.plan().explain()},
                                                      {"page", spec.plan().has_page()},
                                                      {"repair", spec.split().repair()}};
  for (const auto& [flag, given] : of_machines) {
    if (given && !machine) {
      return FlagError("flag --{} needs --cluster or --profile: the machines that are planned for", flag);
    }
  }
  if (spec.split().has_diff() && spec.plan().explain()) {
    return FlagError("flags --diff and --explain are given; one of them is allowed");
  }
  if (spec.split().has_diff() && (spec.output().has_trace() || spec.plan().has_page())) {
    return FlagError("flags --diff and --{} are given; a picture is of one plan",
                     spec.output().has_trace() ? "trace" : "page");
  }
  if (spec.output().format() == "dot" && (spec.split().has_diff() || spec.plan().explain())) {
    return FlagError("flag --format is dot; --explain and --diff have text and json");
  }
  const std::string &solver = spec.split().solver(), &search = spec.split().search();
  if (solver != "own" && search != "placement" && search != "auto") {
    return FlagError("flag --solver is {}, which solves placements; --search is {}, and placement or auto is needed",
                     solver, search);
  }
  return absl::OkStatus();
}

class Planning {
 public:
  explicit Planning(const ContextOf<RunSpec>& context) : spec_(context.spec), out_(context.out) {}

  absl::StatusOr<int> Run() {
    RETURN_IF_ERROR(Read());
    ASSIGN_OR_RETURN(chosen_, Chosen());
    if (chosen_.batch > 0) {
      ASSIGN_OR_RETURN(model_, WithBatch(model_, chosen_.batch, Ops()));
    }
    if (spec_.debug().has_dump_after()) return Dump();
    if (spec_.split().repair()) RETURN_IF_ERROR(Fit());
    if (spec_.split().has_diff()) return Diff();
    if (spec_.plan().explain()) return Explain();
    return Plan();
  }

 private:
  absl::StatusOr<int> Dump() {
    const std::string& wanted = spec_.debug().dump_after();
    ASSIGN_OR_RETURN(const MachineSpeed speed, SpeedFor(spec_, machine_, chosen_.strategy.mesh.size()));
    ProgramOptions options = PlannedOptions(spec_, model_, speed);
    std::vector<std::string> passes;
    std::string graphs;
    options.after_pass = [&](const std::string& pass, const std::string& entry, const Graph& graph) {
      if (std::ranges::find(passes, pass) == passes.end()) passes.push_back(pass);
      if (pass == wanted) graphs += fmt::format("// {} after {}\n{}\n", entry, pass, ToText(graph));
    };
    RETURN_IF_ERROR(MakeProgramOf(spec_, model_, chosen_.strategy, options).status());
    if (graphs.empty()) {
      return FlagError("flag --dump-after is {}, a pass that does not run here; expected one of {}", Quoted(wanted),
                       fmt::join(passes, ", "));
    }
    out_ << graphs;
    return kExitFinished;
  }

  absl::Status Read() {
    ASSIGN_OR_RETURN(objective_, ReadObjective(spec_));
    ASSIGN_OR_RETURN(machine_, ReadMachine(spec_.machine(), spec_.plan().processes()));
    ASSIGN_OR_RETURN(model_, ReadModel(spec_));
    AssumeScheduleLength(model_);
    return absl::OkStatus();
  }

  // Where no plan that a search finds fits, repairs begin with replicas.
  absl::StatusOr<ChosenStrategy> Chosen() const {
    if (!spec_.split().repair()) return ChosenStrategyOf(spec_, model_, /*exact=*/false, machine_, objective_);
    ChosenStrategy chosen;
    if (!Searches(spec_)) {
      ASSIGN_OR_RETURN(chosen.strategy, ReadStrategy(spec_, model_.graph, machine_));
      return chosen;
    }
    absl::StatusOr<ChosenStrategy> found = ChosenStrategyOf(spec_, model_, /*exact=*/false, machine_);
    if (!absl::IsResourceExhausted(found.status())) return found;
    const auto ranks = static_cast<int>(RanksOn(*machine_, spec_));
    ASSIGN_OR_RETURN(chosen.strategy, DataModelStrategy(model_.graph, ranks, 1));
    SetOptions(spec_, chosen.strategy);
    return chosen;
  }

  // Of the chosen strategy, which is compiled for it once.
  absl::StatusOr<const PredictedPlan*> Predicted() {
    if (!predicted_) {
      ASSIGN_OR_RETURN(predicted_, PredictedPlanOf(spec_, model_, *machine_, chosen_.strategy));
    }
    return &*predicted_;
  }

  // Puts a strategy that fits in place of one that does not.
  absl::Status Fit() {
    ASSIGN_OR_RETURN(const PredictedPlan* const plan, Predicted());
    ASSIGN_OR_RETURN(FittingStrategy fitting,
                     FittingStrategyOf(spec_, model_, *machine_, chosen_.strategy, *plan, out_));
    if (fitting.reasons.empty()) return absl::OkStatus();
    chosen_.strategy = std::move(fitting.strategy);
    repairs_ = std::move(fitting.reasons);
    chosen_.finalists.clear();
    predicted_.reset();
    return absl::OkStatus();
  }

  absl::StatusOr<int> Plan() {
    const bool tells_objective = objective_.kind != ObjectiveKind::kStep;
    if (tells_objective || spec_.plan().has_page()) RETURN_IF_ERROR(Predicted().status());
    absl::StatusOr<partita::Plan> made = MakePlanOfChosen();
    // What would make it fit; why it does not is said by who found out.
    if (absl::IsResourceExhausted(made.status()) && machine_) Fit().IgnoreError();
    RETURN_IF_ERROR(made.status());
    PlanProto& plan = made->proto;
    RETURN_IF_ERROR(
        AddGather(spec_, model_, machine_, chosen_.strategy, predicted_ ? predicted_->program : *program_, plan));
    if (tells_objective) {
      ASSIGN_OR_RETURN(*plan.mutable_objective(), ObjectiveOfChosen());
    }
    AddFinalists(chosen_.finalists, plan);
    for (const std::string& why : chosen_.left_out) plan.add_left_out(why);
    if (spec_.plan().has_page()) {
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
  absl::StatusOr<partita::Plan> MakePlanOfChosen() {
    ASSIGN_OR_RETURN(const MachineSpeed speed, SpeedFor(spec_, machine_, chosen_.strategy.mesh.size()));
    const Spread spread = spec_.plan().processes() ? Spread::kProcesses : Spread::kThreads;
    if (!predicted_) {
      ASSIGN_OR_RETURN(program_, PlannedProgramOf(spec_, model_, machine_, chosen_.strategy));
    }
    const Program& program = predicted_ ? predicted_->program : *program_;
    const absl::StatusOr<std::unique_ptr<Backend>> backend =
        Backend::OpenToPlan(program.ranks(), spread, ReadPlanOptions(spec_, speed));
    RETURN_IF_ERROR(AsNoDevice(backend.status()));
    return MakePlan(model_.name, program, **backend, machine_ ? &machine_->cluster : nullptr,
                    machine_ ? KernelTimesOf(*machine_, program.ranks()) : KernelTimes(), spec_.output().trace());
  }

  // What was found or repaired, before what is told of it.
  absl::Status TellChosen() {
    if (spec_.split().has_save_strategy()) RETURN_IF_ERROR(Save(spec_.split().save_strategy()));
    const bool text = spec_.output().format() == "text";
    if (text && !chosen_.finalists.empty())
      out_ << FormatFinalists(chosen_.finalists) << "\n" << FormatWords(chosen_.finalists) << "\n";
    if (!text || objective_.kind == ObjectiveKind::kStep) return absl::OkStatus();
    for (const std::string& why : chosen_.left_out) out_ << why << "\n";
    ASSIGN_OR_RETURN(const PlanObjectiveProto told, ObjectiveOfChosen());
    out_ << FormatObjective(told) << "\n\n";
    return absl::OkStatus();
  }

  // Of what was predicted.
  absl::StatusOr<PlanObjectiveProto> ObjectiveOfChosen() {
    ASSIGN_OR_RETURN(const PredictedPlan* const plan, Predicted());
    ASSIGN_OR_RETURN(const int64_t batch, BatchFor(objective_, model_.graph));
    const PlanFigures figures{plan->step.seconds(), plan->memory.total, plan->program.ranks(), batch};
    absl::StatusOr<PlanObjectiveProto> told = ObjectiveToProto(objective_, figures);
    if (!told.ok()) return WithContext(spec_.plan().curve(), told.status());
    return told;
  }

  absl::Status Save(const std::string& path) const {
    if (!chosen_.finalists.empty()) return SaveFoundStrategy(chosen_.strategy, chosen_.finalists, path);
    const std::vector<std::string> unchanged = {"It fits as it was given."};
    return SaveStrategyWithReasons(chosen_.strategy, repairs_.empty() ? unchanged : repairs_, path);
  }

  absl::StatusOr<int> Explain() {
    RETURN_IF_ERROR(Fit());
    ASSIGN_OR_RETURN(const PredictedPlan* const plan, Predicted());
    RETURN_IF_ERROR(TellChosen());
    if (spec_.output().has_trace()) RETURN_IF_ERROR(SaveTimelines(plan->step.timelines, spec_.output().trace()));
    const Explanation explanation = partita::Explain(*plan);
    const ExplainedPlan explained = Explained(*plan, explanation);
    if (spec_.plan().has_page()) RETURN_IF_ERROR(SavePage(explained));
    out_ << (spec_.output().format() == "json" ? ExplanationToJson(explained)
                                               : ExplanationToText(explained, spec_.plan().full()));
    return kExitFinished;
  }

  ExplainedPlan Explained(const PredictedPlan& plan, const Explanation& explanation) const {
    return {model_.name, machine_->cluster.name, plan, explanation, chosen_.finalists};
  }

  absl::Status SavePage(const ExplainedPlan& explained) const {
    return WriteFileAtomically(spec_.plan().page(), PlanToHtml(explained));
  }

  absl::StatusOr<int> Diff() {
    const std::string& path = spec_.split().diff();
    ASSIGN_OR_RETURN(const Strategy other, LoadStrategy(path));
    RETURN_IF_ERROR(WithContext(path, CheckStrategy(other, model_.graph)));
    ASSIGN_OR_RETURN(const PredictedPlan* const plan, Predicted());
    const absl::StatusOr<PredictedPlan> with_other = PredictedPlanOf(spec_, model_, *machine_, other);
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
  Model model_;
  Objective objective_;
  std::optional<Machine> machine_;
  ChosenStrategy chosen_;
  std::vector<std::string> repairs_;  // why the strategy was changed; empty: it was not
  std::optional<PredictedPlan> predicted_;
  std::optional<Program> program_;  // of the chosen strategy, if it was not predicted
};

absl::StatusOr<int> RunPlan(const ContextOf<RunSpec>& context) {
  const RunSpec& spec = context.spec;
  RETURN_IF_ERROR(CheckAcceleration(spec));
  RETURN_IF_ERROR(CheckPasses(spec));
  RETURN_IF_ERROR(CheckFlags(spec));
  RETURN_IF_ERROR(CheckOutputs(spec));
  return Planning(context).Run();
}

}  // namespace

Command PlanCommand() {
  return {"plan", "show what would run: layouts, bytes, memory, work", "GRAPH", Runs<RunSpec>(RunPlan)};
}

}  // namespace partita
