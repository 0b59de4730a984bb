// The strategies that a user tries first: those of --dp and --mp.
#ifndef PARTITA_PARTITIONER_CHOOSE_PLAIN_CANDIDATES_H_
#define PARTITA_PARTITIONER_CHOOSE_PLAIN_CANDIDATES_H_

#include <vector>

#include "graph/ir/graph.h"
#include "partitioner/choose/candidate.h"

namespace partita {

// For each way to cut the ranks into replicas, with the channels of all layers over a replica's ranks, and with those
// of dense layers alone. They count as plans of `search`.
std::vector<Candidate> PlainCandidates(const Graph& forward, int ranks, SearchKind search);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_CHOOSE_PLAIN_CANDIDATES_H_
