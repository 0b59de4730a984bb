// What a person tries first: the strategies of --dp and --mp.
#ifndef PARTITA_PARTITIONER_CHOOSE_PLAIN_CANDIDATES_H_
#define PARTITA_PARTITIONER_CHOOSE_PLAIN_CANDIDATES_H_

#include <vector>

#include "graph/ir/graph.h"
#include "partitioner/choose/candidate.h"

namespace partita {

// In the form in which a search looks for better ones, without tables, for each way to cut the ranks into replicas: of
// kGrid every layer's channels over a replica's ranks, of kGroups those of dense layers alone, of kLayerwise replicas of
// one rank alone; of others none.
std::vector<Candidate> PlainCandidates(const Graph& forward, int ranks, SearchKind search);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_CHOOSE_PLAIN_CANDIDATES_H_
