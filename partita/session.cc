// A model at work for callers of the library: checks what they give, and hands it to the runtime's session.
#include "runtime/api/session.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "graph/ir/generated_name.h"
#include "graph/make_program.h"
#include "graph/proto_io/proto_io.h"
#include "graph/value/node_name.h"
#include "ops/registry.h"
#include "ops/values/learning_rate.h"
#include "partita/convert.h"
#include "partita/model_parts.h"
#include "partita/partita.h"
#include "partitioner/clusters/cluster_by_default.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/train/model_file.h"

namespace partita::api {

struct Session::Parts {
  std::shared_ptr<const Model::Parts> model;
  Options options;
  std::unique_ptr<partita::Session> session;
  const pid_t process = getpid();
  std::atomic<bool> cancelled{false};
  std::atomic<bool> busy{false};  // a call is running
  ModelRecord record;             // of the file that was loaded last; where training stands is the states' to say
  int64_t steps = 0;              // done

  bool Has(const std::string& entry) const { return session->program().Find(entry) != nullptr; }
  absl::Status Ready(const std::string& entry) const;
  absl::Status Stage(const std::string& entry, const Fields& batch);
  absl::Status StageField(const std::string& entry, const EntryInput& input, const View& view);
  absl::Status StageOnes(const std::string& entry, const EntryInput& input);
  absl::Status Diagnosed(const absl::Status& refused, const Fields& batch);
  absl::StatusOr<StepResult> Step(const std::string& entry, const Fields& batch);
  absl::StatusOr<std::map<std::string, Tensor>> Compute(const std::string& entry, const Fields& batch);
  absl::StatusOr<int64_t> StepsDone() const;
  absl::StatusOr<ModelRecord> Record() const;
  absl::Status Load(const std::string& path, bool weights_only);
};

namespace {

absl::Status Cancelled() { return absl::CancelledError("the session was cancelled"); }

// What `call` returns, or why it may not run: a session runs one call at a time, in the process that started it.
template <typename T, typename Parts, typename Call>
T InTurn(Parts* parts, const Call& call) {
  const auto misuse = [](const std::string& why) { return ErrorOf(absl::FailedPreconditionError(why)); };
  if (parts == nullptr) return misuse("the session was moved from; use the one that it was moved to");
  if (parts->process != getpid()) {
    return misuse(fmt::format("the session belongs to process {}, this is process {}; start one after fork()",
                              parts->process, getpid()));
  }
  if (parts->busy.exchange(true)) {
    return misuse("another thread is in a call of this session; a session runs one call at a time");
  }
  const auto end = [](Parts* ended) { ended->busy = false; };
  const std::unique_ptr<Parts, decltype(end)> running(parts, end);
  if (parts->cancelled) return ErrorOf(Cancelled());
  return Guarded<T>(call);
}

template <typename T>
Result<T> ResultOf(absl::StatusOr<T> value) {
  if (!value.ok()) return ErrorOf(value.status());
  return *std::move(value);
}

absl::StatusOr<Strategy> StrategyOf(const partita::Model& model, const Split& split) {
  if (split.strategy_file.empty()) return DataModelStrategy(model.graph, split.data, split.model);
  if (split.data != 1 || split.model != 1) {
    return InvalidArgument("a split names the strategy {} and {} x {} ranks; one of them is allowed",
                           Quoted(split.strategy_file), split.data, split.model);
  }
  return LoadStrategy(split.strategy_file);
}

bool LacksSteps(const partita::Model& model, const Options& options) {
  return options.steps == 0 && model.learning_rate.steps == 0 && NeedsSteps(model.learning_rate);
}

absl::StatusOr<Program> ProgramOf(const partita::Model& given, const Split& split, const Options& options) {
  partita::Model model = given;
  if (options.steps < 0) return InvalidArgument("Options::steps is {}; expected 0 or more", options.steps);
  if (options.steps > 0) model.learning_rate.steps = options.steps;
  // Any length will do where nothing is trained; Ready sees to it that nothing is.
  if (LacksSteps(given, options)) model.learning_rate.steps = model.learning_rate.warmup_steps + 1;
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

// The entry point is there, and can run.
absl::Status Session::Parts::Ready(const std::string& entry) const {
  if (entry == kTrainEntry && Has(entry) && LacksSteps(model->model, options)) {
    return InvalidArgument(
        "Options::steps is 0; expected the number of steps of the whole run, which schedule '{}' of the learning rate "
        "needs",
        model->model.learning_rate.schedule);
  }
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

absl::StatusOr<StepResult> Session::Parts::Step(const std::string& entry, const Fields& batch) {
  const bool trains = entry == kTrainEntry;
  RETURN_IF_ERROR(Ready(entry));
  RETURN_IF_ERROR(Stage(entry, batch));
  auto step = trains ? session->Train() : session->Evaluate();
  if (trains && absl::IsOutOfRange(step.status())) step = Diagnosed(step.status(), batch);
  if (cancelled) return Cancelled();
  RETURN_IF_ERROR(step.status());
  if (trains) ++steps;
  return StepResult{step->loss, {step->metrics.begin(), step->metrics.end()}};
}

absl::StatusOr<std::map<std::string, Tensor>> Session::Parts::Compute(const std::string& entry, const Fields& batch) {
  RETURN_IF_ERROR(Ready(entry));
  RETURN_IF_ERROR(Stage(entry, batch));
  const auto results = session->Compute(entry);
  if (cancelled) return Cancelled();
  RETURN_IF_ERROR(results.status());
  std::map<std::string, Tensor> values;
  for (size_t v = 0; v < results->size(); ++v) {
    ASSIGN_OR_RETURN(Tensor tensor, TensorOf(results->at(v)));
    values.emplace(session->program().Find(entry)->results[v].name, std::move(tensor));
  }
  return values;
}

// As the states say, which the caller may have written.
absl::StatusOr<int64_t> Session::Parts::StepsDone() const {
  const std::vector<std::string> states = session->StateNames();
  if (std::ranges::find(states, kIterationName) == states.end()) return steps;
  ASSIGN_OR_RETURN(const HostTensor iteration, session->ReadState(kIterationName));
  int32_t done = 0;
  CHECK(iteration.bytes.size() == sizeof(done));
  std::memcpy(&done, iteration.bytes.data(), sizeof(done));
  return done;
}

// What a file says: of the data only what another file has said.
absl::StatusOr<ModelRecord> Session::Parts::Record() const {
  ModelRecord now = record;
  if (!Has(kTrainEntry)) return now;
  if (!now.training) now.training.emplace();
  ASSIGN_OR_RETURN(now.training->step, StepsDone());
  if (!model->fields.empty()) now.training->run["batch"] = fmt::to_string(model->fields[0].shape[0]);
  now.training->run["seed"] = fmt::to_string(options.seed);
  now.training->recipe["precision"] = options.f64 ? "f64" : options.mixed_precision ? "bf16" : "f32";
  partita::Model trained = model->model;
  if (options.steps > 0) trained.learning_rate.steps = options.steps;
  AddRecipe(trained, Ops().optimizers(), *now.training);
  return now;
}

absl::Status Session::Parts::Load(const std::string& path, bool weights_only) {
  ASSIGN_OR_RETURN(ModelFile file, ModelFile::Open(model->model, path));
  const ModelRecord loaded = file.record();
  const bool resumes = loaded.training && Has(kTrainEntry) && !weights_only;
  ASSIGN_OR_RETURN(const CheckedFile states,
                   std::move(file).Check(session->program(), resumes ? States::kAll : States::kEvaluated));
  RETURN_IF_ERROR(LoadStates(*session, states));
  const std::optional<TrainingPosition> before = std::exchange(record, loaded).training;
  if (!resumes) record.training = before;
  if (resumes) {
    steps = loaded.training->step;
    session->NumberStepsFrom(steps);
  }
  return absl::OkStatus();
}

Session::Session(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&& other) noexcept {
  if (this != &other) {
    const Session gone(std::move(*this));
    parts_ = std::move(other.parts_);
  }
  return *this;
}
// In a child of the session's process there are no threads that it could end.
Session::~Session() {
  if (parts_ != nullptr && parts_->process != getpid()) parts_.release();  // NOLINT(bugprone-unused-return-value)
}

Result<Session> Session::Start(const Model& model, const Split& split, const Options& options) {
  return Guarded<Result<Session>>([&]() -> Result<Session> {
    auto program = ProgramOf(model.parts_->model, split, options);
    if (!program.ok()) return ErrorOf(program.status());
    const int ranks = program->ranks();
    auto session = partita::Session::Start(*std::move(program), RuntimeOptions(options, ranks));
    if (!session.ok()) return ErrorOf(session.status());
    auto parts = std::make_unique<Parts>();
    parts->model = model.parts_;
    parts->options = options;
    parts->session = *std::move(session);
    return Session(std::move(parts));
  });
}

Result<StepResult> Session::Train(const Fields& batch) {
  return InTurn<Result<StepResult>>(parts_.get(), [&] { return ResultOf(parts_->Step(kTrainEntry, batch)); });
}

Result<StepResult> Session::Evaluate(const Fields& batch) {
  return InTurn<Result<StepResult>>(parts_.get(), [&] { return ResultOf(parts_->Step(kEvaluateEntry, batch)); });
}

Result<std::map<std::string, Tensor>> Session::Predict(const Fields& batch) { return Compute(kPredictEntry, batch); }

Result<std::map<std::string, Tensor>> Session::Compute(const std::string& entry, const Fields& batch) {
  return InTurn<Result<std::map<std::string, Tensor>>>(parts_.get(),
                                                       [&] { return ResultOf(parts_->Compute(entry, batch)); });
}

Outcome Session::Save(const std::string& path) const {
  const auto save = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(ModelRecord record, parts_->Record());
    return SaveModel(*parts_->session, parts_->model->model, std::move(record), /*weights_only=*/false, path);
  };
  return InTurn<Outcome>(parts_.get(), [&] { return OutcomeOf(save()); });
}

Outcome Session::Load(const std::string& path) {
  return InTurn<Outcome>(parts_.get(), [&] { return OutcomeOf(parts_->Load(path, /*weights_only=*/false)); });
}

Outcome Session::LoadWeights(const std::string& path) {
  return InTurn<Outcome>(parts_.get(), [&] { return OutcomeOf(parts_->Load(path, /*weights_only=*/true)); });
}

std::vector<std::string> Session::states() const {
  using Names = std::vector<std::string>;
  Result<Names> names =
      InTurn<Result<Names>>(parts_.get(), [&]() -> Result<Names> { return parts_->session->StateNames(); });
  return names ? *std::move(names) : Names();
}

Result<Tensor> Session::Read(const std::string& state) const {
  const auto read = [&]() -> absl::StatusOr<Tensor> {
    ASSIGN_OR_RETURN(const HostTensor whole, parts_->session->ReadState(state));
    return TensorOf(whole);
  };
  return InTurn<Result<Tensor>>(parts_.get(), [&] { return ResultOf(read()); });
}

Outcome Session::Write(const std::string& state, const View& value) {
  const auto write = [&]() -> absl::Status {
    if (value.data == nullptr) return InvalidArgument("state {}: given is no data", Quoted(state));
    return parts_->session->WriteState(state, ConstTensorOf(value));
  };
  return InTurn<Outcome>(parts_.get(), [&] { return OutcomeOf(write()); });
}

void Session::Cancel() {
  if (parts_ == nullptr || parts_->process != getpid()) return;
  parts_->cancelled = true;
  parts_->session->Abort(Cancelled());
}

}  // namespace partita::api
