// How long collectives take, on `local` and on `gloo` (threads of this process over the loopback interface), in turns
// with Gloo's own ring all-reduce.
#ifndef PARTITA_TOOLS_BENCHMARKS_COMM_BENCHMARK_H_
#define PARTITA_TOOLS_BENCHMARKS_COMM_BENCHMARK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

struct CommBenchmarkOptions {
  int ranks = 2;
  int rounds = 7;
  std::vector<int64_t> bytes{64 << 10, 1 << 20, 8 << 20, 64 << 20};  // of the full buffer
};

struct CommRow {
  std::string collective;
  std::string backend;  // local, gloo, or gloo_ring: the library's own
  int64_t bytes = 0;
  bool in_place = false;
  double microseconds = 0;  // median over the rounds
  // GB/s: bytes by time, and what that means for each rank's link (as nccl-tests reckon, PERFORMANCE.md there).
  double algorithm_bandwidth = 0, bus_bandwidth = 0;
};

absl::StatusOr<std::vector<CommRow>> BenchmarkComm(const CommBenchmarkOptions& options);

std::string ToText(const std::vector<CommRow>& rows);
std::string ToJson(const std::vector<CommRow>& rows);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_COMM_BENCHMARK_H_
