// `trainer evaluate`: loss and metrics of saved parameters on the test set.
#include "run/beginning/beginning.h"
#include "run/beginning/loaded_model.h"
#include "run/data/data.h"
#include "run/plan/pixel_forms.h"
#include "run/plan/run_options.h"
#include "run/spec/spec_error.h"
#include "run/start.h"
#include "runtime/base/files.h"
#include "runtime/base/status.h"
#include "runtime/train/evaluator.h"
#include "runtime/train/stop_vote.h"
#include "tools/commands/commands.h"
#include "tools/commands/output/report.h"
#include "tools/commands/predictions/confusion.h"
#include "tools/commands/processes/finish_writing.h"
#include "tools/commands/processes/processes.h"
#include "tools/commands/processes/signals.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

// What --confusion compares; none without it.
absl::StatusOr<std::optional<Classifier>> ClassifierFor(const RunSpec& spec, const Graph& graph) {
  if (!spec.output().has_confusion()) return std::nullopt;
  const absl::StatusOr<Classifier> classifier = ClassifierOf(graph);
  if (classifier.ok()) return *classifier;
  return FlagError("flag --confusion: {}: {}", spec.model().graph(), std::string(classifier.status().message()));
}

Confusion NoConfusion(const Classifier& classifier, const TrainingData& data) {
  return NoConfusion(classifier, data.preprocessing ? data.preprocessing->class_names : std::vector<std::string>());
}

absl::StatusOr<int> RunEvaluate(const ContextOf<RunSpec>& context) {
  const RunSpec& spec = context.spec;
  ASSIGN_OR_RETURN(const RunPlan plan, PlanRun(spec, {.trains = false}));
  const Model& model = plan.model;
  ASSIGN_OR_RETURN(const std::optional<Classifier> classifier, ClassifierFor(spec, model.graph));
  ASSIGN_OR_RETURN(std::optional<LoadedModel> loaded, OpenLoaded(spec, model, /*trains=*/false));
  const std::optional<Beginning> beginning =
      loaded ? std::optional(loaded->beginning()) : std::nullopt;  // none: the weights of an exported program
  const DataRequest request = {.training = Need::kNo,
                               .test = Need::kYes,
                               .preprocessing = PreprocessingOf(beginning),
                               .scales = ScalesOf(beginning),
                               .sizes = SizesOf(model)};
  ASSIGN_OR_RETURN(const TrainingData data, ReadData(spec, model.graph, request));
  if (beginning) RETURN_IF_ERROR(CheckImages(*beginning, data));
  std::vector<std::string> classified;
  if (classifier) classified = {classifier->logits, classifier->labels};
  ASSIGN_OR_RETURN(Program program,
                   ProgramOf(spec, plan, {.given = GivenFormsOf(data), .evaluated = classified, .trains = false}));
  ASSIGN_OR_RETURN(const SetResults results, SetResultsOf(model));
  RETURN_IF_ERROR(CheckLastBatch(*program.Find(kEvaluateEntry), results, *data.test));
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                   StartSession(spec, plan, data, std::move(program), std::move(loaded), {EndProcess}));
  RETURN_IF_ERROR(WarnOfAnotherGraph(spec, *session));
  const StopSignals signals;
  std::optional<Confusion> confusion;
  if (classifier) confusion = NoConfusion(*classifier, data);
  const TakeValues count = [&](int64_t first, int64_t samples, const std::vector<HostTensor>& values) {
    return confusion ? AddRows(*classifier, {first, samples, values[0], values[1]}, *confusion) : absl::OkStatus();
  };
  ASSIGN_OR_RETURN(const auto evaluation, EvaluateSet(*session, results, data.test, &signals.flag(), count));
  ReportProto report = BeginReport("evaluate", spec, model.name, plan.graph_hash, *session);
  report.set_left_out_files(data.left_out_files());
  report.set_decode_memory_bytes(data.decode_bytes);
  RETURN_IF_ERROR(AddMemory(*session, report));
  std::ostream& out = Speaks(*session) ? context.out : Silence();
  if (evaluation) {
    ASSIGN_OR_RETURN(const std::vector<GroupTraffic> traffic, session->JobTraffic());
    RETURN_IF_ERROR(AddTraffic(*session, kEvaluateEntry, traffic, evaluation->steps, report));
    AddEvaluation(evaluation->loss, evaluation->metrics, AccuraciesOf(model.graph), report);
  }
  report.set_outcome(evaluation ? "finished" : "interrupted");
  const bool writes_confusion = evaluation && confusion && Speaks(*session);
  if (writes_confusion) AddClasses(*confusion, report);
  ASSIGN_OR_RETURN(const int stopped_by, VoteToStop(*session, &signals.flag()));
  const FinishWriting finish;
  PrintReport(report, spec, out);
  if (spec.output().format() == "text") PrintClasses(report, out);
  if (writes_confusion) RETURN_IF_ERROR(WriteFileAtomically(spec.output().confusion(), PrintConfusion(*confusion)));
  if (Speaks(*session)) RETURN_IF_ERROR(SaveReport(report, spec));
  return evaluation ? static_cast<int>(kExitFinished) : ExitCodeOfSignal(stopped_by);
}

}  // namespace

Command EvaluateCommand() {
  Command command{"evaluate", "evaluate a saved model on a test set", "GRAPH", Runs<RunSpec>(RunEvaluate)};
  command.choices = {{"format", {"text", "json"}}};
  return command;
}

}  // namespace partita
