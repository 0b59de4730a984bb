// `trainer train`: from a graph, a strategy and a data set to parameters.
#include <spdlog/spdlog.h>

#include "runtime/train/evaluator.h"
#include "runtime/train/model_file.h"
#include "runtime/train/trainer.h"
#include "tools/commands/commands.h"
#include "tools/commands/input/data.h"
#include "tools/commands/input/inputs.h"
#include "tools/commands/input/run_options.h"
#include "tools/commands/output/outputs.h"
#include "tools/commands/output/report.h"
#include "tools/commands/output/timeline.h"
#include "tools/commands/processes/finish_writing.h"
#include "tools/commands/processes/processes.h"
#include "tools/commands/processes/signals.h"
#include "tools/commands/processes/start_session.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

struct Prepared {
  Model model;
  TrainingData data;
  TrainingOptions options;
  std::unique_ptr<Session> session;
};

Augmentation ReadAugmentation(const Flags& flags) {
  return {.shift = flags.Int("shift"), .border = Border::kZero, .flip = flags.Bool("flip")};
}

// Everything that can be refused is refused here, before anything is written.
absl::StatusOr<Prepared> Prepare(const Flags& flags) {
  RETURN_IF_ERROR(CheckOutputs(flags, {"save", "report", "trace"}));
  RETURN_IF_ERROR(SetUpLogging(flags));
  RETURN_IF_ERROR(CheckAcceleration(flags));
  RETURN_IF_ERROR(CheckDevice(flags));
  Prepared prepared;
  ASSIGN_OR_RETURN(prepared.model, ReadModel(flags));
  ASSIGN_OR_RETURN(const Strategy strategy, ReadStrategy(flags, prepared.model.graph));
  ASSIGN_OR_RETURN(prepared.data, ReadData(flags, prepared.model.graph, {.augmentation = ReadAugmentation(flags)}));
  prepared.options.epochs = flags.Int("epochs");
  prepared.options.steps = flags.Int("steps");
  SetScheduleLength(PlannedSteps(prepared.options, prepared.data.training->batches_per_epoch()),
                    prepared.model.learning_rate);
  ProgramOptions program_options = ReadProgramOptions(flags);
  ASSIGN_OR_RETURN(program_options.count_votes, IsOneOfSeveral());
  ASSIGN_OR_RETURN(Program program, MakeProgramOf(flags, prepared.model, strategy, program_options));
  if (prepared.data.test != nullptr) RETURN_IF_ERROR(CheckLastBatch(program, *prepared.data.test));
  SessionOptions options = ReadSessionOptions(flags);
  options.record_timeline = flags.IsSet("trace");
  ASSIGN_OR_RETURN(prepared.session,
                   StartSession(flags, prepared.model, strategy, prepared.data, std::move(program), options));
  return prepared;
}

std::string OutcomeOf(const absl::Status& status, bool stopped) {
  if (status.ok()) return stopped ? "interrupted" : "finished";
  return status.code() == absl::StatusCode::kOutOfRange ? "non_finite" : "failed";
}

absl::Status Save(const Flags& flags, const Prepared& prepared, const absl::Status& trained) {
  if (flags.IsSet("save") && trained.ok()) {
    RETURN_IF_ERROR(SaveStates(*prepared.session, prepared.model, flags.Text("save")));
  }
  if (flags.IsSet("trace") && trained.ok() && Speaks(*prepared.session))
    return SaveTimeline(*prepared.session, flags.Text("trace"));
  return absl::OkStatus();
}

absl::StatusOr<int> RunTrain(const CommandContext& context) {
  ASSIGN_OR_RETURN(Prepared prepared, Prepare(context.flags));
  const StopSignals signals;
  const bool speaks = Speaks(*prepared.session);
  const bool text = context.flags.Text("format") == "text";
  const std::vector<std::string> accuracies = AccuraciesOf(prepared.model.graph);
  std::ostream& out = speaks ? context.out : Silence();
  prepared.options.stop = &signals.flag();
  prepared.options.on_progress = [speaks](const Progress& progress) {
    if (speaks) spdlog::info("{}", FormatProgress(progress));
  };
  prepared.options.on_epoch = [&](const EpochResult& epoch) {
    if (text) out << FormatEpoch(epoch, accuracies) << std::endl;
  };
  std::optional<CommunicationMeter> communication;
  if (prepared.session->ranks() > 1) {  // a rank that is alone has none
    communication.emplace(*prepared.session);
    prepared.options.on_step = [&] { communication->AddStep(); };
  }
  TrainingResult result;
  const absl::Status trained = Train(*prepared.session, prepared.data, prepared.options, result);
  const FinishWriting finish;
  const absl::Status saved = Save(context.flags, prepared, trained);
  ReportProto report = BeginReport("train", context.flags, prepared.model.name, *prepared.session);
  AddTraining(result, accuracies, report);
  AddTraffic(*prepared.session, kTrainEntry, result.traffic, result.steps, report);
  const absl::Status remembered = AddMemory(*prepared.session, report);
  absl::StatusOr<std::vector<RankCommunication>> overlapped{std::vector<RankCommunication>()};
  if (communication) overlapped = communication->Job();
  if (overlapped.ok()) AddCommunication(*overlapped, report);
  report.set_outcome(OutcomeOf(trained.ok() ? saved : trained, result.stopped_by != 0));
  if (speaks) RETURN_IF_ERROR(SaveReport(report, context.flags));
  RETURN_IF_ERROR(trained);
  RETURN_IF_ERROR(saved);
  RETURN_IF_ERROR(remembered);
  RETURN_IF_ERROR(overlapped.status());
  if (text && prepared.data.test == nullptr) out << "there is no test set: nothing was evaluated\n";
  PrintReport(report, context.flags, out);
  return result.stopped_by != 0 ? ExitCodeOfSignal(result.stopped_by) : kExitFinished;
}

}  // namespace

Command TrainCommand() {
  Command command{"train", "train a graph on a data set", "GRAPH", ModelFlags(), RunTrain};
  command.choices = {{"format", {"text", "json"}}};
  for (const auto& flags : {StrategyFlags(), RunFlags(), AccelerationFlags(), DataFlags(), JobFlags()}) {
    command.flags.insert(command.flags.end(), flags.begin(), flags.end());
  }
  for (const char* flag :
       {"flip", "shift", "epochs", "steps", "save", "load", "report", "trace", "format", "delay-seed"}) {
    command.flags.push_back(flag);
  }
  return command;
}

}  // namespace partita
