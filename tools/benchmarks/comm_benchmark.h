// How long collectives take, on `local` and on `gloo` (threads of this process over the loopback interface), in turns
// with Gloo's own ring all-reduce; and what they are part of, a halo exchange and a repartition with the packing of
// boxes before and behind, on `local` in turns with plain copies.
//
//   halo         two edge rows of each of 16 samples go to the neighbours, packed; what comes is put into ghost rows
//   repartition  a matrix split by rows becomes one split by columns: blocks are packed, and sent to their ranks
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
  std::string collective;                                            // only this one; empty: all
};

struct CommRow {
  std::string collective;
  // local, gloo, gloo_ring: the library's own; or memcpy: as many bytes copied as often, by as many threads, in one
  // piece
  std::string backend;
  int64_t bytes = 0;  // of the full buffer; of halo and repartition what a rank packs
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
