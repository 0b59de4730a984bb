// Measures the executor's own cost: graphs of empty ops, replayed.
//
//   chain      each node after the one before; on two streams it changes streams every 64 nodes
//   wide       no order among the nodes, dealt out to the streams
//   wavefront  a square grid, each node after its left and its upper neighbour; rows are dealt out to the streams, so
//              on two of them every node waits for the other stream
#ifndef PARTITA_TOOLS_BENCHMARKS_EXECUTOR_BENCHMARK_H_
#define PARTITA_TOOLS_BENCHMARKS_EXECUTOR_BENCHMARK_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/schedule/schedule.h"

namespace partita {

struct ExecutorBenchmarkOptions {
  std::vector<int64_t> nodes{1000, 10000, 100000};
  std::vector<int> streams{1, 2};
  int rounds = 15;  // all cases are run once in each round
  // Heap allocations of this process so far. Without it they are not counted (-1).
  std::function<int64_t()> allocations;
};

struct ExecutorRow {
  std::string shape;
  int64_t nodes = 0;
  int streams = 1;
  bool recorder = false;
  double ns_per_node = 0;           // median over the rounds
  double allocations_per_step = 0;  // mean
};

absl::StatusOr<std::vector<ExecutorRow>> BenchmarkExecutor(const ExecutorBenchmarkOptions& options);

// One row per line as text, or a JSON array with the members of ExecutorRow.
std::string ToText(const std::vector<ExecutorRow>& rows);
std::string ToJson(const std::vector<ExecutorRow>& rows);

// The schedule of a case. `shape`: one of ExecutorShapes().
std::vector<std::string> ExecutorShapes();
Schedule EmptySchedule(const std::string& shape, int64_t nodes, int streams);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_EXECUTOR_BENCHMARK_H_
