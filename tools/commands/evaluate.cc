// `trainer evaluate`: loss and metrics of saved parameters on the test set.
#include "runtime/train/evaluator.h"
#include "runtime/train/stop_vote.h"
#include "tools/commands/commands.h"
#include "tools/commands/input/beginning.h"
#include "tools/commands/input/data/data.h"
#include "tools/commands/input/graph_hash.h"
#include "tools/commands/input/inputs.h"
#include "tools/commands/input/loaded_model.h"
#include "tools/commands/input/machine.h"
#include "tools/commands/input/pixel_forms.h"
#include "tools/commands/input/run_options.h"
#include "tools/commands/output/outputs.h"
#include "tools/commands/output/report.h"
#include "tools/commands/processes/finish_writing.h"
#include "tools/commands/processes/processes.h"
#include "tools/commands/processes/signals.h"
#include "tools/commands/processes/start_session.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

absl::StatusOr<int> RunEvaluate(const CommandContext& context) {
  const Flags& flags = context.flags;
  RETURN_IF_ERROR(CheckOutputs(flags, {"report"}));
  RETURN_IF_ERROR(SetUpLogging(flags));
  RETURN_IF_ERROR(CheckAcceleration(flags));
  RETURN_IF_ERROR(CheckDevice(flags));
  if (!flags.IsSet("load")) return FlagError("evaluate needs --load=FILE: what train --save wrote");
  ASSIGN_OR_RETURN(Model model, ReadModel(flags));
  const std::string graph_hash = GraphHash(model);
  AssumeScheduleLength(model);
  ASSIGN_OR_RETURN(const bool processes, IsOneOfSeveral());
  ASSIGN_OR_RETURN(const std::optional<Machine> machine, ReadMachine(flags, processes));
  ASSIGN_OR_RETURN(const Strategy strategy, ReadStrategy(flags, model.graph, machine));
  ASSIGN_OR_RETURN(const MachineSpeed speed, SpeedFor(flags, machine, strategy.mesh.size()));
  ASSIGN_OR_RETURN(std::optional<LoadedModel> loaded, OpenLoaded(flags, model, /*trains=*/false));
  const std::optional<Beginning> beginning = loaded->beginning();
  const DataRequest request = {.training = Need::kNo,
                               .test = Need::kYes,
                               .preprocessing = PreprocessingOf(beginning),
                               .scales = ScalesOf(beginning),
                               .sizes = SizesOf(model)};
  ASSIGN_OR_RETURN(const TrainingData data, ReadData(flags, model.graph, request));
  RETURN_IF_ERROR(CheckImages(*beginning, data));
  ProgramOptions program_options = ReadProgramOptions(flags, speed);
  program_options.count_votes = processes;
  program_options.given = GivenFormsOf(data);
  ASSIGN_OR_RETURN(Program program, MakeProgramOf(flags, model, strategy, program_options));
  ASSIGN_OR_RETURN(const SetResults results, SetResultsOf(model));
  RETURN_IF_ERROR(CheckLastBatch(*program.Find(kEvaluateEntry), results, *data.test));
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Session> session,
      StartSession(flags, strategy, data, std::move(program), ReadSessionOptions(flags, speed), std::move(loaded)));
  const StopSignals signals;
  ASSIGN_OR_RETURN(const auto evaluation, EvaluateSet(*session, results, data.test, &signals.flag()));
  ReportProto report = BeginReport("evaluate", flags, model.name, graph_hash, *session);
  report.set_left_out_files(data.left_out_files());
  report.set_decode_memory_bytes(data.decode_bytes);
  RETURN_IF_ERROR(AddMemory(*session, report));
  std::ostream& out = Speaks(*session) ? context.out : Silence();
  report.set_outcome(evaluation ? "finished" : "interrupted");
  if (evaluation) {
    ASSIGN_OR_RETURN(const std::vector<GroupTraffic> traffic, session->JobTraffic());
    RETURN_IF_ERROR(AddTraffic(*session, kEvaluateEntry, traffic, evaluation->steps, report));
    AddEvaluation(evaluation->loss, evaluation->metrics, AccuraciesOf(model.graph), report);
  }
  ASSIGN_OR_RETURN(const int stopped_by, VoteToStop(*session, &signals.flag()));
  const FinishWriting finish;
  PrintReport(report, flags, out);
  if (Speaks(*session)) RETURN_IF_ERROR(SaveReport(report, flags));
  return evaluation ? static_cast<int>(kExitFinished) : ExitCodeOfSignal(stopped_by);
}

}  // namespace

Command EvaluateCommand() {
  Command command{"evaluate", "evaluate a saved model on a test set", "GRAPH", ModelFlags(), RunEvaluate};
  command.choices = {{"format", {"text", "json"}}};
  for (const auto& flags : {StrategyFlags(), RunFlags(), AccelerationFlags(), DataFlags(), JobFlags(), LoadFlags()}) {
    command.flags.insert(command.flags.end(), flags.begin(), flags.end());
  }
  for (const char* flag : {"report", "format", "delay-seed"}) command.flags.push_back(flag);
  return command;
}

}  // namespace partita
