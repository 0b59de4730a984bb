// Measures searches for plans: each on models with more and more layers and on more and more ranks, on nodes of eight
// GPUs, each with a batch of 64. Their tables are made by compiling layers one by one, which is timed by itself: where
// their costs are known, the rest is what a search takes.
//
// Times are processor time of this process.
#ifndef PARTITA_TOOLS_BENCHMARKS_SEARCH_SEARCH_BENCHMARK_H_
#define PARTITA_TOOLS_BENCHMARKS_SEARCH_SEARCH_BENCHMARK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "partitioner/choose/candidate.h"
#include "tools/benchmarks/search/timed_searches.h"

namespace partita {

struct SearchBenchmarkOptions {
  std::vector<std::string> models{"lenet5", "mini-inception", "inception-v3"};  // tools/models/models.h
  std::vector<SearchKind> searches{SearchKind::kGrid, SearchKind::kGroups, SearchKind::kPlacement,
                                   SearchKind::kPipeline, SearchKind::kLayerwise};
  int most_ranks = 8;        // of 2, 4, 8, ...
  int rounds = 1;            // all are run once in each round
  int64_t memory_bytes = 0;  // that a rank of any plan may need; 0: as many as it wants
};

struct SearchRow {
  SearchKind search = SearchKind::kLayerwise;
  std::string model;
  int64_t ops = 0;     // of the forward graph
  int64_t layers = 0;  // that are chosen for
  int ranks = 2;
  TimedSearch timed;  // medians over the rounds
  // All time over that with half the ranks; 0: there is none.
  double growth = 0;
  std::string refused;  // why there is no plan: all need more memory than they may; else empty

  double all_ms() const { return timed.tables_ms() + timed.search_ms; }
  double TablesShare() const { return all_ms() > 0 ? timed.tables_ms() / all_ms() : 0; }
};

// By search, by model, by ranks.
absl::StatusOr<std::vector<SearchRow>> BenchmarkSearch(const SearchBenchmarkOptions& options);

// One row per line as text, or a JSON array.
std::string ToText(const std::vector<SearchRow>& rows);
std::string ToJson(const std::vector<SearchRow>& rows);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_SEARCH_SEARCH_BENCHMARK_H_
