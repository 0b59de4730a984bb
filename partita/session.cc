// A model at work for callers of the library: checks what they give, and hands it to the runtime's session.
#include "runtime/api/session.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>

#include "graph/ir/generated_name.h"
#include "graph/value/node_name.h"
#include "ops/registry.h"
#include "ops/values/learning_rate.h"
#include "partita/convert.h"
#include "partita/model_parts.h"
#include "partita/partita.h"
#include "partita/spec_of.h"
#include "run/host/log.h"
#include "run/start.h"
#include "run/train/training_run.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/train/model_file.h"

namespace partita::api {

namespace {

// What a job's threads call when it fails; the session may be gone by then.
struct Failing {
  std::mutex mutex;
  partita::Session* session = nullptr;
  absl::Status status;  // that came before there was a session

  void Fail(const absl::Status& failure) {
    const std::lock_guard lock(mutex);
    if (session != nullptr) return session->Abort(failure);
    if (status.ok()) status = failure;
  }
  void Serve(partita::Session* served) {
    const std::lock_guard lock(mutex);
    session = served;
    if (session != nullptr && !status.ok()) session->Abort(status);
  }
};

}  // namespace

struct Session::Parts {
  std::shared_ptr<const Model::Parts> model;
  Options options;
  std::shared_ptr<Failing> failing = std::make_shared<Failing>();
  std::unique_ptr<TrainingRun> run;       // with Options::data
  std::unique_ptr<partita::Session> own;  // without
  partita::Session* session = nullptr;    // of the two that there is
  std::atomic<int> stop{0};               // Fit
  const pid_t process = getpid();
  std::atomic<bool> cancelled{false};
  std::atomic<bool> busy{false};  // a call is running
  ModelRecord record;             // of the file that was loaded last; where training stands is the states' to say
  int64_t steps = 0;              // done

  Parts() = default;
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts() { failing->Serve(nullptr); }
  absl::Status Start(const Split& split);
  absl::StatusOr<FitResult> Fit(const FitOptions& fit);
  bool Has(const std::string& entry) const { return session->program().Find(entry) != nullptr; }
  absl::Status Ready(const std::string& entry) const;
  absl::Status Stage(const std::string& entry, const Fields& batch);
  absl::Status StageField(const std::string& entry, const EntryInput& input, const View& view);
  absl::Status StageOnes(const std::string& entry, const EntryInput& input);
  absl::Status Diagnosed(const absl::Status& refused, const Fields& batch);
  absl::StatusOr<StepResult> Step(const std::string& entry, const Fields& batch);
  absl::StatusOr<std::map<std::string, Tensor>> Compute(const std::string& entry, const Fields& batch);
  absl::StatusOr<std::map<std::string, Tensor>> Predict(const Fields& batch);
  absl::StatusOr<int64_t> RowsOf(const Fields& batch) const;
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

bool LacksSteps(const partita::Model& model, const Options& options) {
  return options.steps == 0 && model.learning_rate.steps == 0 && NeedsSteps(model.learning_rate);
}

std::map<std::string, double> ByName(const Metrics& metrics) { return {metrics.begin(), metrics.end()}; }

Epoch EpochOf(const EpochResult& result) {
  return {result.epoch,  result.loss, ByName(result.metrics), result.test_loss, ByName(result.test_metrics),
          result.seconds};
}

Progress ProgressOf(const partita::Progress& progress, int64_t steps) {
  return {progress.step,           steps, progress.epoch, progress.loss, progress.learning_rate, progress.samples_per_s,
          ByName(progress.metrics)};
}

}  // namespace

absl::Status Session::Parts::Start(const Split& split) {
  ASSIGN_OR_RETURN(const RunSpec spec, SpecOf(model->source, split, options));
  const FailureHandler failed = [failing = failing](const std::string&, const absl::Status& status) {
    failing->Fail(status);
  };
  if (!options.data.empty()) {
    ASSIGN_OR_RETURN(run, TrainingRun::Prepare(spec, model->model, failed, options.predict));
    session = &run->session();
    record = run->record();
    steps = record.training->step;
  } else {
    partita::Model trained = model->model;
    if (options.steps > 0) trained.learning_rate.steps = options.steps;
    // Any length will do where nothing is trained; Ready sees to it that nothing is.
    if (LacksSteps(model->model, options)) trained.learning_rate.steps = trained.learning_rate.warmup_steps + 1;
    ASSIGN_OR_RETURN(const RunPlan plan, PlanRun(spec, std::move(trained)));
    ASSIGN_OR_RETURN(Program program,
                     partita::ProgramOf(spec, plan, {.predictions = options.predict, .trains = options.train}));
    ASSIGN_OR_RETURN(own, StartSession(spec, plan, {}, std::move(program), std::nullopt, failed));
    session = own.get();
  }
  failing->Serve(session);
  return absl::OkStatus();
}

// The entry point is there, and can run.
absl::Status Session::Parts::Ready(const std::string& entry) const {
  if (entry == kTrainEntry && Has(entry) && LacksSteps(model->model, options)) {
    return InvalidArgument(
        "Options::steps is 0; expected the number of steps of the whole run, which schedule '{}' of the learning rate "
        "needs",
        model->model.learning_rate.schedule);
  }
  if (entry == kTrainEntry && run != nullptr) {
    return InvalidArgument("the session trains on Options::data, by Fit; start one without data to give it batches");
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
  ASSIGN_OR_RETURN(const std::vector<HeldTensor> parts,
                   session->InputPlacements(entry, input.field, session->local_ranks().front()));
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
  StepResult result{step->loss, {}};
  const Graph& graph = model->model.graph;
  for (const auto& [name, value] : step->metrics) {  // an evaluation reports more, for sets of data
    const ValueId metric = graph.Find(name);
    if (std::ranges::find(graph.metrics, metric) != graph.metrics.end()) result.metrics[name] = value;
  }
  return result;
}

absl::StatusOr<FitResult> Session::Parts::Fit(const FitOptions& fit) {
  if (run == nullptr) return InvalidArgument("the session was started without data (Options::data) for Fit");
  const int64_t planned = run->planned_steps();
  if (run->options().first_step >= planned) {
    return InvalidArgument("all {} steps of the run are done; settings epochs and steps say how many there are",
                           planned);
  }
  if (fit.deadline_seconds < 0 || !(fit.progress_seconds >= 0)) {
    return InvalidArgument("FitOptions has {} and {} seconds; expected 0 or more", fit.deadline_seconds,
                           fit.progress_seconds);
  }
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  FitResult fitted;
  stop = 0;
  TrainingOptions& training = run->options();
  training.stop = &stop;
  training.progress_seconds = fit.progress_seconds;
  training.on_progress = [&](const partita::Progress& progress) {
    if (fit.on_progress && !fit.on_progress(ProgressOf(progress, planned))) stop = 1;
  };
  training.on_step = [&] {
    const std::chrono::duration<double> passed = Clock::now() - begin;
    if (fit.deadline_seconds > 0 && passed.count() >= fit.deadline_seconds) stop = 1;
  };
  training.on_skip = [](int64_t step, const absl::Status& why) {
    Warn("step {} was left out: {}", step, std::string(why.message()));
  };
  training.on_epoch = [&](const EpochResult& epoch) {
    fitted.epochs.push_back(EpochOf(epoch));
    if (fit.on_epoch) fit.on_epoch(fitted.epochs.back());
  };
  absl::StatusOr<TrainingEnd> end =
      run->Train([] { return Writing(); }, [](const std::string& line) { Tell("{}", line); });
  training.on_progress = [](const partita::Progress&) {};
  training.on_step = [] {};
  training.on_epoch = [](const EpochResult&) {};
  if (cancelled) return Cancelled();
  RETURN_IF_ERROR(end.status());
  steps = training.first_step;
  record = run->record();
  RETURN_IF_ERROR(end->status());
  fitted.steps = end->result.steps;
  fitted.samples = end->result.samples;
  fitted.seconds = end->result.seconds;
  fitted.stopped = end->result.stopped_by != 0;
  return fitted;
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

// Samples of a batch of predictions, if it has fewer than the graph's; else the graph's.
absl::StatusOr<int64_t> Session::Parts::RowsOf(const Fields& batch) const {
  const std::vector<EntryInput>& inputs = session->program().Find(kPredictEntry)->inputs;
  const auto of_graph = [](const partita::Session& in, const EntryInput& input) -> absl::StatusOr<int64_t> {
    ASSIGN_OR_RETURN(const std::vector<HeldTensor> parts,
                     in.InputPlacements(kPredictEntry, input.field, in.local_ranks()[0]));
    return parts[0].tensor.global.empty() ? 1 : parts[0].tensor.global[0];
  };
  std::optional<int64_t> rows;
  int64_t whole = 0;
  for (const EntryInput& input : inputs) {
    ASSIGN_OR_RETURN(whole, of_graph(*session, input));
    const auto found = batch.find(input.field);
    if (found == batch.end() || found->second.shape.empty()) continue;
    const int64_t own = found->second.shape[0];
    if (!rows) rows = own;
    if (own != *rows) {
      return InvalidArgument("field {} has {} samples, another field {}; a batch has one number of samples",
                             Quoted(input.field), own, *rows);
    }
  }
  if (!rows) return whole;
  if (*rows < 1 || *rows > whole) {
    return InvalidArgument("a batch of {} samples; expected 1 to {}, the graph's batch", *rows, whole);
  }
  return *rows;
}

// A smaller batch is filled up with copies of its first sample, whose results are dropped.
absl::StatusOr<std::map<std::string, Tensor>> Session::Parts::Predict(const Fields& batch) {
  RETURN_IF_ERROR(Ready(kPredictEntry));
  ASSIGN_OR_RETURN(const int64_t rows, RowsOf(batch));
  std::vector<std::string> filled;  // owns the rows
  Fields whole = batch;
  int64_t graph_rows = rows;
  for (const EntryInput& input : session->program().Find(kPredictEntry)->inputs) {
    const auto found = whole.find(input.field);
    if (found == whole.end() || found->second.shape.empty() || found->second.data == nullptr) continue;
    ASSIGN_OR_RETURN(const std::vector<HeldTensor> parts,
                     session->InputPlacements(kPredictEntry, input.field, session->local_ranks()[0]));
    graph_rows = parts[0].tensor.global[0];
    if (rows == graph_rows) continue;
    View& view = found->second;
    const ConstTensor given = ConstTensorOf(view);
    const auto row_bytes = static_cast<size_t>(Elements(given.shape) / rows * SizeOf(given.dtype));
    std::string& bytes =
        filled.emplace_back(static_cast<const char*>(view.data), row_bytes * static_cast<size_t>(rows));
    for (int64_t row = rows; row < graph_rows; ++row) bytes.append(bytes, 0, row_bytes);
    view.shape[0] = graph_rows;
    view.data = bytes.data();
  }
  ASSIGN_OR_RETURN(auto values, Compute(kPredictEntry, whole));
  if (rows == graph_rows) return values;
  for (auto& [name, value] : values) {
    if (value.shape.empty() || value.shape[0] != graph_rows) {
      return InvalidArgument("value {} has no row for each sample; predict it with a whole batch of {} samples",
                             Quoted(name), graph_rows);
    }
    value.bytes.resize(value.bytes.size() / static_cast<size_t>(graph_rows) * static_cast<size_t>(rows));
    value.shape[0] = rows;
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
  if (run != nullptr) return run->record();
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
  if (run != nullptr && !weights_only) {
    return InvalidArgument("a session with Options::data resumes from a file that it is started with: setting load");
  }
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
    auto parts = std::make_unique<Parts>();
    parts->model = model.parts_;
    parts->options = options;
    const absl::Status started = parts->Start(split);
    if (!started.ok()) return ErrorOf(started);
    return Session(std::move(parts));
  });
}

Result<StepResult> Session::Train(const Fields& batch) {
  return InTurn<Result<StepResult>>(parts_.get(), [&] { return ResultOf(parts_->Step(kTrainEntry, batch)); });
}

Result<StepResult> Session::Evaluate(const Fields& batch) {
  return InTurn<Result<StepResult>>(parts_.get(), [&] { return ResultOf(parts_->Step(kEvaluateEntry, batch)); });
}

Result<FitResult> Session::Fit(const FitOptions& options) {
  return InTurn<Result<FitResult>>(parts_.get(), [&] { return ResultOf(parts_->Fit(options)); });
}

void Session::Interrupt() {
  if (parts_ != nullptr && parts_->process == getpid()) parts_->stop = 1;
}

Result<std::map<std::string, Tensor>> Session::Predict(const Fields& batch) {
  return InTurn<Result<std::map<std::string, Tensor>>>(parts_.get(), [&] { return ResultOf(parts_->Predict(batch)); });
}

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

std::optional<Preprocessing> Session::preprocessing() const {
  using Known = std::optional<Preprocessing>;
  const auto read = [&]() -> Result<Known> {
    const std::optional<partita::Preprocessing>& images = parts_->record.preprocessing;
    if (!images) return Known();
    return Known({images->images.height, images->images.width, images->images.channels, images->normalization.mean,
                  images->normalization.deviation, images->resize, images->class_names});
  };
  const Result<Known> known = InTurn<Result<Known>>(parts_.get(), read);
  return known ? *known : Known();
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

void SetLog(std::function<void(Level level, const std::string& line)> log) {
  if (!log) return SetLogSink(nullptr);
  SetLogSink([log = std::move(log)](LogLevel level, const std::string& line) {
    log(level == LogLevel::kWarning ? Level::kWarning : level == LogLevel::kInfo ? Level::kInfo : Level::kDetail, line);
  });
}

}  // namespace partita::api
