// Measures the simulation of a step of many ranks, most of them alike, on nodes of eight GPUs.
//
// Times are processor time of this process, so that other programs disturb them little.
#ifndef PARTITA_TOOLS_BENCHMARKS_SIMULATE_BENCHMARK_H_
#define PARTITA_TOOLS_BENCHMARKS_SIMULATE_BENCHMARK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

struct SimulateCase {
  std::string model;  // tools/models/models.h
  int data = 1;
  int ranks_of_replica = 1;
  int64_t image_size = 0;  // 0: the model's own
};

struct SimulateBenchmarkOptions {
  std::vector<SimulateCase> cases{{"mini-inception", 32, 2},
                                  {"inception-v3", 32, 2},
                                  {"inception-v3", 8, 8},
                                  {"mini-inception", 2048, 2},
                                  {"inception-v3", 2048, 2}};
  int rounds = 3;  // all cases are run once in each round
};

// Times are medians over the rounds, in milliseconds.
struct SimulateRow {
  std::string model;
  int ranks = 1;
  int64_t launches = 0;    // of all ranks in a step
  int classes = 1;         // of ranks that do the same at the same times
  double program_ms = 0;   // to partition the graph
  double schedule_ms = 0;  // the schedules, one of those that are alike
  double simulate_ms = 0;
  double step_ms = 0;  // what is predicted
};

absl::StatusOr<std::vector<SimulateRow>> BenchmarkSimulate(const SimulateBenchmarkOptions& options);

// One row per line as text, or a JSON array with the members of SimulateRow.
std::string ToText(const std::vector<SimulateRow>& rows);
std::string ToJson(const std::vector<SimulateRow>& rows);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_SIMULATE_BENCHMARK_H_
