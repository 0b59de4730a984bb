// `trainer verify`: the plan and the same graph on one rank side by side.
#include <nlohmann/json.hpp>

#include "partitioner/choose/ranked_finalists.h"
#include "runtime/api/verify_plan.h"
#include "runtime/train/batch_feed.h"
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

// Writes global batch `number` to both sides.
absl::Status StageBatch(const BatchSource& source, int64_t number, PlanVerifier& verifier) {
  ASSIGN_OR_RETURN(const std::vector<HostTensor> fields, WholeBatch(source, number));
  const EntryPoint& entry = *verifier.serial().program().Find(kTrainEntry);
  for (size_t f = 0; f < fields.size(); ++f) {
    const EntryInput* const input = entry.FindInput(source.fields()[f].name);
    if (input == nullptr) continue;
    HostTensor field = fields[f];
    field.shape = entry.graph.type(input->values[0]).shape;
    RETURN_IF_ERROR(verifier.StageInput(input->field, field));
  }
  return absl::OkStatus();
}

// One step of both sides on global batch `number`.
absl::StatusOr<StepComparison> Step(const BatchSource& source, int64_t number, PlanVerifier& verifier) {
  RETURN_IF_ERROR(StageBatch(source, number, verifier));
  absl::StatusOr<StepComparison> comparison = verifier.Step();
  if (!absl::IsOutOfRange(comparison.status())) return comparison;
  RETURN_IF_ERROR(StageBatch(source, number, verifier));
  RETURN_IF_ERROR(verifier.Diagnose());
  return comparison;
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
  ASSIGN_OR_RETURN(const TrainingData data, ReadData(flags, model.graph, {.training = Need::kYes, .test = Need::kNo}));
  ASSIGN_OR_RETURN(const std::unique_ptr<PlanVerifier> verifier, Start(flags, model, data, context.out));
  const int64_t steps = StepsOf(flags);
  nlohmann::json rows = nlohmann::json::array();
  absl::Status status;
  for (int64_t step = 1; step <= steps && status.ok(); ++step) {
    ASSIGN_OR_RETURN(const StepComparison comparison, Step(*data.training, step - 1, *verifier));
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
