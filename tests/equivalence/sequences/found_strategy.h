// What a search finds for a model of sequences.
#ifndef PARTITA_TESTS_EQUIVALENCE_SEQUENCES_FOUND_STRATEGY_H_
#define PARTITA_TESTS_EQUIVALENCE_SEQUENCES_FOUND_STRATEGY_H_

#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"
#include "partitioner/choose/candidate.h"

namespace partita {

// For this number of ranks with fast links, at most 4: the best grid, or the last candidate of another search, in the
// form of a strategy file.
absl::StatusOr<Strategy> FoundStrategy(const Graph& forward, SearchKind search, int ranks);

// The searches to try and the number of ranks; and the test's name for them.
using SearchOnRanks = std::tuple<SearchKind, int>;
inline auto SearchesOnRanks() {
  return testing::Combine(testing::Values(SearchKind::kGrid, SearchKind::kPlacement, SearchKind::kLayerwise),
                          testing::Values(2, 4));
}
inline std::string NameOfSearch(const testing::TestParamInfo<SearchOnRanks>& found) {
  const auto& [search, ranks] = found.param;
  return "By_" + std::string(Name(search)) + "_on_" + std::to_string(ranks);
}

}  // namespace partita

#endif  // PARTITA_TESTS_EQUIVALENCE_SEQUENCES_FOUND_STRATEGY_H_
