// Partita for programs in C++17 and later that use the packages: classes over the C interface, in a header alone.
//
//   auto model = partita::Model::FromFile("model.pbtxt");
//   auto session = partita::Session::Start(*model, {"dp = 2", {"logits"}});
//   for (...) session->Train({{"images", images}, {"labels", labels}});
//   session->Save("model.safetensors");
//
// Models and sessions free themselves. Errors are values; no call throws, except what a callback of the caller throws,
// which goes through Fit. Threads and processes: as partita.h says. What calls take and return is in values.h.
#ifndef PARTITA_PARTITA_C_PARTITA_HPP_
#define PARTITA_PARTITA_C_PARTITA_HPP_

#include <cstring>
#include <exception>

#include "partita/c/partita.h"
#include "partita/values.h"

namespace partita {

using namespace api;

namespace internal {

inline Error Taken(partita_error* error) {
  const partita_code code = partita_error_code(error);
  Error taken{static_cast<ErrorCode>(code - PARTITA_INVALID_ARGUMENT), partita_error_message(error)};
  partita_error_free(error);
  return taken;
}

inline Outcome OutcomeOf(partita_error* error) {
  if (error == nullptr) return std::nullopt;
  return Taken(error);
}

// A struct of the C interface as a caller begins it.
template <typename T>
T Sized() {
  T made = {};
  made.size = sizeof(T);
  return made;
}

// Views of the fields, and of their names.
inline std::vector<partita_tensor> TensorsOf(const Fields& fields) {
  std::vector<partita_tensor> tensors;
  for (const auto& [name, view] : fields) {
    tensors.push_back({sizeof(partita_tensor), name.c_str(), static_cast<partita_type>(view.type),
                       static_cast<int32_t>(view.shape.size()), view.shape.data(), view.data});
  }
  return tensors;
}

inline Field FieldOf(const partita_tensor& tensor) {
  return {tensor.name, static_cast<Type>(tensor.type), {tensor.shape, tensor.shape + tensor.rank}};
}

inline Tensor CopyOf(const partita_tensor& tensor) {
  constexpr int64_t kBytes[] = {4, 8, 4, 1};  // of an element, by type
  const Field field = FieldOf(tensor);
  int64_t bytes = kBytes[tensor.type];
  for (const int64_t size : field.shape) bytes *= size;
  Tensor copy{field.type, field.shape, std::vector<std::byte>(static_cast<size_t>(bytes))};
  if (bytes > 0) std::memcpy(copy.bytes.data(), tensor.data, copy.bytes.size());
  return copy;
}

// Copies the tensors and frees them.
inline Result<std::map<std::string, Tensor>> Copied(partita_error* error, partita_values* values) {
  if (error != nullptr) return Taken(error);
  const std::unique_ptr<partita_values, void (*)(partita_values*)> owned(values, partita_values_free);
  std::map<std::string, Tensor> copies;
  for (size_t i = 0; i < partita_values_count(values); ++i) {
    auto tensor = Sized<partita_tensor>();
    if (partita_error* const wrong = partita_values_get(values, i, &tensor)) return Taken(wrong);
    copies.emplace(tensor.name, CopyOf(tensor));
  }
  return copies;
}

inline std::map<std::string, double> Metrics(size_t count, const char* const* names, const double* values) {
  std::map<std::string, double> metrics;
  for (size_t m = 0; m < count; ++m) metrics.emplace(names[m], values[m]);
  return metrics;
}

// Of a step or of progress.
template <typename Struct>
std::optional<double> NormOf(const Struct& of) {
  if (of.has_gradient_norm == 0) return std::nullopt;
  return of.gradient_norm;
}

inline Progress ProgressOf(const partita_progress& now) {
  return {now.step,
          now.steps,
          now.epoch,
          now.loss,
          now.learning_rate,
          now.samples_per_second,
          Metrics(now.metric_count, now.metric_names, now.metric_values),
          NormOf(now)};
}

inline Epoch EpochOf(const partita_epoch& ended) {
  Epoch epoch;
  epoch.number = ended.number;
  epoch.loss = ended.loss;
  epoch.metrics = Metrics(ended.metric_count, ended.metric_names, ended.metric_values);
  if (ended.is_tested != 0) epoch.test_loss = ended.test_loss;
  epoch.test_metrics = Metrics(ended.test_metric_count, ended.test_metric_names, ended.test_metric_values);
  epoch.seconds = ended.seconds;
  return epoch;
}

// A call of Fit as its callbacks see it. What they throw waits until the call has ended, which it then does soon.
struct Fitting {
  const FitOptions& options;
  partita_session* session;
  std::vector<Epoch> epochs = {};
  std::exception_ptr thrown = nullptr;

  template <typename F>
  bool Calls(const F& callback) {
    if (thrown == nullptr) {
      try {
        return callback();
      } catch (...) {
        thrown = std::current_exception();
        partita_error_free(partita_session_interrupt(session));
      }
    }
    return false;
  }
  static int32_t OnProgress(void* user, const partita_progress* now) {
    auto& fitting = *static_cast<Fitting*>(user);
    return fitting.Calls([&] { return fitting.options.on_progress(ProgressOf(*now)); }) ? 1 : 0;
  }
  static void OnEpoch(void* user, const partita_epoch* ended) {
    auto& fitting = *static_cast<Fitting*>(user);
    fitting.Calls([&] {
      fitting.epochs.push_back(EpochOf(*ended));
      if (fitting.options.on_epoch) fitting.options.on_epoch(fitting.epochs.back());
      return true;
    });
  }
};

inline int32_t AllReduceBy(void* user, const partita_all_reduce* given) {
  AllReduce sum;
  sum.group = given->group;
  sum.ranks = given->ranks;
  sum.rank_count = given->rank_count;
  sum.type = static_cast<Type>(given->type);
  sum.count = given->count;
  sum.input = given->input;
  sum.output = given->output;
  return given->reduction == PARTITA_SUM && static_cast<const Transport*>(user)->all_reduce(sum) ? 1 : 0;
}

inline int32_t GetBy(void* user, const char* key, int64_t milliseconds, void* value, size_t* bytes) {
  const std::optional<std::string> found = static_cast<const Transport*>(user)->get(key, milliseconds);
  if (!found || found->size() > *bytes) return 0;
  *bytes = found->size();
  std::memcpy(value, found->data(), found->size());
  return 1;
}

inline partita_transport TransportOf(const Transport& given) {
  auto transport = Sized<partita_transport>();
  transport.rank = given.rank;
  transport.ranks = given.ranks;
  if (given.send) {
    transport.send = [](void* user, int32_t to, const void* data, size_t bytes) -> int32_t {
      return static_cast<const Transport*>(user)->send(to, data, bytes) ? 1 : 0;
    };
  }
  if (given.receive) {
    transport.receive = [](void* user, int32_t from, void* data, size_t bytes) -> int32_t {
      return static_cast<const Transport*>(user)->receive(from, data, bytes) ? 1 : 0;
    };
  }
  if (given.close) {
    transport.close = [](void* user, int32_t rank) { static_cast<const Transport*>(user)->close(rank); };
  }
  if (given.all_reduce) transport.all_reduce = AllReduceBy;
  if (given.barrier) {
    transport.barrier = [](void* user) -> int32_t { return static_cast<const Transport*>(user)->barrier() ? 1 : 0; };
  }
  if (given.put) {
    transport.put = [](void* user, const char* key, const void* value, size_t bytes) -> int32_t {
      return static_cast<const Transport*>(user)->put(key, {static_cast<const char*>(value), bytes}) ? 1 : 0;
    };
  }
  if (given.get) transport.get = GetBy;
  transport.address = given.address.c_str();
  transport.user = const_cast<Transport*>(&given);
  return transport;
}

}  // namespace internal

// A graph with its loss and optimizer. It never changes, and copies share it.
class Model {
 public:
  // .pbtxt, .textproto, .pb, .pt2, .onnx
  static Result<Model> FromFile(const std::string& path, const Import& import = {}) {
    auto options = internal::Sized<partita_import_options>();
    if (!import.loss.empty()) options.loss = import.loss.c_str();
    options.frozen_statistics = import.frozen_statistics ? 1 : 0;
    partita_model* model = nullptr;
    partita_error* const error = partita_model_from_file(path.c_str(), &options, &model);
    return Made(error, model);
  }
  static Result<Model> FromText(const std::string& pbtxt) {
    partita_model* model = nullptr;
    partita_error* const error = partita_model_from_text(pbtxt.c_str(), &model);
    return Made(error, model);
  }

  // The same graph for batches of another size.
  Result<Model> WithBatch(int64_t batch) const {
    partita_model* other = nullptr;
    partita_error* const error = partita_model_with_batch(model_.get(), batch, &other);
    return Made(error, other);
  }

  // That training wants.
  std::vector<Field> fields() const {
    std::vector<Field> fields;
    for (size_t i = 0; i < partita_model_field_count(model_.get()); ++i) {
      auto field = internal::Sized<partita_tensor>();
      if (partita_error* const wrong = partita_model_field(model_.get(), i, &field)) {
        partita_error_free(wrong);
        continue;
      }
      fields.push_back(internal::FieldOf(field));
    }
    return fields;
  }

  const partita_model* get() const { return model_.get(); }

 private:
  explicit Model(partita_model* model) : model_(model, partita_model_free) {}
  static Result<Model> Made(partita_error* error, partita_model* model) {
    if (error != nullptr) return internal::Taken(error);
    return Model(model);
  }

  std::shared_ptr<partita_model> model_;
};

// What a session would be, found without starting it: split, step time, memory, bytes. Many threads may read it.
class Plan {
 public:
  // The settings may also be those of `trainer plan`; what only training reads has no effect, nor have the other
  // fields. kDoesNotFit: the message says what is lacking.
  static Result<Plan> Make(const Model& model, const Run& run = {}) {
    auto options = internal::Sized<partita_session_options>();
    options.settings = run.settings.c_str();
    partita_plan* plan = nullptr;
    if (partita_error* const wrong = partita_plan_make(model.get(), &options, &plan)) return internal::Taken(wrong);
    return Plan(plan);
  }

  PlanSummary summary() const {
    auto told = internal::Sized<partita_plan_summary>();
    if (partita_error* const wrong = partita_plan_summarize(get(), &told)) {
      partita_error_free(wrong);
      return {};
    }
    PlanSummary summary;
    summary.split = told.split;
    summary.cluster = told.cluster;
    summary.ranks = told.ranks;
    summary.batch = told.batch;
    summary.step_seconds = told.step_seconds;
    summary.compute_seconds = told.compute_seconds;
    summary.exposed_seconds = told.exposed_seconds;
    summary.idle_seconds = told.idle_seconds;
    summary.memory_bytes = told.memory_bytes;
    summary.memory_limit_bytes = told.memory_limit_bytes;
    summary.device_used_bytes = told.device_used_bytes;
    summary.device_memory_bytes = told.device_memory_bytes;
    summary.wire_bytes = told.wire_bytes;
    return summary;
  }

  // What `trainer plan --deterministic --format=json` prints.
  Result<std::string> Json() const { return Text(partita_plan_json); }
  // The page of `trainer plan --page`: HTML that loads nothing. kInvalidArgument: there is no machine.
  Result<std::string> Page() const { return Text(partita_plan_page); }
  // The split as a strategy file (.pbtxt); comments say why it was chosen. A session with it runs what was planned.
  Result<std::string> StrategyText() const { return Text(partita_plan_strategy); }

  const partita_plan* get() const { return plan_.get(); }

 private:
  explicit Plan(partita_plan* plan) : plan_(plan, partita_plan_free) {}

  template <typename F>
  Result<std::string> Text(const F& call) const {
    const char* text = nullptr;
    if (partita_error* const wrong = call(get(), &text)) return internal::Taken(wrong);
    return std::string(text);
  }

  std::shared_ptr<partita_plan> plan_;
};

// A model at work on its ranks.
class Session {
 public:
  // Splits the model as the settings say, proves that the split has no race, and starts the ranks.
  static Result<Session> Start(const Model& model, const Run& run = {}) {
    std::vector<const char*> names;
    for (const std::string& name : run.predict) names.push_back(name.c_str());
    auto options = internal::Sized<partita_session_options>();
    options.settings = run.settings.c_str();
    options.values = names.data();
    options.value_count = names.size();
    options.predict_only = run.train ? 0 : 1;
    const partita_transport transport = run.transport ? internal::TransportOf(*run.transport) : partita_transport{};
    if (run.transport) options.transport = &transport;
    partita_session* session = nullptr;
    if (partita_error* const wrong = partita_session_start(model.get(), &options, &session)) {
      return internal::Taken(wrong);
    }
    return Session(session, run.transport);
  }

  // Trains on the files of the setting `data` to the end of the run, and evaluates the test set after each epoch. A
  // call that was stopped is continued by the next one. A callback may destroy the session; other calls of it from
  // there, except Interrupt and Cancel, are kMisuse.
  Result<FitResult> Fit(const FitOptions& options = {}) {
    const std::shared_ptr<const Transport> transport = transport_;  // which is used to the end of the call
    internal::Fitting fitting{options, get()};
    auto given = internal::Sized<partita_fit_options>();
    if (options.on_progress) given.on_progress = internal::Fitting::OnProgress;
    given.on_epoch = internal::Fitting::OnEpoch;
    given.user = &fitting;
    given.progress_seconds = options.progress_seconds;
    given.deadline_seconds = options.deadline_seconds;
    auto did = internal::Sized<partita_fit_result>();
    partita_error* const wrong = partita_session_fit(get(), &given, &did);
    if (fitting.thrown != nullptr) {
      partita_error_free(wrong);
      std::rethrow_exception(fitting.thrown);
    }
    if (wrong != nullptr) return internal::Taken(wrong);
    return FitResult{std::move(fitting.epochs), did.steps, did.step, did.samples, did.seconds, did.stopped != 0};
  }

  // Any thread: ends the Fit in progress after the steps in flight; the session stays usable.
  void Interrupt() { partita_error_free(partita_session_interrupt(get())); }

  // One step over the whole batch, in a session without the setting `data`.
  Result<StepResult> Train(const Fields& batch) { return Step(partita_session_train, batch); }
  // The same without training: batch norm by its running statistics, no dropout.
  Result<StepResult> Evaluate(const Fields& batch) { return Step(partita_session_evaluate, batch); }

  // The values of Run::predict, whole. Labels are not needed. A batch of fewer samples than the graph's gives as many
  // rows.
  Result<std::map<std::string, Tensor>> Predict(const Fields& batch) {
    const std::vector<partita_tensor> tensors = internal::TensorsOf(batch);
    partita_values* values = nullptr;
    partita_error* const wrong = partita_session_predict(get(), tensors.data(), tensors.size(), &values);
    return internal::Copied(wrong, values);
  }
  // The results of an entry point that the graph defines.
  Result<std::map<std::string, Tensor>> Compute(const std::string& entry, const Fields& batch) {
    const std::vector<partita_tensor> tensors = internal::TensorsOf(batch);
    partita_values* values = nullptr;
    partita_error* const wrong = partita_session_compute(get(), entry.c_str(), tensors.data(), tensors.size(), &values);
    return internal::Copied(wrong, values);
  }

  // The file of `train --save`. Training that Load resumes from it is bitwise identical to training without a stop.
  Outcome Save(const std::string& path) { return internal::OutcomeOf(partita_session_save(get(), path.c_str())); }
  Outcome Load(const std::string& path) { return internal::OutcomeOf(partita_session_load(get(), path.c_str())); }
  // Only what predictions need; optimizer and step do not change.
  Outcome LoadWeights(const std::string& path) {
    return internal::OutcomeOf(partita_session_load_weights(get(), path.c_str()));
  }

  // The names of all states: parameters, running statistics, what the optimizer keeps.
  Result<std::vector<std::string>> States() {
    size_t count = 0;
    if (partita_error* const wrong = partita_session_state_count(get(), &count)) return internal::Taken(wrong);
    std::vector<std::string> states;
    for (size_t i = 0; i < count; ++i) {
      const char* name = nullptr;
      if (partita_error* const wrong = partita_session_state_name(get(), i, &name)) return internal::Taken(wrong);
      states.emplace_back(name);
    }
    return states;
  }
  Result<Tensor> Read(const std::string& state) {
    partita_values* values = nullptr;
    partita_error* const wrong = partita_session_read(get(), state.c_str(), &values);
    Result<std::map<std::string, Tensor>> read = internal::Copied(wrong, values);
    if (!read) return read.error();
    return std::move(read->begin()->second);
  }
  Outcome Write(const std::string& state, const View& value) {
    const Fields named = {{state, value}};
    const std::vector<partita_tensor> tensors = internal::TensorsOf(named);
    return internal::OutcomeOf(partita_session_write(get(), tensors.data()));
  }

  // Of the images of the setting `data`, or of the file that was loaded last; nullopt: they do not say.
  Result<std::optional<Preprocessing>> ImagePreprocessing() {
    auto found = internal::Sized<partita_preprocessing>();
    if (partita_error* const wrong = partita_session_preprocessing(get(), &found)) return internal::Taken(wrong);
    if (found.channels == 0) return std::optional<Preprocessing>();
    Preprocessing known;
    known.height = found.height;
    known.width = found.width;
    known.channels = found.channels;
    known.mean.assign(found.mean, found.mean + found.channels);
    known.deviation.assign(found.deviation, found.deviation + found.channels);
    known.resize = found.resize;
    known.class_names.assign(found.class_names, found.class_names + found.class_count);
    return std::optional<Preprocessing>(std::move(known));
  }

  // Any thread, and final: the running step and every later call return kCancelled. Save before.
  void Cancel() { partita_error_free(partita_session_cancel(get())); }

  partita_session* get() const { return session_.get(); }

 private:
  Session(partita_session* session, std::shared_ptr<const Transport> transport)
      : transport_(std::move(transport)), session_(session, partita_session_free) {}

  template <typename F>
  Result<StepResult> Step(const F& call, const Fields& batch) {
    const std::vector<partita_tensor> tensors = internal::TensorsOf(batch);
    auto step = internal::Sized<partita_step>();
    if (partita_error* const wrong = call(get(), tensors.data(), tensors.size(), &step)) return internal::Taken(wrong);
    return StepResult{step.loss, internal::Metrics(step.metric_count, step.metric_names, step.metric_values),
                      internal::NormOf(step)};
  }

  std::shared_ptr<const Transport> transport_;  // which the session uses until it was freed
  std::unique_ptr<partita_session, void (*)(partita_session*)> session_;
};

// Where lines go that a run logs besides its results, for all sessions of the process; null, as at the beginning:
// nowhere. The function is called by one thread at a time and must not call the library.
inline Outcome SetLog(std::function<void(Level level, const std::string& line)> log) {
  using Log = std::function<void(Level level, const std::string& line)>;
  static Log current;
  const partita_log_function forward = [](void* user, partita_level level, const char* line) {
    (*static_cast<Log*>(user))(static_cast<Level>(level), line);
  };
  // No line is on its way any more when the library has taken another function, so `current` may change.
  if (partita_error* const wrong = partita_set_log(nullptr, nullptr)) return internal::Taken(wrong);
  current = std::move(log);
  return current ? internal::OutcomeOf(partita_set_log(forward, &current)) : std::nullopt;
}

}  // namespace partita

#endif  // PARTITA_PARTITA_C_PARTITA_HPP_
