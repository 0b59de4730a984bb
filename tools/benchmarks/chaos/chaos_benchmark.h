// Faults of every kind, and how many of them training came through as it should.
#ifndef PARTITA_TOOLS_BENCHMARKS_CHAOS_CHAOS_BENCHMARK_H_
#define PARTITA_TOOLS_BENCHMARKS_CHAOS_CHAOS_BENCHMARK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/benchmarks/chaos/killed_jobs.h"
#include "tools/benchmarks/chaos/tally.h"

namespace partita {

struct ChaosOptions {
  KilledJobsOptions jobs;  // no kills: no jobs
  int64_t save_faults = 2000;
  int64_t flips = 100'000;
};

struct ChaosRow {
  std::string what, where;
  Tally tally;
};

struct ChaosResult {
  std::vector<ChaosRow> rows;
  std::vector<std::string> breaches;
};

absl::StatusOr<ChaosResult> BenchmarkChaos(const ChaosOptions& options);

// A line for each row, then one for each breach; and the same as JSON.
std::string ToText(const ChaosResult& result);
std::string ToJson(const ChaosResult& result);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_CHAOS_CHAOS_BENCHMARK_H_
