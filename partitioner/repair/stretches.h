// Splits a network at its narrow points: stretches of nodes between which one value passes, to be kept or recomputed.
#ifndef PARTITA_PARTITIONER_REPAIR_STRETCHES_H_
#define PARTITA_PARTITIONER_REPAIR_STRETCHES_H_

#include <string>
#include <vector>

#include "graph/derive/strategy.h"
#include "graph/ir/graph.h"
#include "partitioner/search/recompute_search.h"

namespace partita {

// Names of nodes in order. The last one makes the value that later stretches read; besides it only scalars pass. The
// last stretch may end with any node.
using Stretch = std::vector<std::string>;

// Of the user's graph. Inputs, parameters and states are in none of them.
std::vector<Stretch> StretchesOf(const Graph& forward);

// The plan's blocks, as a strategy says them: folders of nodes that lie in a block as wholes as "folder/*".
std::vector<RecomputedBlock> BlocksOf(const std::vector<Stretch>& stretches, const RecomputePlan& plan);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_REPAIR_STRETCHES_H_
