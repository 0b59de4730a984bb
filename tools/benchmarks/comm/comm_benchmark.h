// Measures collectives, captured and replayed as in training: on `local` and as processes do, over TCP, encrypted by
// TLS, and through shared memory (threads of this process over the loopback interface), in turns with Gloo's own ring
// all-reduce; and exchanges of boxes on `local`, in turns with plain copies.
//
//   halo         the last of four rows of each of 16 samples becomes a ghost row of the next rank
//   repartition  a matrix split by rows becomes one split by columns
//
// On request also on GPUs: by ranks that share the first one, and by NCCL where there are several.
#ifndef PARTITA_TOOLS_BENCHMARKS_COMM_COMM_BENCHMARK_H_
#define PARTITA_TOOLS_BENCHMARKS_COMM_COMM_BENCHMARK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

struct CommBenchmarkOptions {
  int ranks = 2;
  int rounds = 7;
  std::vector<int64_t> bytes{64 << 10, 256 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20, 64 << 20};  // of the full buffer
  std::string collective;  // only this one; empty: all
  bool cuda = false;
};

struct CommRow {
  std::string collective;
  // local, tcp, tls, shared_memory, cuda_local, nccl; gloo_ring: Gloo's own; memcpy: each rank's thread copies as many
  // bytes as it gets, in one piece (what the caches do not hold shows the bandwidth of memory: larger ones are copied
  // as well)
  std::string backend;
  int64_t bytes = 0;  // of the full buffer; of halo and repartition what a rank gets
  bool in_place = false;
  double microseconds = 0;          // median over the rounds
  double latency_microseconds = 0;  // of the same with next to nothing to move: a few elements
  // Its speed over that of gloo_ring, of tls over that of tcp, or of memcpy: median of the rounds' ratios; 0: none.
  double ratio = 0;
  // GB/s: bytes over time, and the bandwidth of each rank's link (as nccl-tests define it).
  double algorithm_bandwidth = 0, bus_bandwidth = 0;
};

// kUnavailable: a GPU is wanted, and there is none, no driver, or this program was built without CUDA.
absl::StatusOr<std::vector<CommRow>> BenchmarkComm(const CommBenchmarkOptions& options);

std::string ToText(const std::vector<CommRow>& rows);
std::string ToJson(const std::vector<CommRow>& rows);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_COMM_COMM_BENCHMARK_H_
