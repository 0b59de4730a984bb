// What training steps compute from given parameters on given batches, for comparison with other programs:
//
//   step_values run --load=BEFORE.safetensors --batches=BATCHES.safetensors --output=VALUES.safetensors GRAPH
//
// BATCHES has for each field of the graph a tensor of so many batches as steps are wanted. VALUES has, in f64, `losses`
// of the steps, `gradient/<parameter>` of the first step, `state/<name>` after the last, and of all steps
// `value/<name>` of the values that --observe names.
#include <map>
#include <span>

#include "absl/strings/str_split.h"
#include "graph/make_program.h"
#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"
#include "runtime/api/session.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/safetensors.h"
#include "runtime/train/trainer.h"
#include "tools/peer/step_values.pb.h"
#include "tools/program/exit_code.h"
#include "tools/program/run_main.h"

namespace partita {
namespace {

constexpr int64_t kScheduleSteps = 1'000'000;  // of a learning rate that does not say how long it is

// What is written, by name.
using Values = std::map<std::string, WholeValue>;

absl::Status Begin(const SafetensorsFile& file, Session& session) {
  for (const StoredTensor& tensor : file.tensors()) {
    ASSIGN_OR_RETURN(const HostTensor state, session.ReadState(tensor.name));
    ASSIGN_OR_RETURN(const auto bytes, file.Get(tensor.name, state.dtype, state.shape));
    RETURN_IF_ERROR(session.WriteState(tensor.name, {state.dtype, state.shape, bytes.data()}));
  }
  return absl::OkStatus();
}

// Of how many steps the file has inputs: each tensor of so many.
absl::StatusOr<int64_t> StepsOf(const SafetensorsFile& file) {
  const auto tensors = file.tensors();
  if (tensors.empty() || tensors[0].shape.empty() || tensors[0].shape[0] < 1) {
    return InvalidArgument("{}: its first tensor has no batches; at least one is needed", file.path());
  }
  return tensors[0].shape[0];
}

// The inputs of one step of so many.
absl::Status Stage(const SafetensorsFile& file, int64_t step, int64_t steps, Session& session) {
  const EntryPoint& entry = *session.program().Find(kTrainEntry);
  for (const EntryInput& input : entry.inputs) {
    const TensorType& type = entry.graph.type(input.values[0]);
    Shape shape = type.shape;
    shape.insert(shape.begin(), steps);
    ASSIGN_OR_RETURN(const auto bytes, file.Get(input.field, type.dtype, shape));
    const size_t batch = bytes.size() / static_cast<size_t>(steps);
    RETURN_IF_ERROR(session.StageInput(kTrainEntry, input.field,
                                       {type.dtype, type.shape, bytes.data() + static_cast<size_t>(step) * batch}));
  }
  return absl::OkStatus();
}

absl::Status KeepGradients(const Session& session, Values& values) {
  const Graph& graph = session.graph(kTrainEntry);
  for (const State& state : graph.states()) {
    if (state.gradient == kNoValue) continue;
    ASSIGN_OR_RETURN(values["gradient/" + graph.value(state.value).name],
                     session.Observed(graph.value(state.gradient).name));
  }
  return absl::OkStatus();
}

// Of each step behind those of the steps before.
absl::Status KeepObserved(const std::vector<std::string>& names, int64_t steps, const Session& session,
                          Values& values) {
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const WholeValue value, session.Observed(name));
    WholeValue& kept = values["value/" + name];
    if (kept.elements.empty()) {
      kept = {DType::kF64, value.shape, {}};
      kept.shape.insert(kept.shape.begin(), steps);
    }
    kept.elements.insert(kept.elements.end(), value.elements.begin(), value.elements.end());
  }
  return absl::OkStatus();
}

absl::Status KeepStates(const Session& session, Values& values) {
  for (const std::string& name : session.StateNames()) {
    ASSIGN_OR_RETURN(const HostTensor state, session.ReadState(name));
    values["state/" + name] = {DType::kF64, state.shape, ToDoubles(state)};
  }
  return absl::OkStatus();
}

absl::Status Save(const Values& values, const std::string& path) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, value] : values) {
    const std::vector<int64_t> shape(value.shape.begin(), value.shape.end());
    tensors.push_back({name, DType::kF64, shape, std::as_bytes(std::span(value.elements))});
  }
  return SaveSafetensors(path, tensors, {});
}

absl::StatusOr<std::unique_ptr<Session>> Start(const StepValuesSpec& spec) {
  ASSIGN_OR_RETURN(Model model, LoadModel(spec.graph(), Ops()));
  SetScheduleLength(kScheduleSteps, model.learning_rate);
  ProgramOptions options;
  options.floating = spec.precision() == "f64" ? DType::kF64 : DType::kF32;
  ASSIGN_OR_RETURN(Program program, MakeProgram(model, Strategy{}, Ops(), options));
  SessionOptions session;
  session.threads_per_rank = static_cast<int>(spec.threads());
  session.tests.observe = true;
  return Session::Start(std::move(program), session);
}

// The loss and what counts besides it, whose values come before the graph's metrics.
double Minimised(const Session& session, const StepResult& result) {
  double sum = result.loss;
  const std::vector<FurtherLoss>& further = session.program().graph(kTrainEntry).further_losses;
  for (size_t i = 0; i < further.size(); ++i) sum += further[i].weight * result.metrics[i].second;
  return sum;
}

absl::StatusOr<int> Run(const ContextOf<StepValuesSpec>& context) {
  const StepValuesSpec& spec = context.spec;
  if (!spec.has_load() || !spec.has_batches() || !spec.has_output()) {
    return FlagError("--load=FILE, --batches=FILE and --output=FILE are needed");
  }
  ASSIGN_OR_RETURN(const SafetensorsFile before, LoadSafetensors(spec.load()));
  ASSIGN_OR_RETURN(const SafetensorsFile batches, LoadSafetensors(spec.batches()));
  ASSIGN_OR_RETURN(const auto session, Start(spec));
  RETURN_IF_ERROR(Begin(before, *session));
  ASSIGN_OR_RETURN(const int64_t steps, StepsOf(batches));
  const std::vector<std::string> observed = absl::StrSplit(spec.observe(), ',', absl::SkipEmpty());
  Values values;
  WholeValue losses{DType::kF64, {steps}, {}};
  for (int64_t step = 0; step < steps; ++step) {
    RETURN_IF_ERROR(Stage(batches, step, steps, *session));
    ASSIGN_OR_RETURN(const StepResult result, session->Train());
    losses.elements.push_back(Minimised(*session, result));
    if (step == 0) RETURN_IF_ERROR(KeepGradients(*session, values));
    RETURN_IF_ERROR(KeepObserved(observed, steps, *session, values));
  }
  values["losses"] = losses;
  RETURN_IF_ERROR(KeepStates(*session, values));
  RETURN_IF_ERROR(Save(values, spec.output()));
  return kExitFinished;
}

ProgramDefinition StepValues() {
  return {"step_values",
          "what training steps compute from given parameters on given batches",
          StepValuesSpec::default_instance(),
          {{"run", "write losses, gradients and states of training steps", "GRAPH", Runs<StepValuesSpec>(Run)}}};
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  using namespace partita;
  return RunMain(StepValues(), argc, argv);
}
