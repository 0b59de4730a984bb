// `trainer predict`: what saved parameters make of every sample of the test set.
#include <set>

#include "graph/ir/entry_point.h"
#include "graph/passes/drop_unused.h"
#include "run/beginning/beginning.h"
#include "run/beginning/loaded_model.h"
#include "run/data/data.h"
#include "run/plan/pixel_forms.h"
#include "run/spec/spec_error.h"
#include "run/start.h"
#include "runtime/base/files.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"
#include "runtime/train/predictor.h"
#include "runtime/train/stop_vote.h"
#include "tools/commands/commands.h"
#include "tools/commands/output/report.h"
#include "tools/commands/predictions/predicted_value.h"
#include "tools/commands/predictions/prediction_file.h"
#include "tools/commands/predictions/top_classes.h"
#include "tools/commands/processes/finish_writing.h"
#include "tools/commands/processes/processes.h"
#include "tools/commands/processes/signals.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

constexpr char kStandardOutput[] = "-";

// The fields of inputs that a value of the graph depends on.
absl::StatusOr<std::set<std::string>> FieldsOf(const RunSpec& spec, const Graph& graph, const std::string& value) {
  const absl::StatusOr<Graph> predicted = OnlyResults(graph, {value});
  if (!predicted.ok()) return WithContext(spec.model().graph(), predicted.status());
  std::set<std::string> fields;
  for (const EntryInput& input : InputsOf(*predicted)) fields.insert(input.field);
  return fields;
}

bool IsProbability(const Graph& graph, const std::string& value) {
  return graph.node(graph.value(graph.Find(value)).producer).op->name == "softmax";
}

// None where samples have none.
std::vector<std::string> NamesOf(const BatchSource& set, int64_t samples) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < samples; ++i) names.push_back(set.name_of(i));
  if (samples == 0 || names[0].empty()) names.clear();
  return names;
}

PredictionFormat FormatOf(const RunSpec& spec) {
  if (spec.predict().output() != kStandardOutput) return FormatOfPredictions(spec.predict().output());
  return spec.output().format() == "json" ? PredictionFormat::kJsonLines : PredictionFormat::kCsv;
}

// --top writes names of classes.
absl::Status CheckTop(const RunSpec& spec) {
  if (spec.predict().top() == 0 || FormatOf(spec) != PredictionFormat::kNpy) return absl::OkStatus();
  return FlagError("flag --top writes text; expected an --output that ends in .csv or .jsonl, or -");
}

// What predictions are of, as the lines of a file name it.
struct Described {
  std::string value;
  bool is_probability = false;
  std::vector<std::string> samples, class_names;
};

absl::StatusOr<std::string> TextOf(const HostTensor& tensor, const Described& what, const RunSpec& spec) {
  if (spec.predict().top() == 0) return PrintPredictions(tensor, what.value, what.samples, FormatOf(spec));
  ASSIGN_OR_RETURN(const auto top, TopClasses(tensor, what.value, !what.is_probability, spec.predict().top()));
  return PrintTopClasses(top, what.samples, what.class_names, FormatOf(spec));
}

absl::Status Write(const HostTensor& tensor, const Described& what, const RunSpec& spec, std::ostream& out) {
  const std::string& path = spec.predict().output();
  if (FormatOf(spec) == PredictionFormat::kNpy) return SaveNpy(tensor, what.value, path);
  ASSIGN_OR_RETURN(const std::string text, TextOf(tensor, what, spec));
  if (path != kStandardOutput) return WriteFileAtomically(path, text);
  out << text;
  return absl::OkStatus();
}

absl::StatusOr<int> RunPredict(const ContextOf<RunSpec>& context) {
  const RunSpec& spec = context.spec;
  RETURN_IF_ERROR(CheckTop(spec));
  ASSIGN_OR_RETURN(const RunPlan plan, PlanRun(spec, {.trains = false}));
  const Model& model = plan.model;
  ASSIGN_OR_RETURN(const std::string value, PredictedValue(spec, model.graph));
  ASSIGN_OR_RETURN(const std::set<std::string> fields, FieldsOf(spec, model.graph, value));
  ASSIGN_OR_RETURN(std::optional<LoadedModel> loaded, OpenLoaded(spec, model, /*trains=*/false));
  const std::optional<Beginning> beginning =
      loaded ? std::optional(loaded->beginning()) : std::nullopt;  // none: the weights of an exported program
  const DataRequest request = {.training = Need::kNo,
                               .test = Need::kYes,
                               .preprocessing = PreprocessingOf(beginning),
                               .scales = ScalesOf(beginning),
                               .reads = [&fields](const std::string& field) { return fields.contains(field); },
                               .empty_lines = true};
  ASSIGN_OR_RETURN(const TrainingData data, ReadData(spec, model.graph, request));
  if (beginning) RETURN_IF_ERROR(CheckImages(*beginning, data));
  ASSIGN_OR_RETURN(Program program,
                   ProgramOf(spec, plan, {.given = GivenFormsOf(data), .predictions = {value}, .trains = false}));
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                   StartSession(spec, plan, data, std::move(program), std::move(loaded), {EndProcess}));
  RETURN_IF_ERROR(WarnOfAnotherGraph(spec, *session));
  const StopSignals signals;
  ASSIGN_OR_RETURN(const auto predictions, PredictSet(*session, data.test, &signals.flag()));
  ASSIGN_OR_RETURN(const int stopped_by, VoteToStop(*session, &signals.flag()));
  if (!predictions) return ExitCodeOfSignal(stopped_by);
  if (!Speaks(*session)) return static_cast<int>(kExitFinished);
  const HostTensor& tensor = predictions->front();
  const FinishWriting finish;
  Described what{value, IsProbability(model.graph, value), NamesOf(*data.test, tensor.shape[0]), {}};
  if (data.preprocessing) what.class_names = data.preprocessing->class_names;
  RETURN_IF_ERROR(Write(tensor, what, spec, context.out));
  if (spec.predict().output() == kStandardOutput) return static_cast<int>(kExitFinished);
  context.out << fmt::format("{}: value '{}' of {}, {}{}\n", spec.predict().output(), value,
                             Counted(tensor.shape[0], "sample"), Name(tensor.dtype), ToString(tensor.shape));
  return static_cast<int>(kExitFinished);
}

}  // namespace

Command PredictCommand() {
  Command command{"predict", "write a saved model's predictions for a test set", "GRAPH", Runs<RunSpec>(RunPredict)};
  command.choices = {{"format", {"text", "json"}}};
  return command;
}

}  // namespace partita
