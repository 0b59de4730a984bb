// Training throughput of a shipped model: one rank, the 2 x 2 hybrid, and another framework, in turns in one run.
//
// Everything trains on the same kind of random batches that lie ready in memory: data sets are no part of it. Ours is
// what `trainer train` runs (training_loop.h). Medians over the rounds; a round that nothing warmed up is not counted.
#ifndef PARTITA_TOOLS_BENCHMARKS_TRAIN_TRAIN_BENCHMARK_H_
#define PARTITA_TOOLS_BENCHMARKS_TRAIN_TRAIN_BENCHMARK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "run/plan/machine.h"
#include "runtime/api/communication_meter.h"
#include "tools/commands/oracle/history.h"

namespace partita {

struct TrainBenchmarkOptions {
  std::string model = "mini-inception";
  int64_t batch = 64;
  bool mix_precision = false;             // in bf16 on f32 weights, the peer too; else f32
  std::string strategy;                   // file of the hybrid; empty: one rank alone
  std::vector<std::string> peer_command;  // without --threads=N and --batch=N; empty: no peer
  std::string peer;                       // its name
  int64_t steps = 20;                     // of one case in one round
  int64_t rounds = 7;
  // The trainer. If set, how much communication is exposed is measured too, also of two replicas, as threads and as
  // processes, which `trainer launch` starts; they train `graph`, a file of `model`.
  std::string trainer, graph;
  // If set, rows of threads have what steps were predicted to take there and took; to record them takes some time.
  std::optional<Machine> machine;
};

struct TrainRow {
  std::string model;
  std::string precision = "f32";  // or "bf16"
  int ranks = 1;
  bool processes = false;          // the ranks are processes, not threads of one
  int threads = 1;                 // of all ranks together
  int64_t statistics_samples = 0;  // of batch norm; 0: the whole batch
  double samples_per_s = 0;
  std::string peer;  // empty: there is none for this row
  double peer_samples_per_s = 0;
  double ratio = 0;              // ours over the peer's, median of the rounds' ratios
  double single_rank_ratio = 0;  // hybrid over our single rank with as many threads and the same model; 0: no hybrid
  double waits_per_step = 0;     // collectives in which a rank had to wait, summed over the ranks
  double mean_wait_us = 0;
  std::vector<RankCommunication> communication;  // by rank; empty: one rank, or not measured
  GradedRun graded;                              // as a history keeps it; without terms: there is none
};

absl::StatusOr<std::vector<TrainRow>> BenchmarkTrain(const TrainBenchmarkOptions& options);

// One row per line as text, or a JSON array with the members of TrainRow; absent values are empty.
std::string ToText(const std::vector<TrainRow>& rows);
std::string ToJson(const std::vector<TrainRow>& rows);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_TRAIN_TRAIN_BENCHMARK_H_
