// What a search finds for a model of sequences.
#ifndef PARTITA_TESTS_EQUIVALENCE_SEQUENCES_FOUND_STRATEGY_H_
#define PARTITA_TESTS_EQUIVALENCE_SEQUENCES_FOUND_STRATEGY_H_

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"
#include "partitioner/choose/candidate.h"

namespace partita {

// For so many ranks with fast links, at most 4: the best grid, or the last candidate of another search, as a strategy
// file says it.
absl::StatusOr<Strategy> FoundStrategy(const Graph& forward, SearchKind search, int ranks);

}  // namespace partita

#endif  // PARTITA_TESTS_EQUIVALENCE_SEQUENCES_FOUND_STRATEGY_H_
