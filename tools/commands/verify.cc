// `trainer verify`: the plan and the same graph on one rank side by side.
#include <nlohmann/json.hpp>

#include "graph/ir/node_flops.h"
#include "graph/read/class_weights.h"
#include "importer/import_model.h"
#include "partitioner/choose/ranked_finalists.h"
#include "run/beginning/adapter_states.h"
#include "run/beginning/exported_weights.h"
#include "run/data/class_weights.h"
#include "run/data/data.h"
#include "run/plan/pixel_forms.h"
#include "run/plan/run_options.h"
#include "run/plan_report/strategy_file.h"
#include "run/start.h"
#include "runtime/api/verify_plan.h"
#include "runtime/base/number.h"
#include "runtime/train/batch_feed.h"
#include "runtime/train/evaluator.h"
#include "runtime/train/model_file.h"
#include "runtime/train/trainer.h"
#include "tools/commands/commands.h"
#include "tools/program/exit_code.h"
#include "tools/program/start/nccl_variables.h"

namespace partita {
namespace {

constexpr int64_t kSteps = 3;
// Of a step that the reference computes unless --reference says otherwise: some seconds.
constexpr double kReferenceFlops = 4e9;

VerifyPlanOptions ReadOptions(const RunSpec& spec, const MachineSpeed& speed) {
  VerifyPlanOptions options;
  options.session = ReadExactSessionOptions(spec, speed);
  if (spec.execution().precision() == "f64") {
    options.tolerance = 1e-10;
    options.floor = 1e-3;
  }
  if (spec.execution().precision() == "bf16") {  // split sums are rounded one by one, to 8 bits
    options.tolerance = 1e-1;
    options.floor = 1e-1;
  }
  if (spec.verify().has_tolerance()) options.tolerance = spec.verify().tolerance();
  options.reference_tolerance = options.tolerance / 5;  // of one node alone
  return options;
}

// The third witness: the model in f64, without joined nodes, computed by plain loops on one thread.
struct Reference {
  std::optional<Program> program;  // unset: it is never computed
  bool every_step = false;
  double flops = 0;  // of a step
};

absl::StatusOr<Reference> ReferenceFor(const RunSpec& spec, const Model& model, ProgramOptions options) {
  options.floating = DType::kF64;
  options.mix_precision = false;
  options.fuse = false;
  ASSIGN_OR_RETURN(Program program, MakeProgramOf(spec, model, Strategy{}, options));
  Reference reference;
  const Graph& graph = program.graph(kTrainEntry);
  for (const Node& node : graph.nodes()) reference.flops += FlopsOf(graph, node);
  reference.every_step = spec.verify().has_reference() ? spec.verify().reference() : reference.flops <= kReferenceFlops;
  if (!spec.verify().has_reference() || spec.verify().reference()) reference.program = std::move(program);
  return reference;
}

std::string ToText(const Reference& reference) {
  const double millions = reference.flops / 1e6;
  if (reference.every_step) {
    return fmt::format("reference: computed in f64 by plain loops, {:.0f} MFLOP a step\n", millions);
  }
  if (!reference.program) return "reference: not computed\n";
  return fmt::format(
      "reference: not computed, a step is {:.0f} MFLOP and the limit is {:.0f}; --reference computes it\n", millions,
      kReferenceFlops / 1e6);
}

// Feeds a session as `train` does.
class Feed {
 public:
  static absl::StatusOr<Feed> Start(Session& session, const std::string& use, std::shared_ptr<const BatchSource> source,
                                    int64_t batches) {
    ASSIGN_OR_RETURN(BatchFeed feed, BatchFeed::Create(session, use, std::move(source)));
    ASSIGN_OR_RETURN(std::unique_ptr<Prefetcher> prefetcher, feed.Prefetch(0, batches));
    return Feed(std::move(feed), std::move(prefetcher));
  }

  // Puts the next batch where the ranks' inputs are; `again` the same one.
  absl::Status Stage(bool again = false) {
    if (!again) {
      ASSIGN_OR_RETURN(batch_, prefetcher_->Next());
    }
    feed_.Stage(*batch_);
    return absl::OkStatus();
  }

 private:
  Feed(BatchFeed feed, std::unique_ptr<Prefetcher> prefetcher)
      : feed_(std::move(feed)), prefetcher_(std::move(prefetcher)) {}

  BatchFeed feed_;
  std::unique_ptr<Prefetcher> prefetcher_;
  const Batch* batch_ = nullptr;
};

// Both sides, step by step on the same batches.
class Sides {
 public:
  static absl::StatusOr<Sides> Start(PlanVerifier& verifier, const TrainingData& data, int64_t steps) {
    ASSIGN_OR_RETURN(Feed serial, Feed::Start(verifier.serial(), kTrainEntry, data.training, steps));
    ASSIGN_OR_RETURN(Feed plan, Feed::Start(verifier.plan(), kTrainEntry, data.training, steps));
    return Sides(verifier, std::move(serial), std::move(plan));
  }

  absl::StatusOr<StepComparison> Step() {
    RETURN_IF_ERROR(Stage(/*again=*/false));
    absl::StatusOr<StepComparison> comparison = verifier_->Step();
    if (!absl::IsOutOfRange(comparison.status())) return comparison;
    RETURN_IF_ERROR(Stage(/*again=*/true));
    RETURN_IF_ERROR(verifier_->Diagnose());
    return comparison;
  }

 private:
  Sides(PlanVerifier& verifier, Feed serial, Feed plan)
      : verifier_(&verifier), serial_(std::move(serial)), plan_(std::move(plan)) {}

  absl::Status Stage(bool again) {
    RETURN_IF_ERROR(serial_.Stage(again));
    return plan_.Stage(again);
  }

  PlanVerifier* verifier_;
  Feed serial_, plan_;
};

// What `train` would refuse of the test set after the first epoch is refused here: a batch of it is evaluated.
absl::Status TryEvaluation(const Model& model, const TrainingData& data, Session& plan) {
  if (data.test == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const SetResults results, SetResultsOf(model));
  RETURN_IF_ERROR(CheckLastBatch(*plan.program().Find(kEvaluateEntry), results, *data.test));
  ASSIGN_OR_RETURN(Feed feed, Feed::Start(plan, kEvaluateEntry, data.test, 1));
  RETURN_IF_ERROR(feed.Stage());
  RETURN_IF_ERROR(plan.Begin(kEvaluateEntry, [] { return absl::OkStatus(); }));
  return plan.Finish().status();
}

int64_t StepsOf(const RunSpec& spec) { return spec.train().steps() > 0 ? spec.train().steps() : kSteps; }

struct Started {
  std::unique_ptr<PlanVerifier> verifier;
  Reference reference;
};

absl::StatusOr<Started> Start(const RunSpec& spec, const RunPlan& planned, const TrainingData& data,
                              std::ostream& out) {
  const Model& model = planned.model;
  const ChosenStrategy& chosen = planned.chosen;
  ProgramOptions options = ReadProgramOptions(spec, planned.speed);
  options.given = GivenFormsOf(data);
  ASSIGN_OR_RETURN(Program plan, ProgramOf(spec, planned, {.given = options.given}));
  options.disabled_passes.clear();  // what the plan is compared with has all passes
  ASSIGN_OR_RETURN(Program serial, MakeProgramOf(spec, model, Strategy{}, options));
  if (spec.split().has_save_strategy())
    RETURN_IF_ERROR(SaveFoundStrategy(chosen.strategy, chosen.finalists, spec.split().save_strategy()));
  if (spec.output().format() == "text" && Searches(spec)) out << FormatFinalists(chosen.finalists) << "\n";
  Started started;
  ASSIGN_OR_RETURN(started.reference, ReferenceFor(spec, model, options));
  if (spec.output().format() == "text") out << ToText(started.reference);
  VerifyPlanOptions verify = ReadOptions(spec, planned.speed);
  verify.reference_every_step = started.reference.every_step;
  ASSIGN_OR_RETURN(started.verifier,
                   PlanVerifier::Start(std::move(serial), std::move(plan), verify, started.reference.program));
  for (Session* const side : {&started.verifier->serial(), &started.verifier->plan()}) {
    if (IsExportedProgram(spec.model().graph())) {
      ASSIGN_OR_RETURN(const ExportedWeights weights, ExportedWeights::Open(spec, model, side->program()));
      std::set<std::string> optional = AdapterNames(model);
      optional.merge(ClassWeightStates(model.graph));
      RETURN_IF_ERROR(LoadStates(*side, weights.states(), optional));
    }
    ASSIGN_OR_RETURN(const AdapterStates adapters, ReadAdapterStates(spec, side->program()));
    RETURN_IF_ERROR(LoadAdapterStates(adapters, *side));
  }
  return started;
}

nlohmann::json ToJson(int64_t step, const StepComparison& comparison) {
  const TensorDifference* const first = comparison.First();
  const TensorDifference* const worst = comparison.Worst();
  nlohmann::json results = nlohmann::json::array();
  for (const ReportedResult& result : comparison.results) {
    results.push_back({{"name", result.name}, {"serial", result.serial}, {"plan", result.plan}});
  }
  return {{"step", step},
          {"serial_loss", comparison.serial_loss},
          {"loss", comparison.loss},
          {"results", results},
          {"tensors", comparison.tensors.size()},
          {"first", first == nullptr ? "" : ToString(*first)},
          {"worst", worst == nullptr ? "" : ToString(*worst)}};
}

std::string ToText(int64_t step, const StepComparison& comparison) {
  const TensorDifference* const worst = comparison.Worst();
  std::string results;
  for (const ReportedResult& result : comparison.results) {
    results += fmt::format("{} {:.6f}, serial {:.6f}; ", result.name, result.plan, result.serial);
  }
  return fmt::format("step {}: {}{} compared; worst: {}\n", step, results, Counted(comparison.tensors.size(), "tensor"),
                     worst == nullptr ? "none" : ToString(*worst));
}

absl::StatusOr<int> RunVerify(const ContextOf<RunSpec>& context) {
  const RunSpec& spec = context.spec;
  if (spec.execution().device() == "cuda") ExcludeNvls();
  ASSIGN_OR_RETURN(RunPlan plan, PlanRun(spec, {.exact = true, .processes = false}));
  const Model& model = plan.model;
  SetScheduleLength(StepsOf(spec), plan.model.learning_rate);
  ASSIGN_OR_RETURN(const TrainingData data,
                   ReadData(spec, model.graph, {.training = Need::kYes, .counts_labels = CountsLabels(spec)}));
  RETURN_IF_ERROR(WeighByData(spec, data, plan.model));
  ASSIGN_OR_RETURN(const Started started, Start(spec, plan, data, context.out));
  const int64_t steps = StepsOf(spec);
  RETURN_IF_ERROR(TryEvaluation(model, data, started.verifier->plan()));
  ASSIGN_OR_RETURN(Sides sides, Sides::Start(*started.verifier, data, steps));
  nlohmann::json rows = nlohmann::json::array();
  absl::Status status;
  for (int64_t step = 1; step <= steps && status.ok(); ++step) {
    ASSIGN_OR_RETURN(const StepComparison comparison, sides.Step());
    rows.push_back(ToJson(step, comparison));
    if (spec.output().format() == "text") context.out << ToText(step, comparison);
    const TensorDifference* const first = comparison.First();
    if (first != nullptr) status = VerificationFailure("step {}: {}", step, ToString(*first));
  }
  const nlohmann::json reference = {{"computed", started.reference.every_step}, {"flops", started.reference.flops}};
  const nlohmann::json json = {
      {"schema_version", 1}, {"equal", status.ok()}, {"reference", reference}, {"steps", rows}};
  if (spec.output().format() == "json") context.out << json.dump(2) << "\n";
  RETURN_IF_ERROR(status);
  return kExitFinished;
}

}  // namespace

Command VerifyCommand() {
  Command command{"verify", "compare a plan with the same graph on one rank", "GRAPH", Runs<RunSpec>(RunVerify)};
  command.choices = {{"format", {"text", "json"}}};
  return command;
}

}  // namespace partita
