// Splits a network at its narrow points: stretches of nodes between which one value passes, to be kept or recomputed.
#ifndef PARTITA_PARTITIONER_REPAIR_STRETCHES_H_
#define PARTITA_PARTITIONER_REPAIR_STRETCHES_H_

#include <string>
#include <vector>

#include "graph/derive/strategy.h"
#include "graph/ir/graph.h"
#include "partitioner/search/recompute_search.h"

namespace partita {

// Names of nodes in their order. The last one makes the value that passes on to later stretches, and nothing but
// scalars passes beside it; of the last stretch it may be anything.
using Stretch = std::vector<std::string>;

// Of the user's graph. Inputs, parameters and states are in none of them.
std::vector<Stretch> StretchesOf(const Graph& forward);

// The plan's blocks, as a strategy says them: folders of nodes that lie in a block as wholes as "folder/*".
std::vector<RecomputedBlock> BlocksOf(const std::vector<Stretch>& stretches, const RecomputePlan& plan);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_REPAIR_STRETCHES_H_
