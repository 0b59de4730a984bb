// One run of each search on a model's tables, which are made for it.
#ifndef PARTITA_TOOLS_BENCHMARKS_SEARCH_TIMED_SEARCHES_H_
#define PARTITA_TOOLS_BENCHMARKS_SEARCH_TIMED_SEARCHES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "partitioner/choose/candidate.h"
#include "partitioner/tables/layer_cost.h"
#include "partitioner/tables/layers.h"

namespace partita {

struct TimedSearch {
  int64_t choices = 0;   // configs of all layers on all tables; of placements and pipelines ranks for each layer
  double step_ms = 0;    // of the plan found, on its tables
  double bytes = 0;      // that its fullest rank needs, on its tables
  double gap = 0;        // how much slower than the best it can be at most
  double layers_ms = 0;  // to compile layers for what they cost, as nothing has been measured
  double edges_ms = 0;   // to make the rest of the tables
  double search_ms = 0;  // to search them

  double tables_ms() const { return layers_ms + edges_ms; }
  // What is left where the layers' costs are known.
  double given_layers_ms() const { return edges_ms + search_ms; }
};

// Searches for this number of ranks, each limited to `bytes` (kNever: no limit). For placement and pipelines they form
// one worker group. Not for kData, which searches nothing.
absl::StatusOr<TimedSearch> TimeSearch(SearchKind search, const LayerGraph& layers, int ranks, double bytes,
                                       const CostBasis& basis);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_SEARCH_TIMED_SEARCHES_H_
