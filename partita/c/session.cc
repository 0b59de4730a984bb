// Sessions: each call finds its session, translates its arguments, and asks the C++ interface.
#include <fmt/format.h>

#include <utility>

#include "partita/c/objects.h"
#include "partita/c/structs.h"

namespace {

using partita::api::AllReduce;
using partita::api::Fields;
using partita::api::Outcome;
using partita::api::Result;
using partita::api::Run;
using partita::api::Session;
using partita::api::StepResult;
using partita::api::Tensor;
using partita::api::Transport;
using partita::c::CallInTurn;
using partita::c::CallOf;
using partita::c::CheckSize;
using partita::c::FieldsOf;
using partita::c::Invalid;
using partita::c::Live;
using partita::c::MetricArrays;
using partita::c::ReadStruct;
using partita::c::ViewOf;
using partita::c::WriteStruct;

using NamedTensors = std::map<std::string, Tensor>;

partita_all_reduce ReductionOf(const AllReduce& sum) {
  partita_all_reduce reduction = {};
  reduction.size = sizeof(reduction);
  reduction.group = sum.group;
  reduction.rank_count = sum.rank_count;
  reduction.ranks = sum.ranks;
  reduction.reduction = PARTITA_SUM;
  reduction.type = static_cast<partita_type>(sum.type);
  reduction.count = sum.count;
  reduction.input = sum.input;
  reduction.output = sum.output;
  return reduction;
}

void AddStore(const partita_transport& read, Transport& made) {
  if (read.put != nullptr) {
    made.put = [read](const std::string& key, const std::string& value) {
      return read.put(read.user, key.c_str(), value.data(), value.size()) != 0;
    };
  }
  if (read.get != nullptr) {
    made.get = [read](const std::string& key, int64_t milliseconds) -> std::optional<std::string> {
      std::string value(Transport::kMostValueBytes, '\0');
      size_t bytes = value.size();
      if (read.get(read.user, key.c_str(), milliseconds, value.data(), &bytes) == 0) return std::nullopt;
      if (bytes > value.size()) return std::nullopt;
      value.resize(bytes);
      return value;
    };
  }
  if (read.address != nullptr) made.address = read.address;
}

Outcome TransportOf(const partita_transport* given, std::shared_ptr<const Transport>& transport) {
  partita_transport read;
  if (const Outcome wrong = ReadStruct(given, "options->transport", read)) return wrong;
  const auto made = std::make_shared<Transport>();
  made->rank = read.rank;
  made->ranks = read.ranks;
  if (read.send != nullptr) {
    made->send = [read](int to, const void* data, size_t bytes) { return read.send(read.user, to, data, bytes) != 0; };
  }
  if (read.receive != nullptr) {
    made->receive = [read](int from, void* data, size_t bytes) {
      return read.receive(read.user, from, data, bytes) != 0;
    };
  }
  if (read.close != nullptr) made->close = [read](int rank) { read.close(read.user, rank); };
  if (read.all_reduce != nullptr) {
    made->all_reduce = [read](const AllReduce& sum) {
      const partita_all_reduce reduction = ReductionOf(sum);
      return read.all_reduce(read.user, &reduction) != 0;
    };
  }
  if (read.barrier != nullptr) made->barrier = [read] { return read.barrier(read.user) != 0; };
  AddStore(read, *made);
  transport = made;
  return std::nullopt;
}

Outcome RunOf(const partita_session_options* given, Run& run) {
  if (given == nullptr) return std::nullopt;
  partita_session_options options;
  if (const Outcome wrong = ReadStruct(given, "options", options)) return wrong;
  if (options.settings != nullptr) run.settings = options.settings;
  if (options.value_count > 0 && options.values == nullptr) return Invalid("options->values is NULL");
  for (size_t v = 0; v < options.value_count; ++v) {
    if (options.values[v] == nullptr) return Invalid(fmt::format("options->values[{}] is NULL", v));
    run.predict.emplace_back(options.values[v]);
  }
  run.train = options.predict_only == 0;
  return options.transport == nullptr ? std::nullopt : TransportOf(options.transport, run.transport);
}

template <typename Struct>
void SetNorm(const std::optional<double>& norm, Struct& to) {
  to.has_gradient_norm = norm ? 1 : 0;
  to.gradient_norm = norm.value_or(0);
}

template <typename Struct>
void SetMetrics(const MetricArrays& metrics, Struct& to) {
  to.metric_count = metrics.count();
  to.metric_names = metrics.names();
  to.metric_values = metrics.values();
}

partita_error* Step(partita_session* session, const partita_tensor* batch, size_t count, partita_step* step,
                    Result<StepResult> (Session::*take)(const Fields&)) {
  return CallInTurn(session, [&](partita_session& known) -> Outcome {
    if (step != nullptr) {
      if (const Outcome wrong = CheckSize(step, "step")) return wrong;
    }
    Fields fields;
    if (const Outcome wrong = FieldsOf(batch, count, fields)) return wrong;
    const Result<StepResult> result = (known.session.*take)(fields);
    if (!result) return result.error();
    if (step == nullptr) return std::nullopt;
    known.metrics = MetricArrays(result->metrics);
    partita_step taken = {};
    taken.loss = result->loss;
    SetMetrics(known.metrics, taken);
    SetNorm(result->gradient_norm, taken);
    WriteStruct(taken, step);
    return std::nullopt;
  });
}

Outcome Give(Result<NamedTensors> tensors, partita_values** values) {
  if (!tensors) return tensors.error();
  *values = Live<partita_values>::Add(std::make_shared<partita_values>(*std::move(tensors)));
  return std::nullopt;
}

// Values for a batch.
template <typename Ask>
partita_error* Values(partita_session* session, const partita_tensor* batch, size_t count, partita_values** values,
                      const Ask& ask) {
  return CallInTurn(session, [&](partita_session& known) -> Outcome {
    if (values == nullptr) return Invalid("values is NULL");
    Fields fields;
    if (const Outcome wrong = FieldsOf(batch, count, fields)) return wrong;
    return Give(ask(known.session, fields), values);
  });
}

bool Report(const partita_fit_options& options, const partita::api::Progress& progress) {
  const MetricArrays metrics(progress.metrics);
  partita_progress report = {};
  report.size = sizeof(report);
  report.step = progress.step;
  report.steps = progress.steps;
  report.epoch = progress.epoch;
  report.loss = progress.loss;
  report.learning_rate = progress.learning_rate;
  report.samples_per_second = progress.samples_per_second;
  SetMetrics(metrics, report);
  SetNorm(progress.gradient_norm, report);
  return options.on_progress(options.user, &report) != 0;
}

void Report(const partita_fit_options& options, const partita::api::Epoch& epoch) {
  const MetricArrays metrics(epoch.metrics), test_metrics(epoch.test_metrics);
  partita_epoch report = {};
  report.size = sizeof(report);
  report.number = epoch.number;
  report.loss = epoch.loss;
  SetMetrics(metrics, report);
  report.is_tested = epoch.test_loss ? 1 : 0;
  report.test_loss = epoch.test_loss.value_or(0);
  report.test_metric_count = test_metrics.count();
  report.test_metric_names = test_metrics.names();
  report.test_metric_values = test_metrics.values();
  report.seconds = epoch.seconds;
  options.on_epoch(options.user, &report);
}

Outcome FitOptionsOf(const partita_fit_options* given, partita_fit_options& options, partita::api::FitOptions& fit) {
  options = {};
  if (given == nullptr) return std::nullopt;
  if (const Outcome wrong = ReadStruct(given, "options", options)) return wrong;
  if (options.on_progress != nullptr) fit.on_progress = [&](const auto& progress) { return Report(options, progress); };
  if (options.on_epoch != nullptr) fit.on_epoch = [&](const auto& epoch) { Report(options, epoch); };
  if (options.progress_seconds != 0) fit.progress_seconds = options.progress_seconds;
  fit.deadline_seconds = options.deadline_seconds;
  return std::nullopt;
}

// A call with a path.
partita_error* WithPath(partita_session* session, const char* path, const auto& call) {
  return CallInTurn(session, [&](partita_session& known) -> Outcome {
    if (path == nullptr) return Invalid("path is NULL");
    return call(known.session, path);
  });
}

}  // namespace

extern "C" {

partita_error* partita_session_start(const partita_model* model, const partita_session_options* options,
                                     partita_session** session) {
  return CallOf(model, "model", [&](const partita_model& known) -> Outcome {
    if (session == nullptr) return Invalid("session is NULL");
    Run run;
    if (const Outcome wrong = RunOf(options, run)) return wrong;
    Result<Session> started = Session::Start(known.model, run);
    if (!started) return started.error();
    *session = Live<partita_session>::Add(std::make_shared<partita_session>(*std::move(started)));
    return std::nullopt;
  });
}

partita_error* partita_session_train(partita_session* session, const partita_tensor* batch, size_t count,
                                     partita_step* step) {
  return Step(session, batch, count, step, &Session::Train);
}

partita_error* partita_session_evaluate(partita_session* session, const partita_tensor* batch, size_t count,
                                        partita_step* step) {
  return Step(session, batch, count, step, &Session::Evaluate);
}

partita_error* partita_session_predict(partita_session* session, const partita_tensor* batch, size_t count,
                                       partita_values** values) {
  return Values(session, batch, count, values,
                [](Session& known, const Fields& fields) { return known.Predict(fields); });
}

partita_error* partita_session_compute(partita_session* session, const char* entry, const partita_tensor* batch,
                                       size_t count, partita_values** values) {
  return Values(session, batch, count, values, [&](Session& known, const Fields& fields) -> Result<NamedTensors> {
    if (entry == nullptr) return Invalid("entry is NULL");
    return known.Compute(entry, fields);
  });
}

partita_error* partita_session_fit(partita_session* session, const partita_fit_options* options,
                                   partita_fit_result* result) {
  return CallInTurn(session, [&](partita_session& known) -> Outcome {
    if (result != nullptr) {
      if (const Outcome wrong = CheckSize(result, "result")) return wrong;
    }
    partita_fit_options given;
    partita::api::FitOptions fit;
    if (const Outcome wrong = FitOptionsOf(options, given, fit)) return wrong;
    const Result<partita::api::FitResult> fitted = known.session.Fit(fit);
    if (!fitted) return fitted.error();
    if (result == nullptr) return std::nullopt;
    partita_fit_result done = {};
    done.steps = fitted->steps;
    done.step = fitted->step;
    done.samples = fitted->samples;
    done.seconds = fitted->seconds;
    done.stopped = fitted->stopped ? 1 : 0;
    WriteStruct(done, result);
    return std::nullopt;
  });
}

partita_error* partita_session_interrupt(partita_session* session) {
  return CallOf(session, "session", [](partita_session& known) -> Outcome {
    known.session.Interrupt();
    return std::nullopt;
  });
}

partita_error* partita_session_cancel(partita_session* session) {
  return CallOf(session, "session", [](partita_session& known) -> Outcome {
    known.session.Cancel();
    return std::nullopt;
  });
}

void partita_session_free(partita_session* session) {
  const std::shared_ptr<partita_session> freed = Live<partita_session>::Remove(session);
  if (freed != nullptr && freed->busy) freed->session.Interrupt();  // the call that is running keeps it alive
}

partita_error* partita_session_save(partita_session* session, const char* path) {
  return WithPath(session, path, [](const Session& known, const char* file) { return known.Save(file); });
}

partita_error* partita_session_load(partita_session* session, const char* path) {
  return WithPath(session, path, [](Session& known, const char* file) { return known.Load(file); });
}

partita_error* partita_session_load_weights(partita_session* session, const char* path) {
  return WithPath(session, path, [](Session& known, const char* file) { return known.LoadWeights(file); });
}

partita_error* partita_session_state_count(partita_session* session, size_t* count) {
  return CallInTurn(session, [&](const partita_session& known) -> Outcome {
    if (count == nullptr) return Invalid("count is NULL");
    *count = known.states.size();
    return std::nullopt;
  });
}

partita_error* partita_session_state_name(partita_session* session, size_t index, const char** name) {
  return CallInTurn(session, [&](const partita_session& known) -> Outcome {
    if (name == nullptr) return Invalid("name is NULL");
    if (index >= known.states.size()) {
      return Invalid(fmt::format("index is {}; there are {} states", index, known.states.size()));
    }
    *name = known.states[index].c_str();
    return std::nullopt;
  });
}

partita_error* partita_session_read(partita_session* session, const char* state, partita_values** values) {
  return CallInTurn(session, [&](const partita_session& known) -> Outcome {
    if (state == nullptr) return Invalid("state is NULL");
    if (values == nullptr) return Invalid("values is NULL");
    Result<Tensor> read = known.session.Read(state);
    if (!read) return read.error();
    return Give(NamedTensors{{state, *std::move(read)}}, values);
  });
}

partita_error* partita_session_write(partita_session* session, const partita_tensor* state) {
  return CallInTurn(session, [&](partita_session& known) -> Outcome {
    partita_tensor tensor;
    if (const Outcome wrong = ReadStruct(state, "state", tensor)) return wrong;
    if (tensor.name == nullptr) return Invalid("state->name is NULL");
    partita::api::View view;
    if (const Outcome wrong = ViewOf(tensor, tensor.name, view)) return wrong;
    return known.session.Write(tensor.name, view);
  });
}

partita_error* partita_session_preprocessing(partita_session* session, partita_preprocessing* preprocessing) {
  return CallInTurn(session, [&](partita_session& known) -> Outcome {
    if (const Outcome wrong = CheckSize(preprocessing, "preprocessing")) return wrong;
    known.preprocessing = known.session.preprocessing().value_or(partita::api::Preprocessing());
    const partita::api::Preprocessing& images = known.preprocessing;
    known.class_names.clear();
    for (const std::string& name : images.class_names) known.class_names.push_back(name.c_str());
    partita_preprocessing told = {};
    told.height = images.height;
    told.width = images.width;
    told.channels = images.channels;
    told.mean = images.mean.data();
    told.deviation = images.deviation.data();
    told.resize = images.resize;
    told.class_count = known.class_names.size();
    told.class_names = known.class_names.data();
    WriteStruct(told, preprocessing);
    return std::nullopt;
  });
}

}  // extern "C"
