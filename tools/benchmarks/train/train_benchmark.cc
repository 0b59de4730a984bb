#include "tools/benchmarks/train/train_benchmark.h"

#include <memory>
#include <utility>

#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"
#include "partitioner/clusters/cluster_by_default.h"
#include "partitioner/data_model_strategy.h"
#include "run/plan/pixel_forms.h"
#include "runtime/base/status.h"
#include "tools/benchmarks/median.h"
#include "tools/benchmarks/timed_process.h"
#include "tools/benchmarks/train/train_processes.h"
#include "tools/benchmarks/train/training_loop.h"
#include "tools/commands/oracle/graded_training.h"
#include "tools/models/models.h"

namespace partita {
namespace {

constexpr int64_t kHybridStatistics = 32;
constexpr int kReplicas = 2;

// One row of the result in the making: our session, the peer beside it, and what the rounds measured.
struct Case {
  TrainRow row;
  std::unique_ptr<TrainingLoop> loop;
  std::unique_ptr<CommunicationMeter> meter;  // null: not measured
  std::unique_ptr<GradedTraining> graded;     // likewise
  std::unique_ptr<TimedProcess> peer;
  int single_rank = -1;  // index of the case that it is compared with
  std::vector<double> rates, peer_rates;
  int64_t waits = 0;
  double wait_seconds = 0;

  void Count(const TrainingResult& result) {
    rates.push_back(result.SamplesPerSecond());
    for (const GroupTraffic& group : result.traffic) {
      waits += group.waits;
      wait_seconds += group.wait_seconds;
    }
  }
};

absl::StatusOr<Case> MakeCase(const TrainBenchmarkOptions& options, const Strategy& strategy, int threads_per_rank,
                              int64_t statistics_samples) {
  ModelOptions model_options;
  model_options.batch = options.batch;
  model_options.statistics_samples = statistics_samples;
  ASSIGN_OR_RETURN(Model model, MakeModel(options.model, model_options, Ops()));
  SessionOptions session_options;
  session_options.threads_per_rank = threads_per_rank;
  session_options.speed = SpeedByDefault(strategy.mesh.size());
  ProgramOptions program_options;
  program_options.speed = session_options.speed;
  program_options.mix_precision = options.mix_precision;
  program_options.given = AssumedForms(model.graph);
  Case result;
  ASSIGN_OR_RETURN(result.loop, TrainingLoop::Create(std::move(model), strategy, program_options, session_options));
  Session& session = result.loop->session();
  if (!options.trainer.empty() && session.ranks() > 1) result.meter = std::make_unique<CommunicationMeter>(session);
  if (options.machine) {
    ASSIGN_OR_RETURN(GradedTraining graded, GradedTraining::Begin(session, *options.machine));
    result.graded = std::make_unique<GradedTraining>(std::move(graded));
  }
  result.row.model = options.model;
  result.row.precision = options.mix_precision ? "bf16" : "f32";
  result.row.ranks = session.ranks();
  result.row.threads = threads_per_rank * session.ranks();
  result.row.statistics_samples = statistics_samples;
  return result;
}

absl::Status AddPeer(const TrainBenchmarkOptions& options, Case& entry) {
  std::vector<std::string> command = options.peer_command;
  command.push_back(fmt::format("--threads={}", entry.row.threads));
  command.push_back(fmt::format("--batch={}", options.batch));
  command.push_back("--precision=" + entry.row.precision);
  ASSIGN_OR_RETURN(entry.peer, TimedProcess::Start(command));
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

absl::Status RunRound(const TrainBenchmarkOptions& options, std::vector<Case>& cases, bool counts) {
  for (Case& entry : cases) {
    const auto measure = [&entry, counts] {
      if (entry.meter != nullptr) entry.meter->AddStep();
      if (entry.graded != nullptr && counts) entry.graded->AddStep();
    };
    ASSIGN_OR_RETURN(const TrainingResult result, entry.loop->Run(options.steps, measure));
    if (counts) entry.Count(result);
    if (entry.peer == nullptr) continue;
    ASSIGN_OR_RETURN(const double seconds, entry.peer->Run(options.steps));
    if (counts) entry.peer_rates.push_back(static_cast<double>(options.steps * options.batch) / seconds);
  }
  return absl::OkStatus();
}

absl::StatusOr<TrainRow> RowOf(const TrainBenchmarkOptions& options, const std::vector<Case>& cases,
                               const Case& entry) {
  TrainRow row = entry.row;
  row.samples_per_s = Median(entry.rates);
  if (entry.peer != nullptr) {
    row.peer_samples_per_s = Median(entry.peer_rates);
    row.ratio = MedianRatio(entry.rates, entry.peer_rates);
  }
  if (entry.meter != nullptr) row.communication = entry.meter->Local();
  if (entry.single_rank >= 0) row.single_rank_ratio = MedianRatio(entry.rates, cases[entry.single_rank].rates);
  if (entry.graded != nullptr) {
    ASSIGN_OR_RETURN(row.graded, entry.graded->Run(options.model, options.steps * options.rounds));
  }
  row.waits_per_step = static_cast<double>(entry.waits) / static_cast<double>(options.steps * options.rounds);
  row.mean_wait_us = entry.waits == 0 ? 0 : entry.wait_seconds / static_cast<double>(entry.waits) * 1e6;
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
  for (const Case& entry : cases) {
    ASSIGN_OR_RETURN(TrainRow row, RowOf(options, cases, entry));
    rows.push_back(std::move(row));
  }
  if (options.trainer.empty()) return rows;
  cases.clear();  // their threads
  ASSIGN_OR_RETURN(TrainRow processes, TrainAsProcesses(options, kReplicas));
  rows.push_back(std::move(processes));
  return rows;
}

}  // namespace partita
