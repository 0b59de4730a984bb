// `trainer predict`: what saved parameters make of every sample of the test set.
#include "graph/ir/op_definition.h"
#include "graph/make_program.h"
#include "runtime/base/status.h"
#include "runtime/train/predictor.h"
#include "runtime/train/stop_vote.h"
#include "tools/commands/commands.h"
#include "tools/commands/input/beginning.h"
#include "tools/commands/input/data/data.h"
#include "tools/commands/input/inputs.h"
#include "tools/commands/input/loaded_model.h"
#include "tools/commands/input/machine.h"
#include "tools/commands/input/pixel_forms.h"
#include "tools/commands/input/run_options.h"
#include "tools/commands/output/outputs.h"
#include "tools/commands/output/prediction_file.h"
#include "tools/commands/output/report.h"
#include "tools/commands/processes/finish_writing.h"
#include "tools/commands/processes/processes.h"
#include "tools/commands/processes/signals.h"
#include "tools/commands/processes/start_session.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

// --value, or what the loss looks at first.
std::string PredictedValue(const Flags& flags, const Graph& graph) {
  if (flags.IsSet("value")) return flags.Text("value");
  const Node& loss = graph.node(graph.value(graph.loss).producer);
  return graph.value(loss.inputs[0]).name;
}

absl::StatusOr<Program> PredictionProgram(const Flags& flags, const Model& model, const Strategy& strategy,
                                          const MachineSpeed& speed, const std::string& value,
                                          const GivenForms& given) {
  ProgramOptions options = ReadProgramOptions(flags, speed);
  options.given = given;
  options.predictions = {value};
  options.entries = false;
  ASSIGN_OR_RETURN(options.count_votes, IsOneOfSeveral());
  ASSIGN_OR_RETURN(Program program, MakeProgramOf(flags, model, strategy, options));
  return OnlyEntries(std::move(program), {kPredictEntry});
}

// None where samples have none.
std::vector<std::string> NamesOf(const BatchSource& set, int64_t samples) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < samples; ++i) names.push_back(set.name_of(i));
  if (samples == 0 || names[0].empty()) names.clear();
  return names;
}

absl::StatusOr<int> RunPredict(const CommandContext& context) {
  const Flags& flags = context.flags;
  RETURN_IF_ERROR(SetUpLogging(flags));
  RETURN_IF_ERROR(CheckAcceleration(flags));
  RETURN_IF_ERROR(CheckDevice(flags));
  if (!flags.IsSet("load")) return FlagError("predict needs --load=FILE: what train --save wrote");
  if (!flags.IsSet("output")) return FlagError("predict needs --output=FILE, which ends in .npy or .csv");
  RETURN_IF_ERROR(CheckPredictionPath(flags.Text("output")));
  RETURN_IF_ERROR(CheckOutputs(flags, {"output"}));
  ASSIGN_OR_RETURN(Model model, ReadModel(flags));
  AssumeScheduleLength(model);
  ASSIGN_OR_RETURN(const bool processes, IsOneOfSeveral());
  ASSIGN_OR_RETURN(const std::optional<Machine> machine, ReadMachine(flags, processes));
  ASSIGN_OR_RETURN(const Strategy strategy, ReadStrategy(flags, model.graph, machine));
  ASSIGN_OR_RETURN(const MachineSpeed speed, SpeedFor(flags, machine, strategy.mesh.size()));
  const std::string value = PredictedValue(flags, model.graph);
  ASSIGN_OR_RETURN(Program program, PredictionProgram(flags, model, strategy, speed, value, {}));
  const EntryPoint& entry = *program.Find(kPredictEntry);
  const auto reads = [&entry](const std::string& field) { return entry.FindInput(field) != nullptr; };
  ASSIGN_OR_RETURN(std::optional<LoadedModel> loaded, OpenLoaded(flags, model, /*trains=*/false));
  const std::optional<Beginning> beginning = loaded->beginning();
  const DataRequest request = {.training = Need::kNo,
                               .test = Need::kYes,
                               .preprocessing = PreprocessingOf(beginning),
                               .scales = ScalesOf(beginning),
                               .reads = reads,
                               .empty_lines = true};
  ASSIGN_OR_RETURN(const TrainingData data, ReadData(flags, model.graph, request));
  RETURN_IF_ERROR(CheckImages(*beginning, data));
  // Which fields are needed, the program says; what is given in them, the data.
  if (!data.pixels.empty()) {
    ASSIGN_OR_RETURN(program, PredictionProgram(flags, model, strategy, speed, value, GivenFormsOf(data)));
  }
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Session> session,
      StartSession(flags, strategy, data, std::move(program), ReadSessionOptions(flags, speed), std::move(loaded)));
  const StopSignals signals;
  ASSIGN_OR_RETURN(const auto predictions, PredictSet(*session, data.test, &signals.flag()));
  ASSIGN_OR_RETURN(const int stopped_by, VoteToStop(*session, &signals.flag()));
  if (!predictions) return ExitCodeOfSignal(stopped_by);
  if (!Speaks(*session)) return static_cast<int>(kExitFinished);
  const HostTensor& tensor = predictions->front();
  const FinishWriting finish;
  RETURN_IF_ERROR(SavePredictions(tensor, value, NamesOf(*data.test, tensor.shape[0]), flags.Text("output")));
  context.out << fmt::format("{}: value '{}' of {} samples, {}{}\n", flags.Text("output"), value, tensor.shape[0],
                             Name(tensor.dtype), ToString(tensor.shape));
  return static_cast<int>(kExitFinished);
}

}  // namespace

Command PredictCommand() {
  Command command{"predict", "write a saved model's predictions for a test set", "GRAPH", ModelFlags(), RunPredict};
  for (const auto& flags : {StrategyFlags(), RunFlags(), AccelerationFlags(), DataFlags(), JobFlags(), LoadFlags()}) {
    command.flags.insert(command.flags.end(), flags.begin(), flags.end());
  }
  for (const char* flag : {"output", "value", "delay-seed"}) command.flags.push_back(flag);
  return command;
}

}  // namespace partita
