// `trainer verify`: the plan and the same graph on one rank side by side.
#include <nlohmann/json.hpp>

#include "partitioner/choose/ranked_finalists.h"
#include "runtime/api/verify_plan.h"
#include "runtime/train/batch_feed.h"
#include "runtime/train/evaluator.h"
#include "runtime/train/trainer.h"
#include "tools/commands/commands.h"
#include "tools/commands/input/chosen_strategy.h"
#include "tools/commands/input/data/data.h"
#include "tools/commands/input/inputs.h"
#include "tools/commands/input/machine.h"
#include "tools/commands/input/pixel_forms.h"
#include "tools/commands/input/run_options.h"
#include "tools/commands/output/outputs.h"
#include "tools/commands/output/strategy_file.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

constexpr int64_t kSteps = 3;

VerifyPlanOptions ReadOptions(const Flags& flags, const MachineSpeed& speed) {
  VerifyPlanOptions options;
  options.session = ReadExactSessionOptions(flags, speed);
  if (flags.Text("precision") == "f64") {
    options.tolerance = 1e-10;
    options.floor = 1e-3;
  }
  if (flags.Text("precision") == "bf16") {  // split sums are rounded one by one, to 8 bits
    options.tolerance = 1e-1;
    options.floor = 1e-1;
  }
  if (flags.IsSet("tolerance")) options.tolerance = flags.Float("tolerance");
  return options;
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

int64_t StepsOf(const Flags& flags) { return flags.Int("steps") > 0 ? flags.Int("steps") : kSteps; }

absl::StatusOr<std::unique_ptr<PlanVerifier>> Start(const Flags& flags, Model model, const TrainingData& data,
                                                    std::ostream& out) {
  SetScheduleLength(StepsOf(flags), model.learning_rate);
  ASSIGN_OR_RETURN(const std::optional<Machine> machine, ReadMachine(flags, /*processes=*/false));
  ASSIGN_OR_RETURN(const ChosenStrategy chosen, ChosenStrategyOf(flags, model, /*exact=*/true, machine));
  ASSIGN_OR_RETURN(const MachineSpeed speed, SpeedFor(flags, machine, chosen.strategy.mesh.size()));
  ProgramOptions options = ReadProgramOptions(flags, speed);
  options.given = GivenFormsOf(data);
  ASSIGN_OR_RETURN(Program plan, MakeProgramOf(flags, model, chosen.strategy, options));
  ASSIGN_OR_RETURN(Program serial, MakeProgramOf(flags, model, Strategy{}, options));
  if (flags.IsSet("save-strategy"))
    RETURN_IF_ERROR(SaveFoundStrategy(chosen.strategy, chosen.finalists, flags.Text("save-strategy")));
  if (flags.Text("format") == "text" && Searches(flags)) out << FormatFinalists(chosen.finalists) << "\n";
  return PlanVerifier::Start(std::move(serial), std::move(plan), ReadOptions(flags, speed));
}

nlohmann::json ToJson(int64_t step, const StepComparison& comparison) {
  const TensorDifference* const first = comparison.First();
  const TensorDifference* const worst = comparison.Worst();
  return {{"step", step},
          {"serial_loss", comparison.serial_loss},
          {"loss", comparison.loss},
          {"tensors", comparison.tensors.size()},
          {"first", first == nullptr ? "" : ToString(*first)},
          {"worst", worst == nullptr ? "" : ToString(*worst)}};
}

std::string ToText(int64_t step, const StepComparison& comparison) {
  const TensorDifference* const worst = comparison.Worst();
  return fmt::format("step {}: loss {:.6f}, serial {:.6f}; {} tensors compared; worst: {}\n", step, comparison.loss,
                     comparison.serial_loss, comparison.tensors.size(), worst == nullptr ? "none" : ToString(*worst));
}

absl::StatusOr<int> RunVerify(const CommandContext& context) {
  const Flags& flags = context.flags;
  RETURN_IF_ERROR(CheckOutputs(flags, {"save-strategy"}));
  RETURN_IF_ERROR(SetUpLogging(flags));
  RETURN_IF_ERROR(CheckDevice(flags));
  ASSIGN_OR_RETURN(const Model model, ReadModel(flags));
  ASSIGN_OR_RETURN(const TrainingData data, ReadData(flags, model.graph, {.training = Need::kYes}));
  ASSIGN_OR_RETURN(const std::unique_ptr<PlanVerifier> verifier, Start(flags, model, data, context.out));
  const int64_t steps = StepsOf(flags);
  RETURN_IF_ERROR(TryEvaluation(model, data, verifier->plan()));
  ASSIGN_OR_RETURN(Sides sides, Sides::Start(*verifier, data, steps));
  nlohmann::json rows = nlohmann::json::array();
  absl::Status status;
  for (int64_t step = 1; step <= steps && status.ok(); ++step) {
    ASSIGN_OR_RETURN(const StepComparison comparison, sides.Step());
    rows.push_back(ToJson(step, comparison));
    if (flags.Text("format") == "text") context.out << ToText(step, comparison);
    const TensorDifference* const first = comparison.First();
    if (first != nullptr) status = VerificationFailure("step {}: {}", step, ToString(*first));
  }
  const nlohmann::json json = {{"schema_version", 1}, {"equal", status.ok()}, {"steps", rows}};
  if (flags.Text("format") == "json") context.out << json.dump(2) << "\n";
  RETURN_IF_ERROR(status);
  return kExitFinished;
}

}  // namespace

Command VerifyCommand() {
  Command command{"verify", "run a plan and the same graph on one rank side by side", "GRAPH", ModelFlags(), RunVerify};
  command.choices = {{"format", {"text", "json"}}};
  for (const auto& flags : {StrategyFlags(), SearchFlags(), RunFlags(), DataFlags()}) {
    command.flags.insert(command.flags.end(), flags.begin(), flags.end());
  }
  for (const char* flag : {"steps", "tolerance", "format", "delay-seed"}) command.flags.push_back(flag);
  return command;
}

}  // namespace partita
