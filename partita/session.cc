// A model at work for callers of the library: checks what they give, and hands it to the runtime's session.
#include "runtime/api/session.h"

#include <algorithm>
#include <atomic>
#include <set>

#include "graph/ir/generated_name.h"
#include "graph/make_program.h"
#include "graph/proto_io/proto_io.h"
#include "graph/value/node_name.h"
#include "ops/registry.h"
#include "partita/convert.h"
#include "partita/model_parts.h"
#include "partita/partita.h"
#include "partitioner/clusters/cluster_by_default.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/base/status.h"
#include "runtime/train/model_file.h"

namespace partita::api {

struct Session::Parts {
  std::shared_ptr<const Model::Parts> model;
  std::unique_ptr<partita::Session> session;
  std::atomic<bool> cancelled{false};

  bool Has(const std::string& entry) const { return session->program().Find(entry) != nullptr; }
  absl::Status Ready(const std::string& entry) const;
  absl::Status Stage(const std::string& entry, const Fields& batch);
  absl::Status StageField(const std::string& entry, const EntryInput& input, const View& view);
  absl::Status StageOnes(const std::string& entry, const EntryInput& input);
  absl::Status Diagnosed(const absl::Status& refused, const Fields& batch);
  Result<StepResult> Step(const std::string& entry, const Fields& batch);
  Result<std::map<std::string, Tensor>> Compute(const std::string& entry, const Fields& batch);
};

namespace {

absl::Status Cancelled() { return absl::CancelledError("the session was cancelled"); }

absl::StatusOr<Strategy> StrategyOf(const partita::Model& model, const Split& split) {
  if (split.strategy_file.empty()) return DataModelStrategy(model.graph, split.data, split.model);
  if (split.data != 1 || split.model != 1) {
    return InvalidArgument("a split names the strategy {} and {} x {} ranks; one of them is allowed",
                           Quoted(split.strategy_file), split.data, split.model);
  }
  return LoadStrategy(split.strategy_file);
}

absl::StatusOr<Program> ProgramOf(const partita::Model& given, const Split& split, const Options& options) {
  partita::Model model = given;
  if (options.steps > 0) model.learning_rate.steps = options.steps;
  if (!options.train && options.predict.empty()) {
    return InvalidArgument("options say neither train nor what to predict; a session is for one of them at least");
  }
  if (options.f64 && options.mixed_precision) {
    return InvalidArgument("options say f64 and mixed_precision; one of them is allowed");
  }
  ASSIGN_OR_RETURN(const Strategy strategy, StrategyOf(model, split));
  ProgramOptions program_options;
  program_options.floating = options.f64 ? DType::kF64 : DType::kF32;
  program_options.mix_precision = options.mixed_precision;
  program_options.predictions = options.predict;
  program_options.speed = SpeedByDefault(strategy.mesh.size());
  ASSIGN_OR_RETURN(Program program, MakeProgram(model, strategy, Ops(), program_options));
  return options.train ? std::move(program) : OnlyEntries(std::move(program), {kPredictEntry});
}

partita::SessionOptions RuntimeOptions(const Options& options, int ranks) {
  partita::SessionOptions runtime;
  runtime.speed = SpeedByDefault(ranks);
  runtime.seed = options.seed;
  runtime.threads_per_rank = options.threads_per_rank;
  runtime.memory_limit = options.memory_limit;
  return runtime;
}

}  // namespace

// The entry point is there, and nobody has cancelled.
absl::Status Session::Parts::Ready(const std::string& entry) const {
  if (cancelled) return Cancelled();
  if (Has(entry)) return absl::OkStatus();
  if (entry == kPredictEntry) {
    return InvalidArgument("the session was started without values to predict (Options::predict)");
  }
  if (!Has(kTrainEntry)) return InvalidArgument("the session was started for predictions alone (Options::train)");
  return session->program().PlaceOf(entry).status();
}

absl::Status Session::Parts::StageField(const std::string& entry, const EntryInput& input, const View& view) {
  if (view.data == nullptr) return InvalidArgument("field {}: given is no data", Quoted(input.field));
  return session->StageInput(entry, input.field, ConstTensorOf(view));
}

// Every row of the caller's batch is a sample.
absl::Status Session::Parts::StageOnes(const std::string& entry, const EntryInput& input) {
  ASSIGN_OR_RETURN(const std::vector<HeldTensor> parts, session->InputPlacements(entry, input.field, 0));
  const LocalTensor& tensor = parts[0].tensor;
  const auto rows = static_cast<size_t>(Elements(tensor.global));
  const auto stage = [&](Type type, const auto& ones) {
    return StageField(entry, input, {type, {tensor.global.begin(), tensor.global.end()}, ones.data()});
  };
  if (tensor.dtype == DType::kF64) return stage(Type::kF64, std::vector<double>(rows, 1));
  return stage(Type::kF32, std::vector<float>(rows, 1));
}

absl::Status Session::Parts::Stage(const std::string& entry, const Fields& batch) {
  std::vector<std::string> known;
  for (const Field& field : model->fields) known.push_back(field.name);
  for (const EntryInput& input : session->program().Find(entry)->inputs) known.push_back(input.field);
  for (const auto& [name, view] : batch) {
    if (std::ranges::find(known, name) == known.end()) {
      return InvalidArgument("the graph has no field {}{}", Quoted(name), Suggestion(name, known));
    }
  }
  for (const EntryInput& input : session->program().Find(entry)->inputs) {
    const auto found = batch.find(input.field);
    if (found != batch.end()) {
      RETURN_IF_ERROR(StageField(entry, input, found->second));
    } else if (input.field == kSampleWeightName) {
      RETURN_IF_ERROR(StageOnes(entry, input));
    } else {
      return InvalidArgument("field {} is missing", Quoted(input.field));
    }
  }
  return absl::OkStatus();
}

// The error of a step that was not applied, with what the same batch says once more.
absl::Status Session::Parts::Diagnosed(const absl::Status& refused, const Fields& batch) {
  RETURN_IF_ERROR(Stage(kTrainEntry, batch));
  RETURN_IF_ERROR(session->Diagnose());
  return refused;
}

Result<StepResult> Session::Parts::Step(const std::string& entry, const Fields& batch) {
  return Guarded<Result<StepResult>>([&]() -> Result<StepResult> {
    absl::Status status = Ready(entry);
    if (status.ok()) status = Stage(entry, batch);
    if (!status.ok()) return ErrorOf(status);
    auto step = entry == kTrainEntry ? session->Train() : session->Evaluate();
    if (entry == kTrainEntry && absl::IsOutOfRange(step.status())) step = Diagnosed(step.status(), batch);
    if (cancelled) return ErrorOf(Cancelled());
    if (!step.ok()) return ErrorOf(step.status());
    return StepResult{step->loss, {step->metrics.begin(), step->metrics.end()}};
  });
}

Result<std::map<std::string, Tensor>> Session::Parts::Compute(const std::string& entry, const Fields& batch) {
  using Values = std::map<std::string, Tensor>;
  return Guarded<Result<Values>>([&]() -> Result<Values> {
    absl::Status status = Ready(entry);
    if (status.ok()) status = Stage(entry, batch);
    if (!status.ok()) return ErrorOf(status);
    const auto results = session->Compute(entry);
    if (cancelled) return ErrorOf(Cancelled());
    if (!results.ok()) return ErrorOf(results.status());
    Values values;
    for (size_t v = 0; v < results->size(); ++v) {
      auto tensor = TensorOf(results->at(v));
      if (!tensor.ok()) return ErrorOf(tensor.status());
      values.emplace(session->program().Find(entry)->results[v].name, *std::move(tensor));
    }
    return values;
  });
}

Session::Session(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::Start(const Model& model, const Split& split, const Options& options) {
  return Guarded<Result<Session>>([&]() -> Result<Session> {
    auto program = ProgramOf(model.parts_->model, split, options);
    if (!program.ok()) return ErrorOf(program.status());
    const int ranks = program->ranks();
    auto session = partita::Session::Start(*std::move(program), RuntimeOptions(options, ranks));
    if (!session.ok()) return ErrorOf(session.status());
    auto parts = std::make_unique<Parts>();
    parts->model = model.parts_;
    parts->session = *std::move(session);
    return Session(std::move(parts));
  });
}

Result<StepResult> Session::Train(const Fields& batch) { return parts_->Step(kTrainEntry, batch); }
Result<StepResult> Session::Evaluate(const Fields& batch) { return parts_->Step(kEvaluateEntry, batch); }

Result<std::map<std::string, Tensor>> Session::Predict(const Fields& batch) {
  return parts_->Compute(kPredictEntry, batch);
}

Result<std::map<std::string, Tensor>> Session::Compute(const std::string& entry, const Fields& batch) {
  return parts_->Compute(entry, batch);
}

Outcome Session::Save(const std::string& path) const {
  return Guarded<Outcome>(
      [&] { return OutcomeOf(SaveStates(*parts_->session, parts_->model->model, {}, States::kEvaluated, path)); });
}

Outcome Session::Load(const std::string& path) {
  const auto load = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(ModelFile file, ModelFile::Open(parts_->model->model, path));
    ASSIGN_OR_RETURN(const CheckedFile states, std::move(file).Check(parts_->session->program(), States::kEvaluated));
    return LoadStates(*parts_->session, states);
  };
  return Guarded<Outcome>([&] { return OutcomeOf(load()); });
}

std::vector<std::string> Session::states() const { return parts_->session->StateNames(); }

Result<Tensor> Session::Read(const std::string& state) const {
  return Guarded<Result<Tensor>>([&]() -> Result<Tensor> {
    const auto whole = parts_->session->ReadState(state);
    if (!whole.ok()) return ErrorOf(whole.status());
    auto tensor = TensorOf(*whole);
    if (!tensor.ok()) return ErrorOf(tensor.status());
    return *std::move(tensor);
  });
}

Outcome Session::Write(const std::string& state, const View& value) {
  if (value.data == nullptr) return ErrorOf(InvalidArgument("state {}: given is no data", Quoted(state)));
  return Guarded<Outcome>([&] { return OutcomeOf(parts_->session->WriteState(state, ConstTensorOf(value))); });
}

void Session::Cancel() {
  parts_->cancelled = true;
  parts_->session->Abort(Cancelled());
}

}  // namespace partita::api
