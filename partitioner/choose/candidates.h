// The candidates of each search: its best plan on the tables of a model, for each way to cut the ranks into replicas.
#ifndef PARTITA_PARTITIONER_CHOOSE_CANDIDATES_H_
#define PARTITA_PARTITIONER_CHOOSE_CANDIDATES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "partitioner/choose/candidate.h"
#include "partitioner/tables/layer_cost.h"
#include "partitioner/tables/layers.h"

namespace partita {

struct CandidateRequest {
  const Graph& forward;  // the user's
  const LayerGraph& layers;
  int ranks = 1;
  const CostBasis& basis;
  double bytes = 0;  // of a rank; searches whose best plan needs more look for one that does not
};

// None: the search has nothing to choose (a group of one rank).
absl::StatusOr<std::vector<Candidate>> CandidatesOf(SearchKind search, const CandidateRequest& request);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_CHOOSE_CANDIDATES_H_
