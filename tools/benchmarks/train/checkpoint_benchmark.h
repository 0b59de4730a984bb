// Measures the cost of checkpoints: steps with one in them and steps without, in turns in one run.
#ifndef PARTITA_TOOLS_BENCHMARKS_TRAIN_CHECKPOINT_BENCHMARK_H_
#define PARTITA_TOOLS_BENCHMARKS_TRAIN_CHECKPOINT_BENCHMARK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

struct CheckpointBenchmarkOptions {
  std::string model = "mini-inception";
  int64_t batch = 64;
  int threads = 2;
  int64_t steps = 100;  // with one checkpoint in them; more than twice kStepsBeside
  int64_t rounds = 7;
  std::string folder;  // on the disk that is to be measured; what is put there is removed
};

struct CheckpointRow {
  std::string model;
  std::string how;                      // "beside steps", as training does it, or "at once"
  int64_t steps = 0;                    // of a round
  double step_ms = 0;                   // without a checkpoint, median
  double ratio = 0, low = 0, high = 0;  // of the times with one over those without, by rounds: median, and its interval
  double held_ms = 0;       // for which a checkpoint holds the steps up, median: that much is sure of the ratio
  int64_t state_bytes = 0;  // that are written
  int64_t peak_bytes = 0;   // by which the process grew at most, in the first round that saves
};

absl::StatusOr<std::vector<CheckpointRow>> BenchmarkCheckpoint(const CheckpointBenchmarkOptions& options);

std::string ToText(const std::vector<CheckpointRow>& rows);
std::string ToJson(const std::vector<CheckpointRow>& rows);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_TRAIN_CHECKPOINT_BENCHMARK_H_
