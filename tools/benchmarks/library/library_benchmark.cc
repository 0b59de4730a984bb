#include "tools/benchmarks/library/library_benchmark.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"
#include "partita/c/partita.h"
#include "partita/partita.h"
#include "run/start.h"
#include "runtime/base/status.h"
#include "tools/benchmarks/median.h"
#include "tools/benchmarks/processor_time.h"
#include "tools/models/models.h"

namespace partita {
namespace {

constexpr char kLogits[] = "classifier/bias";  // of all models here

// A batch, and what each interface calls it.
struct Batch {
  std::vector<api::Field> fields;
  std::vector<std::vector<float>> floats;
  std::vector<std::vector<int32_t>> integers;  // labels: all zero
  std::vector<ConstTensor> own;
  api::Fields views;
  std::vector<partita_tensor> tensors;
};

std::unique_ptr<Batch> BatchOf(const api::Model& model) {
  auto batch = std::make_unique<Batch>();
  batch->fields = model.fields();
  for (const api::Field& field : batch->fields) {
    const Shape shape(field.shape.begin(), field.shape.end());
    const auto elements = static_cast<size_t>(Elements(shape));
    const bool floating = field.type == api::Type::kF32;
    const void* data = nullptr;
    if (floating) {
      std::vector<float>& values = batch->floats.emplace_back(elements);
      for (size_t i = 0; i < elements; ++i) values[i] = static_cast<float>(i * i % 97) / 97;
      data = values.data();
    } else {
      data = batch->integers.emplace_back(elements).data();
    }
    batch->own.push_back({floating ? DType::kF32 : DType::kI32, shape, data});
    batch->views[field.name] = {field.type, field.shape, data};
    batch->tensors.push_back({sizeof(partita_tensor), field.name.c_str(), static_cast<partita_type>(field.type),
                              static_cast<int32_t>(field.shape.size()), field.shape.data(), data});
  }
  return batch;
}

template <typename T>
absl::Status Checked(const api::Result<T>& result) {
  return result ? absl::OkStatus() : absl::InternalError(result.error().message);
}
absl::Status Checked(partita_error* error) {
  if (error == nullptr) return absl::OkStatus();
  const std::string message = partita_error_message(error);
  partita_error_free(error);
  return absl::InternalError(message);
}

struct Handles {
  partita_model* model = nullptr;
  partita_session* session = nullptr;

  Handles() = default;
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles() {
    partita_session_free(session);
    partita_model_free(model);
  }
};

// The same session behind each interface.
struct Sessions {
  std::unique_ptr<Batch> batch;
  std::unique_ptr<Session> own;
  std::optional<api::Session> cpp;
  Handles c;
};

absl::StatusOr<std::unique_ptr<Session>> StartOwn(const Model& model, bool trains) {
  RunSpec spec;
  spec.mutable_execution()->set_threads(1);
  spec.mutable_execution()->set_deterministic(true);
  spec.mutable_model()->set_graph(model.name);
  ASSIGN_OR_RETURN(const RunPlan plan, PlanRun(spec, {.processes = false}, model));
  ASSIGN_OR_RETURN(Program program, ProgramOf(spec, plan, {.predictions = {kLogits}, .trains = trains}));
  return StartSession(spec, plan, {}, std::move(program), std::nullopt, {});
}

absl::StatusOr<std::unique_ptr<Sessions>> Start(const std::string& name, int64_t batch, bool trains) {
  ASSIGN_OR_RETURN(Model model, MakeModel(name, {.batch = batch}, Ops()));
  model.learning_rate.steps = 1'000'000;
  auto sessions = std::make_unique<Sessions>();
  ASSIGN_OR_RETURN(sessions->own, StartOwn(model, trains));
  const std::string text = PrintModel(model, ProtoFormat::kText);
  const api::Result<api::Model> described = api::Model::FromText(text);
  RETURN_IF_ERROR(Checked(described));
  sessions->batch = BatchOf(*described);
  const std::string settings = "threads = 1\nsteps = 1000000";
  api::Result<api::Session> cpp = api::Session::Start(*described, api::Run{settings, {kLogits}, trains});
  RETURN_IF_ERROR(Checked(cpp));
  sessions->cpp = *std::move(cpp);
  const char* const values[] = {kLogits};
  partita_session_options options = {};
  options.size = sizeof(options);
  options.settings = settings.c_str();
  options.values = values;
  options.value_count = 1;
  options.predict_only = trains ? 0 : 1;
  RETURN_IF_ERROR(Checked(partita_model_from_text(text.c_str(), &sessions->c.model)));
  RETURN_IF_ERROR(Checked(partita_session_start(sessions->c.model, &options, &sessions->c.session)));
  return sessions;
}

// One call by each interface, the runtime's own first.
using Call = std::function<absl::Status()>;

std::vector<Call> StepsOf(Sessions& sessions) {
  const auto own = [&]() -> absl::Status {
    for (size_t f = 0; f < sessions.batch->fields.size(); ++f) {
      RETURN_IF_ERROR(sessions.own->StageInput(kTrainEntry, sessions.batch->fields[f].name, sessions.batch->own[f]));
    }
    return sessions.own->Train().status();
  };
  const auto cpp = [&] { return Checked(sessions.cpp->Train(sessions.batch->views)); };
  const auto c = [&] {
    partita_step step = {};
    step.size = sizeof(step);
    const std::vector<partita_tensor>& tensors = sessions.batch->tensors;
    return Checked(partita_session_train(sessions.c.session, tensors.data(), tensors.size(), &step));
  };
  return {own, cpp, c};
}

std::vector<Call> PredictionsOf(Sessions& sessions) {
  const auto own = [&]() -> absl::Status {
    for (const EntryInput& input : sessions.own->program().Find(kPredictEntry)->inputs) {
      for (size_t f = 0; f < sessions.batch->fields.size(); ++f) {
        if (sessions.batch->fields[f].name != input.field) continue;
        RETURN_IF_ERROR(sessions.own->StageInput(kPredictEntry, input.field, sessions.batch->own[f]));
      }
    }
    return sessions.own->Compute(kPredictEntry).status();
  };
  const auto cpp = [&] { return Checked(sessions.cpp->Predict(sessions.batch->views)); };
  const auto c = [&]() -> absl::Status {
    const std::vector<partita_tensor>& tensors = sessions.batch->tensors;
    partita_values* values = nullptr;
    RETURN_IF_ERROR(Checked(partita_session_predict(sessions.c.session, tensors.data(), tensors.size(), &values)));
    partita_values_free(values);
    return absl::OkStatus();
  };
  return {own, cpp, c};
}

struct Times {
  std::vector<double> wall, processor;  // of calls, in microseconds
};

absl::Status Measure(const Call& call, Times& times) {
  using Clock = std::chrono::steady_clock;
  const double processor = ProcessorMilliseconds();
  const Clock::time_point begin = Clock::now();
  RETURN_IF_ERROR(call());
  const std::chrono::duration<double, std::micro> passed = Clock::now() - begin;
  times.wall.push_back(passed.count());
  times.processor.push_back(1e3 * (ProcessorMilliseconds() - processor));
  return absl::OkStatus();
}

// A round's calls by each interface in turns, as medians: what interrupts few calls does not count.
absl::Status MeasureRound(const std::vector<Call>& calls, int64_t times_each, std::vector<Times>& rounds) {
  std::vector<Times> of_round(calls.size());
  for (int64_t i = 0; i < times_each; ++i) {
    for (size_t c = 0; c < calls.size(); ++c) {
      const size_t turn = (static_cast<size_t>(i) + c) % calls.size();
      RETURN_IF_ERROR(Measure(calls[turn], of_round[turn]));
    }
  }
  for (size_t c = 0; c < calls.size(); ++c) {
    rounds[c].wall.push_back(Median(of_round[c].wall));
    rounds[c].processor.push_back(Median(of_round[c].processor));
  }
  return absl::OkStatus();
}

absl::StatusOr<LibraryRow> RowOf(const std::vector<Call>& calls, int64_t times_each, int64_t rounds) {
  std::vector<Times> times(calls.size());
  for (const Call& call : calls) RETURN_IF_ERROR(call());
  for (int64_t round = 0; round < rounds; ++round) RETURN_IF_ERROR(MeasureRound(calls, times_each, times));
  LibraryRow row;
  row.own_us = Median(times[0].wall);
  row.cpp = MedianRatio(times[1].wall, times[0].wall);
  row.c = MedianRatio(times[2].wall, times[0].wall);
  const Interval interval = MedianInterval(Ratios(times[2].wall, times[0].wall));
  row.c_low = interval.low;
  row.c_high = interval.high;
  row.cpp_processor = MedianRatio(times[1].processor, times[0].processor);
  row.c_processor = MedianRatio(times[2].processor, times[0].processor);
  return row;
}

}  // namespace

absl::StatusOr<std::vector<LibraryRow>> BenchmarkLibrary(const LibraryBenchmarkOptions& options) {
  std::vector<LibraryRow> rows;
  for (const std::string& model : options.models) {
    for (const bool trains : {true, false}) {
      const int64_t batch = trains ? options.batch : 1;
      ASSIGN_OR_RETURN(const std::unique_ptr<Sessions> sessions, Start(model, batch, trains));
      ASSIGN_OR_RETURN(LibraryRow row, trains ? RowOf(StepsOf(*sessions), options.steps, options.rounds)
                                              : RowOf(PredictionsOf(*sessions), 10 * options.steps, options.rounds));
      row.model = model;
      row.call = trains ? "step" : "predict";
      row.batch = batch;
      rows.push_back(row);
    }
  }
  return rows;
}

}  // namespace partita
