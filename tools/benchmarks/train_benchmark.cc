#include "tools/benchmarks/train_benchmark.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "graph/make_program.h"
#include "graph/proto_io.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/api/session.h"
#include "runtime/base/status.h"
#include "runtime/data/image_batches.h"
#include "runtime/train/image_inputs.h"
#include "tools/benchmarks/train_peer.h"
#include "tools/benchmarks/train_processes.h"
#include "tools/models/models.h"

namespace partita {
namespace {

constexpr int64_t kBatches = 16;  // random ones, used in turns
constexpr int64_t kHybridStatistics = 32;
constexpr int kReplicas = 2;

struct HostBatch {
  HostTensor images, labels;
};

HostTensor MakeTensor(const TensorType& type) {
  HostTensor tensor{type.dtype, type.shape, {}};
  tensor.bytes.resize(static_cast<size_t>(Elements(type.shape) * SizeOf(type.dtype)));
  return tensor;
}

absl::StatusOr<std::vector<HostBatch>> MakeBatches(const ImageInputs& inputs) {
  const int64_t rows = inputs.batch();
  ASSIGN_OR_RETURN(ImageDataset set, MakeMockDataset(kBatches * rows, inputs.shape(), inputs.classes, 1));
  ImageBatchOptions options;
  options.batch_rows = rows;
  options.normalization = MeasureNormalization(set);
  ASSIGN_OR_RETURN(const auto source,
                   ImageBatches::Create(std::make_shared<const ImageDataset>(std::move(set)), options));
  std::vector<HostBatch> batches;
  std::vector<float> weights(static_cast<size_t>(rows));
  for (int64_t b = 0; b < kBatches; ++b) {
    HostBatch batch{MakeTensor(inputs.type), MakeTensor({DType::kI32, {rows}})};
    const BatchBuffers buffers{inputs.type.dtype,
                               std::as_writable_bytes(std::span(batch.images.bytes)),
                               {reinterpret_cast<int32_t*>(batch.labels.bytes.data()), static_cast<size_t>(rows)},
                               std::as_writable_bytes(std::span(weights))};
    RETURN_IF_ERROR(source->Fill(b, {0, rows}, buffers));
    batches.push_back(std::move(batch));
  }
  return batches;
}

// One row of the result in the making: our session, the peer beside it, and what the rounds measured.
struct Case {
  TrainRow row;
  ImageInputs inputs;
  std::vector<HostBatch> batches;
  std::unique_ptr<Session> session;
  std::unique_ptr<CommunicationMeter> meter;  // null: not measured
  std::unique_ptr<TrainPeer> peer;
  int single_rank = -1;  // index of the case that it is compared with
  int64_t steps = 0;     // trained so far
  std::vector<double> rates, peer_rates;
};

absl::StatusOr<Case> MakeCase(const TrainBenchmarkOptions& options, const Strategy& strategy, int threads_per_rank,
                              int64_t statistics_samples) {
  ModelOptions model_options;
  model_options.batch = options.batch;
  model_options.statistics_samples = statistics_samples;
  ASSIGN_OR_RETURN(Model model, MakeModel(options.model, model_options, Ops()));
  model.learning_rate.steps = 1'000'000;
  Case result;
  ASSIGN_OR_RETURN(result.inputs, FindImageInputs(model.graph));
  ASSIGN_OR_RETURN(result.batches, MakeBatches(result.inputs));
  ASSIGN_OR_RETURN(Program program, MakeProgram(model, strategy, Ops()));
  SessionOptions session_options;
  session_options.threads_per_rank = threads_per_rank;
  session_options.find_non_finite = false;
  ASSIGN_OR_RETURN(result.session, Session::Start(std::move(program), session_options));
  if (!options.trainer.empty() && result.session->ranks() > 1) {
    result.meter = std::make_unique<CommunicationMeter>(*result.session);
  }
  result.row.model = options.model;
  result.row.ranks = result.session->ranks();
  result.row.threads = threads_per_rank * result.session->ranks();
  result.row.statistics_samples = statistics_samples;
  return result;
}

absl::Status AddPeer(const TrainBenchmarkOptions& options, Case& entry) {
  std::vector<std::string> command = options.peer_command;
  command.push_back(fmt::format("--threads={}", entry.row.threads));
  command.push_back(fmt::format("--batch={}", options.batch));
  ASSIGN_OR_RETURN(entry.peer, TrainPeer::Start(command));
  entry.row.peer = fmt::format("{} {}", options.peer, entry.peer->version());
  return absl::OkStatus();
}

absl::StatusOr<Strategy> Replicas(const TrainBenchmarkOptions& options) {
  ModelOptions model_options;
  model_options.batch = options.batch;
  ASSIGN_OR_RETURN(const Model model, MakeModel(options.model, model_options, Ops()));
  return DataModelStrategy(model.graph, kReplicas, 1);
}

absl::StatusOr<std::vector<Case>> MakeCases(const TrainBenchmarkOptions& options) {
  std::vector<Case> cases;
  const auto add = [&](const Strategy& strategy, int threads, int64_t statistics, int single) -> absl::Status {
    ASSIGN_OR_RETURN(Case entry, MakeCase(options, strategy, threads, statistics));
    entry.single_rank = single;
    if (entry.row.ranks == 1 && statistics == 0 && !options.peer_command.empty()) {
      RETURN_IF_ERROR(AddPeer(options, entry));
    }
    cases.push_back(std::move(entry));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(add(Strategy{}, 1, 0, -1));
  RETURN_IF_ERROR(add(Strategy{}, 2, 0, -1));
  if (!options.trainer.empty()) {
    ASSIGN_OR_RETURN(const Strategy replicas, Replicas(options));
    RETURN_IF_ERROR(add(replicas, 1, 0, 1));
  }
  if (options.strategy.empty()) return cases;
  ASSIGN_OR_RETURN(const Strategy hybrid, LoadStrategy(options.strategy));
  RETURN_IF_ERROR(add(hybrid, 1, 0, 1));
  RETURN_IF_ERROR(add(Strategy{}, 2, kHybridStatistics, -1));
  RETURN_IF_ERROR(add(hybrid, 1, kHybridStatistics, static_cast<int>(cases.size()) - 1));
  return cases;
}

absl::StatusOr<double> TrainOurs(int64_t steps, Case& entry) {
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < steps; ++i) {
    const HostBatch& batch = entry.batches[entry.steps++ % kBatches];
    RETURN_IF_ERROR(entry.session->StageInput(Entry::kTrain, entry.inputs.images, batch.images));
    RETURN_IF_ERROR(entry.session->StageInput(Entry::kTrain, entry.inputs.labels, batch.labels));
    RETURN_IF_ERROR(entry.session->Train().status());
    if (entry.meter != nullptr) entry.meter->AddStep();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return static_cast<double>(steps * entry.inputs.batch()) / seconds.count();
}

absl::Status RunRound(const TrainBenchmarkOptions& options, std::vector<Case>& cases, bool counts) {
  for (Case& entry : cases) {
    ASSIGN_OR_RETURN(const double rate, TrainOurs(options.steps, entry));
    if (counts) entry.rates.push_back(rate);
    if (!counts) entry.session->ResetCounters();
    if (entry.peer == nullptr) continue;
    ASSIGN_OR_RETURN(const double seconds, entry.peer->Run(options.steps));
    if (counts) entry.peer_rates.push_back(static_cast<double>(options.steps * options.batch) / seconds);
  }
  return absl::OkStatus();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Of the ratios of each round: what slows a whole round down slows both.
double MedianRatio(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (size_t i = 0; i < a.size(); ++i) ratios.push_back(a[i] / b[i]);
  return Median(std::move(ratios));
}

TrainRow RowOf(const TrainBenchmarkOptions& options, const std::vector<Case>& cases, const Case& entry) {
  TrainRow row = entry.row;
  row.samples_per_s = Median(entry.rates);
  if (entry.peer != nullptr) {
    row.peer_samples_per_s = Median(entry.peer_rates);
    row.ratio = MedianRatio(entry.rates, entry.peer_rates);
  }
  if (entry.meter != nullptr) row.communication = entry.meter->Local();
  if (entry.single_rank >= 0) row.single_rank_ratio = MedianRatio(entry.rates, cases[entry.single_rank].rates);
  int64_t waits = 0;
  double seconds = 0;
  for (const GroupTraffic& traffic : entry.session->Traffic()) {
    waits += traffic.waits;
    seconds += traffic.wait_seconds;
  }
  row.waits_per_step = static_cast<double>(waits) / static_cast<double>(options.steps * options.rounds);
  row.mean_wait_us = waits == 0 ? 0 : seconds / static_cast<double>(waits) * 1e6;
  return row;
}

}  // namespace

absl::StatusOr<std::vector<TrainRow>> BenchmarkTrain(const TrainBenchmarkOptions& options) {
  ASSIGN_OR_RETURN(std::vector<Case> cases, MakeCases(options));
  RETURN_IF_ERROR(RunRound(options, cases, /*counts=*/false));
  for (int64_t round = 0; round < options.rounds; ++round) {
    RETURN_IF_ERROR(RunRound(options, cases, /*counts=*/true));
  }
  std::vector<TrainRow> rows;
  for (const Case& entry : cases) rows.push_back(RowOf(options, cases, entry));
  if (options.trainer.empty()) return rows;
  cases.clear();  // their threads
  ASSIGN_OR_RETURN(TrainRow processes, TrainAsProcesses(options, kReplicas));
  rows.push_back(std::move(processes));
  return rows;
}

}  // namespace partita
