// Measures the compiler: from a checked forward graph to verified schedules of all ranks, without a device.
//
// The graph is a chain of matmul and relu with a cross entropy at its end, trained by SGD with momentum; the strategy
// is --dp times --mp. Times are processor time of this process, so that other programs disturb them little.
#ifndef PARTITA_TOOLS_BENCHMARKS_COMPILE_BENCHMARK_H_
#define PARTITA_TOOLS_BENCHMARKS_COMPILE_BENCHMARK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

struct CompileCase {
  int64_t nodes = 0;  // of the partitioned training graph, about
  int data = 1;
  int model = 1;
};

struct CompileBenchmarkOptions {
  std::vector<CompileCase> cases{{1000, 2, 2}, {10000, 2, 2}, {100000, 2, 2}, {10000, 8, 8}};
  int rounds = 3;  // all cases are run once in each round
};

// Times are medians over the rounds, each phase by itself, in milliseconds.
struct CompileRow {
  int64_t nodes = 0;          // of the forward graph
  int64_t program_nodes = 0;  // of the partitioned training graph
  int ranks = 1;
  double verify_ms = 0;           // the forward graph
  double partition_ms = 0;        // layouts, moves, adjoint, update and passes, of both entry points
  double schedule_ms = 0;         // the training step of all ranks: kernels, memory, streams, waits
  double verify_schedule_ms = 0;  // no race on any rank, one order of collectives
  double total_ms = 0;            // the sum
  double one_rank_ms = 0;         // what a process with one of the ranks spends: its share of the last two phases
  double ns_per_node = 0;         // one_rank_ms for each node of the program
};

absl::StatusOr<std::vector<CompileRow>> BenchmarkCompile(const CompileBenchmarkOptions& options);

// One row per line as text, a JSON array with the members of CompileRow, or comma-separated values.
std::string ToText(const std::vector<CompileRow>& rows);
std::string ToJson(const std::vector<CompileRow>& rows);
std::string ToCsv(const std::vector<CompileRow>& rows);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_COMPILE_BENCHMARK_H_
