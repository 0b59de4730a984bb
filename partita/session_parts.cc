// What a session does once its caller may: starts, stages batches, runs steps, fits, predicts, loads.
#include "partita/session_parts.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "graph/ir/generated_name.h"
#include "graph/read/adapted_model.h"
#include "graph/read/class_weights.h"
#include "graph/value/node_name.h"
#include "ops/registry.h"
#include "ops/values/learning_rate.h"
#include "partita/channel_of.h"
#include "partita/convert.h"
#include "partita/spec_of.h"
#include "run/host/log.h"
#include "run/plan/training_settings.h"
#include "run/start.h"
#include "run/tuning/class_weights.h"
#include "runtime/base/check.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"
#include "runtime/train/model_file.h"

namespace partita::api {

namespace {

bool LacksSteps(const LearningRate& rate, const RunSpec& spec) {
  return spec.train().steps() == 0 && rate.steps == 0 && NeedsSteps(rate);
}

std::map<std::string, double> ByName(const Metrics& metrics) { return {metrics.begin(), metrics.end()}; }

Epoch EpochOf(const EpochResult& result) {
  return {result.epoch,  result.loss, ByName(result.metrics), result.test_loss, ByName(result.test_metrics),
          result.seconds};
}

Progress ProgressOf(const partita::Progress& progress, int64_t steps) {
  return {progress.step,
          steps,
          progress.epoch,
          progress.loss,
          progress.learning_rate,
          progress.samples_per_s,
          ByName(progress.metrics),
          progress.gradient_norm};
}

// Without files there are no labels to count, and no names.
absl::Status CheckClassWeights(const RunSpec& spec) {
  ASSIGN_OR_RETURN(const ClassWeights weights, ReadClassWeights(spec));
  if (!weights.numbers.empty()) return absl::OkStatus();
  return InvalidArgument(
      "setting class-weights is {}, which only the setting data explains; expected a number for each "
      "class",
      Quoted(spec.model().class_weights()));
}

}  // namespace

absl::Status Session::Parts::Start(absl::StatusOr<RunSpec> described, const std::vector<std::string>& predict,
                                   bool train, const std::shared_ptr<const Transport>& transport) {
  ASSIGN_OR_RETURN(spec, std::move(described));
  if (!train && predict.empty()) {
    return InvalidArgument("options say neither train nor what to predict; a session is for one of them at least");
  }
  const bool fits = spec.dataset().has_data() || spec.dataset().mock_data();
  if (!train && fits) {
    return InvalidArgument("setting data is for Fit, and the session is not to train; give the data to Predict");
  }
  if (!model->loss.empty()) spec.mutable_model()->set_loss(model->loss);
  Joining joining{[failing = failing](const std::string&, const absl::Status& status) { failing->Fail(status); }};
  ASSIGN_OR_RETURN(joining.channel, ChannelOf(transport));
  if (fits) {
    ASSIGN_OR_RETURN(run, TrainingRun::Prepare(spec, model->model, joining, predict));
    trained = run->plan().model;
    session = &run->session();
    record = run->record();
    steps = record.training->step;
  } else {
    if (spec.model().has_class_weights()) RETURN_IF_ERROR(CheckClassWeights(spec));
    ASSIGN_OR_RETURN(trained, WithTrainingSettings(spec, model->model));
    ForgetTrainingSettings(spec);
    if (spec.train().steps() > 0) trained.learning_rate.steps = spec.train().steps();
    partita::Model planned = trained;
    // Any length will do where nothing is trained; Ready sees to it that nothing is.
    if (LacksSteps(trained.learning_rate, spec)) {
      planned.learning_rate.steps = trained.learning_rate.warmup_steps + 1;
    }
    ASSIGN_OR_RETURN(const RunPlan plan, PlanRun(spec, {.processes = joining.processes()}, std::move(planned)));
    ASSIGN_OR_RETURN(Program program, partita::ProgramOf(spec, plan, {.predictions = predict, .trains = train}));
    ASSIGN_OR_RETURN(own, StartSession(spec, plan, {}, std::move(program), std::nullopt, joining));
    session = own.get();
  }
  failing->Serve(session);
  return absl::OkStatus();
}

// The entry point is there, and can run.
absl::Status Session::Parts::Ready(const std::string& entry) const {
  if (entry == kTrainEntry && Has(entry) && LacksSteps(trained.learning_rate, spec)) {
    return InvalidArgument(
        "setting steps is 0; expected the number of steps of the whole run, which schedule '{}' of the learning rate "
        "needs",
        trained.learning_rate.schedule);
  }
  if (entry == kTrainEntry && run != nullptr) {
    return InvalidArgument("the session trains on the setting data, by Fit; start one without it to give it batches");
  }
  if (Has(entry)) return absl::OkStatus();
  if (entry == kPredictEntry) {
    return InvalidArgument("the session was started without values to predict");
  }
  if (!Has(kTrainEntry)) return InvalidArgument("the session was started for predictions alone");
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
  StepResult result{step->loss, {}, step->gradient_norm};
  const Graph& graph = model->model.graph;
  for (const auto& [name, value] : step->metrics) {  // an evaluation reports more, for sets of data
    const ValueId metric = graph.Find(name);
    if (std::ranges::find(graph.metrics, metric) != graph.metrics.end()) result.metrics[name] = value;
  }
  return result;
}

absl::StatusOr<FitResult> Session::Parts::Fit(const FitOptions& fit) {
  if (run == nullptr) return InvalidArgument("the session was started without the setting data, which Fit trains on");
  const int64_t planned = run->planned_steps();
  if (run->options().first_step >= planned) {
    return InvalidArgument("all {} steps of the run are done; settings epochs and steps say how many there are",
                           planned);
  }
  if (!(fit.deadline_seconds >= 0) || !(fit.progress_seconds >= 0)) {
    return InvalidArgument("deadline_seconds is {}, progress_seconds {}; expected 0 or more of both",
                           fit.deadline_seconds, fit.progress_seconds);
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
  fitted.step = steps;
  fitted.samples = end->result.samples;
  fitted.seconds = end->result.seconds;
  fitted.stopped = end->result.stopped_by != 0 && steps < planned;  // a run at its end cannot be continued
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

// The samples of a batch of predictions, and of the graph's.
absl::StatusOr<Session::Parts::BatchSizes> Session::Parts::SizesOf(const Fields& batch) const {
  std::optional<int64_t> rows;
  int64_t whole = 0;
  for (const EntryInput& input : session->program().Find(kPredictEntry)->inputs) {
    ASSIGN_OR_RETURN(const std::vector<HeldTensor> parts,
                     session->InputPlacements(kPredictEntry, input.field, session->local_ranks().front()));
    if (parts[0].tensor.global.empty()) continue;
    whole = parts[0].tensor.global[0];
    const auto found = batch.find(input.field);
    if (found == batch.end() || found->second.shape.empty()) continue;  // Stage rejects it
    const int64_t own = found->second.shape[0];
    if (!rows) rows = own;
    if (own != *rows) {
      return InvalidArgument("field {} has {}, another field {}; a batch has one number of samples",
                             Quoted(input.field), Counted(own, "sample"), *rows);
    }
  }
  if (!rows) return BatchSizes{whole, whole};
  if (*rows < 1 || *rows > whole) {
    return InvalidArgument("a batch of {}; expected 1 to {}, the graph's batch", Counted(*rows, "sample"), whole);
  }
  return BatchSizes{*rows, whole};
}

// A smaller batch is filled up with copies of its first sample, whose results are dropped.
absl::StatusOr<std::map<std::string, Tensor>> Session::Parts::Predict(const Fields& batch) {
  RETURN_IF_ERROR(Ready(kPredictEntry));
  ASSIGN_OR_RETURN(const BatchSizes samples, SizesOf(batch));
  if (samples.given == samples.whole) return Compute(kPredictEntry, batch);
  std::map<std::string, std::string> rows;  // owns what the views of `whole` show
  Fields whole = batch;
  for (auto& [name, view] : whole) {
    if (view.shape.empty() || view.shape[0] != samples.given || view.data == nullptr) continue;
    const ConstTensor given = ConstTensorOf(view);
    const auto row_bytes = static_cast<size_t>(Elements(given.shape) / samples.given * SizeOf(given.dtype));
    std::string& bytes = rows[name];
    bytes.assign(static_cast<const char*>(view.data), row_bytes * static_cast<size_t>(samples.given));
    for (int64_t row = samples.given; row < samples.whole; ++row) bytes.append(bytes, 0, row_bytes);
    view.shape[0] = samples.whole;
    view.data = bytes.data();
  }
  ASSIGN_OR_RETURN(auto values, Compute(kPredictEntry, whole));
  for (auto& [name, value] : values) {
    if (value.shape.empty() || value.shape[0] != samples.whole) {
      return InvalidArgument("value {} has no row for each sample; predict it with a whole batch of {}", Quoted(name),
                             Counted(samples.whole, "sample"));
    }
    value.bytes.resize(value.bytes.size() / static_cast<size_t>(samples.whole) * static_cast<size_t>(samples.given));
    value.shape[0] = samples.given;
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
  now.training->run["seed"] = fmt::to_string(spec.train().seed());
  now.training->recipe["precision"] = spec.execution().precision();
  AddRecipe(trained, Ops().optimizers(), *now.training);
  return now;
}

absl::Status Session::Parts::Load(const std::string& path, bool weights_only) {
  if (run != nullptr && !weights_only) {
    return InvalidArgument("a session with the setting data resumes from a file that it is started with: setting load");
  }
  ASSIGN_OR_RETURN(ModelFile file, ModelFile::Open(trained, path));
  const ModelRecord loaded = file.record();
  const bool resumes = loaded.training && Has(kTrainEntry) && !weights_only;
  ASSIGN_OR_RETURN(const CheckedFile states,
                   std::move(file).Check(session->program(), resumes ? States::kAll : States::kEvaluated));
  std::set<std::string> optional = ClassWeightStates(trained.graph);
  // Where training begins, adapters do.
  for (const Adapter& adapter : AdaptersOf(trained.graph)) {
    if (Has(kTrainEntry)) optional.insert({adapter.a, adapter.b});
  }
  RETURN_IF_ERROR(LoadStates(*session, states, optional));
  const std::optional<TrainingPosition> before = std::exchange(record, loaded).training;
  if (!resumes) record.training = before;
  if (resumes) {
    steps = loaded.training->step;
    session->NumberStepsFrom(steps);
  }
  return absl::OkStatus();
}

}  // namespace partita::api
